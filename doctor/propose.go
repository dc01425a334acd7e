package doctor

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// proposed is a configuration for the tables that have none, made of the
// statements that were seen, and the planner with it.
type proposed struct {
	tables  []Proposed
	planner *slotsql.Explainer // nil when there is nothing to configure
}

// propose looks for counters in the tables of spots: for those that have a
// configuration, for counters that are not in it.
func (l *looker) propose(ctx context.Context, spots []*Spot) (*proposed, error) {
	out := &proposed{}
	if l.options.Propose == nil {
		return out, nil
	}
	request, err := l.request(ctx, spots)
	if err != nil {
		return nil, err
	}
	p, err := l.options.Propose(request)
	if err != nil {
		return nil, err
	}
	out.tables = p.Tables
	config, err := slotsql.Parse([]byte(p.Config), "proposal")
	if err != nil {
		return nil, err
	}
	if len(config.Tables) == 0 {
		return out, nil
	}
	out.planner, err = l.options.Explain(ctx, config)
	var problems *slotsql.ConfigError
	if errors.As(err, &problems) {
		l.noteOnce("nothing is proposed, because the table does not allow it: " + problems.Problems[0].Message)
		out.tables = nil
		return out, nil
	}
	l.report.Propose = p.Config
	return out, err
}

// request returns what a proposal for the tables of spots is made of. A statement counts as often as
// it was seen to wait.
func (l *looker) request(ctx context.Context, spots []*Spot) (Request, error) {
	r := Request{Dialect: l.dialect}
	waiting := map[string]*Waiting{}
	add := func(sql, by string, seen int) {
		shape := l.shape(sql)
		if waiting[shape] == nil {
			waiting[shape] = &Waiting{SQL: sql, Shape: shape, By: by}
		}
		waiting[shape].Seen += int64(seen)
	}
	for _, s := range spots {
		for _, st := range s.Statements {
			for _, sql := range st.inside {
				add(sql, st.By, st.Seen)
			}
			if len(st.inside) == 0 && st.full != "" && !st.Cut {
				add(st.full, "", st.Seen)
			}
		}
		t, err := l.table(ctx, s.Schema, s.Table)
		if err != nil {
			return r, err
		}
		if t == nil || t.facts == nil || slices.ContainsFunc(r.Tables, func(o Table) bool { return o.Table == t.facts }) {
			continue
		}
		plain, err := l.table(ctx, "", s.Table)
		if err != nil {
			return r, err
		}
		visible := plain.facts != nil && plain.facts.Schema == t.facts.Schema
		r.Tables = append(r.Tables, l.contended(t.facts, visible))
	}
	for _, w := range waiting {
		r.Statements = append(r.Statements, *w)
	}
	slices.SortFunc(r.Statements, func(a, b Waiting) int {
		return cmp.Or(cmp.Compare(b.Seen, a.Seen), cmp.Compare(a.Shape, b.Shape))
	})
	return r, nil
}

// contended says what is known of a table that sessions wait for. Transactions whose
// session runs nothing, or a statement of another table, hold their rows over round trips.
func (l *looker) contended(facts *schema.Table, visible bool) Table {
	t := Table{Table: facts, Visible: visible}
	for _, s := range l.report.Spots {
		if s.Table == facts.Name && s.Schema == facts.Schema {
			held := l.heldOver(s)
			t.Held, t.Brief = t.Held || held, t.Brief || !held
		}
	}
	if cfg := l.configured(facts.Schema, facts.Name); cfg != nil {
		for _, c := range cfg.Counters {
			if column, ok := names.Column(l.dialect, facts, ast.Ident{Name: c.Column, Quoted: true}); ok {
				t.Configured = append(t.Configured, column)
			}
		}
	}
	return t
}

// heldOver reports whether a transaction may have held the row of a spot while it ran
// something else, or nothing.
func (l *looker) heldOver(s *Spot) bool {
	return len(s.Holders) == 0 || slices.ContainsFunc(s.Holders, func(h *Holder) bool {
		_, table := l.target(l.statements[h.SQL])
		return h.Idle || table != s.Table
	})
}

// columns returns the counters that are proposed for a spot's table.
func (p *proposed) columns(s *Spot) []string {
	if t := p.of(s); t != nil {
		return t.Counters
	}
	return nil
}

// of returns what is proposed for a spot's table, nil for nothing.
func (p *proposed) of(s *Spot) *Proposed {
	for i := range p.tables {
		if t := p.tables[i].Table; t.Name == s.Table && (s.Schema == "" || t.Schema == s.Schema) {
			return &p.tables[i]
		}
	}
	return nil
}
