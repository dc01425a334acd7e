package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// tables is what scenarios on a database have in common: a table of counters
// like an application's, another one that its transactions write to, and a
// pool with a connection per client.
type tables struct {
	*workload
	pages, events string // names
	counter       string // column of pages
	db            *sql.DB
	created       []string // in this order
}

func newTables(w *workload) *tables {
	t := &tables{workload: w, pages: w.name, events: w.name + "_events", counter: "views"}
	if w.Plan.Budget > 0 {
		t.counter = "budget"
	}
	return t
}

// create creates a table. It fails where one of that name is there. An
// interrupt waits for it: a statement that is given up may still succeed, and
// leave a table that is never dropped.
func (t *tables) create(ctx context.Context, name, columns string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := t.admin.ExecContext(context.WithoutCancel(ctx), "CREATE TABLE "+name+" ("+columns+")"+t.Engine.table); err != nil {
		return err
	}
	t.created = append(t.created, name)
	return nil
}

// setup creates the tables and fills them, and opens the pool. The DSN is
// changed by edit, and the pool opened by open, when they are not nil.
func (t *tables) setup(ctx context.Context) error {
	if err := t.createPages(ctx); err != nil {
		return err
	}
	return t.openPool(ctx, t.DSN)
}

func (t *tables) createPages(ctx context.Context) error {
	if err := t.create(ctx, t.pages, "id BIGINT NOT NULL PRIMARY KEY, title VARCHAR(80) NOT NULL, "+t.counter+" BIGINT NOT NULL"); err != nil {
		return err
	}
	if err := t.create(ctx, t.events, "id "+t.Engine.serial+", page_id BIGINT NOT NULL"); err != nil {
		return err
	}
	return t.fill(ctx, t.pages+" (id, title, "+t.counter+")", t.Plan.Keys, func(i int) string {
		return fmt.Sprintf("(%d, 'page %[1]d', %d)", i+1, t.Plan.Budget)
	})
}

// fill inserts rows, many at a time.
func (t *tables) fill(ctx context.Context, into string, n int, row func(i int) string) error {
	const batch = 1000
	for i := 0; i < n; i += batch {
		var rows []string
		for k := i; k < min(i+batch, n); k++ {
			rows = append(rows, row(k))
		}
		if _, err := t.admin.ExecContext(ctx, "INSERT INTO "+into+" VALUES "+strings.Join(rows, ", ")); err != nil {
			return err
		}
	}
	return nil
}

func (t *tables) openPool(ctx context.Context, dsn string) error {
	c, err := t.Engine.open(dsn, dialer(t.point.RoundTrip))
	if err != nil {
		return err
	}
	t.db = pool(c, t.point.Clients)
	return connectAll(ctx, t.db, t.point.Clients)
}

// Teardown closes the pool, which ends what is under way, and drops the
// tables, those that refer to others first.
func (t *tables) Teardown(ctx context.Context) error {
	var errs []error
	if t.db != nil {
		errs = append(errs, t.db.Close())
	}
	for _, name := range slices.Backward(t.created) {
		if _, err := t.admin.ExecContext(ctx, "DROP TABLE "+name); err != nil {
			errs = append(errs, fmt.Errorf("table %s could not be dropped, drop it by hand: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// querier is a pool or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// unit runs an increment with what it shares its transaction with; in
// autocommit when that is nothing, unless it needs a transaction itself.
func (t *tables) unit(ctx context.Context, needsTx bool, key int64, increment func(q querier) error) (err error) {
	length := t.point.Transaction
	if length == (Transaction{}) && !needsTx {
		return increment(t.db)
	}
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // the first error says more
		}
	}()
	if err := increment(tx); err != nil {
		return err
	}
	for range length.Inserts {
		if _, err := tx.ExecContext(ctx, t.Engine.q("INSERT INTO "+t.events+" (page_id) VALUES (?)"), key); err != nil {
			return err
		}
	}
	if length.Hold > 0 {
		if err := pause(ctx, time.Duration(length.Hold)); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// affects runs a statement that must affect a row.
func (t *tables) affects(ctx context.Context, q querier, query string, args ...any) error {
	res, err := q.ExecContext(ctx, t.Engine.q(query), args...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return errNoRow
	}
	return nil
}

var errNoRow = errors.New("no row was affected")

// sum adds the counters of a table up.
func (t *tables) sum(ctx context.Context, db *sql.DB, table string) (int64, error) {
	var n sql.NullInt64
	err := db.QueryRowContext(ctx, "SELECT SUM("+t.counter+") FROM "+table).Scan(&n)
	return n.Int64, err
}

// newRand returns a generator for one client.
func newRand() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }
