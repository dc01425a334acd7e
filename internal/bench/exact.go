package bench

import "fmt"

// InexactError says that a total is not the number of increments that were
// acknowledged.
type InexactError struct {
	Acknowledged, Total int64
	what                string
}

func (e *InexactError) Error() string {
	if e.what != "" {
		return fmt.Sprintf(e.what, e.Acknowledged, e.Total)
	}
	if e.Total < e.Acknowledged {
		return fmt.Sprintf("%d of %d acknowledged increments are lost", e.Acknowledged-e.Total, e.Acknowledged)
	}
	return fmt.Sprintf("%d increments are counted beyond the %d acknowledged", e.Total-e.Acknowledged, e.Acknowledged)
}

// exactness holds the total against what was acknowledged.
func exactness(acknowledged, total int64) *InexactError {
	if acknowledged == total {
		return nil
	}
	return &InexactError{Acknowledged: acknowledged, Total: total}
}
