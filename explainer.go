package slotsql

import (
	"context"
	"errors"
	"fmt"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// Explainer explains many statements with facts that it has read once. It is
// for one goroutine at a time.
type Explainer struct {
	on    *schema // as statements are run
	dry   *schema // as they would be, were the tables in shadow on; nil where none is
	look  func(schema, name string) (*rewrite.Table, error)
	close func() error
}

// newConnExplainer is slotsql.NewExplainer.
func newConnExplainer(ctx context.Context, on *shared, every *catalog) (*Explainer, error) {
	cn, err := setup(ctx, every)
	if err != nil {
		return nil, err
	}
	e, err := newExplainer(on, cn.look(ctx), func(sc *schema, t *rewrite.Table) error {
		if _, err := cn.slotTable(ctx, checkedTable{table: t}); err != nil {
			return err
		}
		return sc.learnViews(ctx, cn, t)
	})
	if err != nil {
		_ = cn.parent.Close()
		return nil, err
	}
	e.close = cn.parent.Close
	return e, nil
}

// NewSchemaExplainer is ExplainSchema for many statements. Tables that the
// schema file lacks are taken as not existing, without a note.
func NewSchemaExplainer(d dialect.Dialect, config *Config, schema string) (*Explainer, error) {
	f, err := parseSchemaFile(d, schema)
	if err != nil {
		return nil, err
	}
	return newExplainer(newShared(d, config), f.look, f.learnViews)
}

// newExplainer plans with the facts that look and views find.
func newExplainer(s *shared, look func(schema, name string) (*rewrite.Table, error), views func(*schema, *rewrite.Table) error) (*Explainer, error) {
	e := &Explainer{look: look, close: func() error { return nil }}
	var err error
	if e.on, err = plannedWith(s, look, views); err == nil && len(s.config.tablesOf(modeShadow)) > 0 {
		e.dry, err = plannedWith(s.forModes(modeOn, modePassive, modeShadow), look, views)
	}
	return e, err
}

func plannedWith(s *shared, look func(schema, name string) (*rewrite.Table, error), views func(*schema, *rewrite.Table) error) (*schema, error) {
	checked, problems, err := s.checkTables(always, look)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, asConfigError(problems)
	}
	return s.adopted(checked, views)
}

// Explain says what becomes of a statement.
func (e *Explainer) Explain(query string) (*Explanation, error) {
	return explainModes(e.on.catalog.config, query, func(shadow bool) (*Explanation, error) {
		if shadow {
			return e.explain(e.dry, query)
		}
		return e.explain(e.on, query)
	})
}

func (e *Explainer) explain(sc *schema, query string) (*Explanation, error) {
	for tries := 0; ; tries++ {
		p, err := sc.planner.Plan(query)
		var missing *rewrite.MissingError
		if err == nil {
			out := explanation(p, query)
			out.Notes = append(out.Notes, sc.notes(query)...)
			return out, nil
		}
		if !errors.As(err, &missing) || tries > 16 {
			return nil, err
		}
		if err := sc.learnWith(e.look, missing.Names); err != nil {
			return nil, err
		}
	}
}

// Close ends what NewExplainer has opened.
func (e *Explainer) Close() error { return e.close() }

// explainModes explains a text as it is run, and beside it, where it names
// tables with mode shadow, as it would be run if they were on.
func explainModes(config *Config, query string, explain func(shadow bool) (*Explanation, error)) (*Explanation, error) {
	e, err := explain(false)
	if err != nil {
		return nil, err
	}
	var notes []string
	for _, t := range config.tablesOf(modeShadow, modeOff) {
		switch named := rewrite.ContainsFold(query, rewrite.Spelled(t.Table)); {
		case named && t.Mode == modeOff:
			notes = append(notes, fmt.Sprintf("table %s has mode off: statements on it run as they are", t.Name))
		case named:
			notes = append(notes, fmt.Sprintf("table %s has mode shadow: statements on it run as they are, and are counted", t.Name))
			if e.Shadow != nil {
				continue
			}
			if e.Shadow, err = explain(true); err != nil {
				return nil, err
			}
		}
	}
	e.Notes = append(notes, e.Notes...)
	return e, nil
}
