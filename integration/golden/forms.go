package golden

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// read writes the forms of a query of totals.
func (b *printer) read(indent, sql string, p *rewrite.Plan) {
	b.observed(indent, sql, p)
	if p.Read.Types != nil {
		shape := p.Read.Types.SQL.Of(nil)
		if shape == sql+"\nLIMIT 0" {
			shape = "asked of the original with LIMIT 0"
		} else {
			shape += arrow(p.Read.Types.Args)
		}
		b.line(indent, "types", shape)
	}
}

// observed writes what the form that runs first has beside the statement.
func (b *printer) observed(indent, sql string, p *rewrite.Plan) {
	o := p.Read.Observed
	if o == nil {
		return
	}
	said := added(sql, o.SQL.Of(p.Values))
	if o.DecidesRows {
		said += "; no row is no answer"
	}
	if o.MayFail {
		said += "; may fail"
	}
	b.line(indent, "observed", said)
	if p.Read.FoldFirst {
		b.line(indent, "fold first", "outside transactions")
	}
	if o.Row == nil {
		return
	}
	if held := o.Row.Held.Of(p.Values); held != o.SQL.Of(p.Values) {
		b.line(indent, "row held", added(sql, held))
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
	return strings.TrimRight(longer, "\n")
}

// proofs writes the forms of a statement that needs no drain if its row has no slots.
func (b *printer) proofs(indent string, proof *rewrite.Proof) {
	if proof == nil {
		return
	}
	confirmed := "confirmed by"
	if proof.Bound.SQL.Of(nil) != "" {
		b.line(indent, "without slots", b.proof(proof.Bound))
		confirmed = "or confirmed by"
	}
	for _, after := range []*rewrite.Bound{proof.Confirm, proof.ConfirmRead} {
		if after != nil {
			b.line(indent, confirmed, bound(*after))
		}
	}
}

// proof writes a drain's statement for a row without slots.
func (b *printer) proof(x rewrite.Bound) string {
	sql := strings.TrimRight(x.SQL.Of(nil), "\n")
	if !b.allSteps {
		sql = locked.ReplaceAllLiteralString(sql, "(the row is locked)")
	}
	return sql + arrow(x.Args)
}
