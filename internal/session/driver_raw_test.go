package session

import (
	"context"
	"database/sql/driver"
	"testing"

	"github.com/slotsql/slotsql/integration/fake"
)

func TestRaw(t *testing.T) {
	db, _ := openMade(t, fake.Nesting, full)
	one, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	if err := one.Raw(func(c any) error {
		u, _ := c.(interface{ Unwrap() driver.Conn }).Unwrap().(*fake.Conn)
		r, _ := c.(interface{ Raw() driver.Conn }).Raw().(*fake.Conn)
		if u == nil || u != r {
			t.Error("the parent's connection is out of reach")
		}
		st, err := c.(driver.ConnPrepareContext).PrepareContext(t.Context(), incrementSQL)
		if err != nil {
			return err
		}
		defer st.Close()
		if _, ok := st.(interface{ Unwrap() driver.Stmt }).Unwrap().(*fake.Stmt); !ok {
			t.Error("the parent's statement is out of reach")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// passing is a parent connection that keeps what it was given.
type passing struct {
	fake.Conn
	sql  string
	args []driver.NamedValue
}

func (p *passing) ExecContext(_ context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	p.sql, p.args = q, args
	return driver.ResultNoRows, nil
}

func (p *passing) QueryContext(_ context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	p.sql, p.args = q, args
	return fake.NoRows{}, nil
}

// A statement that concerns no counter table reaches the parent as it is, with its
// arguments as they are, at no allocation; its rows are the parent's own.
func TestUntouched(t *testing.T) {
	var parent *passing
	db, _ := openMade(t, fake.Nesting, func(b fake.BareConn) driver.Conn {
		parent = &passing{Conn: fake.Conn{BareConn: b}}
		return parent
	})
	ctx := t.Context()
	err := withConn(t, db, func(c *Conn) {
		args := []driver.NamedValue{{Ordinal: 1, Value: int64(7)}, {Ordinal: 2, Name: "x", Value: "y"}}
		for _, query := range []string{"SELECT 1", "  /* c */ INSERT\tINTO log VALUES (?, :x) ;; -- end\n", "", ";", "SELECT '\xff\x00'", "garbage 'unterminated"} {
			for range 2 { // planned, then cached
				if _, err := c.ExecContext(ctx, query, args); err != nil || parent.sql != query || &parent.args[0] != &args[0] ||
					len(parent.args) != 2 {
					t.Errorf("%q arrives as %q with %v", query, parent.sql, parent.args)
				}
				parent.args = nil
				rows, err := c.QueryContext(ctx, query, args)
				if _, ok := rows.(fake.NoRows); err != nil || !ok || parent.sql != query || &parent.args[0] != &args[0] {
					t.Errorf("%q arrives as %q with %v", query, parent.sql, parent.args)
				}
			}
		}
		const text = "SELECT x FROM log WHERE x = ?"
		if n := testing.AllocsPerRun(100, func() {
			_, _ = c.ExecContext(ctx, text, args)
			_, _ = c.QueryContext(ctx, text, args)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
