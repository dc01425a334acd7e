package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// A transaction (a) of a process to which all rows are cold, and what a process (b) does meanwhile
// that counts in slots from its first increment on. The same steps run on the plain database.
var coldSteps = map[string]struct{ steps, only string }{
	"slots before the lock":        {steps: "b inc; a lock; a inc; a read; b read"},
	"slots after the first read":   {steps: "a other; b inc; a lock; a lock"},
	"drained since the snapshot":   {steps: "b inc; a other; b drain; a inc; a read"},
	"drained, then locked":         {steps: "b inc; a other; b drain; a lock; a inc; a read"},
	"drained and counted since":    {steps: "a other; b inc; b drain; b inc; a inc; a read; a lock"},
	"a snapshot by the increment":  {steps: "b inc; b drain; a inc; b note 2; a read; b note 3; a notes"},
	"a snapshot by the lock":       {steps: "b inc; b drain; a lock; b note 2; a read; b note 3; a notes"},
	"counted before the increment": {steps: "b inc; a inc; a read; b note 3; a notes; a lock"},
	"set behind the lock":          {steps: "b inc; a lock; a UPDATE stock SET n = 7 WHERE id = 1; a read; a inc; a read"},
	"saved behind the increment":   {steps: "b inc; a inc; a UPDATE stock SET n = n * 2, note = 'x' WHERE id = 1; a lock; a read"},
	"a guard of the total":         {steps: "b inc; a SELECT n FROM stock WHERE id = 1 AND n >= 1 FOR UPDATE; a lock"},
	"a difference of the total":    {steps: "b inc; a SELECT n - 1 FROM stock WHERE id = 1 FOR UPDATE; a lock; a inc"},
	"an ordered row":               {steps: "b inc; a SELECT * FROM stock WHERE id = 1 ORDER BY id LIMIT 1 FOR UPDATE; a inc; a read"},
	"a row under another name":     {steps: "a SELECT s.note AS id, s.n FROM stock AS s WHERE s.id = 1 ORDER BY id FOR UPDATE; a inc; a read"},
	"no row":                       {steps: "a SELECT n FROM stock WHERE id = 99 FOR UPDATE; a lock; a read"},
	"shared":                       {steps: "b inc; a SELECT n FROM stock WHERE id = 1 LOCK IN SHARE MODE; a inc; a read", only: "mysql"},
	"a savepoint":                  {steps: "b inc; a SAVEPOINT s; a lock; a lock; a ROLLBACK TO SAVEPOINT s; a lock; a read"},
	"a savepoint, then a change":   {steps: "b inc; a SAVEPOINT s; a lock; a lock; a ROLLBACK TO SAVEPOINT s; a UPDATE stock SET n = n * 5 WHERE id = 1; a read"},
	"an increment undone":          {steps: "a SAVEPOINT s; a inc; a read; a ROLLBACK TO SAVEPOINT s; a read; a lock", only: "mysql"},
	"a row deleted and made anew":  {steps: "b inc; a lock; a DELETE FROM stock WHERE id = 1; a INSERT INTO stock VALUES (1, 3, 'new'); a inc; a read; a lock"},
	"a row of another key":         {steps: "b inc; a lock; a UPDATE stock SET id = 9 WHERE id = 1; a SELECT n FROM stock WHERE id = 9 FOR UPDATE; a notes"},
}

var coldWords = map[string]string{
	"inc":    "UPDATE stock SET n = n + 1 WHERE id = 1",
	"lock":   "SELECT n FROM stock WHERE id = 1 FOR UPDATE",
	"drain":  "UPDATE stock SET n = n * 1, note = 'd' WHERE id = 1",
	"read":   "SELECT n FROM stock WHERE id = 1",
	"other":  "SELECT note FROM stock WHERE id = 3",
	"notes":  "SELECT id, note FROM stock ORDER BY id",
	"note 2": "UPDATE stock SET note = 'two' WHERE id = 2",
	"note 3": "UPDATE stock SET note = 'three' WHERE id = 3",
}

func TestColdRowsInTransactions(t *testing.T) {
	levels := []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}
	twin.Servers(t, func(t *testing.T, dialect string) {
		for name, c := range coldSteps {
			if c.only != "" && c.only != dialect {
				continue
			}
			t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				for _, level := range levels {
					p, slotted := unsignedStock(t, dialect)
					want := runCold(t, p.Plain, p.Plain, level, c.steps)
					if got := runCold(t, p.Wrapped, slotted, level, c.steps); got != want {
						t.Errorf("%s: wrapped\n%splain\n%s", level, got, want)
					}
				}
			})
		}
	})
}

// unsignedStock is like provable, with a counter that cannot be negative where the engine has such a type.
func unsignedStock(t *testing.T, dialect string) (p *twin.Pair, slotted *sql.DB) {
	t.Helper()
	kind := map[string]string{"mysql": "BIGINT UNSIGNED", "postgres": "BIGINT"}[dialect]
	o := twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE stock (id INT PRIMARY KEY, n " + kind + " NOT NULL, note VARCHAR(40))",
			"INSERT INTO stock VALUES (1, 0, ''), (2, 500, ''), (3, 0, '')",
		},
		Config: "version: 1\nauto_migrate: true\ntables: {stock: {counters: {n: {}}, slots: 8, placement: adaptive}}\n",
	}
	p = twin.New(t, o)
	config := filepath.Join(t.TempDir(), "slotsql.yaml")
	if err := os.WriteFile(config, []byte(strings.Replace(o.Config, "adaptive", "connection", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	slotted, err := twin.OpenWrapped(twin.Plain[dialect], p.WrappedDSN, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slotted.Close() })
	return p, slotted
}

// runCold returns what the steps return, up to the first error of the transaction.
func runCold(t *testing.T, a, b *sql.DB, level sql.IsolationLevel, steps string) string {
	t.Helper()
	tx, err := a.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // it is committed
	var out strings.Builder
	for _, step := range strings.Split(steps, "; ") {
		who, what, _ := strings.Cut(step, " ")
		q := what
		if word, ok := coldWords[what]; ok {
			q = word
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var got string
		if who == "b" {
			got, err = coldStep(ctx, b, q)
		} else {
			got, err = coldStep(ctx, tx, q)
		}
		cancel()
		fmt.Fprintf(&out, "%s: %s\n", step, got)
		if err != nil && who == "b" {
			t.Fatalf("%s: %v", step, err)
		} else if err != nil {
			out.WriteString("an error\n")
			return out.String()
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	got, err := coldStep(t.Context(), b, "SELECT id, n, note FROM stock ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	return out.String() + got
}

func coldStep(ctx context.Context, db interface {
	executor
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, q string) (string, error) {
	if !strings.HasPrefix(q, "SELECT") {
		_, err := db.ExecContext(ctx, q)
		return "", err
	}
	rows, err := db.QueryContext(ctx, q)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	out := strings.Join(columns, " ")
	for rows.Next() {
		row := make([]any, len(columns))
		for i := range row {
			row[i] = new(any)
		}
		if err := rows.Scan(row...); err != nil {
			return "", err
		}
		for _, v := range row {
			out += fmt.Sprintf(" %T %v", *v.(*any), *v.(*any))
		}
	}
	return out, rows.Err()
}

// The values of a locking read are of the Go types that the plain driver returns for the same call,
// by either of MySQL's protocols.
func TestLockingReadTypes(t *testing.T) {
	for _, params := range []string{"", "interpolateParams=true", "parseTime=true"} {
		t.Run(params, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{
				Dialect: "mysql",
				Schema: []string{
					"CREATE TABLE stock (id INT PRIMARY KEY, n BIGINT UNSIGNED NOT NULL, f FLOAT, d DOUBLE, x DECIMAL(9,3), at DATETIME(3), s VARCHAR(9), b VARBINARY(9), j JSON, y YEAR, t TIME)",
					"INSERT INTO stock VALUES (1, 5, 1.1, 1e17, 2.5, '2024-05-06 07:08:09.012', 'ä', x'00ff', '[1]', 2024, '10:11:12'), (2, 18446744073709551615, 16777216.7, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
				},
				Config: "version: 1\nauto_migrate: true\ntables: {stock: {counters: {n: {}}, slots: 8, placement: adaptive}}\n",
				Params: params,
			})
			for row := 1; row <= 2; row++ {
				for _, call := range []string{"literal", "arguments", "prepared"} {
					want, got := lockedTypes(t, p.Plain, call, row), lockedTypes(t, p.Wrapped, call, row)
					if got != want {
						t.Errorf("row %d, %s: %s\nplain %s", row, call, got, want)
					}
				}
			}
		})
	}
}

func lockedTypes(t *testing.T, db *sql.DB, call string, row int) (out string) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing is to stay
	const q = "SELECT * FROM stock WHERE id = "
	var rows *sql.Rows
	switch call {
	case "literal":
		rows, err = tx.QueryContext(t.Context(), fmt.Sprint(q, row, " FOR UPDATE"))
	case "arguments":
		rows, err = tx.QueryContext(t.Context(), q+"? FOR UPDATE", row)
	default:
		var st *sql.Stmt
		if st, err = tx.PrepareContext(t.Context(), q+"? FOR UPDATE"); err == nil {
			defer st.Close()
			rows, err = st.QueryContext(t.Context(), row)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	values := make([]any, len(types))
	for i, c := range types {
		nullable, _ := c.Nullable()
		length, _ := c.Length()
		precision, scale, _ := c.DecimalSize()
		out += fmt.Sprint(c.Name(), " ", c.DatabaseTypeName(), c.ScanType(), nullable, length, precision, scale, "; ")
		values[i] = new(any)
	}
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			out += fmt.Sprintf("%#v; ", *v.(*any))
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// The sessions that are asked for slots are lost between two questions.
func TestLockingReadAsksAnew(t *testing.T) {
	p, slotted := provable(t, "mysql", "")
	inc := func() {
		t.Helper()
		if _, err := slotted.ExecContext(t.Context(), "UPDATE stock SET n = n + 1 WHERE id = 1"); err != nil {
			t.Fatal(err)
		}
	}
	p.Wrapped.SetMaxOpenConns(1)
	for i := range 4 {
		inc()
		tx, err := p.Wrapped.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var own, n int64
		if err := tx.QueryRow("SELECT CONNECTION_ID()").Scan(&own); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			killOthers(t, p, own)
		}
		if err := tx.QueryRow("SELECT n FROM stock WHERE id = 1 FOR UPDATE").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n != int64(i)+1 {
			t.Fatalf("the row has %d after %d increments", n, i+1)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
}

// killOthers closes the connections of the wrapped database but one.
func killOthers(t *testing.T, p *twin.Pair, but int64) {
	t.Helper()
	rows, err := p.Under.Query("SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id NOT IN (?, CONNECTION_ID())", but)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		_, _ = p.Under.Exec(fmt.Sprint("KILL ", id)) // it may be gone
	}
}

// A locking read ends with its context while it waits for the lock, and leaves nothing behind.
func TestLockingReadEndsWithContext(t *testing.T) {
	p, slotted := provable(t, "mysql", "")
	if _, err := slotted.ExecContext(t.Context(), "UPDATE stock SET n = n + 1 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	holder, err := p.Under.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec("UPDATE stock SET note = 'held' WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	tx, err := p.Wrapped.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	if err := tx.QueryRowContext(ctx, "SELECT n FROM stock WHERE id = 1 FOR UPDATE").Scan(&n); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	_ = tx.Rollback()
	if err := holder.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := p.Wrapped.QueryRow("SELECT n FROM stock WHERE id = 1 FOR UPDATE").Scan(&n); err != nil || n != 1 {
		t.Errorf("the row has %d, %v", n, err)
	}
}
