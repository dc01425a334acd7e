package catalog

import (
	"context"
	"fmt"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// numbersTaken are the numbers of slots that drains take where a fold marks the
// slots that it moves (rewrite.Traits.FoldMarks): it does so by other numbers, and
// would not know a row that has such a number already from its own.
const numbersTaken = "from 0 to 32767, or even ones from 65536 on"

// NotTaken is the condition that a slot has a number which drains do not take.
func NotTaken(d rewrite.Dialect, number string) string {
	if !d.Traits().FoldMarks {
		return "1 = 0"
	}
	return fmt.Sprintf("%[1]s < 0 OR %[1]s BETWEEN 32768 AND 65535 OR %[1]s >= 65536 AND %[1]s %% 2 = 1", number)
}

// Takes says that drains take a slot of the number.
func (s *Catalog) Takes(t *rewrite.Table, number int) bool {
	return !s.Traits.FoldMarks || t.Counter.Layout != rewrite.LayoutShared || number >= 0 && number < 32768 || number >= 65536 && number%2 == 0
}

// checkNumbers holds the slots in a shared table that is wide enough for others
// against the numbers that drains take. Another program may have made them; whether
// it makes more is not known. Tables of slotsql's own have room for no others.
func (s *Catalog) checkNumbers(ctx context.Context, v *View, c CheckedTable) ([]config.Problem, error) {
	if !s.Traits.FoldMarks || c.Table.Counter.Layout != rewrite.LayoutShared || !c.Table.Counter.Wide || s.Auditing {
		return nil, nil
	}
	slots, number := rewrite.SlotNumbers(s.Dialect, c.Table)
	number = "slotsql_s." + number
	rows, err := v.Session().Query(ctx, "SELECT MIN("+number+") FROM "+slots+" AS slotsql_s WHERE "+NotTaken(s.Dialect, number))
	if err != nil || len(rows) == 0 || rows[0][0] == nil {
		return nil, err
	}
	return []config.Problem{
		c.Config.Problem(
			"",
			"shared slot table %s has slot %s for this table, but drains only fold slots numbered %s: renumber such rows, or add them to other slots of the same key (`slotsql verify` lists the keys)",
			config.Clip(c.Table.Counter.SlotTable),
			link.TextOf(rows[0][0]),
			numbersTaken,
		),
	}, nil
}
