package linearizable

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// kind is what a statement does with the row.
type kind int

const (
	add     kind = iota // n = n + value
	call                // the same, by the function that slotsql stores in the database
	take                // n = n - value WHERE n >= value
	set                 // n = value
	draw                // n = n + value, and the new n comes back
	touch               // seen = value
	compare             // version = version + 1 WHERE version = value
	read
	kinds
)

var names = [kinds]string{"add", "call", "take", "set", "draw", "touch", "compare and set", "read"}

// row is what the database holds.
type row struct{ n, version, seen int64 }

type input struct {
	kind
	value int64
}

// output is what the client was told: a drawn number, the row that it read, or how many rows it has changed.
type output struct {
	affected, drawn int64
	row             row
}

// model is one row and statements that run one after another. MySQL does not count a row that stays as it was.
func model(initial row, dialect string) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, in, out any) (bool, any) {
			r, i, o := state.(row), in.(input), out.(output)
			affected := int64(1)
			switch i.kind {
			case read:
				return o.row == r, r
			case add, call, draw:
				r.n += i.value
			case take:
				if r.n < i.value {
					affected = 0
				} else {
					r.n -= i.value
				}
			case set:
				if dialect == "mysql" && r.n == i.value {
					affected = 0
				}
				r.n = i.value
			case touch:
				if dialect == "mysql" && r.seen == i.value {
					affected = 0
				}
				r.seen = i.value
			case compare:
				if r.version != i.value {
					affected = 0
				} else {
					r.version++
				}
			}
			if i.kind == draw {
				return o.drawn == r.n, r
			}
			return o.affected == affected, r
		},
		DescribeOperation: func(in, out any) string {
			i, o := in.(input), out.(output)
			return fmt.Sprintf("%s %d => %+v", names[i.kind], i.value, o)
		},
	}
}
