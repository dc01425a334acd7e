package sqlite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// index is a unique index.
type index struct {
	name                string
	primary             bool
	partial, expression bool // it does not hold for all rows, or for columns only
	columns             []string
	collations          []string
}

// addUniques adds the indexes under which rows that compare equal, column by
// column, are one row. An index may be coarser than its columns (NOCASE over
// BINARY), but not finer: under `slug TEXT COLLATE NOCASE` and a unique index
// on `slug COLLATE BINARY`, slug = 'a' finds both 'a' and 'A'.
func addUniques(t *rewrite.Table, indexes []index, def definition) {
	var primary, others []rewrite.Unique
	for _, x := range indexes {
		fits := true
		for i, name := range x.columns {
			own, known := def.collation(name)
			same := known && sameName(own, x.collations[i])
			fits = fits && (same || known && sameName(own, "BINARY"))
			t.OtherUniques = t.OtherUniques || !same
			if c := t.Column(name); !same && c != nil && !strings.HasSuffix(c.Type, foreignCollation) && sameName(own, "BINARY") {
				c.Type = strings.TrimSpace(c.Type + foreignCollation)
			}
		}
		t.OtherUniques = t.OtherUniques || !fits
		if !fits {
			continue
		}
		u := rewrite.Unique{Name: x.name, Primary: x.primary, Columns: x.columns}
		if x.primary {
			primary = append(primary, u)
		} else {
			others = append(others, u)
		}
	}
	t.Uniques = append(append(t.Uniques, primary...), others...)
}
