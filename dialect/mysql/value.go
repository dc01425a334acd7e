package mysql

import (
	"fmt"
	"io"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
)

// The parser leaves literals to a value driver that is set process-wide. The
// translator only ever uses its interfaces, so a program that brings its own
// value driver keeps it.
func init() {
	if ast.NewValueExpr != nil {
		return
	}
	ast.NewValueExpr = func(v any, _, _ string) ast.ValueExpr {
		if e, ok := v.(*value); ok {
			return e
		}
		return &value{v: v}
	}
	ast.NewParamMarkerExpr = func(int) ast.ParamMarkerExpr { return &param{} }
	ast.NewDecimal = func(s string) (any, error) { return s, nil }
	ast.NewHexLiteral = func(s string) (any, error) { return raw(s), nil }
	ast.NewBitLiteral = func(s string) (any, error) { return raw(s), nil }
}

type raw string

// value is a literal.
type value struct {
	ast.TexprNode
	v any
}

func (e *value) SetValue(v any) { e.v = v }
func (e *value) GetValue() any  { return e.v }
func (e *value) GetDatumString() string {
	return e.GetString()
}
func (e *value) GetString() string {
	switch v := e.v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}
func (e *value) GetProjectionOffset() int { return -1 }
func (e *value) SetProjectionOffset(int)  {}

// Restore prints whole numbers, for the conditions of a schema file, and nothing else.
func (e *value) Restore(ctx *format.RestoreCtx) error {
	switch e.v.(type) {
	case int64, uint64:
		ctx.WritePlainf("%d", e.v)
		return nil
	}
	return fmt.Errorf("mysql: only literals of whole numbers are ever printed")
}

func (e *value) Format(io.Writer)                      {}
func (e *value) Accept(v ast.Visitor) (ast.Node, bool) { return accept(e, v) }

// param is a placeholder.
type param struct{ value }

func (e *param) SetOrder(int)                          {}
func (e *param) Accept(v ast.Visitor) (ast.Node, bool) { return accept(e, v) }

func accept(e ast.Node, v ast.Visitor) (ast.Node, bool) {
	n, _ := v.Enter(e)
	return v.Leave(n)
}
