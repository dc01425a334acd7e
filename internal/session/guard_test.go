package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/internal/link"
)

// galeran is a dialect on a node of a cluster.
type galeran struct{ fake.Engine }

func (galeran) Node(context.Context, dialect.Session) (string, error) { return "a", nil }

func (galeran) TxOpen(_ context.Context, s dialect.Session) (bool, error) {
	return (*link.Conn)(s.(*link.Session)).Parent.(interface{ ConnInTransaction() bool }).ConnInTransaction(), nil
}

func (galeran) TxUndone() error { return fake.ErrConflict }

// forgetful is a parent that loses the transaction with a preparation, and says
// nothing.
type forgetful struct {
	fake.Conn
	at *int // the number of the preparation; it counts down
}

func (c *forgetful) PrepareContext(ctx context.Context, q string) (driver.Stmt, error) {
	if *c.at--; *c.at == 0 {
		c.Session.Open, c.Session.Pending = false, nil
	}
	return c.Conn.PrepareContext(ctx, q)
}

// A transaction that is gone with the preparation of a drain's statement is
// reported as the engine should have, and nothing that follows is run outside of
// it. One of slotsql's own begins again.
func TestLostAtPreparation(t *testing.T) {
	t.Parallel()
	const text = "UPDATE posts SET views = ? WHERE id = ?"
	ways := map[string]func(ctx context.Context, db *sql.DB) error{
		"own": func(ctx context.Context, db *sql.DB) error {
			_, err := db.ExecContext(ctx, text, 5, 1)
			return err
		},
		"the application's": func(ctx context.Context, db *sql.DB) error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if _, err := tx.ExecContext(ctx, "INSERT INTO log VALUES (1)"); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, text, 5, 1); err != nil {
				return err
			}
			return tx.Commit()
		},
		"a query": func(ctx context.Context, db *sql.DB) error {
			rows, err := db.QueryContext(ctx, text+" RETURNING views", 5, 1)
			if err != nil {
				return err
			}
			return errors.Join(rows.Close(), rows.Err())
		},
	}
	for name, run := range ways {
		for at := 1; ; at++ {
			left, server := at, &fake.Server{}
			db := openFake(t, galeran{fake.Probing}, fake.Connector{Server: server, Make: func(b fake.BareConn) driver.Conn {
				b.SkipExec = true
				return &forgetful{fake.Conn{BareConn: b}, &left}
			}})
			err := run(t.Context(), db)
			if left > 0 { // there are no more
				if err != nil || server.CountPrefix("UPDATE posts SET views = ?") != 1 || at < 3 {
					t.Errorf("%s: of %d preparations none is lost, but %v", name, at-1, err)
				}
				break
			}
			if name != "the application's" { // it has run again
				if err != nil || server.CountPrefix("UPDATE posts SET views = ?") != 1 || len(server.Committed) != 3 ||
					server.LeftOpen() != 0 {
					t.Errorf("%s, preparation %d: %v; %q have been committed", name, at, err, server.Committed)
				}
				continue
			}
			if !errors.Is(err, fake.ErrConflict) || len(server.Committed) > 0 || server.LeftOpen() != 0 {
				t.Errorf("%s, preparation %d: %v; %q have been committed", name, at, err, server.Committed)
			}
		}
	}
}
