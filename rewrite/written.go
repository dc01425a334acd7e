package rewrite

import (
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Batches of changes come with their rows written in the statement:
//
//	UPDATE t SET n = t.n + v.d FROM (VALUES (1, 2), (3, 4)) AS v (id, d) WHERE t.id = v.id
//	UPDATE t JOIN (SELECT 1 AS id, 2 AS d UNION ALL SELECT 3, 4) v ON v.id = t.id SET t.n = t.n + v.d
//
// What such a source gives for a column is known before the statement runs: one of the
// constants that stand there. So an increment by the column is exact on the base row if it is
// for each of them (exact.go), and a drain covers the rows whose key is one of them.
//
// If a key is written twice, the engine applies one of the rows, and leaves open which. On the
// base row that needs no rule of ours, as the engine's own statement runs there. In slots
// it would, so such an increment never goes there.

// writtenSources reads such sources.
type writtenSources struct {
	names  *names.Resolver
	consts *constants
}

// maxWritten is the largest number of rows of a source that the planner looks at.
const maxWritten = maxGivenRows

// written returns what a source of the statement gives for the column that e names, where that
// is constants; nil elsewhere.
func (ws *writtenSources) written(sc *names.Scope, e *ast.Expr) []*ast.Expr {
	b := ws.sourceOf(sc, e)
	if b == nil || b.Query == nil || b.Optional {
		return nil
	}
	at := ws.writtenAt(b, e.Name[len(e.Name)-1])
	if at < 0 {
		return nil
	}
	values, ok := writtenRows(b.Query, at, nil)
	if !ok || len(values) > maxWritten {
		return nil
	}
	return values
}

// sourceOf returns the only source of the block that may have the column that e names.
func (ws *writtenSources) sourceOf(sc *names.Scope, e *ast.Expr) (found *names.Binding) {
	if e.Kind != ast.ColumnRef || len(e.Name) > 2 {
		return nil
	}
	column := e.Name[len(e.Name)-1]
	for _, b := range sc.Bindings {
		if len(e.Name) == 2 {
			if !ws.names.SameLabel(e.Name[0], b.Label) {
				continue
			}
		} else if has, err := ws.names.HasColumn(b, column); err == nil && has == names.No {
			continue
		}
		if found != nil {
			return nil
		}
		found = b
	}
	return found
}

// writtenAt returns the position of a column of a query or function in FROM, or -1.
func (ws *writtenSources) writtenAt(b *names.Binding, column ast.Ident) int {
	columns := b.Columns
	if len(columns) == 0 && b.Query != nil {
		if columns = ws.writtenNames(b); columns == nil {
			return -1
		}
	}
	at := -1
	for i, name := range columns {
		if ws.names.SameLabel(column, name) {
			if at >= 0 {
				return -1
			}
			at = i
		}
	}
	return at
}

// writtenNames returns the columns of the columns of a query in FROM; nil if they are not known.
func (ws *writtenSources) writtenNames(b *names.Binding) (columns []ast.Ident) {
	first := b.Query
	for len(first.Operands) > 0 {
		first = first.Operands[0]
	}
	if len(first.Values) > 0 {
		for i := range first.Values[0] {
			columns = append(columns, ast.Ident{Name: "column" + strconv.Itoa(i+1)}) // PostgreSQL, SQLite
		}
		return columns
	}
	outs, known, err := ws.names.Outputs(b)
	if err != nil || !known {
		return nil
	}
	for _, o := range outs {
		columns = append(columns, o.Name)
	}
	return columns
}

// writtenRows adds what the rows of a query may have in a column. What the query leaves out,
// as by WHERE, LIMIT or EXCEPT, makes no difference: the rest is of the same constants.
func writtenRows(q *ast.Select, at int, values []*ast.Expr) (all []*ast.Expr, ok bool) {
	for _, o := range q.Operands {
		if values, ok = writtenRows(o, at, values); !ok {
			return nil, false
		}
	}
	for _, row := range q.Values {
		if at >= len(row) || !ast.Constant(row[at]) {
			return nil, false
		}
		values = append(values, row[at])
	}
	if len(q.Operands) > 0 || len(q.Values) > 0 {
		return values, true
	}
	// Grouping sets make NULL of what they leave out.
	if at >= len(q.Items) || len(q.GroupBy) > 0 {
		return nil, false
	}
	for _, it := range q.Items {
		if it.Expr == nil || it.Expr.Kind == ast.Star {
			return nil, false
		}
	}
	if e := q.Items[at].Expr; ast.Constant(e) {
		return append(values, e), true
	}
	return nil, false
}

// writtenDeltas reads an operand that is a column of such a source as one operand for each
// of its rows.
//
// The column has one type, that of all its values. Where an engine adds strings as floating-point
// numbers, one string makes all of them strings, and so may a placeholder: the
// sum is exact while it stays far below 2^53, in columns of 32 bits.
func (ws *writtenSources) writtenDeltas(sc *names.Scope, c *schema.Column, op operand) (out []operand) {
	values := ws.written(sc, ast.Unparen(op.expr))
	narrow := c.Numeric == schema.Integer && c.Bits <= 32
	for _, v := range values {
		v, negative := ast.Signed(v, op.negative)
		if ws.consts.d.Traits().StringsAreFloats && !narrow && (v.Kind == ast.Param || v.Kind == ast.String) {
			return nil
		}
		out = append(out, operand{expr: v, negative: negative})
	}
	return out
}

// integer reports whether a number is written as digits alone.
func (cs *constants) integer(e *ast.Expr) bool {
	return strings.Trim(cs.src.sql[e.Start:e.End], "0123456789") == ""
}

// givenKeys are the keys of the rows that such a source gives.
type givenKeys struct {
	values []*ast.Expr // that make them up
	most   int         // the largest number of them
	where  fragment
}

// maxKeys stands for a number of keys that is not known.
const maxKeys = 1 << 30

// givenKeys returns the values that a column of the target equals by being compared with a
// column of such a source; nil where it is compared with something else.
func (kf *keyFinder) givenKeys(sc *names.Scope, b *names.Binding, column string, compared []*ast.Expr) *givenKeys {
	if len(compared) != 1 {
		return nil
	}
	values := kf.written.written(sc, compared[0])
	if values == nil || !kf.consts.comparesAlike(b.Table.Column(column), values) {
		return nil
	}
	return &givenKeys{values, len(values), kf.oneOf(b, column, values)}
}

// comparesAlike reports whether a column that is compared with constants finds the rows that it
// finds by being compared with a source's column that holds them. There a constant has
// the type of all of them.
func (cs *constants) comparesAlike(c *schema.Column, values []*ast.Expr) bool {
	tr := cs.d.Traits()
	if tr.TypedConstants {
		return true // IN finds a type for all of them, too; of strings alone it compares no fewer as equal
	}
	for _, v := range values {
		v, _ := ast.Signed(v, false)
		number, _ := cs.castNumber(v)
		integer := c.Numeric == schema.Integer
		switch {
		case integer && (number != nil || v.Kind == ast.Number && (!tr.LooseEquality || cs.integer(v))):
		case integer && (v.Kind == ast.Param || v.Kind == ast.String) && (!tr.LooseEquality || c.Bits <= 32):
			// MySQL compares a string with a number as floating-point numbers, which hold these.
		case !numericColumn(c) && !tr.LooseEquality && (v.Kind == ast.Param || v.Kind == ast.String):
		default:
			return false
		}
	}
	return true
}
