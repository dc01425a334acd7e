package propose

import (
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// finder finds candidates: columns whose new value is computed from their old
// one. Whether it is an addition is the planner's to say.
type finder struct {
	d      dialect.Dialect
	tables []Table
	found  map[*schema.Table]*finding
}

// finding is what the statements do to one table.
type finding struct {
	columns    []string             // candidates, in the order they were found
	by         map[string][]*change // the changes that compute a candidate anew
	written    map[string]bool      // columns that any statement sets
	mentions   []*Statement         // statements that name the table
	changes    []*change
	increments []*change
}

// change is one UPDATE of a table, or the update of an upsert.
type change struct {
	statement *Statement
	st        *ast.Statement
	set       []ast.Assignment
	columns   []string // what set assigns, as stored; "" for another table's
}

// inside reports whether a trigger or routine makes the change, in the transaction of another statement.
func (c *change) inside() bool { return c.statement.By != "" }

// read notes what a statement does.
func (f *finder) read(s *Statement) {
	if f.found == nil {
		f.found = map[*schema.Table]*finding{}
	}
	named := false
	for _, t := range f.tables {
		if lex.ContainsFold(s.SQL, lex.Spelled(t.Name)) {
			named = true
			f.at(t.Table).mentions = append(f.at(t.Table).mentions, s)
		}
	}
	if !named {
		return
	}
	tokens, exec := lex.Scan(f.d.LexRules(), s.SQL)
	for _, part := range lex.Split(s.SQL, tokens, exec) {
		if st, err := f.d.Parse(s.SQL[part.Start:part.End]); err == nil {
			f.statement(s, st)
		}
	}
}

func (f *finder) at(t *schema.Table) *finding {
	if f.found[t] == nil {
		f.found[t] = &finding{by: map[string][]*change{}, written: map[string]bool{}}
	}
	return f.found[t]
}

func (f *finder) statement(s *Statement, st *ast.Statement) {
	for _, with := range slices.Concat(st.With, withOf(st.Select)) {
		if with.Statement != nil {
			f.statement(s, with.Statement)
		}
	}
	set := st.Set
	switch {
	case st.Kind == ast.KindInsert && st.Conflict == nil:
		return // what SET gives to a new row
	case st.Conflict != nil:
		set = st.Conflict.Set
	}
	if len(set) == 0 {
		return
	}
	sources := st.From
	if st.Target != nil {
		sources = []*ast.Source{st.Target}
	}
	for _, src := range flatten(sources) {
		if t := f.table(src.Name); t != nil {
			f.change(s, st, set, t, src)
		}
	}
}

func withOf(s *ast.Select) []*ast.CTE {
	if s == nil {
		return nil
	}
	return s.With
}

// flatten returns the tables of joins.
func flatten(sources []*ast.Source) []*ast.Source {
	var out []*ast.Source
	for _, s := range sources {
		if s == nil {
			continue
		}
		if s.Left != nil {
			out = append(out, flatten([]*ast.Source{s.Left, s.Right})...)
		} else if len(s.Name) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// table returns the table that a name means.
func (f *finder) table(name []ast.Ident) *schema.Table { return tableNamed(f.d, f.tables, name) }

func tableNamed(d dialect.Dialect, tables []Table, name []ast.Ident) *schema.Table {
	if len(name) == 0 {
		return nil
	}
	for _, t := range tables {
		if !d.SameTable(name[len(name)-1], t.Name) {
			continue
		}
		if len(name) == 1 && t.Visible || len(name) > 1 && d.SameTable(name[len(name)-2], t.Schema) {
			return t.Table
		}
	}
	return nil
}

func (f *finder) change(s *Statement, st *ast.Statement, set []ast.Assignment, t *schema.Table, src *ast.Source) {
	c := &change{statement: s, st: st, set: set}
	fd := f.at(t)
	any := false
	for _, a := range set {
		name, _ := names.Column(f.d, t, a.Column[len(a.Column)-1])
		if len(a.Column) > 1 && !f.qualifies(a.Column[len(a.Column)-2], src) {
			name = ""
		}
		c.columns = append(c.columns, name)
		if name == "" {
			continue
		}
		any = true
		fd.written[name] = true
		col := t.Column(name)
		if a.Value == nil || !f.reads(a.Value, name) || !adds(a.Value) || col.Numeric == schema.NotNumeric || col.Identity ||
			col.Generated {
			continue
		}
		if !slices.Contains(fd.columns, name) {
			fd.columns = append(fd.columns, name)
		}
		fd.by[name] = append(fd.by[name], c)
	}
	if any {
		fd.changes = append(fd.changes, c)
	}
}

func (f *finder) qualifies(q ast.Ident, src *ast.Source) bool {
	if src.Alias != nil {
		return f.d.SameTable(q, src.Alias.Name)
	}
	return f.d.SameTable(q, src.Name[len(src.Name)-1].Name)
}

func (f *finder) reads(e *ast.Expr, column string) bool { return readsColumn(f.d, e, column) }

// adds reports whether an expression has an addition or subtraction in it.
func adds(e *ast.Expr) bool {
	found := false
	e.Walk(func(x *ast.Expr) bool {
		found = found || x.Kind == ast.Binary && (x.Op == "+" || x.Op == "-")
		return !found
	})
	return found
}

// readsColumn reports whether an expression names the column. It does not look into subqueries.
func readsColumn(d rewrite.Dialect, e *ast.Expr, column string) bool {
	found := false
	e.Walk(func(x *ast.Expr) bool {
		found = found || x.Kind == ast.ColumnRef && len(x.Name) > 0 && d.SameColumn(x.Name[len(x.Name)-1], column)
		return !found
	})
	return found
}
