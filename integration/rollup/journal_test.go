package rollup

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
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
		schema = []string{"CREATE TABLE tallies (day INT NOT NULL, status VARCHAR(10) NOT NULL, n INT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (day, status))", tallySchema[1]}
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

// A transaction that holds thousands of increments keeps nobody waiting: neither
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
		var texts []string // what is committed, for the twin
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
					texts = append(texts, q)
				}
			}
		}
		for i := range 500 {
			in(long, false, move("new", "paid", i%7)...)
			if i%50 == 0 {
				execTx(t, long, "SAVEPOINT attempt")
				in(long, true, move("paid", "sent", 3)...)
				execTx(t, long, "ROLLBACK TO SAVEPOINT attempt")
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
		execAll(t, p.Plain, texts...)
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
	for _, dialect := range []string{"mysql", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			const schema = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)"
			open := func(layout string) *twin.Pair {
				return twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Schema: []string{schema, "INSERT INTO posts VALUES (1, 0)"},
					Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 1, layout: " + layout + "}}\n"})
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
			p := open("journal")
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
			d := open("dedicated")
			execTx(t, begin(d), add)
			if _, err := begin(d).ExecContext(t.Context(), add); !conflict(err) {
				t.Errorf("two transactions have the one slot: %v", err)
			}
		})
	}
}

func execTx(t testing.TB, tx *sql.Tx, text string) {
	t.Helper()
	if _, err := tx.ExecContext(t.Context(), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// The connection of a roll-up that puts rows together, because their base row is
// locked, is lost with each of its texts: totals stay.
func TestConnectionLostWhileMerging(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := tallies(t, dialect, "")
			holder := p.Wrapped
			if dialect == "postgres" { // where an increment's lock does not keep the roll-up out
				holder = p.Under
			}
			long, err := holder.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer long.Rollback()
			if holder == p.Under {
				execTx(t, long, "SELECT 1 FROM tallies WHERE day = 1 AND status IN ('new', 'paid') FOR NO KEY UPDATE")
			} else {
				for _, q := range move("new", "paid", 1) {
					execTx(t, long, q)
				}
			}
			merged := 0
			for _, answered := range []bool{false, true} {
				for k := 1; ; k++ {
					for range 4 {
						execAll(t, p.Wrapped, move("new", "paid", k)...)
					}
					want := rows(t, p.Wrapped, totals)
					f := &faults{Connector: parent(t, p), at: k, answered: answered}
					c, err := slotsql.WrapConnector(f, engines[dialect], load(t, p))
					if err != nil {
						t.Fatal(err)
					}
					_, err = slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{Batch: 2, Lease: time.Second})
					if f.step >= k && err == nil && !f.late {
						t.Errorf("step %d of %d has failed and the pass has not", k, f.step)
					}
					if got := rows(t, p.Wrapped, totals); got != want {
						t.Fatalf("step %d, answered %v: totals\n%s\nwant\n%s", k, answered, got, want)
					}
					execAll(t, p.Under, "DELETE FROM slotsql_leases") // the next one need not wait for the lease of the lost
					for _, tr := range rollUp(t, p).Tables {
						merged += tr.Merged
					}
					if got := rows(t, p.Wrapped, totals); got != want {
						t.Fatalf("step %d, answered %v: totals\n%s\nwant\n%s", k, answered, got, want)
					}
					if n := rows(t, p.Under, "SELECT COUNT(*) FROM tallies_slots WHERE n <> 0"); n != "2" {
						t.Fatalf("step %d, answered %v: %s rows of two keys", k, answered, n)
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
}

// A transaction of MySQL's REPEATABLE READ whose snapshot is older than a merge, and
// that drains the row when what is left adds up to nothing, sees the total of its
// snapshot or the newest one, and nothing in between.
func TestSnapshotOlderThanMerge(t *testing.T) {
	p := twin.New(t, twin.Options{Dialect: "mysql", Params: patience["mysql"], Schema: []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 10)",
	}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, layout: journal}}\n"})
	const add, q = "UPDATE posts SET views = views + 1 WHERE id = 1", "SELECT views FROM posts WHERE id = 1"
	execAll(t, p.Wrapped, "UPDATE posts SET views = views + 5 WHERE id = 1", add, add)
	begin := func() *sql.Tx {
		tx, err := p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tx.Rollback() })
		return tx
	}
	old := begin()
	if got := rows(t, old, q); got != "17" {
		t.Fatal(got)
	}
	under, err := p.Under.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer under.Rollback()
	for _, number := range strings.Fields(rows(t, p.Under, "SELECT slot FROM posts_slots WHERE views = 1")) {
		rows(t, under, "SELECT 1 FROM posts_slots WHERE id = 1 AND slot = "+number+" FOR UPDATE")
	}
	if tr := rollUp(t, p).Tables[0]; tr.Moved != 1 {
		t.Fatalf("%+v", tr)
	}
	if err := under.Rollback(); err != nil {
		t.Fatal(err)
	}
	holder := begin() // keeps the roll-up from moving
	execTx(t, holder, add)
	if tr := rollUp(t, p).Tables[0]; tr.Merged != 2 {
		t.Fatalf("%+v", tr)
	}
	if got := rows(t, old, q); got != "17" {
		t.Errorf("%s after the merge", got)
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	execAll(t, p.Wrapped, "UPDATE posts SET views = views - 2 WHERE id = 1")
	if got := rows(t, old, q+" FOR UPDATE"); got != "15" {
		t.Errorf("%s, locked", got)
	}
	if got := rows(t, old, q); got != "15" && got != "17" {
		t.Errorf("%s after the lock", got)
	}
	if err := old.Commit(); err != nil {
		t.Error(err)
	}
	if got := rows(t, p.Wrapped, q); got != "15" {
		t.Errorf("%s at the end", got)
	}
}

// A journal's rows wake the application's roll-up: it does not wait for its
// interval, which never comes here.
func TestWokenByWrites(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := tallies(t, dialect, "rollup: {interval: 24h}\n")
		for i := range 3 {
			tx, err := p.Wrapped.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range move("new", "paid", i) {
				execTx(t, tx, q)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			execAll(t, p.Wrapped, "UPDATE tallies SET n = n + 1 WHERE day = 1 AND status = 'sent'")
			for rows(t, p.Under, "SELECT COUNT(*) FROM tallies_slots") != "0" {
				time.Sleep(time.Millisecond)
			}
			if got, want := rows(t, p.Under, "SELECT n FROM tallies ORDER BY status"), fmt.Sprintf("%d\n%d\n%d", 5000-i-1, i+1, i+1); got != want {
				t.Errorf("base values\n%s\nwant\n%s", got, want)
			}
		}
	})
}

// A table changes between the layouts while programs of both count in it, drain it
// and roll it up: nothing is lost, no read sees a total go down, and no statement
// fails that would not have otherwise.
func TestChangeOfLayout(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		const config = "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 4, layout: %s}}\n"
		p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)", "INSERT INTO posts VALUES (1, 0), (2, 0), (3, 0)",
		}, Config: fmt.Sprintf(config, "dedicated")})
		execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
		journal, err := slotsql.Parse([]byte(fmt.Sprintf(config, "journal")), "journal.yaml")
		if err != nil {
			t.Fatal(err)
		}
		open := func(config *slotsql.Config) *sql.DB {
			c, err := slotsql.WrapConnector(parent(t, p), engines[dialect], config)
			if err != nil {
				t.Fatal(err)
			}
			db := sql.OpenDB(c)
			t.Cleanup(func() { _ = db.Close() })
			return db
		}
		c, err := slotsql.WrapConnector(parent(t, p), engines[dialect], journal)
		if err != nil {
			t.Fatal(err)
		}
		if dialect != "sqlite" {
			if err := open(journal).PingContext(t.Context()); err == nil {
				t.Error("a narrow slot table is taken for a journal")
			} else {
				t.Log(err)
			}
		}
		if _, err := slotsql.Migrate(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		dbs := []*sql.DB{p.Wrapped, open(journal), open(load(t, p))}
		var counted [4]atomic.Int64
		counted[1].Store(1)
		var wg sync.WaitGroup
		end := time.Now().Add(2 * time.Second)
		each := func(f func(db *sql.DB)) {
			for _, db := range dbs {
				wg.Go(func() {
					for time.Now().Before(end) && !t.Failed() {
						f(db)
					}
				})
			}
		}
		add := text(dialect, "UPDATE posts SET views = views + 1 WHERE id = ?")
		each(func(db *sql.DB) {
			k := 1 + rand.IntN(3)
			if _, err := db.ExecContext(t.Context(), add, k); err != nil {
				t.Errorf("an increment: %v", err)
				return
			}
			counted[k].Add(1)
		})
		each(func(db *sql.DB) {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer tx.Rollback()
			k := 1 + rand.IntN(3)
			for range 2 {
				if _, err := tx.ExecContext(t.Context(), add, k); err != nil {
					if !conflict(err) {
						t.Errorf("in a transaction: %v", err)
					}
					return
				}
			}
			if rand.IntN(4) == 0 {
				return
			}
			if err := tx.Commit(); err == nil {
				counted[k].Add(2)
			} else if !conflict(err) {
				t.Error(err)
			}
		})
		each(func(db *sql.DB) {
			if _, err := db.ExecContext(t.Context(), text(dialect, "UPDATE posts SET views = views * 1 WHERE id = ?"), 1+rand.IntN(3)); err != nil && !conflict(err) {
				t.Errorf("a drain: %v", err)
			}
			time.Sleep(5 * time.Millisecond)
		})
		var last atomic.Int64
		each(func(db *sql.DB) {
			from := last.Load()
			var n int64
			if err := db.QueryRowContext(t.Context(), "SELECT SUM(views) FROM posts").Scan(&n); err != nil || n < from {
				t.Errorf("a total of %d after %d: %v", n, from, err)
				return
			}
			for seen := last.Load(); seen < n && !last.CompareAndSwap(seen, n); seen = last.Load() {
			}
		})
		for _, config := range []*slotsql.Config{journal, load(t, p)} {
			c, err := slotsql.WrapConnector(parent(t, p), engines[dialect], config)
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				for time.Now().Before(end) {
					if _, err := slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{Idle: 1, Batch: 5}); err != nil && !conflict(err) {
						t.Errorf("a roll-up: %v", err)
					}
				}
			})
		}
		wg.Wait()
		want := fmt.Sprintf("1 %d\n2 %d\n3 %d", counted[1].Load(), counted[2].Load(), counted[3].Load())
		const q = "SELECT id, views FROM posts ORDER BY id"
		for i, db := range dbs {
			if got := rows(t, db, q); got != want {
				t.Errorf("%d: totals\n%s\nwant\n%s", i, got, want)
			}
		}
		if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{}); err != nil { // of the old layout
			t.Fatal(err)
		}
		if got := rows(t, p.Under, q); got != want {
			t.Errorf("drained\n%s\nwant\n%s", got, want)
		}
		if _, err := slotsql.MigrateDown(t.Context(), c); err != nil {
			t.Error(err)
		}
	})
}
