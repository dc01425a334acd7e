package catalog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/internal/config"
)

// A table that is still missing when the time has come is reported again, each time after
// twice as long, and not once it is there.
func TestAbsentTableIsReportedAgain(t *testing.T) {
	c, log := logged(t, "version: 1\ntables: {posts: {counters: {views: {}}}, pots: {counters: {n: {}}}}")
	reports := func() int { return strings.Count(log.String(), "table=pots") }
	both := []*config.TableConfig{&c.Tables[0], &c.Tables[1]}
	c.notes.absent.note(t.Context(), c, both)
	c.notes.absent.note(t.Context(), c, both[1:])
	if reports() != 1 || !strings.Contains(log.String(), "has been created\" table=posts") {
		t.Fatalf("log: %s", log)
	}
	for want, pause := 2, reportAgain; want < 5; want, pause = want+1, 2*pause {
		m := c.notes.absent.missing[both[1]]
		if until := time.Until(m.next); until <= pause-time.Minute || until > pause {
			t.Errorf("report %d comes after %s, want %s", want, until, pause)
		}
		m.next = time.Now()
		c.notes.absent.remind(t.Context(), c)
		if reports() != want {
			t.Errorf("%d reports, want %d", reports(), want)
		}
	}
	c.notes.absent.note(t.Context(), c, nil)
	c.notes.absent.remind(t.Context(), c)
	if reports() != 5 || strings.Contains(log.String()[strings.LastIndex(log.String(), "level"):], "WARN") {
		t.Errorf("log: %s", log)
	}
}

func TestAwaitedNames(t *testing.T) {
	lx := postgres.New().LexRules()
	a := awaited{"posts"}
	for query, want := range map[string]bool{
		"SELECT * FROM posts":                  true,
		"SELECT * FROM Posts p":                true,
		`SELECT * FROM public."posts"`:         true,
		"EXECUTE 'SELECT * FROM posts'":        true,
		"DO $$ BEGIN DELETE FROM posts; END$$": true,
		`SELECT * FROM U&"p\006fsts"`:          true,
		"SELECT * FROM blogposts":              false,
		"SELECT 1 -- posts":                    false,
		"SELECT 1":                             false,
	} {
		if got := a.names(lx, query); got != want {
			t.Errorf("%s: %v", query, got)
		}
	}
	if (awaited{}).names(lx, `SELECT U&"a"`) {
		t.Error("nothing is awaited")
	}
}

// logged returns a catalog without a database, and what it logs.
func logged(t *testing.T, yaml string) (*Catalog, *bytes.Buffer) {
	t.Helper()
	cfg, err := config.Parse([]byte(yaml), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	log := &bytes.Buffer{}
	c := NewCatalog(postgres.New(), cfg, cfg.Tables())
	c.Logger = slog.New(slog.NewTextHandler(log, nil))
	return c, log
}
