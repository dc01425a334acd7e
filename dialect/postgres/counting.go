package postgres

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ dialect.FunctionWriter = stored{}

// slotNumber is the function's variable for the slot of its session.
const slotNumber = "slotsql_slot"

// NoCountingFunction implements dialect.FunctionWriter.
func (stored) NoCountingFunction(*schema.Table) string { return "" }

// CountingFunction implements dialect.FunctionWriter. The function tries, in this order:
//
//  1. The base row, if no other transaction holds it. The query with SKIP LOCKED locks the row's newest version, and the
//     UPDATE looks for that: for an older one, which its snapshot may show, it could have to wait, for a
//     transaction that waits for this one. What a latest companion has in slots is newer than in the row, so a
//     call that sets one does not begin here.
//  2. The session's slot, if it is there, by the statement of Add. A drain deletes the slot rows, so no lock of the base row
//     is needed. (With it the order of locks would be that of a drain. When a transaction changes a slot row twice, the server
//     looks its foreign key up, and may then meet a DELETE or FOR UPDATE that waits for the slot: a deadlock. The
//     lock would cost all others a third.)
//  3. The base row once more, waiting for its lock, as the plain UPDATE does. That lock is a drain's, and keeps
//     other sessions from making slots; so it makes the session's slot, empty, for the next call. Unlike the FOR SHARE
//     of Increment it may not deadlock with a transaction that updates the row later on.
//  4. With that lock, the fold of a drain, and the plain UPDATE.
//
// In a journal, and with companions, the statement of Increment is in the place of 1 and 2.
func (s stored) CountingFunction(t *schema.Table, f dialect.CountingFunction) []string {
	w := newFunctionBody(s.d, t, f)
	security := ""
	if f.Definer {
		security = " SECURITY DEFINER SET search_path = pg_catalog, pg_temp"
	}
	return []string{"CREATE OR REPLACE FUNCTION " + qualified(t.Schema, f.Name) + "(" + strings.Join(w.parameters, ", ") + ")\n" +
		"RETURNS integer LANGUAGE plpgsql VOLATILE" + security + " AS $slotsql$\n" + w.body() + "$slotsql$"}
}

// CountingRights implements dialect.FunctionWriter.
func (stored) CountingRights(t *schema.Table, f dialect.CountingFunction) []string {
	execute := "GRANT EXECUTE ON FUNCTION " + qualified(t.Schema, f.Name) + " TO app"
	if f.Definer {
		return []string{"REVOKE EXECUTE ON FUNCTION " + qualified(t.Schema, f.Name) + " FROM PUBLIC", execute}
	}
	return []string{execute, "GRANT SELECT, UPDATE ON " + qualified(t.Schema, t.Name) + " TO app",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON " + slotTable(t) + " TO app"}
}

// functionBody writes the statements of a counting function.
type functionBody struct {
	d          *Dialect
	t          *schema.Table
	f          dialect.CountingFunction
	parameters []string
	key        []string          // the parameters of the key
	deltas     []rewrite.Delta   // with what is left to be added
	given      map[string]string // the parameters of companions
	latest     []string          // those of latest companions
	merged     []string          // those of the others
	split      bool              // each counter has a slot row of its own
}

func newFunctionBody(d *Dialect, t *schema.Table, f dialect.CountingFunction) *functionBody {
	w := &functionBody{d: d, t: t, f: f, given: map[string]string{}}
	w.split = t.Counter.Layout == schema.LayoutShared && len(f.Counters) > 1
	parameter := func(column, more string) string {
		w.parameters = append(w.parameters, quote(column)+" "+parameterType(t.Column(column))+more)
		return fmt.Sprintf("$%d", len(w.parameters))
	}
	for _, k := range t.Counter.Key {
		w.key = append(w.key, parameter(k, ""))
	}
	for i, c := range f.Counters {
		p := parameter(c, " DEFAULT 0")
		if w.split {
			p = fmt.Sprintf("slotsql_left[%d]", i+1)
		}
		w.deltas = append(w.deltas, rewrite.Delta{Column: c, SQL: p})
	}
	for _, co := range t.Counter.Companions {
		p := parameter(co.Column, " DEFAULT NULL")
		w.given[co.Column] = p
		if co.Merge == schema.Latest {
			w.latest = append(w.latest, p)
		} else {
			w.merged = append(w.merged, p)
		}
	}
	return w
}

// parameterType takes every number that the application's statement would compare with the column, or add to it.
func parameterType(c *schema.Column) string {
	switch c.Numeric {
	case schema.Integer:
		return "bigint"
	case schema.Decimal:
		return "numeric"
	}
	kind, _, _ := strings.Cut(c.Type, " COLLATE ")
	return kind
}

func (w *functionBody) body() string {
	t := w.t
	var b strings.Builder
	b.WriteString("-- " + w.f.Mark + "\n#variable_conflict use_column\nDECLARE\n  slotsql_rows integer;\n")
	b.WriteString("  " + slotNumber + " " + numberType(t) + " := " + w.slot() + ";\n")
	if w.split {
		var of []string
		for i := range w.deltas {
			of = append(of, fmt.Sprintf("$%d", len(w.key)+1+i))
		}
		b.WriteString("  slotsql_left bigint[] := ARRAY[" + strings.Join(of, ", ") + "];\n")
	}
	b.WriteString("BEGIN\n")
	b.WriteString(w.checks())
	if free := w.free(); free != "" {
		b.WriteString("  -- the base row, if no other transaction holds it\n" + w.when(w.unset(w.latest), free))
	}
	b.WriteString("  -- a slot of the session\n" + w.when(w.unlimited(), w.slotted()))
	b.WriteString("  -- the base row, when other transactions have let go of it\n")
	b.WriteString("  " + w.d.Lock(t, w.scope())[0] + " INTO slotsql_rows;\n  IF NOT FOUND THEN RETURN 0; END IF;\n")
	proved := "  " + w.update("", w.fits(), w.proved()) + ";\n  IF FOUND THEN\n" + w.emptySlots() + "    RETURN 1;\n  END IF;\n"
	b.WriteString(w.when(w.unset(w.latest), proved))
	b.WriteString("  -- with its slots folded, the row's own values decide\n")
	for _, s := range w.d.Fold(t, w.scope()) {
		b.WriteString("  " + s + " LIMIT 1 INTO slotsql_rows;\n")
	}
	b.WriteString("  " + w.update("", w.guards()) + ";\n  GET DIAGNOSTICS slotsql_rows = ROW_COUNT;\n  RETURN slotsql_rows;\nEND ")
	return b.String()
}

// slot is the number of the session's slot, or a number that no other row of a journal has.
func (w *functionBody) slot() string {
	if w.t.Counter.Layout == schema.LayoutJournal {
		return "CAST(pg_catalog.floor(pg_catalog.random() * 1e18) AS bigint) + 1048576"
	}
	return fmt.Sprintf("pg_catalog.pg_backend_pid() %% %d", w.t.Counter.Slots)
}

// checks refuses what is no call: no number, or some of the latest companions and not others.
func (w *functionBody) checks() string {
	var null []string
	for i := range w.deltas {
		null = append(null, fmt.Sprintf("$%d IS NULL", len(w.key)+1+i))
	}
	s := "  IF " + strings.Join(null, " OR ") + " THEN\n    RAISE 'what is added to a counter must not be NULL' USING ERRCODE = '22004';\n  END IF;\n"
	if len(w.latest) > 1 {
		s += "  IF pg_catalog.num_nulls(" + strings.Join(w.latest, ", ") + fmt.Sprintf(") NOT IN (0, %d) THEN\n", len(w.latest)) +
			"    RAISE 'either all or none of the companions with merge latest must be given' USING ERRCODE = '22004';\n  END IF;\n"
	}
	return s
}

// when puts statements under a condition, which may be empty.
func (*functionBody) when(condition, statements string) string {
	if condition == "" {
		return statements
	}
	return "  IF " + condition + " THEN\n  " + strings.ReplaceAll(strings.TrimSuffix(statements, "\n"), "\n", "\n  ") + "\n  END IF;\n"
}

// unset is the condition that parameters are not given.
func (*functionBody) unset(list []string) string {
	var out []string
	for _, p := range list {
		out = append(out, p+" IS NULL")
	}
	return strings.Join(out, " AND ")
}

// unlimited is the condition that no counter with bounds is changed, empty where none has any.
func (w *functionBody) unlimited() string {
	var out []string
	for _, dl := range w.deltas {
		if w.t.Counter.BoundsOf(dl.Column) != nil {
			out = append(out, dl.SQL+" = 0")
		}
	}
	return strings.Join(out, " AND ")
}

// where is the condition of the base row, under an alias.
func (w *functionBody) where(alias string) string {
	var on []string
	for i, k := range w.t.Counter.Key {
		on = append(on, alias+"."+quote(k)+" = "+w.key[i])
	}
	return strings.Join(on, " AND ")
}

func (w *functionBody) scope() rewrite.Scope {
	return rewrite.Scope{Ref: qualified(w.t.Schema, w.t.Name) + " AS " + baseAlias, Qualifier: baseAlias, Where: w.where(baseAlias)}
}

// free adds to the base row if no other transaction holds it. A journal's increments would all have to
// wait for a transaction that holds it, and a counter with bounds is decided on further down.
func (w *functionBody) free() string {
	if w.t.Counter.Layout == schema.LayoutJournal {
		return ""
	}
	row := baseAlias + ".ctid = (SELECT " + lockedAlias + ".ctid FROM " + qualified(w.t.Schema, w.t.Name) + " AS " + lockedAlias +
		" WHERE " + w.where(lockedAlias) + " FOR NO KEY UPDATE SKIP LOCKED)"
	return w.when(w.unlimited(), "  "+w.update(row, w.fits())+";\n  IF FOUND THEN RETURN 1; END IF;\n")
}

// update is the plain UPDATE, under conditions.
func (w *functionBody) update(conditions ...string) string {
	var set []string
	for _, dl := range w.deltas {
		set = append(set, quote(dl.Column)+" = "+baseAlias+"."+quote(dl.Column)+" + "+dl.SQL)
	}
	for _, co := range w.t.Counter.Companions {
		c, p := quote(co.Column), w.given[co.Column]
		if co.Merge == schema.Latest {
			set = append(set, c+" = COALESCE("+p+", "+baseAlias+"."+c+")")
		} else {
			set = append(set, c+" = "+extreme(co.Merge)+"("+baseAlias+"."+c+", "+p+")")
		}
	}
	s := "UPDATE " + qualified(w.t.Schema, w.t.Name) + " AS " + baseAlias + " SET " + strings.Join(set, ", ") + " WHERE " + w.where(baseAlias)
	for _, c := range conditions {
		if c != "" {
			s += " AND " + c
		}
	}
	return s
}

// fits is the condition that base values and deltas are as small as those with slots: else the total
// decides whether the column's range is left. NULL stays NULL.
func (w *functionBody) fits() string {
	var out []string
	for _, dl := range w.deltas {
		base, slot := bounds(w.t.Column(dl.Column), w.t.Counter)
		if base == "" {
			continue
		}
		c := baseAlias + "." + quote(dl.Column)
		out = append(out, between(dl.SQL, slot), "("+c+" IS NULL OR "+between(c, base)+")")
	}
	return strings.Join(out, " AND ")
}

// guards are the conditions under which a total stays in its bounds.
func (w *functionBody) guards() string {
	return dialect.WithinBounds(w.t.Counter, w.deltas, baseColumn, baseColumn)
}

// proved is guards for a base value that proves them.
func (w *functionBody) proved() string {
	return dialect.ProvedWithinBounds(w.t.Counter, w.deltas, baseColumn, baseColumn)
}

func baseColumn(name string) string { return baseAlias + "." + quote(name) }

// slotted adds to a slot.
func (w *functionBody) slotted() string {
	upsert := w.upsert(true)
	if w.t.Counter.Layout != schema.LayoutJournal {
		upsert = w.done(w.increment(w.deltas, true, false))
		if len(w.merged) == 0 {
			upsert = w.add(w.deltas, true, "IF FOUND THEN RETURN 1; END IF;") + upsert
		}
	}
	if len(w.given) == 0 {
		return w.short()
	}
	return "  IF " + w.unset(append(append([]string{}, w.latest...), w.merged...)) + " THEN\n" + w.short() + "  ELSE\n" + upsert + "  END IF;\n"
}

// short adds to the session's slot without companions.
func (w *functionBody) short() string {
	switch {
	case w.t.Counter.Layout == schema.LayoutJournal:
		return w.upsert(false)
	case !w.split:
		return w.add(w.deltas, false, "IF FOUND THEN RETURN 1; END IF;")
	}
	s := ""
	for _, dl := range w.deltas {
		s += w.when(dl.SQL+" <> 0", w.add([]rewrite.Delta{dl}, false, "IF FOUND THEN "+dl.SQL+" := 0; END IF;"))
	}
	return s + "  IF 0 = ALL (slotsql_left) AND EXISTS (SELECT 1 FROM pg_catalog.unnest(ARRAY[" + w.originals() + "]) AS slotsql_n WHERE slotsql_n <> 0) THEN RETURN 1; END IF;\n"
}

func (w *functionBody) originals() string {
	var out []string
	for i := range w.deltas {
		out = append(out, fmt.Sprintf("$%d", len(w.key)+1+i))
	}
	return strings.Join(out, ", ")
}

// upsert makes a row of a journal, or with a lock that holds whatever the first one could not be certain of. The first one is given up
// before: a transaction that has changed the row, and goes on to drain it, would wait for it, and be waited for.
func (w *functionBody) upsert(companions bool) string {
	return "  BEGIN\n  " + w.done(w.increment(w.deltas, companions, false)) + "    RAISE SQLSTATE '" + notCertain + "';\n" +
		"  EXCEPTION WHEN SQLSTATE '" + notCertain + "' THEN NULL;\n  END;\n" + w.done(w.increment(w.deltas, companions, true))
}

// notCertain undoes an attempt inside the function. No caller sees it.
const notCertain = "SL001"

func (*functionBody) done(statement string) string {
	return "  " + statement + ";\n  IF FOUND THEN RETURN 1; END IF;\n"
}

func (w *functionBody) companions(set bool) (out []rewrite.CompanionSQL) {
	if !set {
		return nil
	}
	for _, co := range w.t.Counter.Companions {
		notNull := co.Merge == schema.Latest && !w.t.Column(co.Column).Nullable
		out = append(out, rewrite.CompanionSQL{Companion: co, SQL: w.given[co.Column], NotNull: notNull})
	}
	return out
}

// add adds to the session's slot, and goes on with what is behind that.
func (w *functionBody) add(deltas []rewrite.Delta, companions bool, behind string) string {
	c := w.t.Counter
	return "  " + w.d.Add(w.t, rewrite.AddSQL{
		Key: w.key, Slot: slotNumber, Deltas: deltas, Companions: w.companions(companions),
		CheckBase: c.SharesSlotRows() || c.Layout == schema.LayoutShared || c.SlotTable.NoForeignKey,
	}) + ";\n  " + behind + "\n"
}

func (w *functionBody) increment(deltas []rewrite.Delta, companions, holds bool) string {
	s := w.scope()
	return w.d.Increment(w.t, rewrite.IncrementSQL{
		Ref: s.Ref, Qualifier: s.Qualifier, Where: s.Where, Slot: slotNumber, Deltas: deltas, Companions: w.companions(companions), Holds: holds,
	})
}

// emptySlots makes the session's slot of the locked base row. A transaction that keeps one snapshot makes
// none: it would fail for a slot that is new since. A journal has none to keep.
func (w *functionBody) emptySlots() string {
	t, s := w.t, ""
	if t.Counter.Layout == schema.LayoutJournal {
		return ""
	}
	groups := [][]rewrite.Delta{w.deltas}
	if t.Counter.Layout == schema.LayoutShared {
		groups = nil
		for _, dl := range w.deltas {
			groups = append(groups, []rewrite.Delta{dl})
		}
	}
	for _, group := range groups {
		var into, values, guards []string
		if sh := t.Counter.Shared; sh != nil && t.Counter.Layout == schema.LayoutShared {
			into, values = []string{quote(sh.Type)}, []string{fmt.Sprint(sh.Records[group[0].Column])}
		}
		for i, k := range t.Counter.SlotKey() {
			into, values = append(into, quote(k)), append(values, baseAlias+"."+quote(t.Counter.Key[i]))
		}
		into, values = append(into, quote(t.Counter.SlotTable.Column)), append(values, slotNumber)
		for _, dl := range group {
			if guards = append(guards, baseGuard(t, baseAlias, dl.Column)); w.split {
				guards = append(guards, dl.SQL+" <> 0")
			}
		}
		s += "    INSERT INTO " + slotTable(t) + " (" + strings.Join(into, ", ") + ") SELECT " + strings.Join(values, ", ") +
			" FROM " + w.scope().Ref + " WHERE " + w.where(baseAlias) + " AND " + strings.Join(append(guards, newSnapshot), " AND ") +
			" ON CONFLICT DO NOTHING;\n"
	}
	return s
}
