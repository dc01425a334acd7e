package upkeep

import (
	"bytes"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// within is how soon after a change each statement that begins knows of it.
const within = 2 * time.Second

// Whatever another client changes of a table, every process knows within two
// seconds, busy or not, on whatever connection, and a new one at once: from then on
// every statement does what the plain driver's does, in all tables. Check, verify and
// migrate say what has become of the table.
func TestChangesAreNoticed(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		changes := observationsOf(t, dialect)
		// A program does not begin with a configuration that is wrong.
		fitting := slices.DeleteFunc(slices.Clone(changes), func(c observed) bool { return c.unfit })
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema:  observedSchema(dialect, changes),
			Config:  observedConfig(dialect, changes...),
			Params:  refitParams[dialect],
		})
		busy, idle := newObserver(t, p, "busy", 1, changes), newObserver(t, p, "idle", 2, changes)
		connecting := newObserver(t, p, "connecting", 3, changes)
		for _, c := range changes {
			for _, o := range []*observer{busy, idle, connecting} {
				o.run(t, c, "UPDATE T SET views = views + 1, likes = likes + 1 WHERE id = N")
				o.run(t, c, "UPDATE T SET views = views + 1 WHERE id = N")
				o.run(t, c, "SELECT * FROM T WHERE id = N")
			}
			busy.run(t, c, "UPDATE T SET views = views + 1 WHERE id = 6") // which stays in a slot
			if c.folded {
				busy.run(t, c, "UPDATE T SET views = views * 1, likes = likes * 1")
			} else if n := rows(t, p.Under, "SELECT COUNT(*) FROM t_"+c.name+"_slots WHERE views <> 0"); n == "0" {
				t.Errorf("%s: nothing is in slots before the change", c.name)
			}
		}
		busy.Wrapped.SetMaxOpenConns(1)
		end := keepBusy(t, busy)
		defer end()
		for _, c := range changes {
			for _, db := range []*sql.DB{p.Plain, p.Under} {
				c.make(t, dialect, db, db == p.Under)
			}
		}
		changed := time.Now()
		time.Sleep(time.Until(changed.Add(within)))
		var looking sync.WaitGroup
		looking.Go(func() {
			connecting.Wrapped.SetMaxIdleConns(-1) // its next statement is on a new connection
			connecting.run(t, changes[0], "SELECT views FROM T WHERE id = N")
			connecting.Wrapped.SetMaxIdleConns(2)
			connecting.lookAt(t, changes)
		})
		looking.Go(func() {
			busy.lookAt(t, changes)
			idle.lookAt(t, changes)
		})
		looking.Wait()
		for _, c := range changes {
			c.checked(t, p)
		}
		fresh := newObserver(t, p, "fresh", 4, fitting)
		fresh.lookAt(t, fitting)
		end()
		for _, c := range changes {
			c.migrated(t, p)
		}
		last := newObserver(t, p, "last", 5, fitting)
		for _, o := range []*observer{idle, busy, connecting} {
			o.lookAt(t, changes)
		}
		fresh.lookAt(t, fitting)
		last.lookAt(t, fitting)
		p.Wrapped = busy.Wrapped
		for _, db := range []*sql.DB{p.Plain, p.Under} {
			execAll(t, db, "DROP TABLE t_swapped_old") // which has the base values of its day
		}
		if ds, err := p.FinalTables(t.Context()); err != nil || len(ds) > 0 {
			t.Errorf("%v, %v", ds, err)
		}
	})
}

// keepBusy has a process read a row of a table that does not change, until it is told
// to end.
func keepBusy(t *testing.T, o *observer) (end func()) {
	t.Helper()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			var n int
			if err := o.Wrapped.QueryRowContext(t.Context(), "SELECT views FROM t_none WHERE id = 9").Scan(&n); err != nil {
				t.Errorf("the busy process: %v", err)
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(stop)
		wg.Wait()
	})
}

// observer is a process with rows of its own in each table.
type observer struct {
	*twin.Pair
	name string
	row  int
}

func newObserver(t *testing.T, p *twin.Pair, name string, row int, tables []observed) *observer {
	t.Helper()
	q := *p
	q.ConfigPath = configFile(t, p.Dialect, tables...)
	driver := map[string]string{"mysql": "mysql", "postgres": "pgx", "sqlite": "sqlite"}[p.Dialect]
	var err error
	if q.Wrapped, err = twin.OpenWrapped(driver, p.WrappedDSN, q.ConfigPath); err != nil {
		t.Fatal(err)
	}
	wrapped := q.Wrapped
	t.Cleanup(func() { _ = wrapped.Close() })
	return &observer{&q, name, row}
}

func configFile(t *testing.T, dialect string, tables ...observed) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "slotsql.yaml")
	if err := os.WriteFile(path, []byte(observedConfig(dialect, tables...)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a statement on both sides, with T for the table of the change, N for the
// observer's row and M for its second one.
func (o *observer) run(t *testing.T, c observed, query string) {
	t.Helper()
	query = placed(query, c.name, o.row)
	plain, wrapped := o.Run(t.Context(), twin.Statement{SQL: query})
	plain.LastInsertID, wrapped.LastInsertID = twin.Number{}, twin.Number{} // of other connections than the other side's, on SQLite
	for _, d := range twin.Compare(plain, wrapped) {
		t.Errorf("%s, %s: %s\n%s", o.name, c.name, d, query)
	}
}

var placeholders = regexp.MustCompile(`\b(T(_[a-z]+)?|N|M)\b`)

// placed puts the names of tables and the keys of rows into a statement.
func placed(query, name string, row int) string {
	return placeholders.ReplaceAllStringFunc(query, func(s string) string {
		switch s {
		case "N":
			return fmt.Sprint(row)
		case "M":
			return fmt.Sprint(row + 100)
		}
		return "t_" + name + s[1:]
	})
}

func (o *observer) lookAt(t *testing.T, changes []observed) {
	t.Helper()
	for _, c := range changes {
		o.look(t, c)
	}
}

// look runs what makes the change show, and what counts.
func (o *observer) look(t *testing.T, c observed) {
	t.Helper()
	for _, query := range c.script {
		o.run(t, c, query)
	}
	if c.gone {
		return
	}
	for _, query := range []string{
		"UPDATE T SET views = views + 3 WHERE id = N",
		"SELECT * FROM T WHERE id = N",
		"UPDATE T SET likes = likes + 1 WHERE id = N",
		"UPDATE T SET views = views * 2 WHERE id = N",
		"UPDATE T SET views = views + 3 WHERE id = N",
		"SELECT views, likes FROM T WHERE id = N",
	} {
		o.run(t, c, query)
	}
	if !c.unslotted {
		return
	}
	held := "SELECT COUNT(*) FROM t_" + c.name + "_slots WHERE views <> 0 AND id = " + fmt.Sprint(o.row)
	if n := rows(t, o.Under, held); n != "0" {
		t.Errorf("%s, %s: an increment is in a slot", o.name, c.name)
	}
}

// tool is a connector whose configuration is about the change's table alone, and what
// it logs.
func (c observed) tool(t *testing.T, p *twin.Pair) (*slotsql.Connector, *bytes.Buffer) {
	t.Helper()
	config, err := slotsql.Load(configFile(t, p.Dialect, c))
	if err != nil {
		t.Fatal(err)
	}
	logged := &bytes.Buffer{}
	connector := twin.ConnectorWith(t, p, config, slotsql.WithLogger(slog.New(slog.NewTextHandler(logged, nil))))
	t.Cleanup(func() { _ = connector.Close() })
	return connector, logged
}

// checked has check and verify tell of the change.
func (c observed) checked(t *testing.T, p *twin.Pair) {
	t.Helper()
	connector, _ := c.tool(t, p)
	status, err := slotsql.Check(t.Context(), connector)
	c.tells(t, p, "check", fmt.Sprintf("%+v %v", status, err))
	reports, err := slotsql.Verify(t.Context(), connector, slotsql.VerifyOptions{})
	c.tells(t, p, "verify", fmt.Sprintf("%+v %v", reports, err))
}

// migrated has migrate tell of the change.
func (c observed) migrated(t *testing.T, p *twin.Pair) {
	t.Helper()
	connector, logged := c.tool(t, p)
	done, err := slotsql.Migrate(t.Context(), connector)
	c.tells(t, p, "migrate", fmt.Sprintf("%v %v %s", done, err, logged))
}

func (c observed) tells(t *testing.T, p *twin.Pair, what, said string) {
	t.Helper()
	if want := c.told[p.Dialect]; !strings.Contains(said, want) {
		t.Errorf("%s, %s: %q is not in %s", what, c.name, want, said)
	}
}
