package catalog

import (
	"context"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/link"
)

// CheckRows checks the keys of tables, and the rows that they have.
//
// A table with an empty key may have one row, or none yet. With several rows it would be exact as
// well, because increments count the rows before they use a slot; but none would ever be slotted,
// so a key must be missing.
func (c *Catalog) CheckRows(ctx context.Context, v *View, t CheckedTable) ([]config.Problem, error) {
	if !t.Table.Counter.Single() {
		return c.checkNames(t), nil
	}
	d := c.Dialect
	rows, err := v.Own().Query(
		ctx,
		"SELECT COUNT(*) FROM (SELECT 1 FROM "+d.Quote(t.Table.Schema)+"."+d.Quote(t.Table.Name)+" LIMIT 2) AS slotsql_n",
	)
	if err != nil || link.CountOf(rows) < 2 {
		return nil, err
	}
	return []config.Problem{
		t.Config.Problem("key", "has more than one row, and key: [] is for tables of a single row: name its key columns"),
	}, nil
}

// checkNames refuses a key whose values cannot be written as literals, if drains name each slot
// row by its key.
func (c *Catalog) checkNames(t CheckedTable) []config.Problem {
	if n, ok := c.Dialect.(dialect.SlotNamer); !ok || n.Nameable(t.Table) {
		return nil
	}
	return []config.Problem{
		t.Config.Problem("key", "[%s] has a column of a type whose values slotsql cannot write: use another unique key of the table",
			config.Clip(strings.Join(t.Table.Counter.Key, ", "))),
	}
}
