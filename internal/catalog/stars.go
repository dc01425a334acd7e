package catalog

import (
	"context"
	"slices"
	"time"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// Rewritten SQL has * written out, so a column that another program adds would be missing from the
// result without an error. So before such a statement runs the columns of its tables are compared
// with the database's, at most once in starsTrusted for each table.
const starsTrusted = 2 * time.Second

// DueStar reports whether a table's columns have not been looked at for a while, and
// notes that they are now.
func (sc *Schema) DueStar(t *schema.Table) bool {
	now := time.Now()
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if now.Sub(sc.starred[t]) < starsTrusted {
		return false
	}
	sc.starred[t] = now
	return true
}

// SameColumns compares the columns of a table with what is known of it.
func (v *View) SameColumns(ctx context.Context, t *schema.Table) (bool, error) {
	d := v.Catalog.Dialect
	rows, err := v.ParentQuery(ctx, "SELECT * FROM "+d.Quote(t.Schema)+"."+d.Quote(t.Name)+" WHERE 1=0", nil)
	if err != nil {
		return false, err
	}
	got := slices.Clone(rows.Columns())
	if err := rows.Close(); err != nil {
		return false, err
	}
	var want []string
	for i := range t.Columns {
		if !t.Columns[i].Hidden {
			want = append(want, t.Columns[i].Name)
		}
	}
	return slices.Equal(got, want), nil
}
