package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/integration/foreign/wrap"
)

// A row of the table is a suite on a server.
type row struct {
	suite, server string
	passed        int           // tests, plainly
	differ        []int         // tests, for each placement
	counts        []wrap.Counts // likewise
}

func (r row) String() string {
	pair := func(of func(wrap.Counts) int64) string {
		var all []string
		for _, c := range r.counts {
			all = append(all, fmt.Sprint(of(c)))
		}
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("| %s | %s | %d | %s | %s | %s | %s |", r.suite, r.server, r.passed,
		strings.ReplaceAll(strings.Trim(fmt.Sprint(r.differ), "[]"), " ", ", "),
		pair(func(c wrap.Counts) int64 { return c.Observed }),
		pair(func(c wrap.Counts) int64 { return c.Rewritten }),
		pair(func(c wrap.Counts) int64 { return c.Grouped }))
}

// write puts a row into the table of a file, in place of the one for the same suite and server.
func write(file string, r row) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, table, ok := strings.Cut(string(text), "|---|---|---|---|---|---|---|\n")
	if !ok {
		return fmt.Errorf("%s has no table of results", file)
	}
	rows, after, _ := strings.Cut(table, "\n\n")
	same := fmt.Sprintf("| %s | %s |", r.suite, r.server)
	all := slices.DeleteFunc(strings.Split(strings.TrimSpace(rows), "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, same)
	})
	all = append(all, r.String())
	slices.Sort(all)
	whole := before + "|---|---|---|---|---|---|---|\n" + strings.Join(all, "\n") + "\n"
	if after != "" {
		whole += "\n" + after
	}
	return os.WriteFile(file, []byte(whole), 0o644) //nolint:gosec // a page of the repository
}
