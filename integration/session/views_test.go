package session

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// warnings collects what is logged, as text.
type warnings struct {
	slog.Handler
	mu   sync.Mutex
	text []string
}

var logged = &warnings{Handler: slog.Default().Handler()}

func init() { slog.SetDefault(slog.New(logged)) }

func (w *warnings) Enabled(context.Context, slog.Level) bool { return true }

func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
	return nil
}

// of returns the warnings about views that name a file below dir.
func (w *warnings) of(dir string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, s := range w.text {
		if strings.Contains(s, dir) && strings.Contains(s, "views: [") {
			out = append(out, s)
		}
	}
	return out
}

// Views over a counter table show totals, whether the configuration names them
// or not; those that it does not name are reported once, and what it names must
// be such a view.
func TestViews(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		both := func(statements ...string) {
			t.Helper()
			execAll(t, p.Plain, statements...)
			execAll(t, p.Under, statements...)
		}
		both(
			"CREATE VIEW tops AS SELECT id, views FROM posts",
			"CREATE VIEW tops_of_tops AS SELECT views FROM tops",
			"CREATE VIEW beside AS SELECT 1 AS one",
		)
		all := []string{"tops", "tops_of_tops"}
		if dialect == "postgres" {
			both(
				"CREATE SCHEMA apart",
				"CREATE VIEW apart.far AS SELECT views FROM posts",
				"CREATE MATERIALIZED VIEW kept AS SELECT id, views FROM posts",
			)
			all = append(all, "far", "kept")
		}
		write := func(views string) string {
			return "version: 1\nauto_migrate: true\ntables:\n  posts:\n    counters: {views: {}}\n" + views
		}

		for views, want := range map[string]string{
			"    views: [nosuch]\n":        ":6: table \"posts\": view \"nosuch\" does not exist",
			"    views: [tops, posts]\n":   ":6: table \"posts\": \"posts\" is not a view",
			"    views: [beside]\n":        ":6: table \"posts\": view \"beside\" does not read the table",
			"    views: [tops, tops]\n":    ":6: table \"posts\": views names \"tops\" twice",
			"    views: tops\n":            ":6: table \"posts\": views must be a list of views",
			"    views: [a.b.c, {a: b}]\n": ":6:",
		} {
			var ce *slotsql.ConfigError
			path := filepath.Join(t.TempDir(), "slotsql.yaml")
			if err := os.WriteFile(path, []byte(write(views)), 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := twin.OpenWrapped(twin.Plain[dialect], p.WrappedDSN, path)
			if err == nil {
				err = db.PingContext(t.Context())
				_ = db.Close()
			}
			if !errors.As(err, &ce) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", views, err)
			}
		}

		before := len(logged.of(filepath.Dir(t.TempDir())))
		db := wrapped(t, p, write(""))
		for range 3 {
			execAll(t, db, "UPDATE posts SET views = views + 1 WHERE id = 1")
		}
		got := logged.of(filepath.Dir(t.TempDir()))[before:]
		if len(got) != 1 {
			t.Fatalf("reported %q", got)
		}
		for _, v := range all {
			if !strings.Contains(got[0], v) {
				t.Errorf("%s is not in %q", v, got[0])
			}
		}
		// The line that the report gives is one that is taken, and ends it.
		_, line, _ := strings.Cut(got[0], "views: [")
		line, _, _ = strings.Cut(line, "]")
		line = strings.ReplaceAll(line, "far", "apart.far")
		named := wrapped(t, p, write("    views: ["+line+"]\n"))
		before = len(logged.of(filepath.Dir(t.TempDir())))
		if err := named.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if more := logged.of(filepath.Dir(t.TempDir()))[before:]; len(more) > 0 {
			t.Errorf("reported again: %q", more)
		}

		total := func(query string) int {
			t.Helper()
			var n int
			if err := named.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			return n
		}
		want := total("SELECT views FROM posts WHERE id = 1")
		queries := []string{
			"SELECT views FROM tops WHERE id = 1",
			"SELECT MAX(views) FROM tops_of_tops WHERE views = " + "(SELECT views FROM posts WHERE id = 1)",
		}
		if dialect == "postgres" {
			queries = append(queries, "SELECT MAX(views) FROM apart.far WHERE views = (SELECT views FROM posts WHERE id = 1)")
		}
		for _, q := range queries {
			for range 2 {
				execAll(t, named, "UPDATE posts SET views = views + 1 WHERE id = 1")
				if want++; total(q) != want {
					t.Errorf("%s: not %d", q, want)
				}
			}
		}
		if dialect == "postgres" {
			execAll(t, named, "UPDATE posts SET views = views + 1 WHERE id = 1", "REFRESH MATERIALIZED VIEW kept")
			want++
			if n := total("SELECT views FROM kept WHERE id = 1"); n != want {
				t.Errorf("after REFRESH: %d, want %d", n, want)
			}
			execAll(t, named, "UPDATE posts SET views = views + 1 WHERE id = 1")
			if n := total("SELECT views FROM kept WHERE id = 1"); n != want {
				t.Errorf("without REFRESH: %d, want %d", n, want)
			}
		}
	})
}
