package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ngrok/sqlmw"
	"github.com/slotsql/slotsql/integration/twin"
)

// An UPDATE by a counter's condition, beside increments in slots and on base rows, alone and in
// transactions, touches a row only if its total has met the condition while the statement ran, and none that has met it
// all the while is left out.
func TestUpdateByCounterBesideIncrements(t *testing.T) {
	onStock(t, len(markedRows{}.issued), func(t *testing.T, p *twin.Pair, slotted *sql.DB) {
		marked := &markedRows{db: p.Wrapped}
		var counting, marking sync.WaitGroup
		done, stop := context.WithCancel(t.Context())
		for w := range 4 {
			counting.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(w), 7))
				for range 100 {
					if err := marked.count(t.Context(), []*sql.DB{slotted, p.Wrapped, slotted, p.Under}[w], rnd.IntN(len(marked.issued))); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for w := range 2 {
			marking.Go(func() {
				for n := 0; done.Err() == nil; n++ {
					if err := marked.mark(t.Context(), n%2 == w); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		counting.Wait()
		stop()
		marking.Wait()
		if err := marked.mark(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		marked.check(t)
	})
}

// markedRows are rows that are counted one by one, and marked with the number of the statement that
// has found them at 4, or at 8 and more.
type markedRows struct {
	db            *sql.DB
	mu            sync.Mutex
	issued, acked [24]int
	marks         []mark
}

// A mark is what was known when a statement began, and when it had ended.
type mark struct{ before, after [24]int }

func (m *markedRows) count(ctx context.Context, db *sql.DB, i int) error {
	m.mu.Lock()
	m.issued[i]++
	m.mu.Unlock()
	err := again(func() error {
		_, err := db.ExecContext(ctx, "UPDATE stock SET n = n + 1 WHERE id = "+strconv.Itoa(100+i))
		return err
	})
	m.mu.Lock()
	m.acked[i]++
	m.mu.Unlock()
	return err
}

func (m *markedRows) mark(ctx context.Context, inTx bool) error {
	m.mu.Lock()
	k := len(m.marks)
	m.marks = append(m.marks, mark{})
	m.mu.Unlock()
	err := again(func() error {
		m.mu.Lock()
		m.marks[k].before = m.acked
		m.mu.Unlock()
		return maybeInTx(ctx, m.db, inTx, func(e executor) error {
			_, err := e.ExecContext(ctx, "UPDATE stock SET note = '"+strconv.Itoa(k)+"' WHERE (n = 4 OR n >= 8) AND note = ''")
			return err
		})
	})
	m.mu.Lock()
	m.marks[k].after = m.issued
	m.mu.Unlock()
	return err
}

func (m *markedRows) check(t *testing.T) {
	t.Helper()
	for i := range m.issued {
		var total int
		var note string
		if err := m.db.QueryRow("SELECT n, note FROM stock WHERE id = "+strconv.Itoa(100+i)).Scan(&total, &note); err != nil {
			t.Fatal(err)
		}
		if total != m.acked[i] {
			t.Errorf("row %d has %d of %d", i, total, m.acked[i])
		}
		by := len(m.marks)
		if note != "" {
			by, _ = strconv.Atoi(note)
			k := m.marks[by]
			if k.after[i] < 4 || k.before[i] > 4 && k.after[i] < 8 {
				t.Errorf("row %d has been marked at %d to %d", i, k.before[i], k.after[i])
			}
		}
		// Statements are numbered as they begin; one that had ended before this one began was in time.
		for k := range m.marks {
			if m.marks[k].before[i] >= 8 && by > k && (by == len(m.marks) || m.marks[by].before[i] > m.marks[k].after[i]) {
				t.Errorf("statement %d has left out row %d, which had %d, for statement %d", k, i, m.marks[k].before[i], by)
			}
		}
	}
}

// On MySQL a statement by a counter's condition drains the rows that it may select. Others keep their slots,
// and rows that have none, and that the statement does not look at, can be counted while its transaction is open.
func TestCandidatesAlone(t *testing.T) {
	for _, level := range []string{"READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"} {
		for name, inTx := range map[string]bool{"alone": false, "transaction": true} {
			for _, query := range []string{"UPDATE stock SET note = 'x' WHERE n > 502", "DELETE FROM stock WHERE n > 502"} {
				t.Run(level+"/"+name+"/"+query[:6], func(t *testing.T) {
					t.Parallel()
					p, slotted := provable(t, "mysql", level)
					must(t, p.Under, "CREATE INDEX n ON stock (n)", "INSERT INTO stock VALUES (50, 490, ''), (60, 495, '')")
					for range 3 {
						must(t, slotted, "UPDATE stock SET n = n + 1 WHERE id = 1", "UPDATE stock SET n = n + 1 WHERE id = 2")
					}
					before := slotsOf(t, p.Under, 1)
					if err := maybeInTx(t.Context(), p.Wrapped, inTx, func(e executor) error {
						res, err := e.ExecContext(t.Context(), query)
						if err != nil {
							return err
						}
						if n, err := res.RowsAffected(); n != 1 || err != nil {
							t.Errorf("%d rows are affected: %v", n, err)
						}
						if inTx { // with the lock of a row that has no slots this would wait
							must(t, p.Under, "SET STATEMENT innodb_lock_wait_timeout = 1 FOR UPDATE stock SET n = n + 1 WHERE id = 3")
						}
						return nil
					}); err != nil {
						t.Fatal(err)
					}
					if after := slotsOf(t, p.Under, 1); before == 0 || after != before {
						t.Errorf("a row that cannot be selected has %d slots, and had %d", after, before)
					}
					if after := slotsOf(t, p.Under, 2); after != 0 {
						t.Errorf("the row that is selected has %d slots", after)
					}
				})
			}
		}
	}
}

// After such a statement its transaction reads one version of each row, though its snapshot has slots
// that others have folded since.
func TestCandidatesOneVersion(t *testing.T) {
	for _, level := range []string{"READ-COMMITTED", "REPEATABLE-READ"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			p, slotted := provable(t, "mysql", level)
			for range 3 {
				must(t, slotted, "UPDATE stock SET n = n + 1 WHERE id = 1", "UPDATE stock SET n = n + 1 WHERE id = 2")
			}
			tx, err := p.Wrapped.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback() //nolint:errcheck // it is committed
			read := func(id int, want string) {
				t.Helper()
				var n, note string
				if err := tx.QueryRow("SELECT n, note FROM stock WHERE id = "+strconv.Itoa(id)).Scan(&n, &note); err != nil {
					t.Fatal(err)
				}
				if got := strings.TrimSpace(n + " " + note); got != want {
					t.Errorf("row %d is %q, not %q", id, got, want)
				}
			}
			read(3, "0") // the snapshot
			must(t, p.Wrapped, "UPDATE stock SET n = n * 1 WHERE id = 2")
			if n := slotsOf(t, p.Under, 2); n > 0 {
				t.Fatalf("%d slots are left", n)
			}
			if _, err := tx.Exec("UPDATE stock SET note = 'x' WHERE n > 502"); err != nil {
				t.Fatal(err)
			}
			read(2, "503 x")
			read(1, "3")
			if _, err := tx.Exec("UPDATE stock SET n = n + 1 WHERE id = 1"); err != nil {
				t.Fatal(err)
			}
			read(1, "4")
			read(2, "503 x")
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// What becomes a candidate after the guess, and before the statement runs, is drained as well.
func TestCandidatesAfterGuess(t *testing.T) {
	const config = "version: 1\ntables: {stock: {counters: {n: {}}, slots: 8, placement: connection}}\n"
	for _, c := range []struct{ level, statement, left string }{
		{"READ-COMMITTED", "UPDATE stock SET note = 'x' WHERE n >= 15 AND note = ''", "50:13: 60:17:x"},
		{"REPEATABLE-READ", "UPDATE stock SET note = 'x' WHERE n >= 15 AND note = ''", "50:13: 60:17:x"},
		{"READ-COMMITTED", "DELETE FROM stock WHERE n >= 15 AND note = ''", "50:13: 60:12:"}, // at higher levels all rows are locked
	} {
		for name, inTx := range map[string]bool{"alone": false, "transaction": true} {
			t.Run(c.level+"/"+name+"/"+c.statement[:6], func(t *testing.T) {
				t.Parallel()
				p, slotted := provable(t, "mysql", c.level)
				must(t, p.Under, "INSERT INTO stock VALUES (50, 14, ''), (60, 0, ''), (70, 20, '')")
				must(t, slotted, "UPDATE stock SET n = n - 3 WHERE id = 50", "UPDATE stock SET n = n + 12 WHERE id = 60",
					"UPDATE stock SET n = n + 1 WHERE id = 70")
				ran := &beforeStatement{statement: c.statement, do: func() {
					must(t, p.Under, "UPDATE stock SET n = n + 2 WHERE id = 50")
					if c.statement[0] == 'U' { // of a DELETE all slots are locked by now
						must(t, slotted, "UPDATE stock SET n = n + 5 WHERE id = 60")
					}
				}}
				db, err := over(t, "mysql", func(d driver.Driver) driver.Driver { return sqlmw.Driver(d, ran) })("mysql", p.WrappedDSN, configOf(t, config))
				if err != nil {
					t.Fatal(err)
				}
				if err := maybeInTx(t.Context(), db, inTx, func(e executor) error {
					_, err := e.ExecContext(t.Context(), c.statement)
					return err
				}); err != nil {
					t.Fatal(err)
				}
				var left string
				if err := p.Wrapped.QueryRow("SELECT GROUP_CONCAT(CONCAT_WS(':', id, n, note) ORDER BY id SEPARATOR ' ') FROM stock WHERE id IN (50, 60)").Scan(&left); err != nil {
					t.Fatal(err)
				}
				if !ran.done || left != c.left {
					t.Errorf("left is %q, not %q", left, c.left)
				}
			})
		}
	}
}

// beforeStatement does something once, before a statement of the application's runs.
type beforeStatement struct {
	sqlmw.NullInterceptor
	statement string
	do        func()
	done      bool
}

func (b *beforeStatement) ConnExecContext(
	ctx context.Context, c driver.ExecerContext, query string, args []driver.NamedValue,
) (driver.Result, error) {
	if strings.HasSuffix(query, b.statement) && !b.done { // in a drain it yields to a backup: SET STATEMENT ... FOR
		b.done = true
		b.do()
	}
	return c.ExecContext(ctx, query, args)
}

// configOf writes a configuration into a file.
func configOf(t *testing.T, config string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "slotsql.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func must(t *testing.T, db *sql.DB, queries ...string) {
	t.Helper()
	for _, q := range queries {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// slotsOf counts the slot rows of a row.
func slotsOf(t *testing.T, db *sql.DB, id int) (n int) {
	t.Helper()
	if err := db.QueryRow("SELECT COUNT(*) FROM stock_slots WHERE id = " + strconv.Itoa(id)).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
