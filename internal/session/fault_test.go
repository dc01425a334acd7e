package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/fake"
)

// database/sql runs a statement again, up to three times, when its error is or
// wraps driver.ErrBadConn. These tests let every single text of a statement
// fail in every way and count what has come of it.

var (
	errOops = errors.New("oops")
	errLost = errors.New("invalid connection")
)

// scenario is one statement of the application.
type scenario struct {
	affected func(query string) int64
	run      func(ctx context.Context, db *sql.DB) error
	effects  []string // prefixes of the statements that are the statement's own effect
}

const (
	incrementSQL = "UPDATE posts SET views = views + 1 WHERE id = 1"
	drained      = "UPDATE posts SET views = 5 WHERE id = 1"
	changing     = "UPDATE posts SET title = 'new' WHERE id = 1"
	upserted     = `INSERT INTO "main"."posts_slots"`
)

func exec(query string, args ...any) func(context.Context, *sql.DB) error {
	return func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, query, args...)
		return err
	}
}

func query(query string, args ...any) func(context.Context, *sql.DB) error {
	return func(ctx context.Context, db *sql.DB) error {
		return readRows(db.QueryContext(ctx, query, args...))
	}
}

func readRows(rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	return errors.Join(rows.Err(), rows.Close())
}

// no row takes the increment: the drain has to decide.
func noneSlotted(query string) int64 {
	if strings.HasPrefix(query, "INSERT") {
		return 0
	}
	return 1
}

var scenarios = map[string]scenario{
	"increment":      {run: exec(incrementSQL), effects: []string{upserted}},
	"increment args": {run: exec("UPDATE posts SET views = views + ? WHERE id = ?", 2, 1), effects: []string{upserted}},
	"fallback":       {run: exec(incrementSQL), affected: noneSlotted, effects: []string{incrementSQL}},
	"drain":          {run: exec(drained), effects: []string{drained}},
	"change":         {run: exec(changing), effects: []string{changing}},
	"query drain":    {run: query(drained + " RETURNING views"), effects: []string{drained}},
	"query closed early": {
		run: func(ctx context.Context, db *sql.DB) error {
			var n int
			return db.QueryRowContext(ctx, drained+" RETURNING views").Scan(&n)
		},
		effects: []string{drained},
	},
	"prepared drain": {
		run: func(ctx context.Context, db *sql.DB) error {
			st, err := db.PrepareContext(ctx, drained)
			if err != nil {
				return err
			}
			defer st.Close()
			_, err = st.ExecContext(ctx)
			return err
		},
		effects: []string{drained},
	},
	"prepared increment": {
		run: func(ctx context.Context, db *sql.DB) error {
			st, err := db.PrepareContext(ctx, incrementSQL)
			if err != nil {
				return err
			}
			defer st.Close()
			_, err = st.ExecContext(ctx)
			return err
		},
		effects: []string{upserted},
	},
	"multi": {run: exec("INSERT INTO log VALUES (1); " + drained + "; INSERT INTO log VALUES (2)"),
		effects: []string{"INSERT INTO log VALUES (1)", drained, "INSERT INTO log VALUES (2)"}},
}

// faults is what goes wrong at one step. cancel ends the statement's context.
var faults = map[string]func(cancel func()) *fake.Misfortune{
	"bad connection": func(func()) *fake.Misfortune { return &fake.Misfortune{Err: driver.ErrBadConn, Kill: true} },
	"wrapped bad connection": func(func()) *fake.Misfortune {
		return &fake.Misfortune{Err: fmt.Errorf("net: %w", driver.ErrBadConn), Kill: true}
	},
	"lost before":   func(func()) *fake.Misfortune { return &fake.Misfortune{Err: errLost, Kill: true} },
	"lost after":    func(func()) *fake.Misfortune { return &fake.Misfortune{Err: errLost, Kill: true, After: true} },
	"error":         func(func()) *fake.Misfortune { return &fake.Misfortune{Err: errOops} },
	"error after":   func(func()) *fake.Misfortune { return &fake.Misfortune{Err: errOops, After: true} },
	"skip":          func(func()) *fake.Misfortune { return &fake.Misfortune{Err: driver.ErrSkip} },
	"hang":          func(func()) *fake.Misfortune { return &fake.Misfortune{Hang: true} },
	"hang after":    func(func()) *fake.Misfortune { return &fake.Misfortune{Hang: true, After: true} },
	"hang and lost": func(func()) *fake.Misfortune { return &fake.Misfortune{Hang: true, Kill: true} },
	"cancelled":     func(cancel func()) *fake.Misfortune { cancel(); return nil },
	"cancelled with error": func(cancel func()) *fake.Misfortune {
		cancel()
		return &fake.Misfortune{Err: context.Canceled, After: true}
	},
	"cancelled and lost": func(cancel func()) *fake.Misfortune {
		cancel()
		return &fake.Misfortune{Err: context.Canceled, Kill: true}
	},
}

// openFaulty opens a database whose own transactions give up soon: for faults that hang, of
// statements that may fail. Where one has to succeed openFake is for it: on a busy machine a
// commit may well take 5 ms.
func openFaulty(t *testing.T, d dialect.Dialect, s *fake.Server) *sql.DB {
	t.Helper()
	db := openFake(t, d, fake.Connector{Server: s})
	err := withConn(t, db, func(c *Conn) { c.Shared.Patience = 5 * time.Millisecond })
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func withConn(t *testing.T, db *sql.DB, f func(*Conn)) error {
	t.Helper()
	one, err := db.Conn(t.Context())
	if err != nil {
		return err
	}
	defer one.Close()
	return one.Raw(func(c any) error { f(c.(*Conn)); return nil })
}

func TestFaultAtEveryStep(t *testing.T) {
	t.Parallel()
	faultsAtEveryStep(t, fake.Ways, scenarios)
}

// An upsert that drains the keys it gives, and looks again where a row is
// missing: counts the rows that are there, as on MySQL, or not, as on PostgreSQL.
func TestFaultAtEveryStepOfAnUpsert(t *testing.T) {
	t.Parallel()
	counting, locking := fake.Probing, fake.Watching
	counting.LockSQL, counting.CountSQL = "SELECT lock", "SELECT count"
	locking.LockSQL = "SELECT lock"
	const one = "INSERT INTO posts VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET views = 5"
	var many strings.Builder
	for i := range 9 { // more than the fake server says there are
		fmt.Fprintf(&many, ", (%d, 5)", i+2)
	}
	several := strings.Replace(one, " ON", many.String()+" ON", 1)
	noSlots := func(query string) int64 {
		if strings.HasPrefix(query, "UPDATE") || strings.HasPrefix(query, "DELETE") {
			return 0
		}
		return 1
	}
	upserts := map[string]scenario{
		"upsert":                {run: exec(one), effects: []string{one}},
		"upsert of several":     {run: exec(several), affected: noSlots, effects: []string{several}},
		"replace":               {run: exec("REPLACE INTO posts VALUES (1, 5)"), effects: []string{"REPLACE"}},
		"upsert by an argument": {run: exec(strings.Replace(one, "1", "?", 1), "x"), effects: []string{"INSERT INTO posts"}},
	}
	engines := map[string]dialect.Dialect{"counting": counting, "locking": locking}
	faultsAtEveryStep(t, engines, upserts)

	// A row with slots has come to be when the second fold finds something.
	appears := func() func(query string) int64 {
		folds := 0
		return func(query string) int64 {
			if strings.HasPrefix(query, "UPDATE") {
				if folds++; folds == 2 {
					return 1
				}
			}
			return noSlots(query)
		}
	}
	for way, begin := range map[string]string{"counting": "PROBE START SELECT:count", "locking": "BEGIN"} {
		const drain, look = " SELECT:lock SELECT:more UPDATE DELETE", " SAVEPOINT INSERT SELECT:lock UPDATE"
		for _, c := range []struct {
			sql      string
			affected func(string) int64
			want     string
		}{
			{one, noSlots, begin + drain + " INSERT COMMIT"},
			{several, noSlots, begin + drain + look + " DELETE RELEASE COMMIT"},
			{several, appears(), begin + drain + look + " ROLLBACK" + drain + look + " DELETE RELEASE COMMIT"},
		} {
			server := &fake.Server{}
			db := openFake(t, engines[way], fake.Connector{Server: server})
			server.Arm(nil)
			server.Affected = c.affected
			if err := exec(c.sql)(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			var words []string
			for _, s := range server.Ran() {
				f := strings.Fields(s)
				if f[0] == "SELECT" {
					f[0] += ":" + f[1]
				}
				words = append(words, f[0])
			}
			if got := strings.Join(words, " "); got != c.want {
				t.Errorf("ran %s, want %s", got, c.want)
			}
			if n := server.CountPrefix("INSERT"); n != 1 {
				t.Errorf("%d INSERTs are committed", n)
			}
		}
	}
}

func faultsAtEveryStep(t *testing.T, ways map[string]dialect.Dialect, scenarios map[string]scenario) {
	for way, d := range ways {
		for name, sc := range scenarios {
			server := &fake.Server{Affected: sc.affected}
			db := openFake(t, d, fake.Connector{Server: server})
			server.Arm(nil)
			if err := sc.run(t.Context(), db); err != nil {
				t.Errorf("%s, %s: %v", way, name, err)
				continue
			}
			steps := server.Ran()
			if len(steps) == 0 {
				t.Errorf("%s, %s: nothing was run", way, name)
			}
			for kind, f := range faults {
				for k := range steps {
					for _, stuck := range []bool{false, true} {
						t.Run(fmt.Sprintf("%s/%s/%s/%d/%v", way, name, kind, k, stuck), func(t *testing.T) {
							t.Parallel()
							faultAt(t, d, sc, f, k, stuck)
						})
					}
				}
			}
		}
	}
}

// faultAt lets step k fail, and every rollback hang when stuck says so.
func faultAt(t *testing.T, d dialect.Dialect, sc scenario, f func(func()) *fake.Misfortune, k int, stuck bool) {
	server := &fake.Server{Affected: sc.affected}
	db := openFaulty(t, d, server)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	server.Arm(func(step int, query string) *fake.Misfortune {
		if step == k {
			return f(cancel)
		}
		if stuck && strings.HasPrefix(query, "ROLLBACK") {
			return &fake.Misfortune{Hang: true}
		}
		return nil
	})
	err := sc.run(ctx, db)
	ran := server.Ran()
	server.Arm(nil)

	some := false
	for _, effect := range sc.effects {
		n := server.CountPrefix(effect)
		if n > 1 || err == nil && n != 1 {
			t.Errorf("%s: applied %d times (error %v)", effect, n, err)
		}
		some = some || n > 0
	}
	if some && (errors.Is(err, driver.ErrBadConn) || errors.Is(err, driver.ErrSkip)) {
		t.Errorf("an error that database/sql takes as leave to run the statement again, after an effect: %v", err)
	}
	if folded, deleted := server.CountPrefix(`UPDATE "main"."posts"`), server.CountPrefix(
		`DELETE FROM "main"."posts_slots"`,
	); folded != deleted {
		t.Errorf("half a fold is committed: %d base rows, %d slots", folded, deleted)
	}
	const next = "INSERT INTO log VALUES (99)"
	if _, err := db.ExecContext(t.Context(), next); err != nil {
		t.Errorf("the next statement: %v", err)
	}
	if n := server.Count(next); n != 1 {
		t.Errorf("the next statement is committed %d times", n)
	}
	if n := server.LeftOpen(); n != 0 {
		t.Errorf("%d transactions are left open", n)
	}
	if t.Failed() {
		t.Logf("error %v, ran:\n%s", err, strings.Join(ran, "\n"))
	}
}
