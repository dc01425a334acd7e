package rewrite

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// referred returns the tables that CREATE TABLE may refer to by a counter: their names and that of a counter are in it. Rows of the
// new table are held against base values, so these have to be the totals before there are any. (ALTER drains what it names anyway.)
func (df *definitions) referred() []*schema.Table {
	if !df.src.is(0, "CREATE") || !df.src.hasWord("REFERENCES") {
		return nil
	}
	return slices.DeleteFunc(df.mentions.tables(), func(t *schema.Table) bool {
		return !df.src.hasName(func(name string) bool {
			return slices.ContainsFunc(t.Counter.Counters, func(c string) bool { return strings.EqualFold(c, name) })
		})
	})
}
