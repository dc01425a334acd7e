package session

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

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

// A DELETE by a counter's condition, alone and in transactions, beside increments in slots and on base rows, deletes a row
// when its total meets the condition and no earlier, with all that has been added to it: an
// increment that has affected the row has come before, and one that comes after affects none.
func TestDeleteByCounterBesideIncrements(t *testing.T) {
	const rows, enough = 12, 15
	onStock(t, rows, func(t *testing.T, p *twin.Pair, slotted *sql.DB) {
		var mu sync.Mutex
		counted := map[int]int{}
		var wg sync.WaitGroup
		for w := range 6 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(w), 1))
				db := []*sql.DB{slotted, p.Wrapped, p.Under}[w%3]
				for n := range 120 {
					if w < 2 && n%3 == 0 {
						if err := again(func() error {
							return maybeInTx(t.Context(), p.Wrapped, n%2 == w, func(e executor) error {
								_, err := e.ExecContext(t.Context(), "DELETE FROM stock WHERE n >= "+strconv.Itoa(enough)+" AND note = ''")
								return err
							})
						}); err != nil {
							t.Error(err)
							return
						}
						continue
					}
					id, by := rnd.IntN(rows), 1+rnd.IntN(2)
					if rnd.IntN(3) == 0 {
						by = -1
					}
					var affected int64
					if err := again(func() error {
						res, err := db.ExecContext(t.Context(), "UPDATE stock SET n = n + "+strconv.Itoa(by)+" WHERE id = "+strconv.Itoa(100+id))
						if err == nil {
							affected, err = res.RowsAffected()
						}
						return err
					}); err != nil {
						t.Error(err)
						return
					}
					if affected > 0 {
						mu.Lock()
						counted[id] += by
						mu.Unlock()
					}
				}
			})
		}
		wg.Wait()
		deleted := 0
		for i := range rows {
			var total int
			switch err := slotted.QueryRow("SELECT n FROM stock WHERE id = " + strconv.Itoa(100+i)).Scan(&total); {
			case err == sql.ErrNoRows:
				if deleted++; counted[i] < enough {
					t.Errorf("row %d has been deleted with %d", i, counted[i])
				}
			case err != nil:
				t.Fatal(err)
			case total != counted[i]:
				t.Errorf("row %d has %d of %d", i, total, counted[i])
			}
		}
		if deleted == 0 {
			t.Error("no row has been deleted")
		}
		var orphans int
		if err := p.Under.QueryRow("SELECT COUNT(*) FROM stock_slots WHERE id NOT IN (SELECT id FROM stock)").Scan(&orphans); err != nil || orphans > 0 {
			t.Errorf("%d slot rows are left of deleted rows: %v", orphans, err)
		}
	})
}

// A statement by a counter's condition waits for a transaction that changes a row with slots, or
// counts in it, and judges the row by the total that it has then.
func TestByCounterRowChanges(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres"} {
		for name, c := range map[string]struct {
			by    int
			where string
			left  string
		}{"still": {-4, "base", "none"}, "no longer": {-8, "base", "13"}, "counted": {-8, "slot", "13"}} {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				t.Parallel()
				p, slotted := provable(t, dialect, "READ-COMMITTED")
				must := func(_ sql.Result, err error) {
					t.Helper()
					if err != nil {
						t.Fatal(err)
					}
				}
				must(p.Wrapped.Exec("INSERT INTO stock VALUES (100, 16, ''), (101, 14, '')"))
				must(slotted.Exec("UPDATE stock SET n = n + 5 WHERE id = 100"))
				if slots(t, p) != 1 {
					t.Fatal("there are no slots")
				}
				other, err := map[string]*sql.DB{"base": p.Under, "slot": slotted}[c.where].BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer other.Rollback() //nolint:errcheck // it is committed
				must(other.Exec("UPDATE stock SET n = n + " + strconv.Itoa(c.by) + " WHERE id = 100"))
				done := make(chan error, 1)
				go func() {
					_, err := p.Wrapped.ExecContext(t.Context(), "DELETE FROM stock WHERE n >= 15 AND note = '' AND id + 0 > 99")
					done <- err
				}()
				p.UntilBlocked(t, done)
				if err := other.Commit(); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				left := "none"
				if err := p.Wrapped.QueryRow("SELECT n FROM stock WHERE id = 100").Scan(&left); err != nil && err != sql.ErrNoRows {
					t.Fatal(err)
				}
				if left != c.left {
					t.Errorf("left is %s, not %s", left, c.left)
				}
			})
		}
	}
}

// slots counts the slot rows.
func slots(t *testing.T, p *twin.Pair) (n int) {
	t.Helper()
	if err := p.Under.QueryRow("SELECT COUNT(*) FROM stock_slots").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func must(t *testing.T, db *sql.DB, queries ...string) {
	t.Helper()
	for _, q := range queries {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}
