package adoption

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/slotsql/slotsql/integration/twin"
)

// A worker is one of a process's clients: it does its job again and again until
// the process ends. What it does can not deadlock with the plain driver: it takes
// rows in the order of their keys.
type worker struct {
	f       *fleet
	process *process
	db      *sql.DB
	done    int // guarded by fleet.mu
	chance  *rand.Rand
	seen    map[int]int64 // the last views that it has read of a row
	// exact says, for the whole of one operation, that what this worker reads are
	// the totals: the table is on in its process, or base values are the totals.
	exact bool
}

type job func(*worker, context.Context) error

func newWorker(f *fleet, p *process, i int) *worker {
	h := fnv.New64a()
	fmt.Fprint(h, p.name, p.config, i)
	return &worker{f: f, process: p, db: p.db, chance: rand.New(rand.NewPCG(h.Sum64(), 1)), seen: map[int]int64{}}
}

func (w *worker) work(j job) {
	for !w.process.ended.Load() {
		w.exact = w.process.config.totals() || w.f.based.Load()
		w.f.alone.RLock()
		err := j(w, context.Background())
		w.f.alone.RUnlock()
		if !w.f.advanced(w, err) {
			return
		}
	}
}

// row is one of a few hot rows mostly.
func (w *worker) row() int {
	if w.chance.IntN(3) > 0 {
		return 1 + w.chance.IntN(hot)
	}
	return 1 + w.chance.IntN(w.f.rows)
}

// visitor is what most of a web application does.
func (w *worker) visitor(ctx context.Context) error {
	switch n := w.chance.IntN(40); {
	case n < 16:
		return w.view(ctx)
	case n < 24:
		return w.like(ctx)
	case n < 28:
		return w.share(ctx)
	case n < 37:
		return w.read(ctx)
	case n < 38:
		return w.list(ctx)
	}
	return w.comeAndGo(ctx)
}

// view is an increment of its own.
func (w *worker) view(ctx context.Context) error {
	id := w.row()
	w.f.views[id].begun.Add(1)
	if err := w.changes(ctx, w.db, 1, "UPDATE posts SET views = views + 1 WHERE id = ?", id); err != nil {
		return err
	}
	w.f.views[id].acknowledged.Add(1)
	return nil
}

// changes runs a write that must affect so many rows.
func (w *worker) changes(ctx context.Context, c conn, rows int64, q string, args ...any) error {
	res, err := c.ExecContext(ctx, w.f.sql(q), args...)
	if err != nil {
		return fmt.Errorf("%s %v: %w", q, args, err)
	}
	n, err := res.RowsAffected()
	if err == nil && n != rows {
		err = fmt.Errorf("%s %v: affects %d rows, want %d", q, args, n, rows)
	}
	return err
}

var errRolledBack = errors.New("the application rolls back")

// in runs f in a transaction, and now and then rolls it back.
func (w *worker) in(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	err = f(tx)
	if err == nil && w.chance.IntN(5) == 0 {
		err = errRolledBack
	}
	if err != nil {
		if r := tx.Rollback(); r != nil || errors.Is(err, errRolledBack) {
			return r
		}
		return err
	}
	return tx.Commit()
}

// again runs a transaction once more where an application that is used to it does: the
// columns of a slot table have changed, which PostgreSQL tells a transaction that
// drains, and MySQL one whose snapshot is older. docs/operations.md says so.
func (w *worker) again(transaction func() error) error {
	err := transaction()
	if class := twin.Class(err); class == "PostgreSQL 42601" && strings.Contains(err.Error(), "retry the transaction") ||
		strings.HasPrefix(class, "MySQL 1412") {
		w.f.repeated.Add(1)
		err = transaction()
	}
	return err
}

// note writes into the ledger what a transaction has changed.
func (w *worker) note(ctx context.Context, tx *sql.Tx, post int, counter string, n int64) error {
	return w.changes(ctx, tx, 1, "INSERT INTO ledger (post, kind, n) VALUES (?, ?, ?)", post, kinds[counter], n)
}

// like counts in two rows, each along with a row of the ledger.
func (w *worker) like(ctx context.Context) error {
	a, b := w.row(), w.row()
	return w.in(ctx, func(tx *sql.Tx) error {
		for i, id := range []int{min(a, b), max(a, b)} {
			if i > 0 && a == b {
				break
			}
			if err := w.changes(ctx, tx, 1, "UPDATE posts SET likes = likes + 1 WHERE id = ?", id); err != nil {
				return err
			}
			if err := w.note(ctx, tx, id, "likes", 1); err != nil {
				return err
			}
		}
		return nil
	})
}

// share counts two counters at once, of which one may not be configured yet.
func (w *worker) share(ctx context.Context) error {
	id := w.row()
	return w.in(ctx, func(tx *sql.Tx) error {
		if err := w.changes(ctx, tx, 1, "UPDATE posts SET likes = likes + 2, shares = shares + 1 WHERE id = ?", id); err != nil {
			return err
		}
		if err := w.note(ctx, tx, id, "likes", 2); err != nil {
			return err
		}
		return w.note(ctx, tx, id, "shares", 1)
	})
}

// read reads one row: views never go back for who reads again, nor past what has
// been begun, and where totals are read none is missing that has been acknowledged.
func (w *worker) read(ctx context.Context) error {
	id := w.row()
	tally := &w.f.views[id]
	least := tally.acknowledged.Load()
	var title string
	var views int64
	if err := w.db.QueryRowContext(ctx, w.f.sql("SELECT title, views FROM posts WHERE id = ?"), id).Scan(&title, &views); err != nil {
		return err
	}
	most := tally.begun.Load()
	if n := views - int64(id%5); n > most || w.exact && n < least {
		return fmt.Errorf("post %d has %d views, and should have %d to %d", id, n, least, most)
	}
	if views < w.seen[id] {
		return fmt.Errorf("post %d has %d views, and had %d before", id, views, w.seen[id])
	}
	w.seen[id] = views
	return nil
}

// list reads the posts with the most views.
func (w *worker) list(ctx context.Context) error {
	rows, err := w.db.QueryContext(ctx, "SELECT id, views FROM posts ORDER BY views DESC, id LIMIT 10")
	if err != nil {
		return err
	}
	defer rows.Close()
	n, last := 0, int64(1<<62)
	for ; rows.Next(); n++ {
		var id int
		var views int64
		if err := rows.Scan(&id, &views); err != nil {
			return err
		}
		if views > last {
			return fmt.Errorf("%d views after %d in descending order", views, last)
		}
		last = views
	}
	if err := rows.Err(); err != nil || n == 10 {
		return err
	}
	return fmt.Errorf("the list has %d rows", n)
}

// comeAndGo is the life of a row that only this client knows of.
func (w *worker) comeAndGo(ctx context.Context) error {
	id := w.f.ids.Add(1)
	change := func(rows int64, q string) error { return w.changes(ctx, w.db, rows, q, id) }
	is := func(want int64) error {
		var n int64
		if err := w.db.QueryRowContext(ctx, w.f.sql("SELECT views FROM posts WHERE id = ?"), id).Scan(&n); err != nil || n == want {
			return err
		}
		return fmt.Errorf("row %d has %d views, and should have %d", id, n, want)
	}
	const add = "UPDATE posts SET views = views + 1 WHERE id = ?"
	for range 2 { // it comes again under the same key
		for _, err := range []error{
			change(1, "INSERT INTO posts (id, title) VALUES (?, 'draft')"), change(1, add), change(1, add), is(2),
			change(1, "UPDATE posts SET views = 50 WHERE id = ?"), change(1, add), is(51),
			change(1, "DELETE FROM posts WHERE id = ?"), change(0, add),
		} {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// corrector adds to a counter by reading and setting it, with the row locked.
func (w *worker) corrector(ctx context.Context) error {
	id := w.row()
	correct := func(tx *sql.Tx) error {
		var likes int64
		if err := tx.QueryRowContext(ctx, w.f.sql("SELECT likes FROM posts WHERE id = ? FOR UPDATE"), id).Scan(&likes); err != nil {
			return err
		}
		if err := w.changes(ctx, tx, 1, "UPDATE posts SET likes = ? WHERE id = ?", likes+3, id); err != nil {
			return err
		}
		return w.note(ctx, tx, id, "likes", 3)
	}
	return w.again(func() error { return w.in(ctx, correct) })
}

// clerk sets counters to what they should be, as a job of the application does. What
// it sets them to is what they are, so a wrong one shows.
func (w *worker) clerk(ctx context.Context) error {
	if w.chance.IntN(2) == 0 {
		return w.corrector(ctx)
	}
	id := w.row()
	set := func(tx *sql.Tx) error {
		var before, after int64
		if err := tx.QueryRowContext(ctx, w.f.sql("SELECT likes FROM posts WHERE id = ? FOR UPDATE"), id).Scan(&before); err != nil {
			return err
		}
		// The row may be as it should be, which MySQL says affects none.
		if _, err := tx.ExecContext(
			ctx,
			w.f.sql("UPDATE posts SET likes = (SELECT SUM(n) FROM ledger WHERE post = ? AND kind = 1) WHERE id = ?"),
			id,
			id,
		); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, w.f.sql("SELECT likes FROM posts WHERE id = ?"), id).Scan(&after); err != nil {
			return err
		}
		if before != after {
			return fmt.Errorf("post %d has %d likes, and %d when they are counted", id, before, after)
		}
		return nil
	}
	return w.again(func() error { return w.in(ctx, set) })
}

// auditor holds hot rows against the ledger, each in one snapshot, all the time.
func (w *worker) auditor(ctx context.Context) error {
	first := 1 + w.chance.IntN(hot)
	return w.again(func() error {
		tx, err := w.f.snapshot(ctx, w.db)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		return w.f.compare(ctx, tx, first, first, nil)
	})
}
