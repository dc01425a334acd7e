package rewrite

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A drainer plans statements that fold slots before they run: which rows they drain, and what runs in place of that where the
// rows have no slots.
type drainer struct {
	d          Dialect
	src        *source
	names      *names.Resolver
	consts     *constants
	keys       *keyFinder
	volatility *volatility
	mentions   *mentions
}

// drainAll drains every row of the given tables.
func (dr *drainer) drainAll(tables []*schema.Table, reason string) *Plan {
	plan := &Plan{Class: Drain, Reason: reason, Tables: tableNames(tables)}
	for _, t := range tables {
		plan.Drain.Tables = append(plan.Drain.Tables, dr.drainTable(t, nil))
	}
	return plan
}

// A rowset is a set of rows fixed by an equality over a unique key.
type rowset struct {
	binding *names.Binding
	where   fragment
	single  bool // at most one row
	primary bool // the key is the primary key
	args    []keyArg
	key     *schema.Unique
	values  map[string]fragment // of a single row: what each key column equals
	only    bool                // the statement's predicate is this and nothing else
	most    int                 // so many rows at most
	removes bool                // as in Scope
}

// slotKey is what the key of the table's slots equals, nil where the rows are
// fixed otherwise.
func (rows *rowset) slotKey(t *schema.Table) []KeyValue {
	var out []KeyValue
	for _, k := range t.Counter.Key {
		v, ok := rows.values[k]
		if !ok || !rows.single {
			return nil
		}
		out = append(out, v.keyValue())
	}
	return out
}

// which is what the slots' key equals, or else another unique key, whose name it returns; nil
// where the rows may be several.
func (rows *rowset) which(t *schema.Table) (values []KeyValue, other string) {
	if values = rows.slotKey(t); values != nil || !rows.single || rows.key == nil {
		return values, ""
	}
	for _, c := range rows.key.Columns {
		v := rows.values[c]
		values = append(values, v.keyValue())
	}
	return values, strings.Join(rows.key.Columns, ",")
}

// keyArg is an argument compared with a key column.
type keyArg struct {
	arg    Arg
	column *schema.Column
}

// DrainAll drains every row of a table.
func DrainAll(d Dialect, t *schema.Table) DrainTable {
	return newPlanning(&Planner{Dialect: d}, nil).drains.drainTable(t, nil)
}

// DrainKey drains the row of one key, whose values are the arguments, in the
// order of the key; forms are what the columns are compared with, with %s for
// each argument.
func DrainKey(d Dialect, t *schema.Table, forms []string) DrainTable {
	p := newPlanning(&Planner{Dialect: d}, nil)
	b := ownRows(t)
	var equal []fragment
	for i, k := range t.Counter.Key {
		before, after, _ := strings.Cut(forms[i], "%s")
		equal = append(
			equal,
			fragment{parts: []string{d.Quote(t.Name) + "." + d.Quote(k) + " = " + before, after}, args: []Arg{{Index: i}}},
		)
	}
	return p.drains.drainTable(t, &rowset{binding: b, where: join(equal, " AND "), single: true, only: true})
}

func (dr *drainer) drainTable(t *schema.Table, rows *rowset) DrainTable {
	out := DrainTable{Table: t}
	if len(t.Counter.Counters) == 0 {
		return out // a table that is only touched has nothing to drain
	}
	var tp template
	scope := Scope{Ref: dr.names.BaseRef(t, nil), Qualifier: dr.d.Quote(t.Name)}
	if rows != nil {
		out.Keyed, out.Only, out.Most = true, rows.only, max(rows.most, 1)
		out.Key = rows.slotKey(t)
		if out.Forms = dr.consts.forms(rows.args); out.Forms != nil {
			all := dr.drainTable(t, nil)
			out.All = &all
		}
		scope = Scope{Ref: dr.names.BaseRef(t, rows.binding), Qualifier: dr.names.Qualifier(rows.binding), Where: tp.mark(rows.where)}
		scope.Removes = rows.removes
	}
	out.Lock = tp.expandAll(dr.d, dr.d.Lock(t, scope))
	if rows != nil && !rows.removes {
		strongest := scope
		strongest.Removes = true
		alone := tp.expandAll(dr.d, dr.d.Lock(t, strongest))
		if !slices.EqualFunc(alone, out.Lock, func(a, b Bound) bool { return a.SQL == b.SQL }) {
			out.LockAlone = alone
		}
	}
	out.Rows = tp.expand(dr.d, scope.Ref+" WHERE "+scope.Where)
	if out.Fold = tp.expandAll(dr.d, dr.d.Fold(t, scope)); len(out.Fold) == 0 {
		out.Folding, out.Open = FoldByName, rows == nil && len(t.Counter.Key) > 0
	}
	if c, ok := dr.d.(ConservingDialect); ok {
		out.Look.Unmoved = tp.bound(dr.d, c.Unmoved(t, scope))
	}
	if h, ok := dr.d.(HoldingDialect); ok {
		out.Look.Held = tp.bound(dr.d, h.Held(t, scope))
	}
	if s, ok := dr.d.(SnapshotDialect); ok {
		out.Look.Snapshot = tp.bound(dr.d, s.Snapshot(t, scope))
	}
	if v := dr.d.Versions(t, scope); v != nil {
		out.Versions = &Versions{Find: tp.expand(dr.d, v.Find), Hide: v.Hide, Drop: v.Drop, Touch: tp.expandAll(dr.d, v.Touch)}
	}
	return out
}

// drainRows drains the rows whose keys the statement's predicate names, or all rows of its table
// when it names none, and all rows of every other counter table of the statement.
func (dr *drainer) drainRows(st *ast.Statement, sc *names.Scope, b *names.Binding, where *ast.Expr, once bool, reason string) *Plan {
	tables := dr.mentions.tables()
	var rows *rowset
	if once && b != nil && b.Counts {
		rows = dr.keys.fixedRows(sc, b, where)
	}
	if rows != nil {
		rows.removes = dr.removes(st, b.Table)
	}
	plan := &Plan{Class: Drain, Reason: reason, Tables: tableNames(tables)}
	for _, t := range tables {
		if rows != nil && t == b.Table {
			plan.Drain.Tables = append(plan.Drain.Tables, dr.drainTable(t, rows))
			plan.Drain.Uncounted = st.Kind == ast.KindSelect || st.Merge
			continue
		}
		plan.Drain.Tables = append(plan.Drain.Tables, dr.drainTable(t, nil))
	}
	if len(tables) == 1 {
		some := rows != nil && !rows.single || rows == nil && plan.Drain.Tables[0].Open
		plan.Drain.Deletes = some && st.Kind == ast.KindDelete && len(st.From) == 0
		plan.Drain.Proof = dr.proof(st, sc, where, rows)
		plan.Drain.LockingRead = dr.lockingRead(st, sc, where, rows)
	}
	return plan
}

// drainSelect drains for a query: the rows it fixes when it reads one counter
// table once, at its top.
func (dr *drainer) drainSelect(st *ast.Statement, tables []*schema.Table, reason string) *Plan {
	q := st.Select
	if q == nil || len(q.Operands) > 0 || len(q.From) != 1 || len(q.From[0].Name) == 0 || dr.names.Sources(st) != 1 {
		return dr.drainAll(tables, reason)
	}
	sc := dr.names.NewScope(dr.names.WithScope(nil, q.With), nil, q.From)
	return dr.drainRows(st, sc, sc.Bindings[0], q.Where, true, reason)
}

func numericColumn(c *schema.Column) bool { return c != nil && c.Numeric != schema.NotNumeric }

func containsNumber(e *ast.Expr) bool {
	found := false
	e.Walk(func(x *ast.Expr) bool {
		found = found || x.Kind == ast.Number
		return true
	})
	return found
}

// rowsOrAll: a single-row table is drained whole.
func rowsOrAll(t *schema.Table, rows *rowset) *rowset {
	if len(t.Counter.Key) == 0 {
		return nil
	}
	return rows
}
