package session

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

const confirmConfig = "version: 1\nauto_migrate: true\ntables: {stock: {counters: {n: {}}, slots: 8, placement: connection}}\n"

func confirming(t *testing.T) *twin.Pair {
	t.Helper()
	p := twin.New(t, twin.Options{
		Dialect: "postgres",
		Schema: []string{
			"CREATE TABLE stock (id INT PRIMARY KEY, n BIGINT NOT NULL, note VARCHAR(40))",
			"INSERT INTO stock VALUES (1, 5, ''), (2, 10, ''), (3, 0, '')",
		},
		Config: confirmConfig,
	})
	if err := p.Wrapped.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// A statement that waits for a session which makes a slot meanwhile is not confirmed, and drains.
func TestConfirmAfterWaiting(t *testing.T) {
	p := confirming(t)
	adaptive := anotherProgram(t, p, strings.Replace(confirmConfig, "connection", "adaptive", 1))
	for name, c := range map[string]struct {
		query string
		inTx  bool
		want  string
	}{
		"UPDATE":           {"UPDATE stock SET n = $2 WHERE id = $1 RETURNING n", false, "100"},
		"FOR UPDATE":       {"SELECT n + $2::int - $2::int FROM stock WHERE id = $1 FOR UPDATE", true, ""},
		"plain FOR UPDATE": {"SELECT n FROM stock WHERE id = $1 AND $2 > 0 FOR UPDATE", true, ""},
		"NO KEY":           {"SELECT n FROM stock WHERE id = $1 AND $2 > 0 FOR NO KEY UPDATE", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := func() (string, error) {
				var n string
				if !c.inTx {
					err := adaptive.QueryRowContext(t.Context(), c.query, 1, 100).Scan(&n)
					return n, err
				}
				tx, err := adaptive.BeginTx(t.Context(), nil)
				if err != nil {
					return "", err
				}
				if err := tx.QueryRow(c.query, 1, 100).Scan(&n); err != nil {
					_ = tx.Rollback()
					return "", err
				}
				return n, tx.Commit()
			}
			for range 3 {
				if _, err := run(); err != nil {
					t.Fatal(err)
				}
			}
			want := c.want
			if want == "" {
				want = twin.Rows(t, p.Wrapped, "SELECT n + 5 FROM stock WHERE id = 1")
			}
			tx, err := p.Wrapped.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec("UPDATE stock SET n = n + 5 WHERE id = 1"); err != nil {
				t.Fatal(err)
			}
			done, got := make(chan error, 1), ""
			go func() {
				var err error
				got, err = run()
				done <- err
			}()
			if !p.UntilBlocked(t, done) {
				t.Fatal("the statement did not wait for the increment")
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("returned %s, want %s", got, want)
			}
			if got := twin.Rows(t, p.Wrapped, "SELECT n FROM stock WHERE id = 1"); got != want {
				t.Errorf("the counter is %s, want %s", got, want)
			}
		})
	}
}

// What a guard refuses by the base value, or what fails for it, has the outcome that the total has.
func TestConfirmFails(t *testing.T) {
	p := confirming(t)
	adaptive := anotherProgram(t, p, strings.Replace(confirmConfig, "connection", "adaptive", 1))
	sell := func() int64 {
		res, err := adaptive.ExecContext(t.Context(), "UPDATE stock SET n = n - 4 WHERE id = $1 AND n >= 4", 1)
		if err != nil {
			t.Fatal(err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := sell(); n != 1 {
		t.Fatalf("5 were there, and %d of 4 sold", n)
	}
	for range 20 { // 1 is left
		if n := sell(); n != 0 {
			t.Fatalf("1 was left, and %d of 4 sold", n)
		}
	}
	if _, err := p.Wrapped.Exec("UPDATE stock SET n = n + 8 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{1, 1, 0} { // 9 of them in a slot at first
		if n := sell(); n != want {
			t.Errorf("sale %d: %d, want %d", i, n, want)
		}
	}
	if got := twin.Rows(t, p.Wrapped, "SELECT n FROM stock WHERE id = 1"); got != "1" {
		t.Errorf("%s are left, want 1", got)
	}

	// 100 / 0 fails, 100 / 4 does not.
	divide := func(id int) {
		if _, err := adaptive.ExecContext(t.Context(), "UPDATE stock SET n = 100 / n WHERE id = $1", id); err != nil {
			t.Fatal(err)
		}
	}
	divide(2)
	divide(2)
	if _, err := adaptive.ExecContext(t.Context(), "UPDATE stock SET n = 0 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wrapped.Exec("UPDATE stock SET n = n + 4 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	divide(1)
	if got := twin.Rows(t, p.Wrapped, "SELECT n FROM stock WHERE id = 1"); got != "25" {
		t.Errorf("the counter is %s, want 25", got)
	}
}

// anotherProgram opens the wrapped database by another configuration.
func anotherProgram(t *testing.T, p *twin.Pair, config string) *sql.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "slotsql.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := twin.OpenWrapped(twin.Plain[p.Dialect], p.WrappedDSN, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
