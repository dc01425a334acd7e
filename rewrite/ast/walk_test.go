package ast_test

import (
	"reflect"
	"testing"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// TestVisitor fills every field of a statement, a level of each kind inside the
// other, and holds that each part is visited once: a field that is added to the
// neutral form and forgotten in the walk fails here.
func TestVisitor(t *testing.T) {
	var st ast.Statement
	parts := map[any]string{}
	filled{parts}.fill(reflect.ValueOf(&st).Elem(), "Statement", map[reflect.Type]int{})
	visited := map[any]int{}
	v := ast.Visitor{
		Statement: func(st *ast.Statement) { visited[st]++ },
		CTE:       func(c *ast.CTE) { visited[c]++ },
		Query:     func(q *ast.Select) { visited[q]++ },
		Source:    func(s *ast.Source) { visited[s]++ },
		Expr:      func(e *ast.Expr) { visited[e]++ },
	}
	v.Walk(&st)
	for part, path := range parts {
		if visited[part] != 1 {
			t.Fatalf("%s is visited %d times", path, visited[part])
		}
	}
	if visited[&st] != 1 || len(visited) != len(parts)+1 || len(parts) < 100 {
		t.Errorf("%d parts are visited, of %d", len(visited), len(parts)+1)
	}
	(&ast.Visitor{}).Walk(&st) // whichever session asks for nothing gets nothing
	v.Walk(nil)
}

// filled keeps the path of each part that is visited.
type filled struct{ parts map[any]string }

// fill sets a value and what is in it. A part is in another of its type once at most.
func (f filled) fill(v reflect.Value, path string, within map[reflect.Type]int) {
	switch v.Kind() {
	case reflect.Pointer:
		if within[v.Type()] > 1 || v.Type() == reflect.TypeFor[*ast.Case]() { // its expressions are among the operands
			return
		}
		within[v.Type()]++
		defer func() { within[v.Type()]-- }()
		v.Set(reflect.New(v.Type().Elem()))
		switch part := v.Interface().(type) {
		case *ast.Statement, *ast.CTE, *ast.Select, *ast.Source, *ast.Expr:
			f.parts[part] = path
		}
		f.fill(v.Elem(), path, within)
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), path+"."+v.Type().Field(i).Name, within)
		}
	case reflect.Slice:
		one := reflect.New(v.Type().Elem()).Elem()
		if f.fill(one, path, within); one.Kind() != reflect.Pointer || !one.IsNil() {
			v.Set(reflect.Append(v, one))
		}
	}
}
