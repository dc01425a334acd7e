package rollup

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// The seed of the layout: an aggregation table which jobs update in long
// transactions and requests in short ones.
var tallySchema = []string{
	"CREATE TABLE tallies (day INT NOT NULL, status VARCHAR(10) NOT NULL, n INT NOT NULL, amount DECIMAL(14,2) NOT NULL, PRIMARY KEY (day, status))",
	"INSERT INTO tallies VALUES (1, 'new', 5000, 0), (1, 'paid', 0, 0), (1, 'sent', 0, 0)",
}

func tallies(t *testing.T, dialect, more string) *twin.Pair {
	t.Helper()
	schema := tallySchema
	if dialect == "sqlite" { // where a DECIMAL is a floating-point number
		schema = []string{
			"CREATE TABLE tallies (day INT NOT NULL, status VARCHAR(10) NOT NULL, n INT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (day, status))",
			tallySchema[1],
		}
	}
	p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Schema: schema,
		Config: "version: 1\nauto_migrate: true\ntables: {tallies: {counters: {n: {}, amount: {}}, layout: journal}}\n" + more})
	p.Wrapped.SetMaxOpenConns(20)
	if err := p.Wrapped.PingContext(t.Context()); err != nil { // makes the tables
		t.Fatal(err)
	}
	return p
}

const totals = "SELECT day, status, n, amount FROM tallies ORDER BY day, status"

// move is an application's change of a status, in its own transaction.
func move(from, to string, amount int) []string {
	return []string{
		fmt.Sprintf("UPDATE tallies SET n = n - 1, amount = amount - %d WHERE day = 1 AND status = '%s'", amount, from),
		fmt.Sprintf("UPDATE tallies SET n = n + 1, amount = amount + %d WHERE day = 1 AND status = '%s'", amount, to),
	}
}

// A transaction that holds thousands of increments keeps no session waiting: neither
// increments of the same rows, in transactions and by themselves, nor reads, nor
// the roll-up, which moves what is committed meanwhile or, where the base row is
// locked, puts it together in one row for each key. Statements that wait for a
// lock fail here.
func TestLongTransaction(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := tallies(t, dialect, "")
		long, err := p.Wrapped.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer long.Rollback()
		var statements []string // what is committed, for the twin
		in := func(tx interface {
			Exec(string, ...any) (sql.Result, error)
		}, undone bool, list ...string) {
			t.Helper()
			for _, q := range list {
				r, err := tx.Exec(q)
				if err != nil {
					t.Fatalf("%s: %v", q, err)
				}
				if n, err := r.RowsAffected(); n != 1 || err != nil {
					t.Fatalf("%s: %d rows, %v", q, n, err)
				}
				if !undone {
					statements = append(statements, q)
				}
			}
		}
		// MySQL's keeps a lock on the gap of an inserted row that it undoes: see docs/divergences.md.
		undoes := dialect != "mysql" || !server.MySQLVersion(t).MySQL
		for i := range 500 {
			in(long, false, move("new", "paid", i%7)...)
			if i%50 == 0 && undoes {
				execTx(t, long, "SAVEPOINT attempt")
				in(long, true, move("paid", "sent", 3)...)
				execTx(t, long, "ROLLBACK TO SAVEPOINT attempt")
			}
			if i%50 == 0 {
				in(long, false, move("paid", "sent", 4)...)
			}
		}
		if dialect == "sqlite" { // others wait for its one writer
			if err := long.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		before := rows(t, p.Wrapped, totals)
		added := 0
		for round := range 5 {
			for i := range 40 {
				switch i % 4 {
				case 0:
					tx, err := p.Wrapped.BeginTx(t.Context(), nil)
					if err != nil {
						t.Fatal(err)
					}
					in(tx, false, move("new", "paid", i)...)
					if err := tx.Commit(); err != nil {
						t.Fatal(err)
					}
				case 1:
					tx, err := p.Wrapped.BeginTx(t.Context(), nil)
					if err != nil {
						t.Fatal(err)
					}
					in(tx, true, move("new", "paid", i)...)
					if err := tx.Rollback(); err != nil {
						t.Fatal(err)
					}
				default:
					in(p.Wrapped, false, fmt.Sprintf("UPDATE tallies SET n = n + %d WHERE day = 1 AND status = 'sent'", i))
					added += i
				}
			}
			sum := rows(t, p.Wrapped, totals)
			r := rollUp(t, p)
			if tr := r.Tables[0]; tr.Moved+tr.Merged == 0 || tr.Errors > 0 || tr.Err != nil {
				t.Errorf("round %d: %+v", round, tr)
			}
			if got := rows(t, p.Wrapped, totals); got != sum || got == before {
				t.Errorf("round %d: totals\n%s\nafter the roll-up, before\n%s", round, got, sum)
			}
			if n := rows(t, p.Under, "SELECT COUNT(*) FROM tallies_slots"); n != "0" && (n != "3" || dialect != "mysql") {
				t.Errorf("round %d: %s committed rows are left", round, n)
			}
		}
		if dialect != "sqlite" {
			if err := long.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		execAll(t, p.Plain, statements...)
		want := rows(t, p.Plain, totals)
		if got := rows(t, p.Wrapped, totals); got != want {
			t.Errorf("totals\n%s\nwant\n%s", got, want)
		}
		if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := rows(t, p.Under, totals); got != want {
			t.Errorf("drained\n%s\nwant\n%s", got, want)
		}
		if n := rows(t, p.Under, "SELECT COUNT(*) FROM tallies_slots"); n != "0" {
			t.Errorf("%s rows are left after the drain", n)
		}
	})
}

// However many transactions hold increments of a row, none waits for another one,
// whatever `slots` says: the same with a dedicated table waits for its one slot.
func TestMoreTransactionsThanSlots(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		const schema = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)"
		open := func(layout, params string) *twin.Pair {
			return twin.New(
				t,
				twin.Options{
					Dialect: dialect,
					Params:  params,
					Schema:  []string{schema, "INSERT INTO posts VALUES (1, 0)"},
					Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 1, layout: " + layout + "}}\n",
				},
			)
		}
		begin := func(p *twin.Pair) *sql.Tx {
			tx, err := p.Wrapped.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = tx.Rollback() })
			return tx
		}
		const add = "UPDATE posts SET views = views + 1 WHERE id = 1"
		p := open("journal", patience[dialect])
		var all []*sql.Tx
		for range 12 {
			tx := begin(p)
			for range 20 {
				execTx(t, tx, add)
			}
			execAll(t, p.Wrapped, add)
			all = append(all, tx)
		}
		if got := rows(t, p.Wrapped, "SELECT views FROM posts"); got != "12" {
			t.Errorf("a total of %s while the transactions are open", got)
		}
		for _, tx := range all {
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		if got := rows(t, p.Wrapped, "SELECT views FROM posts"); got != "252" {
			t.Errorf("a total of %s", got)
		}
		d := open("dedicated", pick(dialect, "mysql: innodb_lock_wait_timeout=1", "lock_timeout=100"))
		execTx(t, begin(d), add)
		if _, err := begin(d).ExecContext(t.Context(), add); !conflict(err) {
			t.Errorf("two transactions have the one slot: %v", err)
		}
	})
}

func execTx(t testing.TB, tx *sql.Tx, query string) {
	t.Helper()
	if _, err := tx.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// The connection of a roll-up that puts rows together, because their base row is
// locked, is lost with each of its statements: totals stay. Those that read the facts of
// the tables, which TestConnectionLostAtEveryStep loses as well, run once, before.
func TestConnectionLostWhileMerging(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := tallies(t, dialect, "")
		// The base rows are locked as an increment locks them, without its slot rows: beside these a
		// long transaction may keep a gap (docs/divergences.md).
		long, err := p.Under.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer long.Rollback()
		share := map[string]string{"mysql": "LOCK IN SHARE MODE", "postgres": "FOR SHARE"}[dialect]
		execTx(t, long, "SELECT 1 FROM tallies WHERE day = 1 AND status IN ('new', 'paid') "+share)
		next := twin.Connector(t, p)
		f := &faults{Connector: parent(t, p)}
		c, err := slotsql.WrapConnector(f, engines[dialect], load(t, p))
		if err != nil {
			t.Fatal(err)
		}
		rollUpOn(t, c)
		merged := 0
		for _, answered := range []bool{false, true} {
			for k := 1; ; k++ {
				for range 4 {
					execAll(t, p.Wrapped, move("new", "paid", k)...)
				}
				want := rows(t, p.Wrapped, totals)
				f.at, f.step, f.answered, f.late = k, 0, answered, false
				_, err = slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{Batch: 2, Lease: time.Second})
				if f.step >= k && err == nil && !f.late {
					t.Errorf("step %d of %d has failed and the pass has not", k, f.step)
				}
				if got := rows(t, p.Wrapped, totals); got != want {
					t.Fatalf("step %d, answered %v: totals\n%s\nwant\n%s", k, answered, got, want)
				}
				execAll(t, p.Under, "DELETE FROM slotsql_leases") // the next one need not wait for the lease of the lost
				// A pass skips rows that are locked, as the lost session's are until the server has
				// seen the connection end.
				for deadline := time.Now().Add(30 * time.Second); ; {
					for _, tr := range rollUpOn(t, next).Tables {
						merged += tr.Merged
					}
					n := rows(t, p.Under, "SELECT COUNT(*) FROM tallies_slots WHERE n <> 0")
					if n == "2" {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("step %d, answered %v: %s rows of two keys", k, answered, n)
					}
				}
				if got := rows(t, p.Wrapped, totals); got != want {
					t.Fatalf("step %d, answered %v: totals\n%s\nwant\n%s", k, answered, got, want)
				}
				if f.step < k {
					if k < 10 {
						t.Errorf("a pass has %d steps", k)
					}
					break
				}
			}
		}
		if merged == 0 {
			t.Error("nothing has been put together")
		}
	})
}
