package slotsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// conflicts fails the first n texts that a condition holds for.
func conflicts(s *fakeServer, n int, at func(text string) bool) {
	s.arm(func(_ int, text string) *misfortune {
		if n == 0 || !at(text) {
			return nil
		}
		n--
		return &misfortune{err: fmt.Errorf("answer: %w", errConflict), undone: true}
	})
}

func prefix(p string) func(string) bool {
	return func(text string) bool { return strings.HasPrefix(text, p) }
}

// What has been undone is run again, and takes effect once.
func TestAgain(t *testing.T) {
	t.Parallel()
	for way, d := range ways {
		for name, sc := range scenarios {
			if way == "nesting" && name == "change" {
				continue // an engine with one writer has no conflicts, and nobody asks what it changes
			}
			if !strings.Contains(name, "increment") && name != "drain" && name != "change" {
				continue
			}
			server := &fakeServer{affected: sc.affected}
			db := openFake(t, d, fakeConnector{server: server})
			server.arm(nil)
			if err := sc.run(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			for _, text := range server.ran() {
				if strings.HasPrefix(text, "RELEASE") {
					continue // the way back has it, too
				}
				for _, times := range []int{1, 2, maxTries - 1} {
					server := &fakeServer{affected: sc.affected}
					db := openFake(t, d, fakeConnector{server: server})
					conflicts(server, times, func(t string) bool { return t == text })
					err := sc.run(t.Context(), db)
					if err != nil {
						t.Errorf("%s, %s, %d times at %s: %v", way, name, times, text, err)
					}
					for _, effect := range sc.effects {
						if got := server.countPrefix(effect); got != 1 {
							t.Errorf("%s, %s, %d times at %s: applied %d times", way, name, times, text, got)
						}
					}
					if server.leftOpen() != 0 {
						t.Errorf("%s, %s, %s: a transaction is left open", way, name, text)
					}
				}
			}
		}
	}
}

// The number of tries is bounded, and then the error is the engine's.
func TestAgainEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, at string }{
		"increment":      {increment, upserted},
		"change":         {changing, changing},
		"drain":          {drained, drained},
		"drain's fold":   {drained, `UPDATE "main"."posts"`},
		"drain's commit": {drained, "COMMIT"},
	} {
		server := &fakeServer{}
		db := openFake(t, probing, fakeConnector{server: server})
		conflicts(server, -1, prefix(c.at))
		_, err := db.ExecContext(t.Context(), c.text)
		tries := 0
		for _, text := range server.ran() {
			if strings.HasPrefix(text, c.at) && !strings.HasPrefix(text, "ROLLBACK") {
				tries++
			}
		}
		if !errors.Is(err, errConflict) || tries != maxTries {
			t.Errorf("%s: %d tries, want %d: %v", name, tries, maxTries, err)
		}
		if server.countPrefix(upserted)+server.countPrefix(drained) != 0 || server.leftOpen() != 0 {
			t.Errorf("%s: something is left: %v", name, server.committed)
		}
	}
}

// Of several statements that run as they are some may stay.
func TestSeveralNotAgain(t *testing.T) {
	t.Parallel()
	for way, d := range ways {
		server := &fakeServer{}
		db := openFake(t, d, fakeConnector{server: server})
		text := changing + "; " + changing
		n := 0
		conflicts(server, -1, func(t string) bool {
			if t == text {
				n++
			}
			return t == text
		})
		if _, err := db.ExecContext(t.Context(), text); !errors.Is(err, errConflict) || n != 1 {
			t.Errorf("%s: %d tries, %v", way, n, err)
		}
	}
}

// In the application's transaction nothing is run again, however it was begun:
// what came before has been undone as well.
func TestNotAgainInTransaction(t *testing.T) {
	t.Parallel()
	begin := map[string]func(ctx context.Context, c *sql.Conn) error{
		"BeginTx": func(ctx context.Context, c *sql.Conn) error { _, err := c.BeginTx(ctx, nil); return err },
		"BEGIN":   func(ctx context.Context, c *sql.Conn) error { _, err := c.ExecContext(ctx, "BEGIN"); return err },
		"autocommit=0": func(ctx context.Context, c *sql.Conn) error {
			_, err := c.ExecContext(ctx, "SET autocommit = 0")
			return err
		},
	}
	for way, d := range ways {
		for how, f := range begin {
			if how == "autocommit=0" && way != "probing" {
				continue
			}
			for _, text := range []string{increment, changing, drained} {
				server := &fakeServer{}
				db := openFake(t, d, fakeConnector{server: server})
				c, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := f(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				if how == "autocommit=0" && text == drained {
					continue // the engine is asked
				}
				n := 0
				conflicts(server, -1, func(text string) bool {
					if strings.HasPrefix(text, upserted) || text == changing || text == drained {
						n++
						return true
					}
					return false
				})
				if _, err := c.ExecContext(t.Context(), text); !errors.Is(err, errConflict) || n != 1 {
					t.Errorf("%s, %s: %s: %d tries, %v", way, how, text, n, err)
				}
			}
		}
	}
}

// A statement for several is run again for all of them, by the one that leads.
func TestCoalesceAgain(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.start(1)
	<-c.held
	c.queue(2, 4, 8)
	c.release <- fate{err: errConflict} // of the first, which runs alone
	<-c.held
	c.release <- fate{}
	c.want(0, nil)
	for range 3 {
		<-c.held
		c.release <- fate{err: errConflict}
	}
	<-c.held
	c.release <- fate{}
	for i := 1; i <= 3; i++ {
		c.want(i, nil)
	}
	c.wantAdded(1, 1, 14, 14, 14, 14)
	c.wantTotal(15)
}

// A look at the database that has been undone is taken again, outside a
// transaction.
func TestLookAgain(t *testing.T) {
	t.Parallel()
	for _, lasting := range []bool{false, true} {
		server := &fakeServer{}
		db := openFake(t, probing, fakeConnector{server: server})
		if err := withConn(t, db, func(c *conn) {
			c.lasting = lasting
			conflicts(server, 3, prefix("SELECT"))
			_, err := c.session().Query(t.Context(), "SELECT 1")
			if want := map[bool]int{false: 4, true: 1}[lasting]; (err != nil) != lasting || len(server.ran()) != want {
				t.Errorf("in a transaction %t: ran %q, %v", lasting, server.ran(), err)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}
