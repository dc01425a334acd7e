package sqlite

import (
	"context"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// index is a unique index over columns only, for all rows.
type index struct {
	name       string
	primary    bool
	columns    []string
	collations []string
}

// uniqueIndexes returns the plain ones, and whether there are others.
func uniqueIndexes(ctx context.Context, s dialect.Session, o *object) (out []index, others bool, err error) {
	rows, err := s.Query(ctx, `SELECT name, origin, partial FROM pragma_index_list(?, ?) WHERE "unique" = 1 ORDER BY seq`, o.name, o.schema)
	if err != nil {
		return nil, false, err
	}
	for _, r := range rows {
		if number(r[2]) != 0 {
			others = true
			continue
		}
		x := index{name: text(r[0]), primary: text(r[1]) == "pk"}
		parts, err := s.Query(ctx, "SELECT cid, name, coll FROM pragma_index_xinfo(?, ?) WHERE key = 1 ORDER BY seqno", x.name, o.schema)
		if err != nil {
			return nil, false, err
		}
		plain := true
		for _, p := range parts {
			plain = plain && number(p[0]) >= 0 // -1: rowid, -2: expression
			x.columns = append(x.columns, text(p[1]))
			x.collations = append(x.collations, text(p[2]))
		}
		if plain {
			out = append(out, x)
		}
		others = others || !plain
	}
	return out, others, nil
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
