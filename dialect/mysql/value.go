package mysql

import (
	"fmt"
	"io"

	tree "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
)

// The parser leaves literals to a value driver that is set process-wide. The
// translator only ever uses its interfaces, so a program that brings its own
// value driver keeps it.
func init() {
	if tree.NewValueExpr != nil {
		return
	}
	tree.NewValueExpr = func(v any, _, _ string) tree.ValueExpr {
		if e, ok := v.(*value); ok {
			return e
		}
		return &value{v: v}
	}
	tree.NewParamMarkerExpr = func(int) tree.ParamMarkerExpr { return &param{} }
	tree.NewDecimal = func(s string) (any, error) { return s, nil }
	tree.NewHexLiteral = func(s string) (any, error) { return raw(s), nil }
	tree.NewBitLiteral = func(s string) (any, error) { return raw(s), nil }
}

type raw string

// value is a literal.
type value struct {
	tree.TexprNode
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

func (e *value) Format(io.Writer)                        {}
func (e *value) Accept(v tree.Visitor) (tree.Node, bool) { return accept(e, v) }

// param is a placeholder.
type param struct{ value }

func (e *param) SetOrder(int)                            {}
func (e *param) Accept(v tree.Visitor) (tree.Node, bool) { return accept(e, v) }

func accept(e tree.Node, v tree.Visitor) (tree.Node, bool) {
	n, _ := v.Enter(e)
	return v.Leave(n)
}
