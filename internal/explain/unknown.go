package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Table returns the table that a name in a statement means; nil if there is none.
func (e *Explainer) Table(name []ast.Ident) (*schema.Table, error) {
	if t, known := e.on.Lookup(name); known {
		return t, nil
	}
	err := e.on.LearnWith(e.Look, [][]ast.Ident{name})
	t, _ := e.on.Lookup(name)
	return t, err
}

// Unknown returns an error if the statement names a table that does not exist, or a column that none of its tables has. It finds only
// what is certain.
func (e *Explainer) Unknown(st *ast.Statement) error {
	switch st.Kind {
	case ast.KindSelect, ast.KindInsert, ast.KindUpdate, ast.KindDelete:
	default:
		return nil
	}
	n := &named{e: e, whole: st.Opaque == ""}
	(&ast.Visitor{Statement: n.statement, CTE: n.cte, Query: n.query, Source: n.source, Expr: n.expr}).Walk(st)
	for _, s := range n.sources {
		if err := n.find(s); err != nil {
			return err
		}
	}
	if !n.whole {
		return nil
	}
	for _, c := range n.columns {
		if !n.has(c) {
			return fmt.Errorf("unknown column %s: the tables are %s", spelled(c), n.tables())
		}
	}
	return nil
}

// named are the names that a statement uses.
type named struct {
	e       *Explainer
	whole   bool // all columns are known that names may mean
	sources []*ast.Source
	known   []*schema.Table
	labels  []string // aliases, and names of WITH queries
	columns [][]ast.Ident
}

func (n *named) statement(st *ast.Statement) {
	n.items(st.Returning)
	for _, c := range st.Columns {
		n.columns = append(n.columns, []ast.Ident{c})
	}
	set := st.Set
	if st.Conflict != nil {
		set = append(slices.Clone(set), st.Conflict.Set...)
	}
	for _, a := range set {
		n.columns = append(n.columns, a.Column)
	}
}

func (n *named) cte(c *ast.CTE) {
	n.label(&c.Name)
	for i := range c.Columns {
		n.label(&c.Columns[i])
	}
}

func (n *named) query(q *ast.Select) { n.items(q.Items) }

func (n *named) items(list []ast.Item) {
	for _, it := range list {
		n.label(it.Alias)
	}
}

func (n *named) source(s *ast.Source) {
	n.label(s.Alias)
	for i := range s.ColumnAliases {
		n.label(&s.ColumnAliases[i])
	}
	n.whole = n.whole && s.Func == nil
	if len(s.Name) > 0 {
		n.sources = append(n.sources, s)
	}
}

func (n *named) expr(e *ast.Expr) {
	if e.Kind == ast.ColumnRef {
		n.columns = append(n.columns, e.Name)
	}
}

func (n *named) label(name *ast.Ident) {
	if name != nil {
		n.labels = append(n.labels, strings.ToLower(name.Name))
	}
}

func (n *named) labelled(name ast.Ident) bool {
	return slices.Contains(n.labels, strings.ToLower(name.Name))
}

// find looks a table up.
func (n *named) find(s *ast.Source) error {
	last := s.Name[len(s.Name)-1]
	if len(s.Name) == 1 && n.labelled(last) {
		return nil // a WITH query
	}
	t, err := n.e.Table(s.Name)
	switch {
	case err != nil:
		return err
	case t == nil && (len(s.Name) > 1 || ofEngine(last.Name)):
		n.whole = false
		return nil
	case t == nil:
		return fmt.Errorf("unknown table %s", spelled(s.Name))
	}
	n.whole = n.whole && len(t.Columns) > 0
	n.known = append(n.known, t)
	n.label(&last) // which may stand for a row
	return nil
}

// ofEngine reports whether the engine may have a table that the catalog does not list.
func ofEngine(name string) bool {
	name = strings.ToLower(name)
	return name == "dual" || strings.HasPrefix(name, "pg_") || strings.HasPrefix(name, "sqlite_")
}

// notColumns are words that stand where columns do.
var notColumns = []string{
	"true", "false", "default", "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp",
	"current_user", "session_user", "user",
}

// has reports whether a name may be one of a column.
func (n *named) has(name []ast.Ident) bool {
	last := name[len(name)-1]
	d := n.e.on.Catalog.Dialect
	if last.Quoted || n.labelled(last) || slices.Contains(notColumns, strings.ToLower(last.Name)) ||
		slices.ContainsFunc(d.Traits().SystemColumns, func(c string) bool { return strings.EqualFold(c, last.Name) }) {
		return true
	}
	return slices.ContainsFunc(n.known, func(t *schema.Table) bool {
		_, has := names.Column(d, t, last)
		return has
	})
}

func (n *named) tables() string {
	var out []string
	for _, t := range n.known {
		if !slices.Contains(out, t.Name) {
			out = append(out, t.Name)
		}
	}
	return cmp.Or(strings.Join(out, ", "), "none")
}

func spelled(name []ast.Ident) string {
	parts := make([]string, len(name))
	for i, p := range name {
		parts[i] = p.Name
	}
	return strings.Join(parts, ".")
}
