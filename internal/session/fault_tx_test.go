package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/fake"
)

// An application that commits although its statement has failed must not
// commit half a fold.
func TestFaultInApplicationTransaction(t *testing.T) {
	t.Parallel()
	for way, d := range fake.Ways {
		for kind, f := range faults {
			if kind == "error after" && way != "nesting" {
				continue // only a context may end with an effect and a connection in use
			}
			for k := range 8 {
				t.Run(fmt.Sprintf("%s/%s/%d", way, kind, k), func(t *testing.T) {
					t.Parallel()
					server := &fake.Server{}
					db := openFaulty(t, d, server)
					tx, err := db.BeginTx(t.Context(), nil)
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
					defer cancel()
					server.Arm(func(step int, _ string) *fake.Misfortune {
						if step == k {
							return f(cancel)
						}
						return nil
					})
					_, err = tx.ExecContext(ctx, drained)
					server.Arm(nil)
					cerr := tx.Commit()
					if n := server.Count(drained); n > 1 || err == nil && cerr == nil && n != 1 {
						t.Errorf("applied %d times: %v, %v", n, err, cerr)
					}
					folded, deleted := server.CountPrefix(`UPDATE "main"."posts"`), server.CountPrefix(`DELETE FROM "main"."posts_slots"`)
					if folded != deleted {
						t.Errorf("half a fold is committed: %d base rows, %d slots: %v, %v", folded, deleted, err, cerr)
					}
					if n := server.LeftOpen(); n != 0 {
						t.Errorf("%d transactions are left open", n)
					}
				})
			}
		}
	}
}

// A connection that was lost in the middle is not used again, and what comes
// after on it is refused.
func TestLostConnectionIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	server := &fake.Server{}
	db := openFake(t, fake.Probing, fake.Connector{Server: server})
	one, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server.Arm(func(_ int, query string) *fake.Misfortune {
		if query == drained {
			return &fake.Misfortune{Err: driver.ErrBadConn}
		}
		return nil
	})
	if _, err := one.ExecContext(t.Context(), drained); err == nil || errors.Is(err, driver.ErrBadConn) {
		t.Errorf("error %v", err)
	}
	if err := one.Raw(func(c any) error {
		v, r := c.(driver.Validator), c.(driver.SessionResetter)
		if v.IsValid() || r.ResetSession(t.Context()) != driver.ErrBadConn {
			t.Error("the connection is still valid")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	server.Arm(nil)
	if _, err := one.ExecContext(t.Context(), "INSERT INTO log VALUES (1)"); err == nil || errors.Is(err, driver.ErrBadConn) {
		t.Errorf("what comes after: error %v", err)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	if _, err := db.ExecContext(t.Context(), drained); err != nil {
		t.Error(err)
	}
	if len(server.Conns) != 2 {
		t.Errorf("%d connections", len(server.Conns))
	}
}

// An error of the commit is an error of the rows, not only of Close.
func TestCommitErrorOfRows(t *testing.T) {
	t.Parallel()
	server := &fake.Server{}
	db := openFake(t, fake.Watching, fake.Connector{Server: server})
	server.Arm(func(_ int, query string) *fake.Misfortune {
		if query == "COMMIT" {
			return &fake.Misfortune{Err: errOops}
		}
		return nil
	})
	rows, err := db.QueryContext(t.Context(), drained+" RETURNING views")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
	}
	if !errors.Is(rows.Err(), errOops) {
		t.Errorf("rows end with %v", rows.Err())
	}
	if n := server.LeftOpen(); n != 0 {
		t.Error("the transaction is left open")
	}
}

// Rows that fail undo the drain that they belong to.
func TestRowsFail(t *testing.T) {
	t.Parallel()
	for way, d := range fake.Ways {
		server := &fake.Server{}
		db := openFake(t, d, fake.Connector{Server: server, Make: func(b fake.BareConn) driver.Conn {
			b.Rows = func(r *fake.BareRows) driver.Rows { r.Err = errOops; return r }
			return &fake.Conn{BareConn: b}
		}})
		if err := query(drained+" RETURNING views")(t.Context(), db); !errors.Is(err, errOops) {
			t.Errorf("%s: error %v", way, err)
		}
		if server.LeftOpen() != 0 || server.CountPrefix(drained) != 0 || server.CountPrefix("DELETE") != 0 {
			t.Errorf("%s: committed %v", way, server.Committed)
		}
	}
}

// Facts that no longer hold cost one more run, and no application notices.
func TestReplanned(t *testing.T) {
	t.Parallel()
	for way, d := range fake.Ways {
		server := &fake.Server{}
		db := openFake(t, d, fake.Connector{Server: server})
		server.Arm(func(step int, _ string) *fake.Misfortune {
			if step == 0 {
				return &fake.Misfortune{Err: fake.ErrChanged}
			}
			return nil
		})
		// The facts are what they were, so the error is the application's.
		if err := exec(incrementSQL)(t.Context(), db); !errors.Is(err, fake.ErrChanged) || len(server.Ran()) != 1 {
			t.Errorf("%s: error %v after %v", way, err, server.Ran())
		}
	}
}

func TestStepsOfADrain(t *testing.T) {
	t.Parallel()
	server := &fake.Server{}
	db := openFake(t, fake.Probing, fake.Connector{Server: server})
	server.Arm(nil)
	if err := exec(drained)(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, s := range server.Ran() {
		words = append(words, strings.Fields(s)[0])
	}
	if want := []string{"PROBE", "START", "UPDATE", "DELETE", "UPDATE", "COMMIT"}; !slices.Equal(words, want) {
		t.Errorf("ran %v, want %v", words, want)
	}
}
