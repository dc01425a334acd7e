package slotsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// An application that commits although its statement has failed must not
// commit half a fold.
func TestFaultInApplicationTransaction(t *testing.T) {
	t.Parallel()
	for way, d := range ways {
		for kind, f := range faults {
			if kind == "error after" && way != "nesting" {
				continue // only a context may end with an effect and a connection in use
			}
			for k := range 8 {
				t.Run(fmt.Sprintf("%s/%s/%d", way, kind, k), func(t *testing.T) {
					t.Parallel()
					server := &fakeServer{}
					db := openFaulty(t, d, server)
					tx, err := db.BeginTx(t.Context(), nil)
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
					defer cancel()
					server.arm(func(step int, _ string) *misfortune {
						if step == k {
							return f(cancel)
						}
						return nil
					})
					_, err = tx.ExecContext(ctx, drained)
					server.arm(nil)
					cerr := tx.Commit()
					if n := server.count(drained); n > 1 || err == nil && cerr == nil && n != 1 {
						t.Errorf("applied %d times: %v, %v", n, err, cerr)
					}
					folded, deleted := server.countPrefix(`UPDATE "main"."posts"`), server.countPrefix(`DELETE FROM "main"."posts_slots"`)
					if folded != deleted {
						t.Errorf("half a fold is committed: %d base rows, %d slots: %v, %v", folded, deleted, err, cerr)
					}
					if n := server.leftOpen(); n != 0 {
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
	server := &fakeServer{}
	db := openFaulty(t, probing, server)
	one, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server.arm(func(_ int, text string) *misfortune {
		if text == drained {
			return &misfortune{err: driver.ErrBadConn}
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
	server.arm(nil)
	if _, err := one.ExecContext(t.Context(), "INSERT INTO log VALUES (1)"); err == nil || errors.Is(err, driver.ErrBadConn) {
		t.Errorf("what comes after: error %v", err)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	if _, err := db.ExecContext(t.Context(), drained); err != nil {
		t.Error(err)
	}
	if len(server.conns) != 2 {
		t.Errorf("%d connections", len(server.conns))
	}
}

// An error of the commit is an error of the rows, not only of Close.
func TestCommitErrorOfRows(t *testing.T) {
	t.Parallel()
	server := &fakeServer{}
	db := openFaulty(t, watching, server)
	server.arm(func(_ int, text string) *misfortune {
		if text == "COMMIT" {
			return &misfortune{err: errOops}
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
	if n := server.leftOpen(); n != 0 {
		t.Error("the transaction is left open")
	}
}

// Rows that fail undo the drain that they belong to.
func TestRowsFail(t *testing.T) {
	t.Parallel()
	for way, d := range ways {
		server := &fakeServer{}
		db := openFake(t, d, fakeConnector{server: server, make: func(b bareConn) driver.Conn {
			b.rows = func(r *bareRows) driver.Rows { r.err = errOops; return r }
			return &fakeConn{b}
		}})
		if err := query(drained+" RETURNING views")(t.Context(), db); !errors.Is(err, errOops) {
			t.Errorf("%s: error %v", way, err)
		}
		if server.leftOpen() != 0 || server.countPrefix(drained) != 0 || server.countPrefix("DELETE") != 0 {
			t.Errorf("%s: committed %v", way, server.committed)
		}
	}
}

// Facts that no longer hold cost one more run, and no application notices.
func TestReplanned(t *testing.T) {
	t.Parallel()
	for way, d := range ways {
		server := &fakeServer{}
		db := openFaulty(t, d, server)
		server.arm(func(step int, _ string) *misfortune {
			if step == 0 {
				return &misfortune{err: errChanged}
			}
			return nil
		})
		// The facts are what they were, so the error is the application's.
		if err := exec(increment)(t.Context(), db); !errors.Is(err, errChanged) || len(server.ran()) != 1 {
			t.Errorf("%s: error %v after %v", way, err, server.ran())
		}
	}
}

func TestStepsOfADrain(t *testing.T) {
	t.Parallel()
	server := &fakeServer{}
	db := openFake(t, probing, fakeConnector{server: server})
	server.arm(nil)
	if err := exec(drained)(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, s := range server.ran() {
		words = append(words, strings.Fields(s)[0])
	}
	if want := []string{"PROBE", "START", "UPDATE", "DELETE", "UPDATE", "COMMIT"}; !slices.Equal(words, want) {
		t.Errorf("ran %v, want %v", words, want)
	}
}
