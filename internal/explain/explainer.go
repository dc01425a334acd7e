package explain

import (
	"context"
	"errors"
	"fmt"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Explainer explains many statements from facts that it reads once. It must not be
// used by several goroutines at the same time.
type Explainer struct {
	on    *catalog.Schema // as statements are run
	dry   *catalog.Schema // as they would be, were the tables in shadow on; nil where none is
	Look  func(schema, name string) (*schema.Table, error)
	close func() error
}

// NewExplainerOf connects and reads what explaining needs: see slotsql.NewExplainer.
func NewExplainerOf(ctx context.Context, on *session.Shared, every *catalog.Catalog) (*Explainer, error) {
	cn, err := catalog.OpenView(ctx, every)
	if err != nil {
		return nil, err
	}
	if err := on.LearnServer(ctx, cn.Parent); err != nil { // else it plans for another server than sessions do
		_ = cn.Parent.Close()
		return nil, err
	}
	e, err := NewExplainer(on, cn.Look(ctx), func(sc *catalog.Schema, t *schema.Table) error {
		if _, err := cn.SlotTable(ctx, catalog.CheckedTable{Table: t}); err != nil {
			return err
		}
		return sc.LearnViews(ctx, cn, t)
	})
	if err != nil {
		_ = cn.Parent.Close()
		return nil, err
	}
	e.close = cn.Parent.Close
	return e, nil
}

// NewExplainer plans with the facts that look and views find.
func NewExplainer(
	s *session.Shared,
	look func(schema, name string) (*schema.Table, error),
	views func(*catalog.Schema, *schema.Table) error,
) (*Explainer, error) {
	e := &Explainer{Look: look, close: func() error { return nil }}
	var err error
	if e.on, err = plannedWith(s, look, views); err == nil && len(s.Config.TablesOf(config.ModeShadow)) > 0 {
		e.dry, err = plannedWith(s.ForModes(config.ModeOn, config.ModePassive, config.ModeShadow), look, views)
	}
	return e, err
}

func plannedWith(
	s *session.Shared,
	look func(schema, name string) (*schema.Table, error),
	views func(*catalog.Schema, *schema.Table) error,
) (*catalog.Schema, error) {
	checked, problems, err := s.CheckTables(config.Always, look)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, catalog.AsConfigError(problems)
	}
	return s.Adopted(checked, views)
}

// Explain describes how a statement runs.
func (e *Explainer) Explain(query string) (*Explanation, error) {
	return explainModes(e.on.Catalog.Config, query, func(shadow bool) (*Explanation, error) {
		if shadow {
			return e.ExplainWith(e.dry, query)
		}
		return e.ExplainWith(e.on, query)
	})
}

// ExplainWith explains a statement as planned with the given facts.
func (e *Explainer) ExplainWith(sc *catalog.Schema, query string) (*Explanation, error) {
	for tries := 0; ; tries++ {
		p, err := sc.Planner.Plan(query)
		var missing *rewrite.MissingError
		if err == nil {
			out := explanation(p, query, catalog.WhyUnslotted(sc, query))
			out.Notes = append(out.Notes, sc.Notes(query)...)
			return out, nil
		}
		if !errors.As(err, &missing) || tries > 16 {
			return nil, err
		}
		if err := sc.LearnWith(e.Look, missing.Names); err != nil {
			return nil, err
		}
	}
}

// Close ends the connection, if there is one.
func (e *Explainer) Close() error { return e.close() }

// explainModes explains a statement as it is run, and beside it, where it names
// tables with mode shadow, as it would be run if they were on.
func explainModes(cfg *config.Config, query string, explain func(shadow bool) (*Explanation, error)) (*Explanation, error) {
	e, err := explain(false)
	if err != nil {
		return nil, err
	}
	var notes []string
	for _, t := range cfg.TablesOf(config.ModeShadow, config.ModeOff) {
		if !lex.ContainsFold(query, lex.Spelled(t.Table)) {
			continue
		}
		note := fmt.Sprintf("table %s has mode %s: statements on it run as written", t.Name, t.Mode)
		if t.Mode == config.ModeShadow {
			note += ", and are counted"
			if e.Shadow == nil {
				if e.Shadow, err = explain(true); err != nil {
					return nil, err
				}
			}
		}
		notes = append(notes, note)
		if rewrite.Class(e.Class) == rewrite.PassThrough {
			e.judge(rewrite.Verdict{Speed: rewrite.SpeedAsPlain, What: note})
		}
	}
	e.Notes = append(notes, e.Notes...)
	return e, nil
}

// tickets says what the statement has to do with leased blocks.
func (e *Explanation) tickets(p *rewrite.Plan) {
	if p.Group != nil && p.Group.Lease.Block > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("numbers come from blocks of at most %d, which the group's statement leases; in a transaction it does so "+
			"on a connection of slotsql's own", p.Group.Lease.Block))
	}
	if p.Effects&rewrite.TicketRecall != 0 {
		e.Notes = append(e.Notes, "may set a counter with tickets lower, or remove its row: waits before its commit until no block leased before is drawn from "+
			"(half a second; on SQLite 50 ms)")
	}
}
