package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/internal/link"
)

func openMade(t *testing.T, d dialect.Dialect, f func(fake.BareConn) driver.Conn) (*sql.DB, *fake.Server) {
	t.Helper()
	server := &fake.Server{}
	db := openFake(t, d, fake.Connector{Server: server, Make: f})
	if err := db.Ping(); err != nil {
		t.Fatal(err)
	}
	server.Arm(nil)
	return db, server
}

func full(b fake.BareConn) driver.Conn   { return &fake.Conn{BareConn: b} }
func legacy(b fake.BareConn) driver.Conn { return &fake.LegacyConn{BareConn: b} }
func bare(b fake.BareConn) driver.Conn   { return &b }

func withStmt(f func(*fake.BareStmt) driver.Stmt) func(fake.BareConn) driver.Conn {
	return func(b fake.BareConn) driver.Conn { b.Stmt = f; return &fake.Conn{BareConn: b} }
}

func bareStmts(b fake.BareConn) driver.Conn {
	b.Stmt = func(s *fake.BareStmt) driver.Stmt { return s }
	return &b
}

func TestPing(t *testing.T) {
	db, server := openMade(t, fake.Nesting, full)
	if err := db.Ping(); err != nil || !server.Logged("ping") {
		t.Errorf("error %v, log %v", err, server.Log)
	}
	db, server = openMade(t, fake.Nesting, bare)
	if err := db.Ping(); err != nil || len(server.Log) > 0 {
		t.Errorf("parent without Ping: error %v, log %v", err, server.Log)
	}
}

// Every kind of statement works with every kind of parent, with the statements that
// the parent gets being the same.
func TestParents(t *testing.T) {
	parents := map[string]func(fake.BareConn) driver.Conn{"full": full, "legacy": legacy, "bare": bare, "bare statements": bareStmts,
		"skipping": func(b fake.BareConn) driver.Conn { b.SkipExec = true; return &fake.Conn{BareConn: b} }}
	var want []string
	for _, name := range []string{"full", "legacy", "bare", "bare statements", "skipping"} {
		db, server := openMade(t, fake.Nesting, parents[name])
		db.SetMaxOpenConns(1)
		for _, q := range []struct {
			sql   string
			args  []any
			query bool
		}{
			{"INSERT INTO log VALUES (?)", []any{1}, false},
			{"SELECT x FROM log WHERE x = ?", []any{1}, true},
			{incrementSQL, nil, false},
			{"UPDATE posts SET views = views + ? WHERE id = ?", []any{int8(2), 1}, false},
			{drained, nil, false},
			{"UPDATE posts SET views = ? WHERE id = ?", []any{5, "1"}, false},
			{"SELECT views FROM posts WHERE id = ?", []any{1}, true},
			{"UPDATE posts SET views = ? WHERE id = ? RETURNING views", []any{5, 1}, true},
		} {
			for _, prepared := range []bool{false, true} {
				var err error
				switch {
				case q.query && prepared:
					err = onStmt(db, q.sql, func(st *sql.Stmt) error { return readRows(st.Query(q.args...)) })
				case q.query:
					err = readRows(db.Query(q.sql, q.args...))
				case prepared:
					err = onStmt(db, q.sql, func(st *sql.Stmt) error { _, err := st.Exec(q.args...); return err })
				default:
					_, err = db.Exec(q.sql, q.args...)
				}
				if err != nil {
					t.Errorf("%s: %s (prepared %v): %v", name, q.sql, prepared, err)
				}
			}
		}
		if ran := server.Ran(); want == nil {
			want = ran
		} else if !slices.Equal(ran, want) {
			t.Errorf("%s ran\n%s\nwant\n%s", name, strings.Join(ran, "\n"), strings.Join(want, "\n"))
		}
		if err := db.Close(); err != nil { // slotsql's own statements end with their connection
			t.Errorf("%s: close: %v", name, err)
		}
		prepares, closes := 0, 0
		for _, l := range server.Log {
			if strings.HasPrefix(l, "prepare ") {
				prepares++
			}
			if strings.HasPrefix(l, "close ") {
				closes++
			}
		}
		if prepares != closes {
			t.Errorf("%s: %d statements prepared, %d closed", name, prepares, closes)
		}
	}
}

func onStmt(db *sql.DB, query string, f func(*sql.Stmt) error) error {
	st, err := db.Prepare(query)
	if err != nil {
		return err
	}
	return errors.Join(f(st), st.Close())
}

func TestNamedArgumentOfLegacyParent(t *testing.T) {
	for name, f := range map[string]func(fake.BareConn) driver.Conn{"legacy": legacy, "bare": bareStmts} {
		db, server := openMade(t, fake.Nesting, f)
		if _, err := db.Exec("INSERT INTO log VALUES (:x)", sql.Named("x", 1)); err == nil || len(server.Ran()) > 0 {
			t.Errorf("%s: error %v, ran %v", name, err, server.Ran())
		}
	}
}

func TestNamedValueChecker(t *testing.T) {
	last := func(s *fake.Server) driver.Value {
		s.Mu.Lock()
		defer s.Mu.Unlock()
		return s.Args[len(s.Args)-1][0].Value
	}
	const text = "INSERT INTO log VALUES (?)"
	db, server := openMade(t, fake.Nesting, full)
	if _, err := db.Exec(text, fake.Odd{N: 3}); err != nil || last(server) != int64(3) {
		t.Errorf("checker of the connection: %v", err)
	}
	if err := onStmt(db, text, func(st *sql.Stmt) error { _, err := st.Exec(fake.Odd{N: 3}); return err }); err != nil ||
		last(server) != int64(3) {
		t.Errorf("checker of the connection, prepared: %v", err)
	}
	db, server = openMade(
		t,
		fake.Nesting,
		withStmt(func(s *fake.BareStmt) driver.Stmt { return fake.CheckingStmt{Stmt: &fake.Stmt{BareStmt: s}} }),
	)
	if err := onStmt(db, text, func(st *sql.Stmt) error { _, err := st.Exec(fake.Odd{N: 3}); return err }); err != nil ||
		last(server) != int64(300) {
		t.Errorf("checker of the statement: %v", err)
	}
	db, _ = openMade(t, fake.Nesting, bare)
	if _, err := db.Exec(text, fake.Odd{N: 3}); err == nil {
		t.Error("no checker: no error")
	}
}

// TestArgumentsOfAPreparedCall: where the parent has a call prepared, the statement checks the call's arguments, as it
// does in database/sql.
func TestArgumentsOfAPreparedCall(t *testing.T) {
	checking := withStmt(func(s *fake.BareStmt) driver.Stmt { return fake.CheckingStmt{Stmt: &fake.Stmt{BareStmt: s}} })
	server := &fake.Server{}
	made := fake.Connector{Server: server, Make: func(c fake.BareConn) driver.Conn { return permissive{checking(c)} }}
	parent, err := made.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn := link.Conn{Parent: parent}
	for arg, want := range map[any]int64{fake.Odd{N: 3}: 300, int8(3): 3} {
		args := []driver.NamedValue{{Ordinal: 1, Value: arg}}
		last := func() driver.Value { return server.Args[len(server.Args)-1][0].Value }
		if _, err := conn.ParentExec(t.Context(), "INSERT INTO log VALUES (?)", args); err != nil || last() != want {
			t.Errorf("exec: %T as %v, %v", arg, last(), err)
		}
		rows, err := conn.ParentQuery(t.Context(), "SELECT ?", args)
		if err != nil || last() != want {
			t.Errorf("query: %T as %v, %v", arg, last(), err)
			continue
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
		if args[0].Value != arg {
			t.Errorf("the caller's argument has become %v", args[0].Value)
		}
	}
}

// permissive has its statements check arguments, as ncruces/go-sqlite3 does.
type permissive struct{ driver.Conn }

func (permissive) CheckNamedValue(*driver.NamedValue) error { return nil }

func TestColumnConverter(t *testing.T) {
	last := func(s *fake.Server) driver.Value { return s.Args[len(s.Args)-1][0].Value }
	const text = "INSERT INTO log VALUES (?)"
	exec := func(st *sql.Stmt) error { _, err := st.Exec(3); return err }
	db, server := openMade(
		t,
		fake.Nesting,
		withStmt(func(s *fake.BareStmt) driver.Stmt { return fake.Converting{Stmt: &fake.Stmt{BareStmt: s}} }),
	)
	if err := onStmt(db, text, exec); err != nil || last(server) != int64(3000) {
		t.Errorf("with: %v, %v", err, last(server))
	}
	db, server = openMade(t, fake.Nesting, full)
	if err := onStmt(db, text, exec); err != nil || last(server) != int64(3) {
		t.Errorf("without: %v, %v", err, last(server))
	}
	// A statement that does not know the number of its inputs.
	db, server = openMade(t, fake.Nesting, withStmt(func(s *fake.BareStmt) driver.Stmt { s.Inputs = -1; return &fake.Stmt{BareStmt: s} }))
	if err := onStmt(db, text, exec); err != nil || last(server) != int64(3) {
		t.Errorf("unknown inputs: %v, %v (%[2]T)", err, last(server))
	}
}

func TestNumInput(t *testing.T) {
	db, _ := openMade(t, fake.Nesting, full)
	for _, query := range []string{"UPDATE posts SET views = views + ? WHERE id = ?", "SELECT views FROM posts WHERE id = ? AND views > ?",
		"UPDATE posts SET views = ? WHERE id = ?", "INSERT INTO log VALUES (?, ?)"} {
		err := onStmt(db, query, func(st *sql.Stmt) error { _, err := st.Exec(1); return err })
		if err == nil || !strings.Contains(err.Error(), "expected 2 arguments, got 1") {
			t.Errorf("%s: %v", query, err)
		}
	}
}

func TestBeginTx(t *testing.T) {
	db, server := openMade(t, fake.Nesting, full)
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable, ReadOnly: true})
	if err != nil || !server.Logged("begin 6 true") {
		t.Errorf("error %v, log %v", err, server.Log)
	}
	_ = tx.Rollback()

	db, server = openMade(t, fake.Nesting, legacy)
	for _, o := range []*sql.TxOptions{{Isolation: sql.LevelSerializable}, {ReadOnly: true}} {
		if _, err := db.BeginTx(t.Context(), o); err == nil || len(server.Ran()) > 0 {
			t.Errorf("%+v on a legacy parent: error %v, ran %v", o, err, server.Ran())
		}
	}
	for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("INSERT INTO log VALUES (1)"); err != nil {
			t.Error(err)
		}
		if err := end(tx); err != nil {
			t.Error(err)
		}
	}
	if server.Count("INSERT INTO log VALUES (1)") != 1 || server.LeftOpen() != 0 {
		t.Errorf("committed %v", server.Committed)
	}

	// database/sql checks the context before it asks the driver; a legacy
	// Begin that outlives it is rolled back.
	ctx, cancel := context.WithCancel(t.Context())
	server.Arm(func(int, string) *fake.Misfortune { cancel(); return nil })
	if _, err := db.BeginTx(ctx, nil); !errors.Is(err, context.Canceled) || server.LeftOpen() != 0 {
		t.Errorf("cancelled: error %v, %d left open", err, server.LeftOpen())
	}
}

func TestSessionResetterAndValidator(t *testing.T) {
	db, server := openMade(t, fake.Nesting, full)
	server.Conns[0].Drop() // while it is idle
	if _, err := db.Exec("INSERT INTO log VALUES (1)"); err != nil || len(server.Conns) != 2 {
		t.Errorf("reset: error %v, %d connections", err, len(server.Conns))
	}
	db, server = openMade(t, fake.Nesting, bare)
	if _, err := db.Exec("INSERT INTO log VALUES (1)"); err != nil || len(server.Conns) != 1 {
		t.Errorf("without: error %v, %d connections", err, len(server.Conns))
	}
}

// Connections of one process hold different slots, and give them back.
func TestSlotPerConnection(t *testing.T) {
	db, server := openMade(t, fake.Nesting, full)
	seen := map[int]bool{}
	var open []*sql.Conn
	for range 5 {
		one, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, one)
		if err := one.Raw(func(c any) error { seen[c.(*Conn).slot] = true; return nil }); err != nil {
			t.Error(err)
		}
	}
	if len(seen) != 5 || !seen[0] || !seen[4] {
		t.Errorf("slots %v", seen)
	}
	for _, one := range open {
		_ = one.Raw(func(any) error { return driver.ErrBadConn })
		_ = one.Close()
	}
	if err := withConn(t, db, func(c *Conn) {
		if c.slot != 0 {
			t.Errorf("slot %d after all were given back", c.slot)
		}
	}); err != nil {
		t.Error(err)
	}
	if len(server.Conns) != 6 {
		t.Errorf("%d connections", len(server.Conns))
	}
}
