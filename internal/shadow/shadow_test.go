package shadow

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// recording is a parent's connection that remembers what it is sent.
type recording struct {
	fake.Conn
	mu         sync.Mutex
	statements []string
	args       []driver.NamedValue // of the last one
}

func (r *recording) note(q string, args []driver.NamedValue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements, r.args = append(r.statements, q), args
}

func (r *recording) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	r.note(q, args)
	return driver.ResultNoRows, nil
}

func (r *recording) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	r.note(q, args)
	return fake.NoRows{}, nil
}

func (r *recording) sent() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.statements, "\n")
}

// recorded opens a wrapped database on connections that are recorded, the
// application's first.
func recorded(t *testing.T, d dialect.Dialect, config_ string) (db *sql.DB, shadow *Shadower, conns func() []*recording) {
	t.Helper()
	cfg, err := config.Parse([]byte(config_), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all []*recording
	parent := fake.Connector{Server: &fake.Server{}, Make: func(b fake.BareConn) driver.Conn {
		r := &recording{Conn: fake.Conn{BareConn: b}}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, r)
		return r
	}}
	db, shadow = shadowed(t, parent, d, cfg)
	return db, shadow, func() []*recording {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// settle waits until there is nothing to do.
func (w *Shadower) settle(t *testing.T) {
	t.Helper()
	for range 20000 {
		w.queue.mu.Lock()
		idle := len(w.queue.jobs) == 0 && w.queue.state != queueWorking
		w.queue.mu.Unlock()
		if idle {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("there is work left")
}

var shadowStatements = []string{
	"UPDATE posts SET views = views + ? WHERE id = ?",
	" SELECT * FROM posts WHERE id > ? AND id < ? -- posts",
	"DELETE FROM posts WHERE id = ? OR id = ?",
	"garbage 'posts ? ?",
	"SELECT views FROM posts; DELETE FROM posts WHERE id = ? OR views = ?",
	"SELECT 'posts', ?, ?",
	"/* posts */ SELECT ?, ?",
}

// A statement on a table in shadow, or off, reaches the parent as it is, with
// its arguments as they are, at no allocation once its text is known, and
// nothing else is sent on its connection.
func TestShadowUntouched(t *testing.T) {
	for name, d := range fake.Ways {
		for _, mode := range []string{"mode: shadow}}\nshadow: {sample: 1}", "mode: shadow}}\nshadow: {sample: 0}", "mode: off}}"} {
			t.Run(name+" "+mode, func(t *testing.T) {
				db, shadow, conns := recorded(t, d, "version: 1\ndefaults: {slots: 64, placement: connection}\ntables: {posts: {counters: {views: }, "+mode+"\n")
				if off := strings.Contains(mode, "off"); off != (shadow == nil) {
					t.Fatal("who is in shadow?")
				}
				ctx := t.Context()
				err := onConn(t, db, func(c *session.Conn) {
					r := conns()[0]
					args := []driver.NamedValue{{Ordinal: 1, Value: int64(7)}, {Ordinal: 2, Value: int64(8)}}
					var want []string
					before := r.sent()
					for range 3 {
						for _, query := range shadowStatements {
							if _, err := c.ExecContext(ctx, query, args); err != nil || &r.args[0] != &args[0] || len(r.args) != 2 {
								t.Errorf("%s: %v, %v", query, r.args, err)
							}
							rows, err := c.QueryContext(ctx, query, args)
							if _, ok := rows.(fake.NoRows); err != nil || !ok || &r.args[0] != &args[0] {
								t.Errorf("%s: %v, %v", query, r.args, err)
							}
							want = append(want, query, query)
						}
						if shadow != nil && !shadow.inline {
							shadow.settle(t)
						}
					}
					if got := strings.TrimPrefix(strings.TrimPrefix(r.sent(), before), "\n"); got != strings.Join(want, "\n") {
						t.Errorf("the parent has got\n%s", got)
					}
					if shadow != nil && shadow.inline {
						shadow.CatchUp(ctx, c)
						if shadow.queue.waiting.Load() != 0 {
							t.Error("jobs are left")
						}
					}
					if strings.Contains(mode, "sample: 1") {
						return
					}
					for _, query := range shadowStatements {
						if strings.HasPrefix(query, "garbage") {
							continue // it may have done anything to the session
						}
						r.mu.Lock()
						r.statements = make([]string, 0, 1000)
						r.mu.Unlock()
						if n := testing.AllocsPerRun(100, func() {
							_, _ = c.ExecContext(ctx, query, args)
							_, _ = c.QueryContext(ctx, query, args)
						}); n != 0 {
							t.Errorf("%s: %v allocations", query, n)
						}
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, query := range shadowStatements { // prepared
					st, err := db.Prepare(query)
					if err != nil {
						t.Fatal(err)
					}
					_ = st.Close()
				}
				if conns := conns(); len(conns) > 1 == (shadow == nil || shadow.inline) {
					t.Errorf("%d connections", len(conns))
				} else if n := len(conns); n > 1 {
					for _, query := range strings.Split(conns[1].sent(), "\n") {
						for _, write := range []string{"UPDATE", "DELETE", "INSERT", "CREATE"} {
							if strings.Contains(query, write) {
								t.Errorf("slotsql's own connection has got %s", query)
							}
						}
					}
				}
			})
		}
	}
}

// What becomes of jobs that cannot be done.
func TestShadowFaults(t *testing.T) {
	const cfg = "version: 1\ndefaults: {slots: 64, placement: connection}\ntables: {posts: {counters: {views: }, mode: shadow}}\nshadow: {sample: 1}\n"
	run := func(t *testing.T, server *fake.Server, f func(db *sql.DB, w *Shadower)) {
		cfg, err := config.Parse([]byte(cfg), "slotsql.yaml")
		if err != nil {
			t.Fatal(err)
		}
		f(shadowed(t, fake.Connector{Server: server}, fake.Probing, cfg))
	}
	tally := func(class string) Stats {
		for _, s := range Totals() {
			if s.Class == class && strings.Join(s.Tables, "") == "posts" && s.Reason == "" {
				return s
			}
		}
		return Stats{}
	}
	read := func(t *testing.T, db *sql.DB, w *Shadower, query string) {
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		w.settle(t)
	}
	for name, fault := range map[string]func(query string) *fake.Misfortune{
		"begin": func(s string) *fake.Misfortune {
			return ifSo(strings.HasPrefix(s, "BEGIN"), &fake.Misfortune{Err: fake.ErrRefused})
		},
		"rewritten": func(s string) *fake.Misfortune {
			return ifSo(strings.Contains(s, "posts_slots"), &fake.Misfortune{Err: fake.ErrRefused})
		},
		"lost": func(s string) *fake.Misfortune {
			return ifSo(strings.Contains(s, "posts_slots"), &fake.Misfortune{Err: driver.ErrBadConn, Kill: true})
		},
		"no rollback": func(s string) *fake.Misfortune { return ifSo(s == "ROLLBACK", &fake.Misfortune{Err: fake.ErrRefused}) },
	} {
		t.Run(name, func(t *testing.T) {
			server := &fake.Server{}
			run(t, server, func(db *sql.DB, w *Shadower) {
				query := "SELECT views, '" + name + "' FROM posts WHERE id = 1"
				read(t, db, w, query) // planned
				read(t, db, w, query) // and kept
				before := tally("read")
				server.Arm(func(_ int, s string) *fake.Misfortune { return fault(s) })
				read(t, db, w, query)
				server.Arm(nil)
				after := tally("read")
				if after.Statements != before.Statements+1 || after.Compared+after.Failed != before.Compared+before.Failed+1 ||
					(after.Compared == before.Compared) == (name == "no rollback") {
					t.Errorf("%+v after %+v", after, before)
				}
				read(t, db, w, query)
				if last := tally("read"); last.Compared != after.Compared+1 || last.Failed != after.Failed || last.Differences != 0 {
					t.Errorf("%+v after %+v", last, after)
				}
				if n := server.LeftOpen(); n != 0 {
					t.Errorf("%d transactions are open", n)
				}
			})
		})
	}
	t.Run("closed", func(t *testing.T) {
		run(t, &fake.Server{}, func(db *sql.DB, w *Shadower) {
			if err := db.Ping(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if w.ask(job{stmt: w.Statement("SELECT views FROM posts").(*tracked)}) {
				t.Error("a job is taken after the end")
			}
		})
	})
}

func ifSo(so bool, m *fake.Misfortune) *fake.Misfortune {
	if so {
		return m
	}
	return nil
}

// What differs, what may, and what does not.
func TestShadowDiffers(t *testing.T) {
	table := func(values ...[]driver.Value) *answer {
		return &answer{columns: []string{"id", "Views"}, types: []session.ColumnType{{Name: "INT"}, {Name: "INT"}}, rows: values}
	}
	row := func(v ...driver.Value) []driver.Value { return v }
	one, two := row(int64(1), int64(10)), row(int64(2), int64(20))
	ordered, limited := lex.Repeat{Ordered: true}, lex.Repeat{Ordered: true, Limited: true}
	typed := table(one, two)
	typed.types = []session.ColumnType{{Name: "INT"}, {Name: "BIGINT"}}
	named := table(one, two)
	named.columns = []string{"id", "views"}
	for i, c := range []struct {
		a, b   *answer
		repeat lex.Repeat
		want   likeness
		what   string
	}{
		{table(one, two), table(one, two), ordered, same, ""},
		{table(one, two), table(two, one), lex.Repeat{}, same, ""},
		{table(one, two), table(two, one), ordered, undecided, ""},
		{table(one, two), table(one), lex.Repeat{}, different, "2 rows, but 1"},
		{table(one, one, two), table(one, two, two), lex.Repeat{}, different, "a row, column id: 1, but 2"},
		{table(one, two), table(row(int64(1), int64(11)), two), ordered, different, "row 1, column Views: 10, but 11"},
		{table(one, two), table(one, row(int64(2), "20")), ordered, different, "row 2, column Views: 20, but 20"},
		{table(one, two), table(one, row(int64(2), nil)), ordered, different, "NULL"},
		{table(one), table(row(int64(3), int64(10))), limited, undecided, ""},
		{table(one), table(row(int64(1), int64(11))), limited, different, "row 1, column Views"},
		{table(one), table(row("secret", int64(10))), lex.Repeat{}, different, "a row, column id"},
		{table(one, two), typed, ordered, different, "type of column Views: INT as <nil>, but BIGINT"},
		{table(one, two), named, ordered, different, "columns"},
	} {
		got, what := c.a.differs(c.b, c.repeat, []string{"views"})
		if got != c.want || !strings.Contains(what, c.what) || strings.Contains(what, "secret") {
			t.Errorf("%d: %v, %q", i, got, what)
		}
	}
	if _, ok := keptArgs([]driver.NamedValue{{Value: errors.New("x")}}); ok {
		t.Error("an argument of any type is kept")
	}
	b := []byte("a")
	kept, ok := keptArgs([]driver.NamedValue{{Value: b}, {Value: nil}})
	if b[0] = 'b'; !ok || string(kept[0].Value.([]byte)) != "a" {
		t.Error("an argument has changed")
	}
}

// shadowConnector opens wrapped connections, as slotsql.Connector does.
type shadowConnector struct {
	parent driver.Connector
	shared *session.Shared
	shadow *Shadower
}

func (c *shadowConnector) Connect(ctx context.Context) (driver.Conn, error) {
	raw, err := c.parent.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return session.NewConn(ctx, c.shared, raw)
}

func (c *shadowConnector) Driver() driver.Driver { return nil }

func (c *shadowConnector) Close() error {
	c.shared.Close()
	if c.shadow != nil {
		c.shadow.Close()
	}
	return nil
}

func shadowed(t *testing.T, parent driver.Connector, d dialect.Dialect, cfg *config.Config) (*sql.DB, *Shadower) {
	s := session.New(d, cfg)
	s.Dial, s.OpensAside, s.Logger = parent.Connect, true, slog.New(slog.DiscardHandler)
	c := &shadowConnector{parent: parent, shared: s, shadow: New(s)}
	if c.shadow != nil {
		s.Shadow = c.shadow
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	return db, c.shadow
}

func onConn(t *testing.T, db *sql.DB, f func(*session.Conn)) error {
	t.Helper()
	one, err := db.Conn(t.Context())
	if err != nil {
		return err
	}
	defer one.Close()
	return one.Raw(func(c any) error { f(c.(*session.Conn)); return nil })
}
