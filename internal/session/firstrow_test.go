package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

const total = "SELECT views FROM posts WHERE id = 1"

// renamed is an engine on which another client renames the counter.
type renamed struct {
	fake.Engine
	done *atomic.Bool
}

func (d renamed) Describe(
	ctx context.Context,
	s dialect.Session,
	names []dialect.WrittenName,
	t dialect.Temporary,
) ([]*schema.Table, error) {
	tables, err := d.Engine.Describe(ctx, s, names, t)
	for _, t := range tables {
		if d.done.Load() && t != nil && t.Name == "posts" {
			t.Columns[1].Name = "hits"
		}
	}
	return tables, err
}

func (d renamed) Marks(ctx context.Context, s dialect.Session, names []dialect.WrittenName) ([]dialect.Mark, error) {
	marks, err := d.Engine.Marks(ctx, s, names)
	for i := range marks {
		marks[i].Version = strconv.FormatBool(d.done.Load())
	}
	return marks, err
}

// totals are the queries of totals that have been sent.
func totals(s *fake.Server) (sent []string) {
	for _, query := range s.Ran() {
		if strings.HasPrefix(query, "SELECT") && strings.Contains(query, "FROM posts WHERE") {
			sent = append(sent, query)
		}
	}
	return sent
}

// A query of totals is planned again where the error that tells of a change comes with its first row.
func TestReplannedAtFirstRow(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		server, done := &fake.Server{}, &atomic.Bool{}
		engine := fake.Nesting.With(func(r *rewrite.Traits) { r.LateErrors, r.SlowParse = late, false })
		db := openFake(t, renamed{engine, done}, fake.Connector{Server: server, Make: func(b fake.BareConn) driver.Conn {
			b.Rows = func(r *fake.BareRows) driver.Rows {
				if done.Load() && len(totals(server)) == 1 {
					r.Err = fake.ErrChanged
				}
				return r
			}
			return &fake.Conn{BareConn: b}
		}})
		if err := query(total)(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		server.Arm(nil)
		done.Store(true)
		err := query(total)(t.Context(), db)
		if sent := totals(server); len(sent) != 2 || err != nil {
			t.Errorf("late %v: %v after %q", late, err, sent)
		}
	}
}

// Rows whose first one has been read are as before, and so is an error that comes with it.
func TestFirstRow(t *testing.T) {
	t.Parallel()
	engine := fake.Nesting.With(func(r *rewrite.Traits) { r.LateErrors = true })
	for _, left := range []int{0, 1, 3} {
		for _, fails := range []error{nil, errOops} {
			db := openFake(t, engine, fake.Connector{Server: &fake.Server{}, Make: func(b fake.BareConn) driver.Conn {
				b.Rows = func(r *fake.BareRows) driver.Rows {
					r.Left, r.Err = left, fails
					return &fake.Typed{BareRows: r}
				}
				return &fake.Conn{BareConn: b}
			}})
			rows, err := db.QueryContext(t.Context(), total)
			if err != nil {
				t.Fatal(err) // too early
			}
			types, err := rows.ColumnTypes()
			if err != nil || types[0].DatabaseTypeName() != "WONDER" {
				t.Errorf("types %v, %v", types, err)
			}
			var got []int
			for rows.Next() {
				var n int
				if err := rows.Scan(&n); err != nil {
					t.Fatal(err)
				}
				got = append(got, n)
			}
			want := slices.Repeat([]int{7}, left)
			if fails != nil {
				want = nil
			}
			if !slices.Equal(got, want) || !errors.Is(rows.Err(), fails) || rows.Close() != nil {
				t.Errorf("%d rows, then %v: %v, %v", left, fails, got, rows.Err())
			}
		}
	}
}

// In a transaction that an error aborts, a statement whose plan was outdated is not sent once more, be it
// the parent or only the server that knows of the transaction: the next error would hide its own.
func TestNotReplannedWhereErrorAborts(t *testing.T) {
	t.Parallel()
	for want, aborts := range map[int]bool{1: true, 2: false} {
		server, done := &fake.Server{}, &atomic.Bool{}
		engine := fake.Probing.With(func(r *rewrite.Traits) { r.ErrorAborts = aborts })
		db := openFake(t, renamed{engine, done}, fake.Connector{Server: server})
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		read := func() error { return readRows(conn.QueryContext(t.Context(), total)) }
		if err := read(); err != nil {
			t.Fatal(err)
		}
		tx, err := conn.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }() // the connection is closed after it
		done.Store(true)
		failed := false
		server.Arm(func(_ int, query string) *fake.Misfortune {
			if strings.HasPrefix(query, "SELECT") && !failed {
				failed = true
				return &fake.Misfortune{Err: fake.ErrChanged}
			}
			return nil
		})
		err = read()
		if sent := totals(server); len(sent) != want || errors.Is(err, fake.ErrChanged) != aborts {
			t.Errorf("aborts %v: %v after %q", aborts, err, sent)
		}
	}
}

// A parent that begins to run a query late reports the columns of when it was prepared: it prepares each time.
func TestLateErrorsUnprepared(t *testing.T) {
	t.Parallel()
	for want, late := range map[int]bool{1: false, 0: true} {
		server := &fake.Server{}
		engine := fake.Nesting.With(func(r *rewrite.Traits) { r.SlowParse, r.LateErrors = true, late })
		db := openFake(t, engine, fake.Connector{Server: server})
		for range 3 {
			if err := query(total)(t.Context(), db); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		for _, call := range server.Log {
			if strings.HasPrefix(call, "prepare SELECT") && strings.Contains(call, "FROM posts WHERE") {
				n++
			}
		}
		if n != want {
			t.Errorf("late %v: prepared %d times", late, n)
		}
	}
}
