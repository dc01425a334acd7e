package main

import (
	"bytes"
	"database/sql"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slotsql/slotsql/integration/server"
)

func TestQuickstart(t *testing.T) {
	for driver, dsn := range map[string]string{"sqlite": "", "mysql": server.MariaDB(t), "postgres": server.Postgres(t)} {
		t.Run(driver, func(t *testing.T) {
			statements := []*string{&countView, &countVisit, &drawOrder, &addVisit, &selectPage, &selectTop, &logLength}
			for _, q := range statements {
				defer func(text string) { *q = text }(*q)
			}
			var out bytes.Buffer
			o := options{driver: driver, dsn: dsn, clients: 8, duration: 200 * time.Millisecond, out: &out}
			if err := run(t.Context(), o); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				if utf8.RuneCountInString(line) > 80 || strings.ContainsFunc(line, unicode.IsControl) {
					t.Errorf("does not fit a terminal of 80 columns: %q", line)
				}
			}
			if n := strings.Count(out.String(), " ok\n"); n != 8 || strings.Contains(out.String(), "failed") {
				t.Errorf("%d of 8 totals are right\n%s", n, &out)
			}
		})
	}
}

// What is there before stays there.
func TestForeignTable(t *testing.T) {
	dsn := server.SQLite(t)
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE " + visits + " (id int)"); err != nil {
		t.Fatal(err)
	}
	err = run(t.Context(), options{driver: "sqlite", dsn: dsn, clients: 1, duration: time.Millisecond, out: t.Output()})
	if err == nil || !strings.Contains(err.Error(), visits+" exists already") {
		t.Errorf("got %v", err)
	}
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table'").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d tables, %v", n, err)
	}
}

func TestBadFlags(t *testing.T) {
	for _, o := range []options{
		{driver: "oracle", clients: 1, duration: 1},
		{driver: "mysql", clients: 1, duration: 1},
		{driver: "sqlite", duration: 1},
		{driver: "sqlite", clients: 1},
	} {
		o.out = t.Output()
		if err := run(t.Context(), o); err == nil {
			t.Errorf("no error for %+v", o)
		}
	}
}
