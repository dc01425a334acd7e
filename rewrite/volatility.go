package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/names"
)

// A slotted upsert evaluates the application's WHERE, and when it affects no row
// the application's own SQL evaluates it again. Queries that are split evaluate
// it in each of their parts, and a statement that many executions share evaluates
// it once for all. That is exact for a stable expression, one whose last evaluation
// could have been the only one: it has no side effect, and its value depends only on
// its operands, the rows and the time of the statement. (PostgreSQL calls such
// functions immutable or stable.) All others are volatile: RAND(), functions with
// side effects, and functions that depend on the previous statement, such as
// ROW_COUNT(). A function that is not known to be stable counts as volatile: a
// statement that calls it runs once, as the application wrote it.

// Stable lists what is known to be stable in a dialect.
type Stable struct {
	// Functions are the functions, in lower case and without schema.
	Functions map[string]bool
	// Operators are operators and further forms of expression, as Expr.Op has
	// them; nil where a program cannot define any, and all are but Others.
	Operators map[string]bool
	// Others are operators and forms of expression that are volatile.
	Others map[string]bool
	// Types are the types that any value may be cast to; nil for all. What is
	// cast to another type may go through a function of the database's own,
	// unless it is a string or a placeholder, which that type itself reads.
	Types map[string]bool
}

// Names returns the set of the names in a list, blanks apart, and of more names.
func Names(list string, more ...string) map[string]bool {
	out := lex.WordSet(list)
	for _, name := range more {
		out[name] = true
	}
	return out
}

// stable is what the dialect lists, nothing if it has no list.
func stable(d Dialect) *Stable {
	if s := d.Traits().Stable; s != nil {
		return s
	}
	return &Stable{}
}

// volatility looks for what must be evaluated only once.
type volatility struct {
	names  *names.Resolver
	consts *constants
	also   map[string]bool // functions that may be called twice
	// sources reports whether queries may read other queries of the statement, views, and rows of functions.
	sources bool
}

// reasonBesides is reason with further functions allowed.
func (vl volatility) reasonBesides(sc *names.Scope, e *ast.Expr, also map[string]bool) string {
	vl.also = also
	return vl.reason(sc, e)
}

// reason says why an expression must be evaluated only once, or "".
func (vl volatility) reason(sc *names.Scope, e *ast.Expr) string {
	if e == nil {
		return ""
	}
	known := stable(vl.consts.d)
	why := ""
	e.Walk(func(x *ast.Expr) bool {
		if why != "" {
			return false
		}
		switch x.Kind {
		case ast.ColumnRef:
			if len(x.Name) > 1 && vl.consts.d.Traits().WholeRow && !vl.namesColumn(sc, x.Name) {
				// A function of one row may be written as a column of it.
				why = "names " + nameText(x.Name) + ", which may be a function"
			}
		case ast.Excluded:
			why = "names the row of an INSERT"
		case ast.Call:
			if !known.Functions[x.Op] && !vl.also[x.Op] {
				why = "calls " + x.Op + "(), which may return another value or have a side effect each time it is called"
			}
		case ast.Binary, ast.Unary, ast.Opaque:
			why = vl.volatileForm(known, x)
		case ast.Subquery:
			why = vl.query(sc, x.Query)
		}
		return why == ""
	})
	return why
}

func (vl volatility) volatileForm(known *Stable, e *ast.Expr) string {
	op, _, _ := strings.Cut(e.Op, " any")
	op, _, _ = strings.Cut(op, " all")
	op, _, _ = strings.Cut(op, " some")
	switch {
	case e.Kind == ast.Opaque && strings.EqualFold(e.Op, "cast") && len(e.Args) == 1:
		v := ast.Unparen(e.Args[0])
		if known.Types == nil || v.Kind == ast.String || v.Kind == ast.Param || v.Kind == ast.Null ||
			known.Types[typeName(vl.consts.castType(e))] {
			return ""
		}
		return "casts to a type that is not built in"
	case known.Others[op], known.Operators != nil && !known.Operators[op]:
		if op == "" {
			op = "a form of expression"
		}
		return "has " + op + ", which may return another value each time"
	}
	return ""
}

// typeName takes the modifiers off the name of a type.
func typeName(s string) string {
	for strings.HasSuffix(s, "[]") {
		s = strings.TrimSuffix(s, "[]")
	}
	if before, rest, ok := strings.Cut(s, "("); ok {
		_, after, _ := strings.Cut(rest, ")")
		s = before + after
	}
	return strings.TrimPrefix(strings.Join(strings.Fields(s), " "), "pg_catalog.")
}

// namesColumn reports whether a qualified name is a column of a source.
func (vl volatility) namesColumn(sc *names.Scope, name []ast.Ident) bool {
	qualifier, column := name[len(name)-2], name[len(name)-1]
	for s := sc; s != nil; s = s.Parent {
		for _, b := range s.Bindings {
			if !vl.names.SameLabel(qualifier, b.Label) {
				continue
			}
			for _, c := range vl.consts.d.Traits().SystemColumns {
				if vl.consts.d.SameColumn(column, c) {
					return true
				}
			}
			has, err := vl.names.HasColumn(b, column)
			return err == nil && has == names.Yes
		}
	}
	return false
}

func (vl volatility) query(sc *names.Scope, q *ast.Select) string {
	const form = "has a subquery of a form that slotsql does not analyze"
	if q == nil || q.Lock || q.Into || len(q.With) > 0 && !vl.sources || vl.consts.src.hasWord("TABLESAMPLE") {
		return form
	}
	sc = vl.names.WithScope(sc, q.With)
	for _, c := range q.With {
		if why := vl.query(vl.names.CTEScope(sc, c), c.Select); why != "" {
			return why
		}
	}
	for _, o := range q.Operands {
		if why := vl.query(sc, o); why != "" {
			return why
		}
	}
	inner := vl.names.NewScope(sc, nil, q.From)
	for _, s := range q.From {
		if why := vl.source(inner, s); why != "" {
			return why
		}
	}
	lists := append([][]*ast.Expr{q.DistinctOn, {q.Where, q.Having}, q.GroupBy, q.Windows, q.OrderBy, q.Limit}, q.Values...)
	for _, it := range q.Items {
		lists = append(lists, []*ast.Expr{it.Expr})
	}
	for _, list := range lists {
		for _, e := range list {
			if why := vl.reason(inner, e); why != "" {
				return why
			}
		}
	}
	return ""
}

func (vl volatility) source(sc *names.Scope, s *ast.Source) string {
	switch {
	case s == nil:
		return ""
	case s.Left != nil || s.Right != nil:
		for _, side := range []*ast.Source{s.Left, s.Right} {
			if why := vl.source(sc, side); why != "" {
				return why
			}
		}
		return vl.reason(sc, s.On)
	case s.Select != nil && s.Lateral && vl.sources:
		return vl.query(sc, s.Select)
	case s.Select != nil:
		return vl.query(sc.Parent, s.Select)
	case s.Func != nil && vl.sources:
		return vl.reason(sc, s.Func)
	case len(s.Name) > 0 && vl.sources && vl.names.CTE(sc, s.Name) != nil:
		return ""
	case len(s.Name) == 0 || vl.names.CTE(sc, s.Name) != nil:
		return "has a subquery of something other than a table"
	}
	if t, known := vl.names.Lookup(s.Name); known && (t == nil || t.IsView && !vl.sources || t.Triggers.Ruled) {
		return "has a subquery of " + nameText(s.Name) + ", which may call functions"
	}
	return ""
}

func nameText(name []ast.Ident) string {
	parts := make([]string, len(name))
	for i, n := range name {
		parts[i] = n.Name
	}
	return strings.Join(parts, ".")
}
