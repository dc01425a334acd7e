package bench

import (
	"fmt"

	"github.com/dustin/go-humanize"
)

// InexactError reports that a total is not the number of increments that were
// acknowledged.
type InexactError struct {
	Acknowledged, Total int64
	what                string
}

func (e *InexactError) Error() string {
	if e.what != "" {
		return fmt.Sprintf(e.what, humanize.Comma(e.Acknowledged), humanize.Comma(e.Total))
	}
	if e.Total < e.Acknowledged {
		return fmt.Sprintf(
			"%s of %s acknowledged increments are lost",
			humanize.Comma(e.Acknowledged-e.Total),
			humanize.Comma(e.Acknowledged),
		)
	}
	return fmt.Sprintf(
		"%s increments are counted beyond the %s acknowledged",
		humanize.Comma(e.Total-e.Acknowledged),
		humanize.Comma(e.Acknowledged),
	)
}

// exactness holds the total against what was acknowledged.
func exactness(acknowledged, total int64) *InexactError {
	if acknowledged == total {
		return nil
	}
	return &InexactError{Acknowledged: acknowledged, Total: total}
}
