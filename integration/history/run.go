package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// Options say what is run.
type Options struct {
	Dialect, Level string
	DB             *sql.DB // what most clients use
	// Second is DB of another process, which half of the clients use; nil for none.
	Second *sql.DB
	// Under is the plain driver on the same database; nil means that DB is. In
	// every fourth history two of the clients use it, and only add to counters.
	Under *sql.DB
	// RolledUp reports whether slots are rolled up meanwhile.
	RolledUp bool
	Layout   Layout // of DB; "" is the dedicated one
	// Calls reports whether the functions that count are in the database.
	Calls bool
	Seed  uint64
	Fault Fault // for tests of the checker
}

type runner struct {
	Options
	dialect   string
	begins    []string
	conns     [Clients]pinned
	plain     [2]pinned // of Under
	clock     atomic.Int64
	stale     [Keys]atomic.Pointer[Row]
	snapshots bool      // MariaDB's innodb_snapshot_isolation is on
	before    int       // the number before the keys of the model's rows
	stocked   [Keys]int // how many clients have taken of a row before the history, see stock
}

// Run runs histories number from to below to, and gives each to done.
func Run(ctx context.Context, o Options, from, to int, done func(*History) error) error {
	r := &runner{Options: o, dialect: o.Dialect, begins: []string{"BEGIN", "begin"}}
	switch o.Dialect {
	case "sqlite":
		r.begins = []string{"BEGIN", "BEGIN IMMEDIATE", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"}
	case "mysql":
		r.begins = []string{"begin", "START TRANSACTION", "BEGIN /* as text */"}
	}
	open := func(p *pinned, db *sql.DB) (err error) {
		*p, err = r.pin(ctx, db)
		return err
	}
	if o.Dialect == "mysql" {
		var err error
		if r.snapshots, err = twin.SnapshotIsolation(ctx, o.DB); err != nil {
			return err
		}
	}
	defer func() {
		for _, c := range append(r.plain[:], r.conns[:]...) {
			if c.Conn != nil {
				_ = c.Close()
			}
		}
	}()
	for c := range r.conns {
		if err := open(&r.conns[c], r.of(c)); err != nil {
			return err
		}
		if c < len(r.plain) && o.Under != nil {
			if err := open(&r.plain[c], o.Under); err != nil {
				return err
			}
		}
	}
	for n := from; n < to; n++ {
		h, err := r.one(ctx, n)
		if err != nil {
			return fmt.Errorf("seed %d history %d: %w", o.Seed, n, err)
		}
		if err := done(h); err != nil {
			return err
		}
	}
	return nil
}

// of is the process of a client.
func (r *runner) of(client int) *sql.DB {
	if r.Second != nil && client%2 == 1 {
		return r.Second
	}
	return r.DB
}

func (r *runner) one(ctx context.Context, number int) (*History, error) {
	rnd := rand.New(rand.NewPCG(r.Seed, uint64(number)))
	if r.Layout.HasBounds() { // a process remembers for seconds that a row is near its bound
		r.before = firstOf(number)
	}
	r.stocked = [Keys]int{}
	h := r.plan(rnd, number, r.Under != nil && number%4 == 3)
	h.Dialect, h.Level, h.Wrapped, h.RolledUp = r.dialect, r.Level, r.Under != nil, r.RolledUp
	h.Seed, h.Number, h.Table = r.Seed, number, tableOf(number)
	h.Bounded = r.Layout.HasBounds()
	h.Companions, h.Several = r.Layout.companions(h.Table), h.Table == Pairs && r.Layout.shared()
	db := &r.conns[Clients-1]
	for k, row := range h.Initial {
		if !row.There {
			continue
		}
		h.First[k] = int64(k + 1)
		query, args := r.insert(h.Table, &Op{Key: k, N: row.Views + int32(r.stocked[k]), Tag: h.First[k]}, "i")
		args[3], args[4] = row.High, row.Low
		if err := exec(ctx, db, twin.Placeholders(r.dialect, query), args...); err != nil {
			return nil, err
		}
	}
	for _, other := range h.neighbours() {
		query, args := r.insert(h.Table, &Op{Other: other}, "i")
		if err := exec(ctx, db, twin.Placeholders(r.dialect, query), args...); err != nil {
			return nil, err
		}
	}
	if err := r.stock(ctx, h); err != nil {
		return nil, err
	}
	var wg, ready sync.WaitGroup
	ready.Add(Clients)
	var errs [Clients]error
	for c, txs := range h.Clients {
		wg.Go(func() {
			ready.Done()
			ready.Wait()
			for _, t := range txs {
				conn := &r.conns[c]
				if t.Plain {
					conn = &r.plain[c]
				}
				if errs[c] = r.transaction(ctx, conn, h.Table, t); errs[c] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, h)
		}
	}
	if err := besideRollUps(func() (err error) {
		h.Final, h.Seen, _, err = r.rows(ctx, db, h.Table, h.Table.read("id > 0 ORDER BY id"))
		return err
	}); err != nil {
		return nil, err
	}
	if err := besideRollUps(func() (err error) {
		h.Others, err = r.others(ctx, db, h.Table)
		return err
	}); err != nil {
		return nil, err
	}
	return h, r.clear(ctx, h.Table, number)
}

// clear removes the rows, in turn as either kind of program would, and looks
// for slots that stay. Where slots have no foreign key it takes a program that
// knows of them.
func (r *runner) clear(ctx context.Context, table Table, number int) error {
	query := "DELETE FROM " + string(table)
	if err := exec(ctx, r.DB, "DELETE FROM files"); err != nil {
		return err
	}
	if r.Under == nil {
		return exec(ctx, r.DB, query)
	}
	db := r.DB
	if number%2 == 0 && !r.Layout.shared() {
		db = r.Under
	}
	if err := exec(ctx, db, query); err != nil {
		return err
	}
	var left int
	err := besideRollUps(func() error {
		return r.Under.QueryRowContext(ctx, r.Layout.leftQuery(table)).Scan(&left)
	})
	if err != nil || left > 0 {
		return fmt.Errorf("%d slots without a row: %w", left, err)
	}
	return nil
}

// besideRollUps runs a statement that no client runs beside, again as long as
// it is a serialization failure: a serializable one may fail because of a
// roll-up, and of transactions of clients that have ended, which PostgreSQL
// remembers as long as the roll-up runs. That may be long on a slow machine.
func besideRollUps(f func() error) error {
	err := f()
	meets := func() bool { return twin.Class(err) == "PostgreSQL 40001" || twin.Class(err) == twin.Newer }
	for until := time.Now().Add(time.Minute); meets() && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
		err = f()
	}
	return err
}

func exec(ctx context.Context, db querier, query string, args ...any) error {
	return besideRollUps(func() error {
		_, err := db.ExecContext(ctx, query, args...)
		return err
	})
}

// querier is a connection, or the pool.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// victim reports whether the error is one that an engine gives to transactions that
// meet.
func (r *runner) victim(class string) bool {
	switch class {
	case "PostgreSQL 40001", "PostgreSQL 40P01", "MySQL 1213 (40001)", "MySQL 1205 (HY000)":
		return true
	case twin.Newer:
		return r.snapshots
	}
	return strings.HasPrefix(class, "SQLite 5") && len(class) <= len("SQLite 517") // SQLITE_BUSY and its extended codes
}

// transaction runs one transaction; its error is one that no database should
// have given.
//
//nolint:funlen // how a transaction may end, in order
func (r *runner) transaction(ctx context.Context, conn *pinned, table Table, t *Tx) error {
	fail := func(err error) error {
		t.Class = twin.Class(err)
		t.Outcome = Failed
		if !r.victim(t.Class) && !twin.Crossed(err) {
			return err
		}
		return nil
	}
	if t.Auto {
		o := t.Ops[0]
		var db querier = conn
		if t.Pool {
			db = conn.db
		}
		err := r.op(ctx, db, table, o)
		t.Start, t.End = o.Start, o.End
		if err != nil {
			return fail(err)
		}
		return nil
	}
	begun := r.clock.Add(1)
	var tx *sql.Tx
	var err error
	if t.Begin == "begin" { // through database/sql
		tx, err = conn.BeginTx(ctx, nil)
	} else {
		_, err = conn.ExecContext(ctx, t.Begin)
	}
	if err != nil {
		t.Ops, t.Start, t.End = nil, begun, r.clock.Add(1)
		return fail(err)
	}
	for i, o := range t.Ops {
		if o.Kill != 0 {
			t.Start = r.clock.Add(1)
			sent, err := r.killing(ctx, conn, tx, table, o)
			t.End, t.Class, t.Outcome = r.clock.Add(1), Killed, Failed
			if t.Ops = t.Ops[:i]; sent {
				t.Ops = t.Ops[:i+1]
			}
			return errors.Join(err, r.replace(ctx, conn, tx))
		}
		if err = r.op(ctx, conn, table, o); err != nil {
			t.Ops = t.Ops[:i+1]
			break
		}
	}
	t.Start = r.clock.Add(1)
	if err == nil {
		if t.Outcome == Committed {
			if tx != nil {
				err = tx.Commit()
			} else {
				_, err = conn.ExecContext(ctx, "COMMIT")
			}
			t.End = r.clock.Add(1)
			if err == nil {
				return nil
			}
		}
	}
	undone := r.rollback(ctx, conn, tx)
	t.End = r.clock.Add(1)
	switch {
	case err != nil:
		return fail(err)
	case undone != nil:
		return fmt.Errorf("rollback: %w", undone)
	}
	return nil
}

func (r *runner) rollback(ctx context.Context, conn *pinned, tx *sql.Tx) error {
	var err error
	if tx != nil {
		err = tx.Rollback()
	}
	if tx == nil || err != nil {
		// A COMMIT that SQLite refuses leaves its transaction, and database/sql
		// thinks that it is over.
		if _, e := conn.ExecContext(ctx, "ROLLBACK"); tx == nil {
			err = e
		}
	}
	return err
}

func (r *runner) op(ctx context.Context, db querier, table Table, o *Op) (err error) {
	query, args := r.statement(table, o)
	query = twin.Placeholders(r.dialect, query)
	for range o.Pause {
		runtime.Gosched()
	}
	if r.Fault != "" && !o.Kind.reads() {
		query, args = r.falsify(table, o, query, args)
	}
	defer func() {
		if err == nil && r.Fault != "" {
			r.forge(o)
		}
		o.End = r.clock.Add(1)
		if err != nil {
			o.Class, o.Err = twin.Class(err), err
		}
	}()
	o.Start = r.clock.Add(1)
	if o.Kind.reads() {
		o.Got, o.Saw, o.Many, err = r.rows(ctx, db, table, query, args...)
		return err
	}
	switch o.Kind {
	case Files:
		o.Count, err = r.count(ctx, db, query, args...)
		return err
	case Call:
		n, err := r.count(ctx, db, query, args...)
		o.Affected = int64(n)
		return err
	}
	res, err := db.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	o.Affected, err = res.RowsAffected()
	return err
}
