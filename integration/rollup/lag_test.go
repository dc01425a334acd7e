package rollup

import (
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// While transactions keep a row hot, each pass moves what the ones before have committed and
// skips the slots of those that are open. How old the oldest count in a slot is, nothing has
// measured then: no lag is told, by the process or by the database, until a pass moves all.
func TestLagOfARowThatTransactionsKeepHot(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		table := "hot_" + dialect
		p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Schema: []string{
			"CREATE TABLE " + table + " (id INT PRIMARY KEY, views BIGINT NOT NULL)",
			"INSERT INTO " + table + " VALUES (1, 0)",
		}, Config: "version: 1\nauto_migrate: true\ntables: {" + table + ": {slots: 64, placement: connection, counters: {views: {}}}}\n"})
		increment := "UPDATE " + table + " SET views = views + 1 WHERE id = 1"
		execAll(t, p.Wrapped, increment)
		c := twin.Connector(t, p)
		i, err := slotsql.NewInspector(c)
		if err != nil {
			t.Fatal(err)
		}
		defer i.Close()
		pass := func(skipped bool) {
			t.Helper()
			execAll(t, p.Wrapped, increment)
			if r := rollUpOn(t, c); (r.Tables[0].Skipped > 0) != skipped || !skipped && r.Moved() == 0 {
				t.Fatalf("%+v, skipped: want %v", r.Tables, skipped)
			}
			execAll(t, p.Wrapped, increment)
		}
		begun := time.Now()
		lags := func(known bool) {
			t.Helper()
			seen, err := i.Look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if lag := seen.Tables[0].Lag; (lag != nil) != known || known && *lag > time.Since(begun) {
				t.Errorf("the database: %+v, known: want %v", seen.Tables[0], known)
			}
			if lag := lagOf(dialect, table); (lag > 0) != known || lag > time.Since(begun) {
				t.Errorf("the process: lag %s, known: want %v", lag, known)
			}
		}
		pass(false)
		lags(true)
		commit := heldSlot(t, p.Wrapped, increment)
		for range 3 {
			next := heldSlot(t, p.Wrapped, increment)
			pass(true)
			commit()
			commit = next
			lags(false)
		}
		commit()
		begun = time.Now()
		pass(false)
		lags(true)
	})
}

// A process whose roll-up has stopped, or stands by for another one, does not know any more.
func TestLagOfAWorkerThatStandsBy(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		table := "aside_" + dialect
		p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Schema: []string{
			"CREATE TABLE " + table + " (id INT PRIMARY KEY, views BIGINT NOT NULL)",
		}, Config: "version: 1\nauto_migrate: true\ntables: {" + table + ": {placement: random, counters: {views: {}}}}\n"})
		c := twin.Connector(t, p)
		known := func(want bool) {
			t.Helper()
			if lag := lagOf(dialect, table); (lag > 0) != want {
				t.Errorf("lag %s, known: want %v", lag, want)
			}
		}
		execAll(t, p.Wrapped, "UPDATE "+table+" SET views = views + 1 WHERE id = 1") // connects, and creates the tables
		rollUpOn(t, c)
		known(true)
		execAll(t, p.Under, "INSERT INTO slotsql_leases (name, holder, until) VALUES ('roll-up', 'another', '2099-01-01 00:00:00')")
		if r, err := slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{}); err != nil || r.Held {
			t.Fatalf("%+v, %v", r, err)
		}
		known(false)
		execAll(t, p.Under, "DELETE FROM slotsql_leases WHERE name = 'roll-up'")
		running(t, c, func(slotsql.RollUpReport, error) { known(true) })
		known(false)
	})
}

// What a roll-up that has ended has told is taken back by the worker that folds rows which have
// cooled: it does not measure, and a lag would be that of the other one's last pass.
func TestLagAfterARollUpHasEnded(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)", "INSERT INTO posts VALUES (1, 0)",
		}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {placement: adaptive, counters: {views: {}}}}\n"})
		execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
		rollUp(t, p)
		const passes = "SELECT COUNT(*) FROM slotsql_leases WHERE name LIKE 'pass %'"
		if got := rows(t, p.Under, passes); got != "1" {
			t.Fatalf("%s passes are noted", got)
		}
		execAll(t, p.Under, "INSERT INTO posts_slots (id, slot, views) VALUES (1, 0, 2)")
		if got := rows(t, p.Wrapped, "SELECT views FROM posts WHERE id = 1"); got != "3" { // finds the table awake
			t.Fatalf("a total of %s", got)
		}
		for rows(t, p.Under, passes) != "0" {
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// A worker that stands by for another one logs it once, and when it works again.
func TestStandByIsLogged(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)",
		}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {placement: random, counters: {views: {}}}}\n"})
		execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
		rollUp(t, p) // creates the table of leases
		const lease = "INSERT INTO slotsql_leases (name, holder, until) VALUES ('roll-up', 'another', '2099-01-01 00:00:00')"
		execAll(t, p.Under, lease)
		config, err := slotsql.Load(p.ConfigPath)
		if err != nil {
			t.Fatal(err)
		}
		lines := make(chan string, 100)
		c := twin.ConnectorWith(t, p, config, slotsql.WithLogger(slog.New(slog.NewTextHandler(lineWriter(lines), nil))))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- slotsql.RunRollUp(ctx, c, slotsql.RollUpOptions{Interval: time.Millisecond}) }()
		for !strings.Contains(<-lines, "the roll-up stands by") {
		}
		execAll(t, p.Under, "DELETE FROM slotsql_leases WHERE name = 'roll-up'")
		for line := range lines {
			if strings.Contains(line, "the roll-up works") {
				break
			} else if strings.Contains(line, "stands by") {
				t.Error("logged again")
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

type lineWriter chan<- string

func (w lineWriter) Write(b []byte) (int, error) { w <- string(b); return len(b), nil }

// running runs a roll-up until it has made two passes, and calls f after the second.
func running(t *testing.T, c *slotsql.Connector, f func(slotsql.RollUpReport, error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	passes := 0
	err := slotsql.RunRollUp(ctx, c, slotsql.RollUpOptions{Interval: time.Millisecond, Pass: func(r slotsql.RollUpReport, err error) {
		if passes++; passes == 2 {
			f(r, err)
			cancel()
		}
	}})
	if err != nil {
		t.Error(err)
	}
}

// heldSlot increments by a connection of its own, and again in a transaction, which changes
// the slot of the first, until what is returned commits it.
func heldSlot(t *testing.T, db *sql.DB, increment string) (commit func()) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), increment); err != nil {
		t.Fatal(err)
	}
	tx, err := conn.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), increment); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		conn.Close()
	}
}

func lagOf(dialect, table string) time.Duration {
	for _, s := range slotsql.RollUps() {
		if s.Dialect == dialect && s.Table == table {
			return s.Lag
		}
	}
	return 0
}
