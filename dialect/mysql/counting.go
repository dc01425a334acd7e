package mysql

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ dialect.FunctionWriter = stored{}

// Names of the base row in a counting function: where it is changed, where its lock is shared, and where it is locked only
// if no other transaction holds it. The server gives a table one kind of lock for each name that a function has for it.
const (
	countedRow = "slotsql_b"
	sharedRow  = "slotsql_c"
	freeRow    = "slotsql_a"
)

// parameterPrefix begins the names of parameters, which would hide columns of their names.
const parameterPrefix = "slotsql_in_"

// NoCountingFunction implements dialect.FunctionWriter.
func (s stored) NoCountingFunction(t *schema.Table) string {
	switch {
	case s.d.MariaDB && !s.d.NoWait:
		return "MariaDB skips locked rows from 10.6 on"
	case t.Triggers.Update:
		return cmp.Or(t.Triggers.Unseen, "UPDATE triggers of the table might keep a base row from taking what its slots hold, and a function cannot compare the two")
	}
	return ""
}

// CountingFunction implements dialect.FunctionWriter. The function tries, in this order:
//
//  1. The base row, if no other transaction holds it.
//  2. The session's slot, by the statement of Increment, which waits for a transaction that has the row's lock
//     exclusively, and then shares the row's lock with others that count. There is no Add here: an UPDATE of a slot row that is not there
//     would lock the gap, and block others that make theirs.
//  3. The base row once more, waiting for its lock, which is a drain's: with its slots added to it, the row's own
//     values decide.
//
// A latest companion is newer in slots than in the base row, so a call that sets one begins with 2.
//
// Each counter of a shared slot table has a statement of its own: within a function the server does not undo
// the first rows of a statement whose second one fails.
func (s stored) CountingFunction(t *schema.Table, f dialect.CountingFunction) []string {
	w := newFunctionBody(s.d, t, f)
	name, security := fullName(t.Schema, f.Name), "INVOKER"
	if f.Definer {
		security = "DEFINER"
	}
	create := name + "(" + strings.Join(w.parameters, ", ") + ")\n" +
		"RETURNS INT MODIFIES SQL DATA SQL SECURITY " + security + " COMMENT '" + f.Mark + "'\n" + w.body()
	if s.d.MariaDB {
		return []string{"CREATE OR REPLACE FUNCTION " + create}
	}
	return []string{"DROP FUNCTION IF EXISTS " + name, "CREATE FUNCTION " + create}
}

// CountingRights implements dialect.FunctionWriter.
func (stored) CountingRights(t *schema.Table, f dialect.CountingFunction) []string {
	execute := "GRANT EXECUTE ON FUNCTION " + fullName(t.Schema, f.Name) + " TO app"
	if f.Definer {
		return []string{execute}
	}
	return []string{
		execute, "GRANT SELECT, UPDATE ON " + baseTable(t) + " TO app", "GRANT SELECT, INSERT, UPDATE, DELETE ON " + slotTable(t) + " TO app",
	}
}

// functionBody writes the statements of a counting function.
type functionBody struct {
	d          *Dialect
	t          *schema.Table
	f          dialect.CountingFunction
	parameters []string
	key        []string // the parameters of the key
	deltas     []rewrite.Delta
	given      map[string]string // the parameters of companions
	latest     []string          // those of latest companions
	split      bool              // each counter has a slot row of its own
}

func newFunctionBody(d *Dialect, t *schema.Table, f dialect.CountingFunction) *functionBody {
	w := &functionBody{d: d, t: t, f: f, given: map[string]string{}}
	w.split = t.Counter.Layout == schema.LayoutShared && len(f.Counters) > 1
	parameter := func(column, kind string) string {
		name := parameterPrefix + column
		if utf8.RuneCountInString(name) > 64 {
			name = fmt.Sprintf("%s%d", parameterPrefix, len(w.parameters))
		}
		w.parameters = append(w.parameters, quote(name)+" "+kind)
		return quote(name)
	}
	for _, k := range t.Counter.Key {
		w.key = append(w.key, parameter(k, t.Column(k).Type))
	}
	for _, c := range f.Counters {
		kind := "BIGINT"
		if col := t.Column(c); col.Numeric == schema.Decimal {
			kind = fmt.Sprintf("DECIMAL(65,%d)", col.Scale)
		}
		w.deltas = append(w.deltas, rewrite.Delta{Column: c, SQL: parameter(c, kind)})
	}
	for _, co := range t.Counter.Companions {
		w.given[co.Column] = parameter(co.Column, t.Column(co.Column).Type)
		if co.Merge == schema.Latest {
			w.latest = append(w.latest, w.given[co.Column])
		}
	}
	return w
}

func (w *functionBody) body() string {
	t := w.t
	var b strings.Builder
	b.WriteString("BEGIN\n  DECLARE slotsql_rows BIGINT DEFAULT 0;\n")
	for i, c := range t.Counter.Counters {
		fmt.Fprintf(&b, "  DECLARE slotsql_sum%d DECIMAL(65,%d);\n", i+1, t.Column(c).Scale)
	}
	b.WriteString(w.checks())
	slot := w.slotted()
	if t.Counter.Layout != schema.LayoutJournal {
		slot = w.when(w.unset(w.latest), w.free()) + slot
	}
	b.WriteString(indent(w.when(w.small(), slot)))
	b.WriteString("  -- the base row, when other transactions have let go of it; with its slots added, its own values decide\n")
	b.WriteString("  SELECT COUNT(*) INTO slotsql_rows" + w.locked(countedRow) + ";\n  IF slotsql_rows = 0 THEN RETURN 0; END IF;\n")
	if w.f.Limited(t) {
		proof := w.update(and(w.fitsBase(), w.proved())) + ";\nIF ROW_COUNT() > 0 THEN RETURN 1; END IF;\n"
		b.WriteString(indent(w.when(and(w.unset(w.latest), w.fits()), proof)))
	}
	b.WriteString(indent(w.fold()))
	b.WriteString("  " + w.update(w.guards()) + ";\n  RETURN ROW_COUNT();\nEND")
	return b.String()
}

// free adds to the base row if no other transaction holds it. (A function cannot go on after a lock timeout, so an UPDATE that
// does not wait would not do.)
func (w *functionBody) free() string {
	return "-- the base row, if no other transaction holds it\n" +
		"IF EXISTS (SELECT 1" + w.locked(freeRow) + " SKIP LOCKED) THEN\n  " + w.update(w.fitsBase()) + ";\n" +
		"  IF ROW_COUNT() > 0 THEN RETURN 1; END IF;\nEND IF;\n"
}

func indent(s string) string {
	if s == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ") + "\n"
}

// when puts statements under a condition, which may be empty.
func (*functionBody) when(condition, statements string) string {
	if condition == "" {
		return statements
	}
	return "IF " + condition + " THEN\n" + indent(statements) + "END IF;\n"
}

// checks refuses what is no call, and gives a companion that every UPDATE sets the value that the server would.
func (w *functionBody) checks() string {
	var null []string
	for _, dl := range w.deltas {
		null = append(null, dl.SQL+" IS NULL")
	}
	signal := func(condition, text string) string {
		return "  IF " + condition + " THEN\n    SIGNAL SQLSTATE '22004' SET MESSAGE_TEXT = '" + text + "';\n  END IF;\n"
	}
	s := signal(strings.Join(null, " OR "), "what is added to a counter must not be NULL")
	for _, co := range w.t.Counter.Companions {
		if w.t.Column(co.Column).OnUpdate {
			s += "  SET " + w.given[co.Column] + " = COALESCE(" + w.given[co.Column] + ", CURRENT_TIMESTAMP(6));\n"
		}
	}
	if len(w.latest) > 1 {
		nulls := "(" + strings.Join(w.latest, " IS NULL) + (") + " IS NULL)"
		s += signal(fmt.Sprintf("%s NOT IN (0, %d)", nulls, len(w.latest)),
			"either all or none of the companions with merge latest must be given")
	}
	return s
}

func (*functionBody) unset(list []string) string {
	var out []string
	for _, p := range list {
		out = append(out, p+" IS NULL")
	}
	return strings.Join(out, " AND ")
}

func (w *functionBody) where(alias string) string {
	on := make([]string, len(w.key))
	for i, k := range w.t.Counter.Key {
		on[i] = alias + "." + quote(k) + " = " + w.key[i]
	}
	return strings.Join(on, " AND ")
}

func (w *functionBody) ref() string { return baseTable(w.t) + " AS " + countedRow }

// locked is the rest of a query that locks the row exclusively. The row is found by the slots' key,
// whose index leads to the lock of its clustered record.
func (w *functionBody) locked(alias string) string {
	hint := ""
	if u := keyIndex(w.t); u != nil {
		hint = " FORCE INDEX (" + indexName(u) + ")"
	}
	return " FROM " + baseTable(w.t) + " AS " + alias + hint + " WHERE " + w.where(alias) + " FOR UPDATE"
}

// update is the plain UPDATE, under conditions.
func (w *functionBody) update(conditions string) string {
	var set []string
	for _, dl := range w.deltas {
		c := countedRow + "." + quote(dl.Column)
		set = append(set, c+" = "+c+" + "+dl.SQL)
	}
	for _, co := range w.t.Counter.Companions {
		c, p := countedRow+"."+quote(co.Column), w.given[co.Column]
		if co.Merge == schema.Latest {
			set = append(set, c+" = COALESCE("+p+", "+c+")")
		} else {
			set = append(set, c+" = IF("+p+" IS NULL, "+c+", "+extreme(co.Merge)+"("+c+", "+p+"))")
		}
	}
	return "UPDATE " + w.ref() + " SET " + strings.Join(set, ", ") + " WHERE " + and(w.where(countedRow), orTrue(conditions))
}

func orTrue(conditions string) string {
	if conditions == "" {
		return "TRUE"
	}
	return conditions
}

// small is the condition that no counter with bounds is changed, and that deltas are as small as those with slots.
func (w *functionBody) small() string {
	conditions, changes := w.fits(), []string{}
	for _, dl := range w.deltas {
		if w.t.Counter.BoundsOf(dl.Column) != nil {
			conditions += " AND " + dl.SQL + " = 0"
		}
		changes = append(changes, dl.SQL+" <> 0")
	}
	if len(w.given) == 0 {
		conditions += " AND (" + strings.Join(changes, " OR ") + ")" // else an UPDATE affects no row
	}
	return conditions
}

// fits is the condition that what is computed of a base value that may have slots, and of a delta, is in no danger of
// leaving the column's range.
func (w *functionBody) fits() string {
	var out []string
	for _, dl := range w.deltas {
		l := limit(w.t.Column(dl.Column), w.t.Counter)
		out = append(out, dl.SQL+" BETWEEN -"+l.slotHigh+" AND "+l.slotHigh)
	}
	return strings.Join(out, " AND ")
}

// fitsBase is the condition on the base row that is to fits. NULL stays NULL.
func (w *functionBody) fitsBase() string {
	var out []string
	for _, dl := range w.deltas {
		col, c := w.t.Column(dl.Column), countedRow+"."+quote(dl.Column)
		l := limit(col, w.t.Counter)
		within := c + " BETWEEN " + l.baseLow + " AND " + l.baseHigh
		if col.Unsigned {
			within += " AND " + c + " >= -" + dl.SQL
		}
		out = append(out, "("+c+" IS NULL OR "+within+")")
	}
	return strings.Join(out, " AND ")
}

// guards are the conditions under which a total stays in its bounds.
func (w *functionBody) guards() string {
	return dialect.WithinBounds(w.t.Counter, w.deltas, countedColumn, asNumber)
}

// proved is guards for a base value that proves them.
func (w *functionBody) proved() string {
	return dialect.ProvedWithinBounds(w.t.Counter, w.deltas, countedColumn, asNumber)
}

func countedColumn(name string) string { return countedRow + "." + quote(name) }

func asNumber(name string) string { return "CAST(" + countedColumn(name) + " AS DECIMAL(65))" }

// slotted adds to the session's slot, or makes a row of a journal.
func (w *functionBody) slotted() string {
	s := "-- a slot of the session\n"
	if len(w.given) == 0 {
		return s + w.upserts(false)
	}
	all := []string{}
	for _, co := range w.t.Counter.Companions {
		all = append(all, w.given[co.Column])
	}
	return s + "IF " + w.unset(all) + " THEN\n" + indent(w.upserts(false)) + "ELSE\n" + indent(w.upserts(true)) + "END IF;\n"
}

// upserts runs the upsert of all counters, or one for each. What these cannot take ends with an error that
// Overflow knows, or affects no row.
func (w *functionBody) upserts(companions bool) string {
	guarded := func(deltas []rewrite.Delta) string {
		return "BEGIN\n  DECLARE CONTINUE HANDLER FOR 1264, 1690, 3819, 4025, 1292 BEGIN END;\n" +
			"  SET slotsql_rows = 0;\n  " + w.increment(deltas, companions) + ";\n  SET slotsql_rows = ROW_COUNT();\nEND;\n"
	}
	if !w.split {
		return guarded(w.deltas) + "IF slotsql_rows > 0 THEN RETURN 1; END IF;\n"
	}
	var s string
	var zero, first []string
	for _, dl := range w.deltas {
		s += w.when(dl.SQL+" <> 0", guarded([]rewrite.Delta{dl})+"IF slotsql_rows > 0 THEN SET "+dl.SQL+" = 0; END IF;\n")
		first, zero = append(first, dl.SQL+" <> 0"), append(zero, dl.SQL+" = 0")
	}
	if len(w.given) == 0 {
		first = nil // small has asked
	}
	return w.when(strings.Join(first, " OR "), s+"IF "+strings.Join(zero, " AND ")+" THEN RETURN 1; END IF;\n")
}

func (w *functionBody) increment(deltas []rewrite.Delta, companions bool) string {
	in := rewrite.IncrementSQL{Ref: baseTable(w.t) + " AS " + sharedRow, Qualifier: sharedRow, Where: w.where(sharedRow), Slot: w.slot(), Deltas: deltas}
	if u := keyIndex(w.t); u != nil {
		in.Clustered = u.Primary
	}
	if companions {
		for _, co := range w.t.Counter.Companions {
			in.Companions = append(in.Companions, rewrite.CompanionSQL{
				Companion: co, SQL: w.given[co.Column], NotNull: co.Merge != schema.Latest || !w.t.Column(co.Column).Nullable,
			})
		}
	}
	return w.d.Increment(w.t, in)
}

// slot is the number of the session's slot, or a number that no other row of a journal has.
func (w *functionBody) slot() string {
	if w.t.Counter.Layout == schema.LayoutJournal {
		return "CAST(FLOOR(RAND() * 1e18) AS SIGNED) + 1048576"
	}
	return fmt.Sprintf("MOD(CONNECTION_ID(), %d)", w.t.Counter.Slots)
}

// fold adds the slots of the row to it, while it is locked: no other transaction makes one then. Reading
// them first waits for those that are being added to, and locks them all.
func (w *functionBody) fold() string {
	t := w.t
	of := func(alias string) string {
		on := make([]string, len(w.key))
		for i, k := range t.Counter.SlotKey() {
			on[i] = alias + quote(k) + " = " + w.key[i]
		}
		return and(t.Counter.OfTable(quote, alias), strings.Join(on, " AND "))
	}
	slots, all, into, set := slotTable(t), "COUNT(*)", "slotsql_rows", []string{}
	own := slots + "."
	for i, c := range t.Counter.Counters {
		all, into = all+fmt.Sprintf(", COALESCE(SUM(%s), 0)", t.Counter.Held(quote, own, c)), into+fmt.Sprintf(", slotsql_sum%d", i+1)
		set = append(set, fmt.Sprintf("%s.%s = %[1]s.%[2]s + slotsql_sum%d", countedRow, quote(c), i+1))
	}
	add := "UPDATE " + w.ref() + " SET " + strings.Join(set, ", ") + " WHERE " + w.where(countedRow)
	if len(t.Counter.Companions) > 0 {
		add = addSlots(t, slots+" AS slotsql_s"+slotIndex(t), of("slotsql_s."), of("slotsql_l."))
	}
	return "SELECT " + all + " INTO " + into + " FROM " + slots + slotIndex(t) + " WHERE " + of(own) + " FOR UPDATE;\n" +
		"IF slotsql_rows > 0 THEN\n  " + add + ";\n  DELETE FROM " + slots + " WHERE " + of(own) + ";\nEND IF;\n"
}
