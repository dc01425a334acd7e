package groups

import (
	"database/sql/driver"
	"errors"

	"github.com/slotsql/slotsql/internal/argument"
)

// swapped runs the statement of a compare and set for the first of the members. It counts if that decides for all of them.
func (c *run) swapped(members [][]any) (o outcome) {
	c.reset()
	cs, first := c.group.CompareAndSet, members[0]
	var args []any
	for _, a := range c.group.Args {
		args = append(args, first[a.Index])
	}
	x, _, err := c.exec(c.group.SQL.Of(nil), args)
	if o.err = err; err != nil {
		return o
	}
	var list argument.List
	for _, v := range first {
		list.Args = append(list.Args, driver.NamedValue{Value: v})
	}
	if !list.Steps(cs.Step) && (x.counted || c.countsChanged) {
		args = nil
		for _, a := range cs.Still.Args {
			args = append(args, first[a.Index])
		}
		rows, err := c.db.Query(cs.Still.SQL.Of(nil), args...)
		if err != nil {
			c.t.Fatal(err)
		}
		defer rows.Close()
		if rows.Next() && len(members) > 1 {
			o.err = errors.New("the row still has the version")
			return o
		}
		if err := rows.Close(); err != nil {
			c.t.Fatal(err)
		}
	}
	o.counted, o.row = true, c.final()
	x.returned = "[]"
	o.results = append(o.results, x)
	for range members[1:] {
		o.results = append(o.results, result{returned: "[]"})
	}
	return o
}
