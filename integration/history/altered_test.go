package history_test

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/history"
	"github.com/slotsql/slotsql/integration/twin"
)

// TestHistoriesAltered: nor does it show that another client changes a table's
// definition in mid-run such that its counters cannot be slotted, and changes it back.
// The sessions begin a history with facts that are out of date, and learn of the
// change while it runs.
func TestHistoriesAltered(t *testing.T) {
	before := retired()
	var altered sync.Map // dialects
	t.Cleanup(func() {
		after := retired()
		for dialect := range definitions {
			if _, ran := altered.Load(dialect); !ran {
				continue
			}
			if t.Logf("%s: %d statements have met a retired counter", dialect, after[dialect]-before[dialect]); after[dialect] == before[dialect] {
				t.Errorf("%s: no history has met a change", dialect)
			}
		}
	})
	for _, way := range []string{"alone", "rolled up"} {
		t.Run(way, func(t *testing.T) {
			more := ""
			if way == "rolled up" {
				more = "rollup: {interval: 1ms, idle: 4ms, batch: 3}\n"
			}
			eachLevelWith(t, history.Dedicated, more, func(t *testing.T, o history.Options, wrapped, under *sql.DB) {
				o.DB, o.Under, o.RolledUp, o.Calls = wrapped, under, more != "", false // a function does not learn of the change
				a := &alterer{T: t, dialect: o.Dialect, db: wrapped, under: under, rnd: rand.New(rand.NewPCG(o.Seed, 0xa17e8))}
				explained(t, o, max(*number/8, 12), a.next)
				a.noticing.Wait()
				altered.Store(o.Dialect, true)
				if a.made < 2 || a.undone == 0 {
					t.Errorf("%d changes were made, and %d taken back", a.made, a.undone)
				}
			})
		})
	}
}

// alterer is another client that changes definitions between histories.
type alterer struct {
	*testing.T
	dialect   string
	db, under *sql.DB
	rnd       *rand.Rand
	undo      string
	made      int
	undone    int
	noticing  sync.WaitGroup
}

// definitions are changes that no statement shows, with what takes them back. T is the
// table's name.
var definitions = map[string][][2]string{
	"sqlite": {{"CREATE TRIGGER watched AFTER UPDATE ON T BEGIN SELECT 1; END", "DROP TRIGGER watched"}},
	"mysql": {
		{"CREATE TRIGGER watched BEFORE UPDATE ON T FOR EACH ROW SET NEW.title = NEW.title", "DROP TRIGGER watched"},
		{"ALTER TABLE T ADD CONSTRAINT few CHECK (views > -100000000)", "ALTER TABLE T DROP CONSTRAINT few"},
	},
	"postgres": {
		{"CREATE TRIGGER watched BEFORE UPDATE ON T FOR EACH ROW EXECUTE FUNCTION watching()", "DROP TRIGGER watched ON T "},
		{"ALTER TABLE T ADD CONSTRAINT few CHECK (views > -100000000)", "ALTER TABLE T DROP CONSTRAINT few"},
	},
}

// next makes a change, or takes the last one back, after every third history. The next
// one has begun when a new connection notices.
func (a *alterer) next(h *history.History) {
	if h.Number%3 != 2 {
		return
	}
	if a.undo != "" {
		a.exec(a.undo)
		a.undo, a.undone = "", a.undone+1
	} else {
		table := string([]history.Table{history.Hits, history.Pairs}[a.rnd.IntN(2)])
		list := definitions[a.dialect]
		d := list[a.rnd.IntN(len(list))]
		if a.made == 0 && a.dialect == "postgres" {
			a.exec("CREATE FUNCTION watching() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
		}
		a.exec(strings.ReplaceAll(d[0], " T ", " "+table+" "))
		a.undo, a.made = strings.ReplaceAll(d[1], " T ", " "+table+" "), a.made+1
	}
	a.noticing.Wait()
	wait := time.Duration(a.rnd.IntN(30)) * time.Millisecond
	a.noticing.Go(func() {
		time.Sleep(wait)
		if err := twin.Notice(context.WithoutCancel(a.Context()), a.db); err != nil {
			a.Error(err)
		}
	})
}

func (a *alterer) exec(query string) {
	if _, err := a.under.ExecContext(a.Context(), query); err != nil {
		a.Errorf("%s: %v", query, err)
	}
}

// retired is how many statements have changed counters that are not slotted any more, by dialect.
func retired() map[string]uint64 {
	out := map[string]uint64{}
	for _, s := range slotsql.Stats() {
		if strings.Contains(s.Reason, "is no longer slotted") {
			out[s.Dialect] += s.Statements
		}
	}
	return out
}
