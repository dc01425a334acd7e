package main

import (
	"testing"

	"github.com/slotsql/slotsql/examples/internal/shop/shoptest"
)

// No edit is lost, on each engine.
func TestRun(t *testing.T) { shoptest.Crowd(t, example, "= edits, and words 200 200") }

// TestReadme runs the commands of the page, servers being the test's own.
func TestReadme(t *testing.T) { shoptest.Commands(t, "README.md", "") }
