package main

import (
	"testing"

	"github.com/slotsql/slotsql/examples/internal/shop/shoptest"
)

// Each comment is counted, on each engine.
func TestRun(t *testing.T) { shoptest.Crowd(t, example, "0 comment_count ") }

// TestReadme runs the commands of the page, servers being the test's own.
func TestReadme(t *testing.T) { shoptest.Commands(t, "README.md", "") }
