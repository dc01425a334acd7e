// Command foreign runs the tests of other projects plainly and through slotsql, and compares the outcome of each test.
// scripts/foreign starts it.
//
// Suites are fetched at the versions that suites.go names, and built with hooks in database/sql (overlay): slotsql
// wraps what they open, by whatever name, and no file of theirs is changed or kept.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(log.Ltime)
	bouncer := flag.Bool("pgbouncer", false, "reach PostgreSQL through PgBouncer, with a pool of sessions")
	results := flag.String("results", "", "the `file` whose table gets the rows of this run")
	logs := flag.String("logs", "", "an existing `directory` for the output of each run")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "foreign [FLAGS] [SUITE...], each a part of a name:")
		for _, s := range suites {
			fmt.Fprintln(flag.CommandLine.Output(), "  "+s.name)
		}
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(context.Background(), flag.Args(), *results, *logs, *bouncer); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, names []string, results, logs string, bouncer bool) (err error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "foreign-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if logs == "" {
		logs = work
	}
	in := place{work: work, logs: logs, root: root}
	if bouncer {
		in.bouncer = &pgbouncer{dir: filepath.Join(work, "pgbouncer")}
		defer in.bouncer.stop()
	}
	var failed []error
	for _, s := range chosen(names, bouncer) {
		row, err := in.compare(ctx, &s)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.name, err))
			log.Println(failed[len(failed)-1])
		}
		if row == nil {
			continue
		}
		log.Println(row)
		if results != "" {
			if err := write(results, *row); err != nil {
				return err
			}
		}
	}
	return errors.Join(failed...)
}

func chosen(names []string, bouncer bool) []suite {
	return slices.DeleteFunc(slices.Clone(suites), func(s suite) bool {
		named := len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return strings.Contains(s.name, n) })
		return !named || bouncer && s.engine != "postgres"
	})
}
