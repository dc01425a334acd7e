package catalog

import (
	"context"
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// schemaLoader reads the facts of one namespace from the database. What does not fit the
// configuration is an error when the connector starts; later it is reported, and the table
// is used as far as it can be.
type schemaLoader struct {
	sc       *Schema
	view     *View
	how      loading
	unseen   map[dialect.WrittenName]unseenBase // base tables that the session's user has no right on
	missing  []*config.TableConfig              // configured tables that do not exist
	unfit    []unfitTable
	rights   map[*schema.Table]dialect.SlotRights // what the session's user lacks on the slot tables
	problems []config.Problem

	unwritable bool // slot tables cannot be created here
	made       bool // some have been
}

// unfitTable is a configured table that no longer fits its configuration.
type unfitTable struct {
	config   *config.TableConfig
	table    *schema.Table
	problems []config.Problem
}

// loadSchema reads the facts of a namespace: first the base tables, then their slot tables. It
// returns nil if it has created some of these: then all facts are to be read again, since a foreign
// key has changed the base tables as well.
func loadSchema(ctx context.Context, s *Catalog, v *View, namespace string, how loading) (*Schema, error) {
	l := &schemaLoader{sc: newSchema(s), view: v, how: how}
	l.sc.Planner.Dialect = s.dialectIn(namespace)
	l.sc.settings = settingsOf(l.sc.Planner.Dialect)
	if err := v.prefetch(ctx); err != nil {
		return nil, err
	}
	defer func() { v.prefetched = nil }()
	checked, err := l.checkBaseTables(ctx)
	if err != nil {
		return nil, err
	}
	configured := len(s.Tables) - len(checked)
	checked, more, err := l.sc.withoutSlots(ctx, v, checked, l.strict())
	if err != nil {
		return nil, err
	}
	configured, l.problems = configured+len(checked), more
	if s.Role.Dry {
		err = l.addForPlanning(ctx, checked)
	} else {
		err = l.addWithSlots(ctx, checked, configured)
	}
	if err != nil || l.made {
		return nil, err
	}
	if err := l.sc.reachHome(ctx, v); err != nil {
		return nil, err
	}
	return l.sc, nil
}

// strict reports whether a table that does not fit is an error.
func (l *schemaLoader) strict() bool { return l.how.purpose == forStart }

// failure returns the problems found so far as an error, together with the tables that are
// missing; nil if there are no problems.
func (l *schemaLoader) failure() error {
	if len(l.problems) == 0 {
		return nil
	}
	return AsConfigError(append(l.problems, l.sc.Catalog.missingProblems(l.missing)...))
}

// checkBaseTables reads the configured base tables and checks them against the configuration.
func (l *schemaLoader) checkBaseTables(ctx context.Context) (checked []CheckedTable, err error) {
	s, v := l.sc.Catalog, l.view
	if err := v.learnMovers(ctx); err != nil {
		return nil, err
	}
	if l.unseen, err = v.unseenBases(ctx); err != nil {
		return nil, err
	}
	if l.missing, err = l.sc.findMissing(ctx, v, l.how, l.unseen); err != nil {
		return nil, err
	}
	l.sc.Unslotted.Missing = l.missing
	checked, l.unfit, l.problems, err = s.sortTables(l.mustFit, starting, v.lookBase(ctx, l.unseen))
	if err != nil {
		return nil, err
	}
	if !l.strict() {
		checked = withoutDoubles(checked)
	}
	l.problems = append(l.problems, checkTogether(checked, s.Dialect.NameRules())...)
	more, err := l.checkHiddenBases(ctx)
	if err != nil {
		return nil, err
	}
	if l.strict() {
		l.problems = append(l.problems, more...)
	}
	return checked, l.failure()
}

// mustFit reports whether it is an error if a configured table does not fit.
func (l *schemaLoader) mustFit(t *config.TableConfig) bool {
	base, hidden := l.unseen[dialect.WrittenName{Schema: t.Schema, Name: t.Table}]
	return l.strict() && config.Demanded(t) && !slices.Contains(l.missing, t) && (!hidden || base.table != nil)
}

// addForPlanning takes tables into a schema that only plans. It neither makes nor checks slot tables.
func (l *schemaLoader) addForPlanning(ctx context.Context, checked []CheckedTable) error {
	for _, c := range checked {
		if _, err := l.view.SlotTable(ctx, c); err != nil {
			return err
		}
		if err := l.sc.add(ctx, l.view, c.Table); err != nil {
			return err
		}
	}
	return nil
}

// addWithSlots takes tables into the schema, with the slot tables that they have or now get.
// Configured is the number of tables that are to have slots.
func (l *schemaLoader) addWithSlots(ctx context.Context, checked []CheckedTable, configured int) (err error) {
	sc, v := l.sc, l.view
	if checked, sc.Unslotted.Lacking, err = v.withSlots(ctx, checked, configured); err != nil {
		return err
	}
	fitting, err := l.checkSlotTables(ctx, checked)
	if err != nil || l.made {
		return err
	}
	if err := l.addUnfit(ctx); err != nil {
		return err
	}
	if err := v.prefetchHeld(ctx, fitting); err != nil {
		return err
	}
	for _, c := range fitting {
		if err := sc.add(ctx, v, c.Table); err != nil {
			return err
		}
		sc.know(c)
	}
	return nil
}

// checkSlotTables makes the slot tables that are missing, if the configuration says so, and
// returns the tables whose slot tables fit.
func (l *schemaLoader) checkSlotTables(ctx context.Context, checked []CheckedTable) (fitting []CheckedTable, err error) {
	if l.rights, err = l.view.SlotRights(ctx, checked); err != nil {
		return nil, err
	}
	if err := l.makeSlots(ctx, checked); err != nil || l.made {
		return nil, err
	}
	fitting = checked[:0]
	for _, c := range checked {
		found, problems, err := l.slotTable(ctx, c)
		switch {
		case err != nil:
			return nil, err
		case !found && l.unwritable:
		case l.strict() && config.Demanded(c.Config):
			l.problems, fitting = append(l.problems, problems...), append(fitting, c)
			if err := l.checkContents(ctx, c); err != nil {
				return nil, err
			}
		case len(problems) > 0: // a view may have been dropped since
			l.unfit = append(l.unfit, unfitTable{c.Config, c.Table, problems})
		case found:
			fitting = append(fitting, c)
		}
	}
	if l.made {
		return nil, nil
	}
	return fitting, l.failure()
}

// checkContents checks the rows of a table and the views over it against the configuration.
func (l *schemaLoader) checkContents(ctx context.Context, c CheckedTable) error {
	s := l.sc.Catalog
	if s.Role.Beside {
		return nil
	}
	more, err := s.CheckRows(ctx, l.view, c)
	if err != nil {
		return err
	}
	l.problems = append(l.problems, more...)
	more, views, err := s.CheckViews(ctx, l.view, c)
	if err != nil {
		return err
	}
	l.problems = append(l.problems, more...)
	s.reportViews(ctx, c.Config, c.Table, views)
	return nil
}

// addUnfit takes what cannot be counted into the schema: slot tables whose base table is
// missing, and tables that no longer fit.
func (l *schemaLoader) addUnfit(ctx context.Context) error {
	s := l.sc.Catalog
	if l.how.home && !s.Role.Beside {
		s.notes.absent.note(ctx, s, l.missing)
	}
	for i := range s.Tables {
		cfg := &s.Tables[i]
		if t, err := l.view.Look(ctx)(cfg.Schema, cfg.Table); err != nil {
			return err
		} else if t == nil {
			if err := l.sc.addAbandoned(ctx, l.view, cfg); err != nil {
				return err
			}
		}
	}
	for _, u := range l.unfit {
		if err := l.sc.addUnfit(ctx, l.view, u.config, u.table, u.problems); err != nil {
			return err
		}
	}
	return nil
}
