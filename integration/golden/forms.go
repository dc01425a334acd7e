package golden

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// read writes the forms of a query of totals.
func (b *printer) read(indent, sql string, p *rewrite.Plan) {
	b.observed(indent, sql, p)
	if p.Read.Types != nil {
		if shape := p.Read.Types.SQL.Of(nil); shape == sql+"\nLIMIT 0" {
			b.line(indent, "types", "asked of the original with LIMIT 0")
		} else {
			b.sql(indent, "types", shape, p.Read.Types.Args)
		}
	}
}

// observed writes what the form that runs first has beside the statement.
func (b *printer) observed(indent, sql string, p *rewrite.Plan) {
	o := p.Read.Observed
	if o == nil {
		return
	}
	key := "observed"
	if o.DecidesRows {
		key += ", no row is no answer"
	}
	if o.MayFail {
		key += ", may fail"
	}
	b.sql(indent, key, added(sql, o.SQL.Of(p.Values)), nil)
	if p.Read.FoldFirst {
		b.line(indent, "fold first", "outside transactions")
	}
	if o.Row == nil {
		return
	}
	if held := o.Row.Held.Of(p.Values); held != o.SQL.Of(p.Values) {
		b.sql(indent, "row held", added(sql, held), nil)
	}
}

// added returns what a statement has that another has not: a list item, if that is all, else the whole statement.
func added(sql, longer string) string {
	n := len(longer) - len(sql)
	for i := range len(sql) + 1 {
		item := longer[i : i+n]
		if strings.HasPrefix(item, ", ") && longer[:i] == sql[:i] && longer[i+n:] == sql[i:] {
			return strings.TrimSuffix(strings.TrimSpace(item[2:]), " AS slotsql_slots")
		}
	}
	return longer
}

// proofs writes the forms of a statement that needs no drain if its row has no slots.
func (b *printer) proofs(indent string, proof *rewrite.Proof) {
	if proof == nil {
		return
	}
	confirmed := "confirmed by"
	if proof.Bound.SQL.Of(nil) != "" {
		b.proof(indent, proof.Bound)
		confirmed = "or confirmed by"
	}
	for _, after := range []*rewrite.Bound{proof.Confirm, proof.ConfirmRead} {
		if after != nil {
			b.bound(indent, confirmed, *after)
		}
	}
}

// proof writes a drain's statement for a row without slots.
func (b *printer) proof(indent string, x rewrite.Bound) {
	sql := x.SQL.Of(nil)
	if !b.allSteps {
		sql = locked.ReplaceAllLiteralString(sql, "(the row is locked)")
	}
	b.sql(indent, "without slots", sql, x.Args)
}
