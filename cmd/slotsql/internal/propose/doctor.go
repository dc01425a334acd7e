package propose

import (
	"slices"

	"github.com/slotsql/slotsql/doctor"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// ForDoctor proposes counters for tables that sessions wait for: see doctor.Options. It guesses
// none from the names of columns.
func ForDoctor(r doctor.Request) (*doctor.Proposal, error) {
	var tables []Table
	seen := map[*schema.Table]doctor.Table{}
	for _, t := range r.Tables {
		tables = append(tables, Table{Table: t.Table, Visible: t.Visible})
		seen[t.Table] = t
	}
	var statements []*Statement
	for _, w := range r.Statements {
		statements = append(statements, &Statement{SQL: w.SQL, Shape: w.Shape, Runs: w.Seen, By: w.By})
	}
	known := func(t Table) Transactions {
		return Transactions{
			Inside: seen[t.Table].Held, Outside: seen[t.Table].Brief, Why: "no transaction was seen to hold its rows over round trips",
		}
	}
	out := &doctor.Proposal{}
	all := Propose(r.Dialect, tables, statements, known)
	all = slices.DeleteFunc(all, func(p *Proposal) bool { return p.Guess })
	for _, p := range all {
		for _, column := range seen[p.table.Table].Configured {
			p.Drop(column, "it is configured")
		}
		t := doctor.Proposed{Table: p.table.Table, Off: p.Off, Slotless: p.Slotless, Unslotted: p.Unslotted}
		for _, c := range p.Counters {
			if p.Proposed(c.Column) {
				t.Counters = append(t.Counters, c.Column)
			}
		}
		out.Tables = append(out.Tables, t)
	}
	out.Config, _ = Config(all)
	return out, nil
}
