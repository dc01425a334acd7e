package golden

import (
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// read writes the forms of a query of totals.
func (b *printer) read(indent, sql string, p *rewrite.Plan) {
	if p.Read.Probe != "" {
		b.line(indent, "probe", strings.TrimRight(p.Read.Probe, "\n"))
	}
	if k := p.Read.KeptProbe; k != nil {
		numbers := make([]string, len(k.Numbers))
		for i, n := range k.Numbers {
			numbers[i] = strconv.FormatInt(n.Of(p.Values), 10)
		}
		b.line(indent, "probe, prepared", strings.TrimRight(k.SQL.Of(p.Values), "\n")+" -- "+strings.Join(numbers, ", "))
	}
	if p.Read.Held != p.Read.Probe {
		b.line(indent, "row held", strings.TrimRight(p.Read.Held, "\n"))
	}
	if x := p.Read.Estimate; x != nil {
		b.line(indent, "estimate", bound(x.Query))
		for _, only := range x.Only {
			b.line(indent, "only one", bound(only))
		}
		b.line(indent, "whole", bound(x.Whole))
	}
	if p.Read.Reprepare {
		b.line(indent, "prepared", "anew each time")
	}
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

// proofs writes the forms of a statement that needs no drain if its row has no slots.
func (b *printer) proofs(indent string, proof *rewrite.Proof) {
	if proof == nil {
		return
	}
	if proof.ByTotals {
		b.line(indent, "by totals", bound(proof.Bound))
		return
	}
	b.line(indent, "without slots", b.proof(proof.Bound))
	for _, after := range []*rewrite.Bound{proof.Confirm, proof.Bare} {
		if after != nil {
			b.line(indent, "or confirmed by", bound(*after))
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
