package session

import (
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// coldCompanions makes a table whose increments set companions, and opens it a second time, as a process that counts every row in
// slots.
func coldCompanions(t *testing.T, dialect string) (p *twin.Pair, slotted *sql.DB) {
	t.Helper()
	config := func(placement string) string {
		return "version: 1\nauto_migrate: true\ndefaults: {slots: 16, placement: " + placement + "}\n" +
			"tables: {seen_posts: {counters: {views: {}}, companions: {seen: latest, top: max}}}\n"
	}
	p = twin.New(t, twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE seen_posts (id INT PRIMARY KEY, views INT NOT NULL, seen VARCHAR(20) NOT NULL, top INT NOT NULL)",
			"INSERT INTO seen_posts VALUES (1, 0, '', 0), (2, 0, '', 0), (3, 0, '', 0), (4, 0, '', 0)",
		},
		Config: config("adaptive"),
	})
	c, err := slotsql.Parse([]byte(config("connection")), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if slotted, err = slotsql.Open(twin.Wrapped[dialect], p.WrappedDSN, slotsql.WithConfig(c)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slotted.Close() })
	if err := p.Wrapped.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p, slotted
}

// spaced writes columns as one string.
func spaced(dialect string, columns ...string) string {
	if dialect == "mysql" {
		return "CONCAT_WS(' ', " + strings.Join(columns, ", ") + ")"
	}
	return strings.Join(columns, " || ' ' || ")
}

func see(dialect, what string, top, id int) string {
	greatest := "GREATEST"
	if dialect == "sqlite" {
		greatest = "MAX"
	}
	return fmt.Sprintf("UPDATE seen_posts SET views = views + 1, seen = '%s', top = %s(top, %d) WHERE id = %d", what, greatest, top, id)
}

// upsertSeen is see as an upsert.
func upsertSeen(dialect, what string, top, id int) string {
	q := fmt.Sprintf("INSERT INTO seen_posts VALUES (%d, 1, '%s', %d) ", id, what, top)
	switch dialect {
	case "mysql":
		return q + "ON DUPLICATE KEY UPDATE views = views + 1, seen = VALUES(seen), top = GREATEST(top, VALUES(top))"
	case "sqlite":
		return q + "ON CONFLICT (id) DO UPDATE SET views = views + 1, seen = excluded.seen, top = MAX(top, excluded.top)"
	}
	return q + "ON CONFLICT (id) DO UPDATE SET views = seen_posts.views + 1, seen = excluded.seen, top = GREATEST(seen_posts.top, excluded.top)"
}

// An increment of a row that nothing waits for sets its companions on the base row, outside transactions and inside. On a busy
// machine one may take as long as if it had waited, so one run of a few has to show it.
func TestColdCompanion(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		left := ""
		for range 5 {
			if left = coldCompanionSlots(t, dialect); left == "0" {
				return
			}
		}
		t.Errorf("%s slot rows of cold rows", left)
	})
}

// coldCompanionSlots runs increments on both sides, and returns the number of slot rows that they leave.
func coldCompanionSlots(t *testing.T, dialect string) string {
	p, _ := coldCompanions(t, dialect)
	for i := range 3 {
		p.Same(t, twin.Statement{SQL: see(dialect, fmt.Sprint("a", i), i, 1)})
		p.Same(t, twin.Statement{SQL: "UPDATE seen_posts SET views = views + 1, seen = " + map[bool]string{true: "$1", false: "?"}[dialect == "postgres"] +
			" WHERE id = 2", Args: []any{fmt.Sprint("b", i)}})
		p.Same(t, twin.Statement{SQL: see(dialect, "none", 1, 99)})
		p.Same(t, twin.Statement{SQL: upsertSeen(dialect, fmt.Sprint("c", i), i, 2)})
		p.Same(t, twin.Statement{SQL: upsertSeen(dialect, "new", 1, 10+i)})
		for _, db := range []*sql.DB{p.Plain, p.Wrapped} {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range []string{see(dialect, "first", 9, 3), upsertSeen(dialect, "second", 8, 3), upsertSeen(dialect, "other", 7, 4)} {
				if _, err := tx.ExecContext(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			var seen string
			if err := tx.QueryRowContext(t.Context(), "SELECT seen FROM seen_posts WHERE id = 3").Scan(&seen); err != nil || seen != "second" {
				t.Errorf("in the transaction: %s, %v", seen, err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.Same(t, twin.Statement{SQL: "SELECT * FROM seen_posts ORDER BY id"})
	return value(t, p.Under, "SELECT COUNT(*) FROM seen_posts_slots")
}

// A companion that is set on the base row is newer than what slots hold, and one set in a slot afterwards is newer than the base row.
func TestColdCompanionMeetsSlots(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, slotted := coldCompanions(t, dialect)
		run := func(db interface {
			Exec(string, ...any) (sql.Result, error)
		}, q string) {
			t.Helper()
			if _, err := db.Exec(q); err != nil {
				t.Fatal(err)
			}
		}
		want := func(id int, want string) {
			t.Helper()
			q := fmt.Sprintf("SELECT %s FROM seen_posts WHERE id = %d", spaced(dialect, "views", "seen", "top"), id)
			for _, db := range []*sql.DB{p.Wrapped, slotted} {
				if got := value(t, db, q); got != want {
					t.Errorf("row %d: %s, want %s", id, got, want)
				}
			}
		}
		for id := 1; id <= 4; id++ {
			inTx, see := id%2 == 0, see
			if id > 2 {
				see = upsertSeen
			}
			run(slotted, see(dialect, "slot", 5, id))
			if inTx {
				tx, err := p.Wrapped.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				run(tx, see(dialect, "base", 3, id))
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			} else {
				run(p.Wrapped, see(dialect, "base", 3, id))
			}
			want(id, "2 base 5")
			run(slotted, see(dialect, "again", 4, id))
			want(id, "3 again 5")
			run(p.Wrapped, see(dialect, "last", 4, id))
			want(id, "4 last 5")
		}
	})
}

// A transaction whose companion has met slots of another process has folded them for its own sake. Later ones count in slots of the row,
// except on an engine that has one writer.
func TestColdCompanionGoesToSlots(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			p, slotted := coldCompanions(t, dialect)
			if _, err := slotted.Exec(see(dialect, "slot", 5, 1)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				tx, err := p.Wrapped.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.Exec(see(dialect, "base", 3, 1)); err != nil {
					t.Fatal(err)
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			if got := value(t, p.Under, "SELECT COUNT(*) FROM seen_posts_slots"); got == "0" {
				t.Error("the row has no slots")
			}
		})
	}
}

// An upsert of a cold row whose base value is at the end of its type, and its total is not, and one of a table with an alias.
func TestColdCompanionAtLimit(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, slotted := coldCompanions(t, dialect)
		upsert := upsertSeen(dialect, "last", 1, 1)
		aliased := strings.NewReplacer("seen_posts ", "seen_posts AS s ", "seen_posts.", "s.", "= views", "= s.views", "(top,", "(s.top,").
			Replace(upsert)
		for _, st := range []struct {
			db  *sql.DB
			sql string
		}{
			{slotted, "UPDATE seen_posts SET views = views - 10, seen = 'slot' WHERE id = 1"},
			{p.Under, "UPDATE seen_posts SET views = 2147483647 WHERE id = 1"},
			{p.Wrapped, upsert},
			{p.Wrapped, map[bool]string{true: upsert, false: aliased}[dialect == "mysql"]},
		} {
			if _, err := st.db.ExecContext(t.Context(), st.sql); err != nil {
				t.Fatalf("%s: %v", st.sql, err)
			}
		}
		if got := value(t, p.Wrapped, "SELECT "+spaced(dialect, "views", "seen")+" FROM seen_posts WHERE id = 1"); got != "2147483639 last" {
			t.Errorf("%s, want 2147483639 last", got)
		}
	})
}

// Increments with companions that overlap share statements on the base row of a cold row. On a busy machine the row may become hot
// before they do, so one run of a few has to show it.
func TestColdCompanionsShare(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		const q = "UPDATE seen_posts SET views = views + 1, seen = 'x' WHERE id = 1"
		grouped := func() (n uint64) {
			for _, s := range slotsql.Stats() {
				if slices.Contains(s.Tables, "seen_posts") && s.Dialect == dialect {
					n += s.Grouped
				}
			}
			return n
		}
		for range 10 {
			p, _ := coldCompanions(t, dialect)
			var wg sync.WaitGroup
			for range 40 {
				wg.Go(func() {
					for range 10 {
						if _, err := p.Wrapped.ExecContext(t.Context(), q); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if got := value(t, p.Wrapped, "SELECT views FROM seen_posts WHERE id = 1 AND seen = 'x'"); got != "400" {
				t.Errorf("%s of 400", got)
			}
			if grouped() > 0 {
				return
			}
		}
		t.Error("no increment has shared a statement")
	})
}

// Increments that set a companion on the base row and in slots, as an UPDATE or an upsert, alone and in transactions: when all have
// returned, the companion has the value of one that no other one has followed.
func TestLatestOfMany(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, slotted := coldCompanions(t, dialect)
		for round := range 200 {
			id := 100 + round // a cold one
			if _, err := p.Under.Exec(fmt.Sprintf("INSERT INTO seen_posts VALUES (%d, 0, '', 0)", id)); err != nil {
				t.Fatal(err)
			}
			var clock atomic.Int64
			var began, ended [6]int64
			var wg sync.WaitGroup
			for w := range 2 {
				wg.Go(func() {
					for k := w; k < len(began); k += 2 {
						kind := (round*7 + k*5) % 16
						write, db := see, p.Wrapped
						if kind&1 > 0 {
							write = upsertSeen
						}
						if kind&6 == 6 {
							db = slotted
						}
						began[k] = clock.Add(1)
						if err := again(func() error {
							return maybeInTx(t.Context(), db, kind&8 > 0, func(e executor) error {
								_, err := e.ExecContext(t.Context(), write(dialect, strconv.Itoa(k), k, id))
								return err
							})
						}); err != nil {
							t.Error(err)
							return
						}
						ended[k] = clock.Add(1)
					}
				})
			}
			if wg.Wait(); t.Failed() {
				return
			}
			last, err := strconv.Atoi(value(t, p.Wrapped, fmt.Sprint("SELECT seen FROM seen_posts WHERE id = ", id)))
			if err != nil {
				t.Fatal(err)
			}
			if newest := slices.Max(began[:]); newest > ended[last] {
				t.Errorf("round %d: the latest value is of an increment that ended at %d; another one began at %d", round, ended[last], newest)
			}
			if got, want := value(t, p.Wrapped, fmt.Sprint("SELECT views FROM seen_posts WHERE id = ", id)), strconv.Itoa(len(began)); got != want {
				t.Fatalf("round %d: %s of %s", round, got, want)
			}
		}
	})
}
