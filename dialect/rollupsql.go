package dialect

import (
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// RollUpSQL is what the dialects' statements for one part of a slot table have in
// common.
type RollUpSQL struct {
	Table *schema.Table
	Part  RollUpPart
	// Args are the arguments of the statement being written, as in Step.
	Args []int
}

// Step writes one statement, with the arguments that it comes to use.
func (w *RollUpSQL) Step(statement func() string) Step {
	w.Args = nil
	sql := statement()
	return Step{SQL: sql, Args: w.Args}
}

// Position returns the place of an argument among those of the statement, for
// placeholders with numbers, the first of which is 1.
func (w *RollUpSQL) Position(arg int) int {
	for i, a := range w.Args {
		if a == arg {
			return i + 1
		}
	}
	w.Args = append(w.Args, arg)
	return len(w.Args)
}

// Keys writes the query of the keys of slot rows, and of how many each has. From
// begins with FROM. The key is compared by columns, and read in a form that is an
// argument later on; without a form of that kind, or without a key, it is all one.
func (w *RollUpSQL) Keys(from string, read, columns []string) string {
	if len(read) == 0 {
		return "SELECT COUNT(*) " + from + " HAVING COUNT(*) > 0"
	}
	by := strings.Join(columns, ", ")
	return "SELECT " + strings.Join(read, ", ") + ", COUNT(*) " + from + " GROUP BY " + by + " ORDER BY " + by +
		" LIMIT " + strconv.Itoa(w.Part.Limit)
}

// Most bounds what a batch locks, where its rows may be divided: " LIMIT 100".
func (w *RollUpSQL) Most(divisible bool) string {
	if w.Part.Rows == 0 || !divisible {
		return ""
	}
	return " LIMIT " + strconv.Itoa(w.Part.Rows)
}
