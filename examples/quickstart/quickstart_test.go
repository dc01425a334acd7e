package main

import (
	"bytes"
	"database/sql"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slotsql/slotsql/examples/internal/pageviews"
	"github.com/slotsql/slotsql/integration/server"
	_ "github.com/slotsql/slotsql/mysql"
	_ "github.com/slotsql/slotsql/postgres"
)

func TestQuickstart(t *testing.T) {
	for dsn, engine := range map[string]pageviews.Engine{
		"": pageviews.SQLite, server.MariaDB(t): pageviews.MySQL, server.Postgres(t): pageviews.Postgres,
	} {
		t.Run(engine.Title, func(t *testing.T) {
			var out timedOutput
			begun := time.Now()
			o := pageviews.Options{DSN: dsn, Connections: 8, Duration: 200 * time.Millisecond, Out: &out}
			if err := pageviews.Run(t.Context(), engine, o); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			if first, all := out.firstNumber.Sub(begun), time.Since(begun); out.firstNumber.IsZero() || first > all/4 {
				t.Errorf("the first number comes after %s of %s, and not after one step of twelve\n%s", first, all, &out)
			}
			var last string
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				if utf8.RuneCountInString(line) > 80 || strings.ContainsFunc(line, unicode.IsControl) {
					t.Errorf("does not fit a terminal of 80 columns: %q", line)
				}
				last += line + " "
				if line == "" {
					last = ""
				}
			}
			if n := strings.Count(out.String(), " ok\n"); n != 8 || !strings.HasPrefix(last, "Verdict: ") || !strings.HasSuffix(last, "All totals are exact. ") {
				t.Errorf("%d of 8 totals are right, and it ends with %q\n%s", n, last, &out)
			}
		})
	}
}

// timedOutput notes when the first number is printed.
type timedOutput struct {
	bytes.Buffer
	firstNumber time.Time
}

func (o *timedOutput) Write(b []byte) (int, error) {
	if o.firstNumber.IsZero() && bytes.Contains(b, []byte("increments of one row a second")) {
		o.firstNumber = time.Now()
	}
	return o.Buffer.Write(b)
}

// What is there before stays there.
func TestForeignTable(t *testing.T) {
	dsn := server.SQLite(t)
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE slotsql_quickstart_visits (id int)"); err != nil {
		t.Fatal(err)
	}
	o := pageviews.Options{DSN: dsn, Connections: 1, Duration: time.Millisecond, Out: t.Output()}
	err = pageviews.Run(t.Context(), pageviews.SQLite, o)
	if err == nil || !strings.Contains(err.Error(), "slotsql_quickstart_visits exists already") {
		t.Errorf("got %v", err)
	}
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table'").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d tables, %v", n, err)
	}
}

func TestBadFlags(t *testing.T) {
	for _, c := range []struct {
		engine                pageviews.Engine
		connections, duration int
	}{{pageviews.MySQL, 1, 1}, {pageviews.SQLite, 0, 1}, {pageviews.SQLite, 1, 0}} {
		o := pageviews.Options{Connections: c.connections, Duration: time.Duration(c.duration), Out: t.Output()}
		if err := pageviews.Run(t.Context(), c.engine, o); err == nil {
			t.Errorf("no error for %+v", c)
		}
	}
}
