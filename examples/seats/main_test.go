package main

import (
	"testing"

	"github.com/slotsql/slotsql/examples/internal/shop/shoptest"
)

// Clients get all there is, and no more, on each engine.
func TestRun(t *testing.T) {
	shoptest.Crowd(t, example, "= bookings 100 100 attendees 100 100 clients refused ")
}

// TestReadme runs the commands of the page, servers being the test's own.
func TestReadme(t *testing.T) { shoptest.Commands(t, "README.md", "") }
