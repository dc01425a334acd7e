package session

import (
	"context"
	"fmt"

	"github.com/slotsql/slotsql/rewrite"
)

// A statement may run, or prepare, SQL that is the value of a variable: its own text names no
// table. So the server is asked for the value, which the session could have asked for as well, and
// the statement is planned with the value written out. If that names no counter table, nor a view
// or routine over one, the statement runs as it is.

// planDynamic returns the plan of a dynamic statement.
func (c *Conn) planDynamic(ctx context.Context, p *plan) (*plan, error) {
	rows, err := c.Session().Query(ctx, "SELECT "+p.dynamic.Expr)
	if err != nil || len(rows) != 1 || len(rows[0]) != 1 || rows[0][0] == nil {
		return c.withEffects(p), nil // the server reports what is wrong
	}
	statement := ""
	switch v := rows[0][0].(type) {
	case []byte:
		statement = string(v)
	default:
		statement = fmt.Sprint(v)
	}
	if !c.Shared.Mentions(statement) && p.dynamic.Fixed {
		return c.withEffects(p), nil
	}
	query := p.dynamic.With(c.Dialect(), statement)
	if !c.Shared.Mentions(query) {
		out := *p.Plan
		out.SQL = query // the expression has been evaluated, once
		out.Class = rewrite.AdditiveBase
		return planOf(&out), nil
	}
	return c.Plan(ctx, query)
}
