package main

import (
	"testing"

	"github.com/slotsql/slotsql/examples/internal/shop/shoptest"
)

// Each client's requests are noted, on each engine.
func TestRun(t *testing.T) { shoptest.Crowd(t, example, "part of another one's statement 0 ") }

// TestReadme runs the commands of the page, servers being the test's own.
func TestReadme(t *testing.T) { shoptest.Commands(t, "README.md", "") }
