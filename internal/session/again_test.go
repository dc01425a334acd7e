package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/internal/link"
)

// conflicts fails the first n statements that a condition holds for.
func conflicts(s *fake.Server, n int, at func(query string) bool) {
	s.Arm(func(_ int, query string) *fake.Misfortune {
		if n == 0 || !at(query) {
			return nil
		}
		n--
		return &fake.Misfortune{Err: fmt.Errorf("answer: %w", fake.ErrConflict), Undone: true}
	})
}

func prefix(p string) func(string) bool {
	return func(query string) bool { return strings.HasPrefix(query, p) }
}

// What has been undone is run again, and takes effect once.
func TestAgain(t *testing.T) {
	t.Parallel()
	for way, d := range fake.Ways {
		for name, sc := range scenarios {
			if way == "nesting" && name == "change" {
				continue // an engine with one writer has no conflicts, and its changes are not looked at
			}
			if !strings.Contains(name, "increment") && name != "drain" && name != "change" {
				continue
			}
			server := &fake.Server{Affected: sc.affected}
			db := openFake(t, d, fake.Connector{Server: server})
			server.Arm(nil)
			if err := sc.run(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			for _, query := range server.Ran() {
				if strings.HasPrefix(query, "RELEASE") {
					continue // the way back has it, too
				}
				for _, times := range []int{1, 2, link.MaxTries - 1} {
					server := &fake.Server{Affected: sc.affected}
					db := openFake(t, d, fake.Connector{Server: server})
					conflicts(server, times, func(t string) bool { return t == query })
					err := sc.run(t.Context(), db)
					if err != nil {
						t.Errorf("%s, %s, %d times at %s: %v", way, name, times, query, err)
					}
					for _, effect := range sc.effects {
						if got := server.CountPrefix(effect); got != 1 {
							t.Errorf("%s, %s, %d times at %s: applied %d times", way, name, times, query, got)
						}
					}
					if server.LeftOpen() != 0 {
						t.Errorf("%s, %s, %s: a transaction is left open", way, name, query)
					}
				}
			}
		}
	}
}

// The number of tries is bounded, and then the error is the engine's.
func TestAgainEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sql, at string }{
		"increment":      {incrementSQL, upserted},
		"change":         {changing, changing},
		"drain":          {drained, drained},
		"drain's fold":   {drained, `UPDATE "main"."posts"`},
		"drain's commit": {drained, "COMMIT"},
	} {
		server := &fake.Server{}
		db := openFake(t, fake.Probing, fake.Connector{Server: server})
		conflicts(server, -1, prefix(c.at))
		_, err := db.ExecContext(t.Context(), c.sql)
		tries := 0
		for _, query := range server.Ran() {
			if strings.HasPrefix(query, c.at) && !strings.HasPrefix(query, "ROLLBACK") {
				tries++
			}
		}
		if !errors.Is(err, fake.ErrConflict) || tries != link.MaxTries {
			t.Errorf("%s: %d tries, want %d: %v", name, tries, link.MaxTries, err)
		}
		if server.CountPrefix(upserted)+server.CountPrefix(drained) != 0 || server.LeftOpen() != 0 {
			t.Errorf("%s: something is left: %v", name, server.Committed)
		}
	}
}

// What is sent through Query is run again as well.
func TestQueryAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sql, at string }{
		"change":         {changing, changing},
		"drain":          {drained, drained},
		"drain's fold":   {drained, `UPDATE "main"."posts"`},
		"drain's commit": {drained, "COMMIT"},
	} {
		server := &fake.Server{}
		db := openFake(t, fake.Probing, fake.Connector{Server: server})
		conflicts(server, 2, prefix(c.at))
		rows, err := db.QueryContext(t.Context(), c.sql)
		if err == nil {
			err = rows.Close()
		}
		if name == "drain's commit" { // that comes with the rows, which the application has by then
			if !errors.Is(err, fake.ErrConflict) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got := server.CountPrefix(c.sql); err != nil || got != 1 || server.LeftOpen() != 0 {
			t.Errorf("%s: applied %d times, %d left open: %v", name, got, server.LeftOpen(), err)
		}
	}
}

// On a cluster there are more tries: its nodes do not queue for a row.
func TestAgainOnCluster(t *testing.T) {
	t.Parallel()
	for times, failed := range map[int]bool{link.MaxTries: false, link.MaxClusterTries - 1: false, link.MaxClusterTries: true} {
		server := &fake.Server{}
		d := &clustered{leasing: leasing{Engine: fake.Probing, held: map[string]string{}}, names: []string{"a"}}
		db := openFake(t, d, fake.Connector{Server: server})
		conflicts(server, times, prefix(changing))
		if _, err := db.ExecContext(t.Context(), changing); errors.Is(err, fake.ErrConflict) != failed || err != nil && !failed {
			t.Errorf("%d conflicts: %v", times, err)
		}
		if got := server.CountPrefix(changing); failed && got != 0 || !failed && got != 1 {
			t.Errorf("%d conflicts: applied %d times", times, got)
		}
	}
}

// Of several statements that run as they are some may stay.
func TestSeveralNotAgain(t *testing.T) {
	t.Parallel()
	for way, d := range fake.Ways {
		server := &fake.Server{}
		db := openFake(t, d, fake.Connector{Server: server})
		query := changing + "; " + changing
		n := 0
		conflicts(server, -1, func(t string) bool {
			if t == query {
				n++
			}
			return t == query
		})
		if _, err := db.ExecContext(t.Context(), query); !errors.Is(err, fake.ErrConflict) || n != 1 {
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
	for way, d := range fake.Ways {
		for how, f := range begin {
			if how == "autocommit=0" && way != "probing" {
				continue
			}
			for _, query := range []string{incrementSQL, changing, drained} {
				server := &fake.Server{}
				db := openFake(t, d, fake.Connector{Server: server})
				c, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := f(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				if how == "autocommit=0" && query == drained {
					continue // the engine is asked
				}
				n := 0
				conflicts(server, -1, func(query string) bool {
					if strings.HasPrefix(query, upserted) || query == changing || query == drained {
						n++
						return true
					}
					return false
				})
				if _, err := c.ExecContext(t.Context(), query); !errors.Is(err, fake.ErrConflict) || n != 1 {
					t.Errorf("%s, %s: %s: %d tries, %v", way, how, query, n, err)
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
	c.release <- fate{err: fake.ErrConflict} // of the first, which runs alone
	<-c.held
	c.release <- fate{}
	c.want(0, nil)
	for range 3 {
		<-c.held
		c.release <- fate{err: fake.ErrConflict}
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
		server := &fake.Server{}
		db := openFake(t, fake.Probing, fake.Connector{Server: server})
		if err := withConn(t, db, func(c *Conn) {
			if lasting {
				c.Tx.Begin()
			}
			conflicts(server, 3, prefix("SELECT"))
			_, err := c.Session().Query(t.Context(), "SELECT 1")
			if want := map[bool]int{false: 4, true: 1}[lasting]; (err != nil) != lasting || len(server.Ran()) != want {
				t.Errorf("in a transaction %t: ran %q, %v", lasting, server.Ran(), err)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}
