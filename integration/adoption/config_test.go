package adoption

import (
	"fmt"
	"strings"
)

// config is what a process knows of slotsql; the zero value is the plain driver.
type config struct {
	mode     string
	slots    int
	counters []string
}

func (c config) plain() bool { return c.mode == "" }

// totals reports whether a process with it reads totals, and sets counters to what it
// says, whatever others do.
func (c config) totals() bool { return c.mode == "on" || c.mode == "passive" }

func (c config) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nshadow: {sample: 0.2}\ntables:\n  posts:\n    mode: %s\n    slots: %d\n    counters:\n", c.mode, c.slots)
	for _, name := range c.counters {
		fmt.Fprintf(&b, "      %s:\n", name)
		if kind, ok := kinds[name]; ok {
			fmt.Fprintf(&b, "        recount: SELECT post AS id, SUM(n) AS %s FROM ledger WHERE kind = %d GROUP BY post\n", name, kind)
		}
	}
	return b.String()
}

// kinds are the counters whose every change has a row in the ledger, of the
// same transaction.
var kinds = map[string]int{"likes": 1, "shares": 2}
