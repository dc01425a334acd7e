package upkeep

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A placed statement is one of a routine with placeholders in the place of what has its value only when the routine
// runs, and of numbers: the planner then sees a statement of an application.
type placed struct {
	sql    string
	values []string   // what the placeholders stand for
	at     []ast.Span // and where they are
	from   []int      // where that was
}

// placed replaces NEW.x, OLD.x, variables, parameters and numbers of a statement.
func (rp *replacer) placed(from, to int) placed {
	var p placed
	start := rp.tokens[from].Start
	last := start
	for i := from; i < to; i++ {
		end := i
		switch w := rp.word(i); {
		case (w == "NEW" || w == "OLD") && rp.word(i+1) == "." && i+2 < to:
			end = i + 2
		case rp.tokens[i].Kind == lex.Number && rp.word(i-1) != "," && rp.word(i-1) != "(":
		case rp.isValue(i):
		default:
			continue
		}
		p.sql += rp.r.Body[last:rp.tokens[i].Start]
		p.values, p.from = append(p.values, rp.r.Body[rp.tokens[i].Start:rp.tokens[end].End]), append(p.from, rp.tokens[i].Start)
		mark := rp.d.Placeholder(len(p.values))
		p.at = append(p.at, ast.Span{Start: len(p.sql), End: len(p.sql) + len(mark)})
		p.sql, last, i = p.sql+mark, rp.tokens[end].End, end
	}
	p.sql += rp.r.Body[last:rp.tokens[to-1].End]
	return p
}

// isValue reports whether a token is the name of a variable or parameter, and not a part of another name, or what SET
// assigns to.
func (rp *replacer) isValue(i int) bool {
	if k := rp.tokens[i].Kind; k != lex.Word && k != lex.QuotedIdent || rp.word(i-1) == "." || rp.word(i+1) == "." || rp.word(i+1) == "(" {
		return false
	}
	name := strings.Trim(rp.text(i), "`\"")
	return slices.ContainsFunc(rp.values, func(v string) bool { return strings.EqualFold(v, name) }) &&
		!((rp.word(i-1) == "SET" || rp.word(i-1) == ",") && rp.word(i+1) == "=")
}

// text is a part of the statement with what the placeholders stand for.
func (p *placed) text(sp ast.Span) string {
	out, last := "", sp.Start
	for i, at := range p.at {
		if at.Start >= sp.Start && at.End <= sp.End {
			out, last = out+p.sql[last:at.Start]+p.values[i], at.End
		}
	}
	return out + p.sql[last:sp.End]
}

// call returns the call in the place of a statement, or why there is none. Both are empty for a statement that changes no counter.
func (rp *replacer) call(from, to int) (call, why string) {
	p := rp.placed(from, to)
	plan, err := rp.planner.Plan(p.sql)
	if err != nil {
		return "", "it cannot be planned"
	}
	switch plan.Class {
	case rewrite.PassThrough, rewrite.Read:
		return "", ""
	case rewrite.Upsert:
		return "", "an upsert: call the function, and INSERT where it returns 0"
	case rewrite.Additive:
	default:
		if why = plan.Reason; why == "" {
			why = "it may change many rows"
		}
		return "", why
	}
	o := rp.objectOf(plan.Increment.Table)
	if why = rp.fixed(o); why != "" {
		return "", why
	}
	arguments, why := rp.arguments(o, plan.Increment, &p)
	if why != "" {
		return "", why
	}
	name := rp.d.Quote(o.name)
	if o.t.Schema != "" {
		name = rp.d.Quote(o.t.Schema) + "." + name
	}
	return rp.reader.Counted(rp.r, name, arguments), ""
}

func (rp *replacer) objectOf(t *schema.Table) *storedObject {
	i := slices.IndexFunc(rp.objects, func(o storedObject) bool { return o.t.Schema == t.Schema && o.t.Name == t.Name })
	return &rp.objects[i]
}

// fixed returns why the routine cannot call a table's function.
func (rp *replacer) fixed(o *storedObject) string {
	if o.none != "" {
		return "there is no function for " + o.t.Name + ": " + o.none
	}
	for i := range rp.tokens {
		w := rp.word(i)
		if handler := rp.word(i-2) == "FOR"; w == "FOUND" && !handler || w == "ROW_COUNT" {
			return "the routine asks for " + w + ": use what the function returns"
		}
	}
	return rp.r.Fixed
}

// arguments finds the arguments of the call in a statement.
func (rp *replacer) arguments(o *storedObject, in *rewrite.Increment, p *placed) (out []dialect.Argument, why string) {
	st, err := rp.d.Parse(p.sql)
	if err != nil || len(in.Key) != len(o.t.Counter.Key) || len(in.Key) == 0 {
		return nil, "its WHERE has other conditions than the key"
	}
	for i, k := range in.Key {
		if len(k.Args) != 1 {
			return nil, "what the key is compared with is not one value"
		}
		value := k.Parts[0].Of(nil) + p.values[k.Args[0].Index] + k.Parts[1].Of(nil)
		out = append(out, dialect.Argument{Name: o.t.Counter.Key[i], SQL: value, Key: true})
	}
	given, deltas := map[string]string{}, in.Deltas
	for _, a := range st.Set {
		column := ""
		for _, c := range o.t.Columns {
			if rp.d.SameColumn(a.Column[len(a.Column)-1], c.Name) {
				column = c.Name
			}
		}
		switch {
		case column == "" || a.Value == nil:
			return nil, "it sets a column that is not known"
		case o.t.Counter.BoundsOf(column) != nil:
			return nil, column + " has bounds: call the function where its guard is the statement's"
		case !slices.Contains(o.counters, column) && !o.t.IsCounter(column):
			if co := o.t.Companion(column); co.Merge != schema.Latest {
				return nil, "it sets the companion " + column + " by an expression"
			}
			given[column] = p.text(a.Value.Span)
		case len(deltas) == 0 || deltas[0].Arg.Index < 0 || !slices.Contains(o.counters, column):
			return nil, "what it adds to " + column + " is not one value"
		case o.t.Column(column).Nullable && calls(a.Value):
			return nil, column + " may be NULL, which the function leaves as it is"
		default:
			given[column] = p.values[deltas[0].Arg.Index]
			if deltas[0].Arg.Negate {
				given[column] = "-" + given[column]
			}
			deltas = deltas[1:]
		}
	}
	for _, c := range o.counters {
		out = append(out, dialect.Argument{Name: c, SQL: given[c]})
	}
	for _, co := range o.t.Counter.Companions {
		out = append(out, dialect.Argument{Name: co.Column, SQL: given[co.Column], Companion: true})
	}
	return out, ""
}

// calls reports whether there is a call in an expression, such as one that takes NULL for 0.
func calls(e *ast.Expr) (found bool) {
	e.Walk(func(e *ast.Expr) bool {
		found = found || e.Kind == ast.Call
		return true
	})
	return found
}
