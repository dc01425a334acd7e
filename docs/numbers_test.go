package docs

import (
	"bytes"
	"strings"
	"testing"

	extast "github.com/yuin/goldmark/extension/ast"
)

// TestReadmeNumbers compares README's table of speedups with the measurements
// in benchmarks.md that it is taken from, cell by cell.
func TestReadmeNumbers(t *testing.T) {
	all := pages(t)
	readme := tableUnder(t, all["README.md"], "one hot row")
	measured, fleet := tableUnder(t, all["docs/benchmarks.md"], "1 client"), tableUnder(t, all["docs/benchmarks.md"], "fleet")
	engines := []string{"PostgreSQL", "MariaDB", "SQLite"}
	for readmeRow, from := range map[string]struct{ row, column string }{
		"autocommit, 128 clients":                                      {"autocommit", "128"},
		"in a transaction with an INSERT, 1 ms round trip, 32 clients": {"the same with 1 ms round trip", "32"},
		"autocommit, 1 client":                                         {"autocommit", "1 client"},
	} {
		for _, engine := range engines {
			got := readme.at(t, readmeRow, engine)
			if engine == "SQLite" && got == "" {
				continue // it has no round trip, and one writer
			}
			if want := measured.at(t, engine+", "+from.row, from.column); got != want {
				t.Errorf("README, %q, %s: %s; docs/benchmarks.md has %s", readmeRow, engine, got, want)
			}
		}
		delete(readme, readmeRow)
	}
	for readmeRow, row := range map[string]string{
		"autocommit, 4 processes of 32 clients":                                  "4 processes of 32 connections, one row",
		"among 6 to 20 statements of a transaction, 1 ms round trip, 32 clients": "1 of 32, among 6 to 20 statements, 1 ms away",
	} {
		for _, engine := range engines[:2] {
			if got, want := readme.at(t, readmeRow, engine), fleet.at(t, row, engine); got != want {
				t.Errorf("README, %q, %s: %s; docs/benchmarks.md has %s", readmeRow, engine, got, want)
			}
		}
		delete(readme, readmeRow)
	}
	for row := range readme {
		t.Errorf("README has a row %q that is held against nothing", row)
	}
}

// table is a table's cells by the text of its first column and of its header.
type table map[string]map[string]string

func (tb table) at(t *testing.T, row, column string) string {
	t.Helper()
	cell, ok := tb[row][column]
	if !ok {
		t.Fatalf("there is no cell under %q, %q", row, column)
	}
	return cell
}

// tableUnder returns the table whose header begins with that cell, or has it
// second where the first one is empty.
func tableUnder(t *testing.T, p *page, name string) table {
	t.Helper()
	var found table
	each(p, func(n *extast.Table) {
		var header []string
		lines := bytes.Split(p.source, []byte("\n"))
		for row := n.FirstChild(); row != nil; row = row.NextSibling() {
			c := cells(string(lines[lineOf(p, row)-1]))
			for i := range c {
				c[i] = strings.TrimSpace(c[i])
			}
			if header == nil {
				if header = c; c[0] != name && (c[0] != "" || c[1] != name) {
					return
				}
				found = table{}
				continue
			}
			found[c[0]] = map[string]string{}
			for i := range c {
				found[c[0]][header[i]] = c[i]
			}
		}
	})
	if found == nil {
		t.Fatalf("%s has no table under %q", p.name, name)
	}
	return found
}
