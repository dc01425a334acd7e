package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A slotted statement leaves parts of the application's SQL out: what SET and
// the INSERT name, the row that the INSERT gives, the conflict target. The engine
// does not see them, and so does not refuse them. They are left out only when they
// are certainly what the engine would take; else the application's own SQL runs,
// and the engine says of it what it says.

// coalesces reports whether a call is COALESCE, or what the engine has beside it, of two
// arguments.
func (cs *constants) coalesces(e *ast.Expr) bool {
	return e.Kind == ast.Call && (e.Op == "coalesce" || e.Op == "ifnull") && len(e.Args) == 2 && stable(cs.d).Functions[e.Op]
}

// defaults judges what an increment takes for a counter of NULL: 0 in
// COALESCE(c, 0) + 1. A row that has slots needs none, and it is left out. why
// names one that the engine may refuse.
func (m *dml) defaults(inc increment) (given []InsertedArg, why string) {
	inc.value.Walk(func(e *ast.Expr) bool {
		if why != "" || !m.p.consts.coalesces(e) || e.Args[1].Kind == ast.Null || m.p.d.Traits().AnyType {
			return why == ""
		}
		var arg *InsertedArg
		if arg, why = m.p.consts.checkInserted(inc.column, e.Args[1]); arg != nil {
			arg.Nullable = true
			given = append(given, *arg)
		}
		return why == ""
	})
	return given, why
}

// misfit says what of an INSERT's columns and its one row of values the engine
// may refuse, or "".
func (m *dml) misfit() string {
	st := m.st
	if len(st.Columns) == 0 {
		for i := range m.table.Columns {
			if c := &m.table.Columns[i]; c.Hidden || c.Generated {
				return "the INSERT names no columns, and has no value for some of the table"
			}
		}
		if len(st.Rows[0]) != len(m.table.Columns) {
			return "the INSERT does not have a value for each column"
		}
		return ""
	}
	if len(st.Rows[0]) != len(st.Columns) {
		return "the INSERT has a different number of values and columns"
	}
	seen := map[string]bool{}
	for i, written := range st.Columns {
		name, has := names.Column(m.p.d, m.table, written)
		switch {
		case !has:
			return "the table has no column " + written.Name
		case seen[name]:
			return "the INSERT names column " + name + " twice"
		case m.table.Column(name).Always && st.Rows[0][i] != nil:
			return "the INSERT has a value for column " + name + ", which the database generates"
		}
		seen[name] = true
	}
	return ""
}

// mistyped returns why the placeholders of the statement may not be numbered anew,
// or "". PostgreSQL gives a placeholder one type, from all the places where it
// stands, and refuses numbers that stand nowhere; a statement of ours numbers each
// place by itself. Places that take a value of the same column type agree.
func (cs *constants) mistyped(typeAt func(ast.Span) string) string {
	if !cs.d.Traits().TypedConstants {
		return ""
	}
	types := make([]string, cs.src.count)
	seen := make([]bool, cs.src.count)
	for _, x := range cs.src.params {
		i := x.arg.Index
		if i < 0 || i >= len(seen) {
			continue
		}
		typ := ""
		if typeAt != nil {
			typ = typeAt(x.Span)
		}
		if seen[i] && (typ == "" || typ != types[i]) {
			return "a placeholder is used in several places, and its type depends on all of them"
		}
		seen[i], types[i] = true, typ
	}
	for _, s := range seen {
		if !s {
			return "the statement skips a placeholder number"
		}
	}
	return ""
}

// forbidden says what the session's user may not do that the statement does, or "".
// The slot table's rights are others.
func (m *dml) forbidden(a assigned) string {
	if m.table.Storage.Unidentified {
		return "the table publishes updates without a replica identity: PostgreSQL refuses to update it, so slots could never be folded"
	}
	var read, set []*schema.Column
	for _, inc := range a.increments {
		read, set = append(read, inc.column), append(set, inc.column)
	}
	for _, s := range a.companions {
		set = append(set, s.column)
	}
	for _, name := range m.table.Counter.Key {
		read = append(read, m.table.Column(name))
	}
	for _, c := range read {
		if c.Denied.Select {
			return "the session's user may not SELECT column " + c.Name
		}
	}
	for _, c := range set {
		if c.Denied.Update {
			return "the session's user may not UPDATE column " + c.Name
		}
	}
	for _, name := range m.inserts() {
		if c := m.table.Column(name); c.Denied.Insert || c.Denied.Update { // MariaDB asks for both
			return "the session's user may not INSERT or UPDATE column " + name
		}
	}
	return ""
}

// inserts are the columns for which an INSERT gives values; nil for an UPDATE.
func (m *dml) inserts() []string {
	if m.st.Kind != ast.KindInsert {
		return nil
	}
	var out []string
	for i := range m.table.Columns {
		if name := m.table.Columns[i].Name; m.insertIndex(ast.Ident{Name: name, Quoted: true}) >= 0 {
			out = append(out, name)
		}
	}
	return out
}

// comparison are the operators whose two sides have one type, where the one is a
// placeholder; "" is that of IN.
var comparison = map[string]bool{"": true, "=": true, "<>": true, "!=": true, "<": true, ">": true, "<=": true, ">=": true}

// typeAt returns the type of the column that takes the value which stands at a
// place of the statement: in SET, as what is added to a counter, in VALUES, and
// compared with a column. "" when it is not known.
func (m *dml) typeAt(incs []increment) func(ast.Span) string {
	if !m.p.d.Traits().TypedConstants {
		return nil
	}
	types := map[ast.Span]string{}
	note := func(c *schema.Column, e *ast.Expr) {
		if e == nil || c == nil {
			return
		}
		if e, _ = ast.Signed(e, false); e.Kind == ast.Param {
			types[e.Span] = c.Type
		}
	}
	for _, inc := range incs {
		for _, op := range inc.ops {
			note(inc.column, op.expr)
		}
	}
	for i, c := range m.st.Columns {
		if name, has := names.Column(m.p.d, m.table, c); has && len(m.st.Rows) == 1 && i < len(m.st.Rows[0]) {
			note(m.table.Column(name), m.st.Rows[0][i])
		}
	}
	m.st.Where.Walk(func(e *ast.Expr) bool {
		if e.Kind != ast.Binary && e.Kind != ast.In || !comparison[e.Op] {
			return true
		}
		for _, x := range e.Args {
			var c *schema.Column
			switch x = ast.Unparen(x); {
			case x.Kind == ast.ColumnRef:
				c = m.table.Column(m.p.names.TargetColumn(m.sc, m.target, x.Name))
			case x.Kind == ast.Number && len(x.Text) < 10 && strings.Trim(m.p.src.sql[x.Start:x.End], "0123456789") == "":
				c = &schema.Column{Type: "integer"}
			}
			for _, v := range e.Args {
				note(c, v)
			}
		}
		return true
	})
	return func(s ast.Span) string { return types[s] }
}

// namedByPlaceholder reports whether a select item is named by its own SQL, with
// placeholders in it: numbering them anew would give the column another name.
func (cs *constants) namedByPlaceholder(it ast.Item) bool {
	if cs.d.Traits().ItemNames == names.ItemsByRule || it.Alias != nil || it.Expr.Kind == ast.ColumnRef {
		return false
	}
	found := false
	it.Expr.Walk(func(x *ast.Expr) bool {
		found = found || x.Kind == ast.Param
		return !found
	})
	return found
}
