package history

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/slotsql/slotsql/integration/twin"
)

// Schema makes the table, Config is what slotsql has to know of it. A history
// uses the rows of its keys, and removes them.
var Schema = []string{
	"CREATE TABLE hits (id INTEGER PRIMARY KEY, views BIGINT NOT NULL, seen BIGINT NOT NULL, high INTEGER NOT NULL, low INTEGER NOT NULL, title VARCHAR(20))",
}

const Config = `version: 1
auto_migrate: true
tables:
  hits: {slots: 8, counters: {views: {}}, companions: {seen: latest, high: max, low: min}}
`

// Options say what is run.
type Options struct {
	Dialect, Level string
	DB             *sql.DB // what most clients use
	// Under is the plain driver on the same database; nil means that DB is. In
	// every fourth history two of the clients use it, and only add to counters.
	Under *sql.DB
	// RolledUp says that slots are rolled up meanwhile.
	RolledUp bool
	Seed     uint64
	Fault    Fault // for tests of the checker
}

type runner struct {
	Options
	dialect string
	begins  []string
	conns   [Clients]*sql.Conn
	plain   [2]*sql.Conn // of Under
	clock   atomic.Int64
	stale   [Keys]atomic.Pointer[Row]
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
	open := func(conn **sql.Conn, db *sql.DB) (err error) {
		*conn, err = db.Conn(ctx)
		return err
	}
	defer func() {
		for _, c := range append(r.plain[:], r.conns[:]...) {
			if c != nil {
				_ = c.Close()
			}
		}
	}()
	for c := range r.conns {
		if err := open(&r.conns[c], o.DB); err != nil {
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

func id(key int) int { return key + 1 }

func (r *runner) one(ctx context.Context, number int) (*History, error) {
	rnd := rand.New(rand.NewPCG(r.Seed, uint64(number)))
	h := r.plan(rnd, r.Under != nil && number%4 == 3)
	h.Dialect, h.Level, h.Wrapped, h.RolledUp = r.dialect, r.Level, r.Under != nil, r.RolledUp
	h.Seed, h.Number = r.Seed, number
	db, err := r.conns[Clients-1], error(nil)
	for k, row := range h.Initial {
		if !row.There {
			continue
		}
		h.First[k] = int64(k + 1)
		if _, err := db.ExecContext(ctx, r.text("INSERT INTO hits (id, views, seen, high, low, title) VALUES (?, ?, ?, ?, ?, 'i')"), id(k), row.Views, h.First[k], row.High, row.Low); err != nil {
			return nil, err
		}
	}
	var wg, ready sync.WaitGroup
	ready.Add(Clients)
	var errs [Clients]error
	for c, txs := range h.Clients {
		wg.Go(func() {
			ready.Done()
			ready.Wait()
			for _, t := range txs {
				conn := r.conns[c]
				if t.Plain {
					conn = r.plain[c]
				}
				if errs[c] = r.transaction(ctx, conn, t); errs[c] != nil {
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
	if h.Final, h.Seen, _, err = r.rows(ctx, db, "SELECT id, views, seen, high, low FROM hits ORDER BY id"); err != nil {
		return nil, err
	}
	return h, r.clear(ctx, number)
}

// clear removes the rows, in turn as either kind of program would, and looks
// for slots that stay.
func (r *runner) clear(ctx context.Context, number int) error {
	if r.Under == nil {
		_, err := r.DB.ExecContext(ctx, "DELETE FROM hits")
		return err
	}
	db := r.DB
	if number%2 == 0 {
		db = r.Under
	}
	// A roll-up beside it may be in its way.
	_, err := db.ExecContext(ctx, "DELETE FROM hits")
	for tries := 0; tries < 20 && twin.Class(err) == "PostgreSQL 40001"; tries++ {
		_, err = db.ExecContext(ctx, "DELETE FROM hits")
	}
	if err != nil {
		return err
	}
	var left int
	if err := r.Under.QueryRowContext(ctx, "SELECT COUNT(*) FROM hits_slots").Scan(&left); err != nil || left > 0 {
		return fmt.Errorf("%d slots without a row: %w", left, err)
	}
	return nil
}

// querier is a connection, or the pool.
type querier interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
}

func (r *runner) rows(ctx context.Context, db querier, text string, args ...any) (got [Keys]Row, saw [Keys]int64, many [Keys]bool, err error) {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return got, saw, many, err
	}
	defer rows.Close()
	for rows.Next() {
		var key int
		row := Row{There: true}
		var seen int64
		if err := rows.Scan(&key, &row.Views, &seen, &row.High, &row.Low); err != nil {
			return got, saw, many, err
		}
		k := key - id(0)
		many[k] = got[k].There
		got[k], saw[k] = row, seen
	}
	if err := rows.Err(); err != nil {
		return got, saw, many, err
	}
	return got, saw, many, rows.Close()
}

// victim says that the error is one that an engine gives to transactions that
// meet.
func victim(class string) bool {
	switch class {
	case "PostgreSQL 40001", "PostgreSQL 40P01", "MySQL 1213 (40001)", "MySQL 1205 (HY000)":
		return true
	}
	return strings.HasPrefix(class, "SQLite 5") && len(class) <= len("SQLite 517") // SQLITE_BUSY and its extended codes
}

// transaction runs one transaction; its error is one that no database should
// have given.
func (r *runner) transaction(ctx context.Context, conn *sql.Conn, t *Tx) error {
	fail := func(err error) error {
		t.Class = twin.Class(err)
		t.Outcome = Failed
		if !victim(t.Class) {
			return err
		}
		return nil
	}
	if t.Auto {
		o := t.Ops[0]
		var db querier = conn
		if t.Pool {
			db = r.DB
		}
		err := r.op(ctx, db, o)
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
		if err = r.op(ctx, conn, o); err != nil {
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

func (r *runner) rollback(ctx context.Context, conn *sql.Conn, tx *sql.Tx) error {
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

// text writes placeholders as the engine does.
func (r *runner) text(s string) string {
	if r.dialect != "postgres" {
		return s
	}
	for n := 1; strings.Contains(s, "?"); n++ {
		s = strings.Replace(s, "?", "$"+strconv.Itoa(n), 1)
	}
	return s
}

func (r *runner) op(ctx context.Context, db querier, o *Op) (err error) {
	text, args := r.statement(o)
	text = r.text(text)
	for range o.Pause {
		runtime.Gosched()
	}
	if r.Fault != "" && !o.Kind.reads() {
		text, args = r.falsify(o, text, args)
	}
	defer func() {
		if err == nil && r.Fault != "" {
			r.forge(o)
		}
		o.End = r.clock.Add(1)
		if err != nil {
			o.Class = twin.Class(err)
		}
	}()
	o.Start = r.clock.Add(1)
	if o.Kind.reads() {
		o.Got, o.Saw, o.Many, err = r.rows(ctx, db, text, args...)
		return err
	}
	res, err := db.ExecContext(ctx, text, args...)
	if err != nil {
		return err
	}
	o.Affected, err = res.RowsAffected()
	return err
}

// title is another one for every statement, so that MySQL counts the row.
func (r *runner) title(o *Op) string { return strconv.FormatInt(o.Tag, 10) }

func (r *runner) statement(o *Op) (string, []any) {
	id := id(o.Key)
	greatest, least := "GREATEST", "LEAST"
	if r.dialect == "sqlite" {
		greatest, least = "MAX", "MIN"
	}
	switch o.Kind {
	case Increment:
		return []string{
			"UPDATE hits SET views = views + ? WHERE id = ?",
			"UPDATE hits SET views = views + ? WHERE id = ?",
			"UPDATE hits SET views = views + ? WHERE id = ?",
			"UPDATE hits SET views = ? + views WHERE id = ?",
			"UPDATE hits SET views = COALESCE(views, 0) + ? WHERE id = ?",
			"UPDATE hits SET views = views + ? WHERE id IN (?)",
		}[o.Form], []any{o.N, id}
	case Touch:
		text, args := "UPDATE hits SET views = views + ?", []any{o.N}
		if o.setsSeen() {
			text, args = text+", seen = ?", append(args, o.Tag)
		}
		if o.merges() {
			text, args = text+", high = "+greatest+"(high, ?), low = "+least+"(low, ?)", append(args, o.Mark, o.Mark)
		}
		return text + " WHERE id = ?", append(args, id)
	case Mark:
		return "UPDATE hits SET seen = ? WHERE id = ?", []any{o.Tag, id}
	case Wide:
		return "UPDATE hits SET views = views + ?, title = ? WHERE id = ?", []any{o.N, r.title(o), id}
	case Upsert:
		text, args := "INSERT INTO hits (id, views, seen, high, low, title) VALUES (?, ?, ?, ?, ?, 'u')", []any{id, o.N, o.Tag, o.Mark, o.Mark}
		if r.dialect == "mysql" {
			text += " ON DUPLICATE KEY UPDATE views = views + VALUES(views)"
			if o.setsSeen() {
				text += ", seen = VALUES(seen)"
			}
			return text, args
		}
		text += " ON CONFLICT (id) DO UPDATE SET views = hits.views + excluded.views"
		if o.setsSeen() {
			text += ", seen = excluded.seen"
		}
		return text, args
	case Set:
		return "UPDATE hits SET views = ? WHERE id = ?", []any{o.N, id}
	case Clamp:
		return "UPDATE hits SET views = " + greatest + "(views - ?, 0) WHERE id = ?", []any{o.N, id}
	case Double:
		return "UPDATE hits SET views = views * 2 WHERE id = ?", []any{id}
	case Take:
		return "UPDATE hits SET views = views - ? WHERE id = ? AND views >= ?", []any{o.N, id, o.N}
	case Rename:
		return "UPDATE hits SET title = ? WHERE id = ?", []any{r.title(o), id}
	case Delete:
		return "DELETE FROM hits WHERE id = ?", []any{id}
	case Insert:
		text, args := "INSERT INTO hits (id, views, seen, high, low, title) VALUES (?, ?, ?, ?, ?, 'n') ON CONFLICT DO NOTHING", []any{id, o.N, o.Tag, o.Mark, o.Mark}
		if r.dialect == "mysql" {
			text = "INSERT IGNORE" + strings.TrimSuffix(strings.TrimPrefix(text, "INSERT"), " ON CONFLICT DO NOTHING")
		}
		return text, args
	case Read:
		return "SELECT id, views, seen, high, low FROM hits WHERE id = ?", []any{id}
	case ReadAll:
		return "SELECT id, views, seen, high, low FROM hits WHERE id > 0", nil
	case Lock:
		return "SELECT id, views, seen, high, low FROM hits WHERE id = ? FOR UPDATE", []any{id}
	case Savepoint:
		return "SAVEPOINT a", nil
	default:
		return "ROLLBACK TO SAVEPOINT a", nil
	}
}
