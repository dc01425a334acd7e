package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/twin"
)

// drawn is a number that a caller has got, and the time at which it asked and had it: by a
// clock that counts events.
type drawn struct{ n, asked, had int64 }

// Numbers are drawn by processes with slots and without, beside increments in transactions, of
// which some are rolled back, drains, roll-ups and programs that do not know of slotsql. None
// comes twice, a later caller has a later one, and between the numbers that have been drawn
// there is just what the others have added.
func TestGroupedNumbersMixed(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			m := &mixed{T: t, dialect: dialect, with: groupable(t, dialect, ", slots: 8, placement: adaptive")}
			if err := m.with.Wrapped.PingContext(t.Context()); err != nil { // makes the slot table
				t.Fatal(err)
			}
			m.without = m.other("slots: 0")
			crowd(t, 25, func(ctx context.Context, caller, i int) error {
				err := m.step(ctx, caller, i)
				if err != nil && m.victim(err) {
					return nil
				}
				return err
			})
			m.check()
		})
	}
}

type mixed struct {
	*testing.T
	dialect string
	with    *twin.Pair
	without *sql.DB

	clock, others atomic.Int64
	mu            sync.Mutex
	numbers       []drawn
}

// other opens the database as a process with another configuration does.
func (m *mixed) other(slots string) *sql.DB {
	m.Helper()
	parsed, err := slotsql.Parse([]byte(golden.WithSlots("version: 1\ntables: {stock: {counters: {n: {}, sold: {}}, "+slots+"}}\n")), "slotsql.yaml")
	if err != nil {
		m.Fatal(err)
	}
	c, err := slotsql.OpenConnector(twin.Wrapped[m.dialect], m.with.WrappedDSN, slotsql.WithConfig(parsed))
	if err != nil {
		m.Fatal(err)
	}
	db := sql.OpenDB(c)
	m.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(clients)
	db.SetMaxIdleConns(clients)
	return db
}

// victim reports whether an error is one that plain transactions which meet get as well.
func (m *mixed) victim(err error) bool {
	c := twin.Class(err)
	return slices.Contains([]string{"PostgreSQL 40001", "PostgreSQL 40P01", "MySQL 1213 (40001)", "MySQL 1205 (HY000)"}, c) ||
		strings.HasPrefix(c, "SQLite 5") && len(c) <= len("SQLite 517")
}

func (m *mixed) step(ctx context.Context, caller, i int) error {
	db := m.with.Wrapped
	if caller%2 == 0 {
		db = m.without
	}
	switch kind := (caller + i) % 8; {
	case kind < 5:
		return m.draw(ctx, db)
	case kind == 5:
		return m.inTransaction(ctx, db, i%3 == 0)
	case caller%8 == 1:
		_, err := slotsql.RollUp(ctx, twin.Connector(m, m.with), slotsql.RollUpOptions{})
		return err
	case caller%8 == 2:
		_, err := db.ExecContext(ctx, "UPDATE stock SET n = n * 1 WHERE id = 3")
		return err
	case caller%8 == 3: // a program that does not know of slotsql
		db = m.with.Under
	}
	_, err := db.ExecContext(ctx, "UPDATE stock SET n = n + 1 WHERE id = 3")
	if err == nil {
		m.others.Add(1)
	}
	return err
}

// draw draws a number.
func (m *mixed) draw(ctx context.Context, db *sql.DB) error {
	d := drawn{asked: m.clock.Add(1)}
	if m.dialect == "mysql" {
		res, err := db.ExecContext(ctx, "UPDATE stock SET n = LAST_INSERT_ID(n + 1) WHERE id = 3")
		if err != nil {
			return err
		}
		if d.n, err = res.LastInsertId(); err != nil {
			return err
		}
	} else if err := db.QueryRowContext(ctx, "UPDATE stock SET n = n + 1 WHERE id = 3 RETURNING n").Scan(&d.n); err != nil {
		return err
	}
	d.had = m.clock.Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.numbers = append(m.numbers, d)
	return nil
}

// inTransaction increments twice, and may roll that back.
func (m *mixed) inTransaction(ctx context.Context, db *sql.DB, undo bool) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for range 2 {
		if _, err := tx.ExecContext(ctx, "UPDATE stock SET n = n + 1 WHERE id = 3"); err != nil {
			return err
		}
	}
	if undo {
		return tx.Rollback()
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	m.others.Add(2)
	return nil
}

func (m *mixed) check() {
	slices.SortFunc(m.numbers, func(a, b drawn) int { return int(a.n - b.n) })
	var asked int64 // the latest time at which one was asked for of those before
	for i, d := range m.numbers {
		if i > 0 && d.n == m.numbers[i-1].n {
			m.Errorf("%d drawn twice", d.n)
		}
		if d.had < asked {
			m.Errorf("%d was there at %d, before a lower one was asked for at %d", d.n, d.had, asked)
		}
		asked = max(asked, d.asked)
	}
	for name, db := range map[string]*sql.DB{"with slots": m.with.Wrapped, "without": m.without} {
		if got, want := value(m.T, db, "SELECT n FROM stock WHERE id = 3"), fmt.Sprint(int64(len(m.numbers))+m.others.Load()); got != want {
			m.Errorf("total %s %s, want %s", got, name, want)
		}
	}
	if len(m.numbers) == 0 {
		m.Error(errors.New("no numbers"))
	}
}
