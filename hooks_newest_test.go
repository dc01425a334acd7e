//go:build newest

package slotsql

import (
	"testing"

	"modernc.org/sqlite"

	"github.com/slotsql/slotsql/internal/link"
)

// TestHooksNewest has what the versions of the parents in go.mod lack, and newer ones have.
func TestHooksNewest(t *testing.T) {
	c, err := sqlite.NewConnector("file::memory:")
	if err != nil {
		t.Fatal(err)
	}
	if got := hooksOf(c); got != (link.ParentHooks{}) {
		t.Errorf("sqlite.NewConnector: got %+v, want none", got)
	}
}
