//go:build nomodernc

package glebarez

import (
	"testing"

	"github.com/slotsql/slotsql/integration/cases"
	"github.com/slotsql/slotsql/integration/ecosystem/calls"
	"github.com/slotsql/slotsql/integration/ecosystem/sessions"
)

// These need a twin without modernc.org/sqlite: go test -tags nomodernc ./glebarez.

func TestGolden(t *testing.T) { cases.Run(t, "../../../rewrite/testdata", "sqlite") }

func TestCalls(t *testing.T) { calls.Run(t) }

func TestSession(t *testing.T) { sessions.Run(t, "glebarez", sessions.Late, "-tags=nomodernc") }
