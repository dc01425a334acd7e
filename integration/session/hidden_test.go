package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"

	"github.com/ngrok/sqlmw"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/twin"
)

// wrappers stand between slotsql and its parent, as an application has them.
var wrappers = map[string]func(driver.Driver) driver.Driver{
	"sqlmw": func(d driver.Driver) driver.Driver { return sqlmw.Driver(d, sqlmw.NullInterceptor{}) },
	"bare": func(d driver.Driver) driver.Driver {
		return wrapping{d, func(c driver.Conn) driver.Conn { return bare{c} }}
	},
	"wrapping": func(d driver.Driver) driver.Driver {
		return wrapping{d, func(c driver.Conn) driver.Conn { return leading{c} }}
	},
}

// wrapping is a wrapper written by hand.
type wrapping struct {
	driver.Driver
	wrap func(driver.Conn) driver.Conn
}

func (w wrapping) Open(dsn string) (driver.Conn, error) {
	c, err := w.Driver.Open(dsn)
	if err != nil {
		return nil, err
	}
	return w.wrap(c), nil
}

// bare offers what every connection must, and nothing else.
type bare struct{ c driver.Conn }

func (b bare) Prepare(query string) (driver.Stmt, error) { return b.c.Prepare(query) }
func (b bare) Close() error                              { return b.c.Close() }
func (b bare) Begin() (driver.Tx, error)                 { return b.c.Begin() } //nolint:staticcheck // all there is

// leading is a bare one that leads to the parent's.
type leading struct{ driver.Conn }

func (l leading) Unwrap() driver.Conn { return l.Conn }

// mute also hides the types of errors.
type mute struct{ bare }

func (m mute) Prepare(query string) (driver.Stmt, error) {
	st, err := m.c.Prepare(query)
	if err != nil {
		return nil, fmt.Errorf("muted: %v", err) //nolint:errorlint // on purpose
	}
	return muteStmt{st}, nil
}

type muteStmt struct{ driver.Stmt }

func (m muteStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	res, err := m.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	if err != nil {
		return nil, fmt.Errorf("muted: %v", err) //nolint:errorlint // on purpose
	}
	return res, nil
}

func (m muteStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return m.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}

// over opens the wrapped side with a driver between slotsql and its parent.
func over(t *testing.T, dialect string, wrap func(driver.Driver) driver.Driver) twin.Opener {
	return func(name, dsn, path string) (*sql.DB, error) {
		cfg, err := slotsql.Load(path)
		if err != nil {
			return nil, err
		}
		plain, err := sql.Open(name, dsn)
		if err != nil {
			return nil, err
		}
		defer plain.Close()
		db, err := slotsql.OpenDB(dsnConnector{wrap(plain.Driver()), dsn}, twin.Wrapping[dialect], cfg)
		if err == nil {
			t.Cleanup(func() { _ = db.Close() })
		}
		return db, err
	}
}

type dsnConnector struct {
	driver driver.Driver
	dsn    string
}

func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c dsnConnector) Driver() driver.Driver                        { return c.driver }

// A drain in a transaction of the application's stays in it, whatever hides the parent's
// connection: it never ends that transaction, and it is undone with it.
func TestHiddenParent(t *testing.T) {
	for name, wrap := range wrappers {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, dialect string) {
				p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: slotted, Open: over(t, dialect, wrap)})
				one, other := pinned(t, p), pinned(t, p)
				one.script(t, &other, work...)
				const drain = "UPDATE posts SET views = views * 2 WHERE id = 1"
				for _, end := range []string{"ROLLBACK", "COMMIT"} {
					one.script(t, nil, "BEGIN", increment, drain, increment, "UPDATE posts SET title = 'x' WHERE id = 2", drain, end)
					other.same(t, twin.Statement{SQL: totals})
					one.script(t, &other, increment, drain)
				}
				if dialect != "mysql" { // an error in a transaction, and what is left of it
					one.script(t, nil, "BEGIN", drain)
					one.same(t, twin.Statement{SQL: "SELECT nosuch FROM posts"})
					one.same(t, twin.Statement{SQL: drain})
					one.same(t, twin.Statement{SQL: "ROLLBACK"})
					one.script(t, &other, drain, increment)
				}
				if dialect == "postgres" { // makes one transaction of a call
					one.script(t, &other, drain+"; UPDATE posts SET nosuch = 1", drain+"; "+drain)
				}
				inTransaction(t, p)
				one.script(t, &other, drain)
			})
		})
	}
}

// inTransaction runs a drain in a driver.Tx that is rolled back, and one that is committed.
func inTransaction(t *testing.T, p *twin.Pair) {
	t.Helper()
	for _, commit := range []bool{false, true} {
		for _, db := range []*sql.DB{p.Plain, p.Wrapped} {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			twin.ExecAll(t, tx, increment, "UPDATE posts SET views = views * 3 WHERE id = 1", increment)
			end := tx.Rollback
			if commit {
				end = tx.Commit
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Where neither the parent nor the server's errors tell, connecting is refused.
func TestMuteParentIsRefused(t *testing.T) {
	p := newPair(t, "postgres", "")
	cfg, err := slotsql.Parse([]byte(golden.WithSlots(config)), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	parent := wrapping{p.Plain.Driver(), func(c driver.Conn) driver.Conn { return mute{bare{c}} }}
	db, err := slotsql.OpenDB(dsnConnector{parent, p.WrappedDSN}, twin.Wrapping["postgres"], cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.PingContext(t.Context()); err == nil || !strings.Contains(err.Error(), "Unwrap() driver.Conn") {
		t.Errorf("error %v", err)
	}
}
