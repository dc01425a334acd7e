package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/ast"
)

// What slotsql would make of a statement is not guessed: a configuration for the
// tables that are waited for is made of the statements that wait, as slotsql init
// makes one, and the planner plans them with it.

// advise judges the spots, table by table.
func (l *looker) advise(ctx context.Context) error {
	mine, err := l.mine(ctx)
	if err != nil {
		return err
	}
	if mine != nil {
		defer mine.Close()
	}
	var unknown, configured []*Spot
	for _, s := range l.report.Spots {
		switch cfg := l.configured(s.Schema, s.Table); {
		case s.Table == "":
			s.Verdict, s.Why = "unknown", "the server does not report which table is waited for"
		case l.slotTable(s.Schema, s.Table) != "":
			s.Verdict = "slots"
			s.Why = "it is a slot table of " + l.slotTable(s.Schema, s.Table) + ": increments wait for each other when more run at a time than there are slots, or for a drain of the row; see slots, and the reasons for its drains in Stats"
		case cfg != nil && mine != nil:
			s.Verdict = "configured"
			if err := l.plan(mine, s.Statements); err != nil {
				return err
			}
			configured = append(configured, s)
		default:
			unknown = append(unknown, s)
		}
	}
	if len(unknown)+len(configured) > 0 {
		p, err := l.propose(ctx, slices.Concat(unknown, configured))
		if err != nil {
			return err
		}
		if p.planner != nil {
			defer p.planner.Close()
		}
		for _, s := range unknown {
			if err := l.judge(s, p); err != nil {
				return err
			}
		}
		for _, s := range configured {
			s.Why = l.whyConfigured(s, l.configured(s.Schema, s.Table), p.of(s))
			if columns := p.columns(s); len(columns) > 0 {
				s.Why = fmt.Sprintf(
					"waiting statements add to %s, which is not among the table's configured counters: add it there",
					strings.Join(columns, ", "),
				)
			}
		}
	}
	return l.saves(mine)
}

// mine is the planner with the applications' configuration, nil without one.
func (l *looker) mine(ctx context.Context) (*slotsql.Explainer, error) {
	if l.options.Config == nil {
		return nil, nil
	}
	e, err := l.options.Explain(ctx, l.options.Config)
	var problems *slotsql.ConfigError
	if errors.As(err, &problems) {
		l.noteOnce("the configuration does not fit the database (see slotsql check) and is ignored: " + problems.Problems[0].String())
		return nil, nil
	}
	return e, err
}

// configured returns the configuration of a table.
func (l *looker) configured(schema, table string) *config.TableConfig {
	return l.find(schema, table, func(t *config.TableConfig) string { return t.Table })
}

// slotTable returns the table whose slot table has the name.
func (l *looker) slotTable(schema, name string) string {
	t := l.find(schema, name, func(t *config.TableConfig) string { return cmp.Or(t.SlotTable, t.Table+"_slots") })
	if t == nil {
		return ""
	}
	return t.Table
}

// find returns the configured table of which named returns the name.
func (l *looker) find(schema, name string, named func(*config.TableConfig) string) *config.TableConfig {
	same := func(written, stored string) bool {
		return l.dialect.SameTable(ast.Ident{Name: written, Quoted: true}, stored)
	}
	for _, t := range l.configs {
		if same(named(&t), name) && (t.Schema == "" || same(t.Schema, schema)) {
			return &t
		}
	}
	return nil
}

// plan describes how statements would run.
func (l *looker) plan(e *slotsql.Explainer, list []*Statement) error {
	for _, st := range list {
		if len(st.inside) > 0 {
			if err := l.planInside(e, st); err != nil {
				return err
			}
			continue
		}
		if st.full == "" || st.Cut {
			continue
		}
		x, err := e.Explain(st.full)
		if err != nil {
			return err
		}
		st.planned(x)
	}
	return nil
}

// planned notes what the planner makes of a statement.
func (st *Statement) planned(x *slotsql.Explanation) {
	st.Class, st.Verdict, st.Reason, st.shares = x.Class, x.Verdict, x.Reason, x.Group != nil
	if strings.HasPrefix(st.Reason, rewrite.Rejected) { // the parser's words may hold values
		st.Reason = rewrite.Rejected
		st.Verdict = strings.Replace(x.Verdict, x.Because, st.Reason, 1)
	}
	st.why = cmp.Or(x.Because, st.Reason)
}

const heldWithoutSlots = "transactions hold the row while increments wait, which groups (slots: 0) cannot shorten"

// whyConfigured says why sessions wait for a row of a configured table; p is what else is proposed for it, or nil.
func (l *looker) whyConfigured(s *Spot, cfg *config.TableConfig, p *Proposed) string {
	for _, st := range s.Statements {
		if advice := st.advice(); advice != "" {
			return advice
		}
		switch {
		case st.shares && cfg.Slots == 0 && (l.heldOver(s) || st.By != ""):
			if p != nil && p.Unslotted != "" {
				return heldWithoutSlots + "; not slotted: " + p.Unslotted
			}
			return heldWithoutSlots + ": write slots: 64 (docs/operations.md has the steps)"
		case st.shares && cfg.Slots == 0:
			return "increments of one process share a statement (slots: 0); these wait for another process, or for one that uses the plain driver"
		}
		switch st.Class {
		case "drain":
			return "a waiting statement drains: " + st.Reason
		case "additive", "upsert":
			return "these increments would go to slots: the waiting sessions use the plain driver, or fold slots (a drain, or a roll-up)"
		case "draw", "additive-base":
			return "the waiting statements do not go to slots: " + st.why
		}
	}
	return "the waiting statements do not go to slots"
}

// fast reports whether increments of such a statement wait for no other session.
func fast(class string) bool { return class == "additive" || class == "upsert" }

// judge reports whether what is proposed would help a spot.
func (l *looker) judge(s *Spot, p *proposed) error {
	t := p.of(s)
	if p.planner != nil {
		if err := l.plan(p.planner, s.Statements); err != nil {
			return err
		}
	}
	if t == nil || t.Off != "" || p.planner == nil {
		l.notProposed(s, t)
		return nil
	}
	helped, all := 0, 0
	why, way := "", "which would go to slots"
	if t.Slotless != "" {
		way = "which would share statements on the base row where they are of one process (slots: 0)"
	}
	for _, st := range s.Statements {
		all += st.Seen
		if t.Slotless == "" && fast(st.Class) || t.Slotless != "" && st.shares && st.By == "" && !l.heldOver(s) {
			helped += st.Seen
		} else if why == "" && st.Class != "" {
			why = st.Class + ": " + cmp.Or(st.Reason, "it runs as written")
		}
	}
	switch {
	case helped == 0 && t.Slotless != "" && l.heldOver(s):
		s.Verdict, s.Why = "no", heldWithoutSlots+"; not slotted: "+t.Unslotted
	case helped == 0:
		s.Verdict, s.Why = "no", why
	case helped == all:
		s.Verdict, s.Why = "yes", "all waiting statements are increments, "+way
	default:
		s.Verdict, s.Why = "partly", fmt.Sprintf(
			"%d of %d waits are of increments, %s; the others would remain: %s",
			helped,
			all,
			way,
			why,
		)
	}
	for _, st := range s.Statements {
		if advice := st.advice(); advice != "" && !strings.Contains(s.Why, advice) {
			s.Why += "; " + advice
		}
	}
	for _, h := range s.Holders {
		if h.Idle && t.Slotless == "" {
			l.noteOnce(
				"a transaction that has " + s.Table + " locked was idle: increments in slots do not wait for other increments, whatever their transactions do",
			)
			break
		}
	}
	return nil
}

// notProposed gives the reason why nothing is proposed for a spot.
func (l *looker) notProposed(s *Spot, t *Proposed) {
	if l.options.Propose == nil {
		s.Verdict, s.Why = "unknown", "the table is not configured, and there is no Options.Propose"
		return
	}
	s.Verdict, s.Why = "no", "no waiting statement adds to a column that could be a counter"
	if t != nil && t.Off != "" {
		s.Why = t.Off
	}
	for _, st := range s.Statements {
		if st.Cut {
			s.Verdict, s.Why = "unknown", "the server shows only the beginning of a waiting statement"
		}
		if st.full == "" {
			s.Verdict, s.Why = "unknown", "the server does not show the waiting statements"
		}
	}
}

// saves finds full-row saves of configured counters.
func (l *looker) saves(e *slotsql.Explainer) error {
	if e == nil {
		return nil
	}
	for shape, sql := range l.statements {
		st, err := l.dialect.Parse(sql)
		if err != nil || st.Kind != ast.KindUpdate || st.Target == nil || len(st.Set) < 2 {
			continue
		}
		x, err := e.Explain(sql)
		if err != nil {
			return err
		}
		if x.Class != "drain" || len(x.Tables) != 1 {
			continue
		}
		cfg := l.configured("", x.Tables[0])
		if cfg == nil {
			cfg = &config.TableConfig{}
		}
		var counters []string
		for _, a := range st.Set {
			for _, c := range cfg.Counters {
				if l.dialect.SameColumn(a.Column[len(a.Column)-1], c.Column) {
					counters = append(counters, c.Column)
				}
			}
		}
		if len(counters) > 0 && len(counters) < len(st.Set) {
			l.report.Saves = append(l.report.Saves, Save{Table: x.Tables[0], Counters: counters, SQL: shape, Reason: x.Reason})
		}
	}
	slices.SortFunc(l.report.Saves, func(a, b Save) int { return strings.Compare(a.SQL, b.SQL) })
	return nil
}
