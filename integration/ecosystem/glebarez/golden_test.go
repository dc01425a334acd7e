//go:build nomodernc

package glebarez

import (
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/integration/cases"
	"github.com/slotsql/slotsql/integration/ecosystem/calls"
	"github.com/slotsql/slotsql/integration/twin"
)

func init() {
	twin.Over("sqlite", twin.Parent{Plain: "sqlite", Wrapped: "glebarez-slotsql", Code: code})
}

func code(err error) string {
	if c, _, ok := fault(err); ok {
		return fmt.Sprintf("SQLite %d", c)
	}
	return ""
}

// TestGolden needs a twin without modernc.org/sqlite: go test -tags nomodernc ./glebarez.
func TestGolden(t *testing.T) { cases.Run(t, "../../../rewrite/testdata", "sqlite") }

// TestCalls needs the same.
func TestCalls(t *testing.T) { calls.Run(t) }
