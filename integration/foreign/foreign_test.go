package main

import (
	"path/filepath"
	"testing"
)

// TestSuites runs the quickest suite; scripts/foreign runs them all.
func TestSuites(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	in := place{work: dir, logs: dir, root: root}
	for _, s := range suites {
		if s.name != "sqlx, PostgreSQL" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			row, err := in.compare(t.Context(), &s)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(row)
		})
	}
}

// TestDifferences: a difference has its reason, or is an error.
func TestDifferences(t *testing.T) {
	plain := outcomes{"TestA": "pass", "TestB": "pass", "TestC": "fail"}
	wrapped := outcomes{"TestA": "pass", "TestB": "fail", "TestD": "pass"}
	if got := differences(plain, wrapped); len(got) != 3 || got[0] != "TestB" || got[1] != "TestC" || got[2] != "TestD" {
		t.Error(got)
	}
}
