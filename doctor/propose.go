package doctor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/internal/propose"
	"github.com/slotsql/slotsql/rewrite/ast"
)

// proposed is a configuration for the tables that have none, made of the
// statements that were seen, and the planner with it.
type proposed struct {
	tables  []*propose.Proposal
	planner *slotsql.Explainer // nil when there is nothing to configure
}

// propose looks for counters in the tables of spots: for those that have a
// configuration, for counters that are not in it.
// A statement counts as often as it was seen to wait.
//
//nolint:funlen // one proposal, from the rows to the lines of a configuration
func (l *looker) propose(ctx context.Context, spots []*Spot) (*proposed, error) {
	var tables []propose.Table
	weights, full := map[string]int64{}, map[string]string{}
	for _, s := range spots {
		for _, st := range s.Statements {
			if st.full != "" && !st.Cut {
				weights[st.SQL] += int64(st.Seen)
				full[st.SQL] = st.full
			}
		}
		t, err := l.table(ctx, s.Schema, s.Table)
		if err != nil {
			return nil, err
		}
		if t == nil || t.facts == nil || has(tables, t) {
			continue
		}
		plain, err := l.table(ctx, "", s.Table)
		if err != nil {
			return nil, err
		}
		tables = append(tables, propose.Table{Table: t.facts, Bare: plain.facts != nil && plain.facts.Schema == t.facts.Schema})
	}
	var statements []*propose.Statement
	for shape, n := range weights {
		statements = append(statements, &propose.Statement{SQL: full[shape], Shape: shape, Runs: n})
	}
	slices.SortFunc(statements, func(a, b *propose.Statement) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Shape, b.Shape))
	})
	out := &proposed{}
	for _, p := range propose.Propose(l.dialect, tables, statements, l.transactions) {
		if p.Guess {
			continue
		}
		if cfg := l.configured(&Spot{Schema: schemaOf(tables, p), Table: p.Name()}); cfg != nil {
			for _, c := range p.Counters {
				if slices.ContainsFunc(cfg.Counters, func(has slotsql.CounterConfig) bool {
					return l.dialect.SameColumn(ast.Ident{Name: has.Column, Quoted: true}, c.Column)
				}) {
					p.Drop(c.Column, "it is configured")
				}
			}
			if p.Off != "" {
				continue
			}
		}
		out.tables = append(out.tables, p)
	}
	text, _ := propose.Bare(out.tables)
	config, err := slotsql.Parse([]byte(text), "proposal")
	if err != nil {
		return nil, err
	}
	if len(config.Tables()) == 0 {
		return out, nil
	}
	out.planner, err = l.options.Explain(ctx, config)
	var problems *slotsql.ConfigError
	if errors.As(err, &problems) {
		l.noteOnce("nothing is proposed, because the table does not allow it: " + problems.Problems[0].Message)
		out.tables = nil
		return out, nil
	}
	_, yaml, _ := strings.Cut(text, "\ntables:")
	l.report.Propose = "tables:" + yaml
	return out, err
}

// transactions says what was seen of the transactions that hold rows of a table: those
// whose session runs nothing, or a statement of another table, hold them over round trips.
func (l *looker) transactions(t propose.Table) (known propose.Transactions) {
	for _, s := range l.report.Spots {
		if s.Table == t.Name && s.Schema == t.Schema {
			known.Inside = known.Inside || l.heldOver(s)
			known.Outside = known.Outside || !l.heldOver(s)
		}
	}
	known.Why = "no transaction was seen to hold its rows over round trips"
	return known
}

// heldOver reports whether a transaction may have held the row of a spot while it ran
// something else, or nothing.
func (l *looker) heldOver(s *Spot) bool {
	return len(s.Holders) == 0 || slices.ContainsFunc(s.Holders, func(h *Holder) bool {
		_, table := l.target(l.statements[h.SQL])
		return h.Idle || table != s.Table
	})
}

func has(tables []propose.Table, t *table) bool {
	for _, o := range tables {
		if o.Table == t.facts {
			return true
		}
	}
	return false
}

func schemaOf(tables []propose.Table, p *propose.Proposal) string {
	for _, t := range tables {
		if t.Name == p.Name() {
			return t.Schema
		}
	}
	return ""
}

// columns returns the counters that are proposed for a spot's table.
func (p *proposed) columns(s *Spot) (out []string) {
	t := p.of(s)
	if t == nil {
		return nil
	}
	for _, c := range t.Counters {
		if t.Proposed(c.Column) {
			out = append(out, c.Column)
		}
	}
	return out
}

// of returns what is proposed for a spot's table, nil for nothing.
func (p *proposed) of(s *Spot) *propose.Proposal {
	for _, t := range p.tables {
		if t.Table == s.Table || strings.HasSuffix(t.Table, "."+s.Table) {
			return t
		}
	}
	return nil
}
