package session

import (
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// lockingDialect has a lock statement, and an error that ends transactions.
type lockingDialect struct{ fake.Engine }

var errVictim = errors.New("deadlock")

func (d lockingDialect) Classify(err error) dialect.ErrorClass {
	if errors.Is(err, errVictim) {
		return dialect.TxEnded
	}
	return d.Engine.Classify(err)
}

func (lockingDialect) Lock(_ *schema.Table, s rewrite.Scope) []string {
	return []string{"LOCK " + s.Where}
}

// A row that comes to be between the drain and the statement is drained, and the
// text run again on it, unless the statement has touched none and it has no slots.
func TestRowThatAppears(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		locks      string // what each lock statement finds: a row or none
		statements string // what the statement touches each time
		slots      string // whether each fold after the statement finds slots
		expect     string
	}{
		"there":              {"r", "r", "", "LOCK UPDATE DELETE text"},
		"stays away":         {"--", "-", "", "LOCK SAVEPOINT text LOCK RELEASE"},
		"is touched":         {"-r", "rr", "", "LOCK SAVEPOINT text ROLLBACK LOCK UPDATE DELETE text"},
		"is only looked at":  {"-rr", "-r", "s", "LOCK SAVEPOINT text LOCK UPDATE ROLLBACK LOCK UPDATE DELETE text"},
		"comes without":      {"-r", "-", "-", "LOCK SAVEPOINT text LOCK UPDATE DELETE RELEASE"},
		"comes, goes, stays": {"---", "r-", "", "LOCK SAVEPOINT text ROLLBACK LOCK SAVEPOINT text LOCK RELEASE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			locks, statements, slots, after := c.locks, c.statements, c.slots, false
			next := func(s *string) int64 {
				first := (*s)[0]
				*s = (*s)[1:]
				if first == '-' {
					return 0
				}
				return 1
			}
			server := &fake.Server{Affected: func(query string) int64 {
				switch {
				case strings.HasPrefix(query, "SAVEPOINT"):
					after = true
				case strings.HasPrefix(query, "ROLLBACK TO"):
					after = false
				case query == drained:
					return next(&statements)
				case after && strings.HasPrefix(query, "UPDATE"):
					return next(&slots)
				case after && strings.HasPrefix(query, "DELETE"):
					return 0
				}
				return 1
			}}
			db := openFake(t, lockingDialect{fake.Probing}, fake.Connector{Server: server, Make: func(b fake.BareConn) driver.Conn {
				b.Rows = func(r *fake.BareRows) driver.Rows {
					r.Left = int(next(&locks))
					return r
				}
				return &fake.Conn{BareConn: b}
			}})
			server.Arm(nil)
			if err := exec(drained)(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			var words []string
			for _, s := range server.Ran() {
				word := strings.Fields(s)[0]
				if s == drained {
					word = "text"
				}
				words = append(words, word)
			}
			if want := slices.Concat([]string{"PROBE", "START"}, strings.Fields(c.expect), []string{"COMMIT"}); !slices.Equal(words, want) {
				t.Errorf("ran  %v\nwant %v", words, want)
			}
			if locks+statements+slots != "" {
				t.Errorf("not run: locks %s, statements %s, folds %s", locks, statements, slots)
			}
		})
	}
}

// An error with which the engine rolls back everything leaves no half fold: the
// connection is still good.
func TestVictimInAFold(t *testing.T) {
	t.Parallel()
	server := &fake.Server{}
	db := openFake(t, lockingDialect{fake.Probing}, fake.Connector{Server: server})
	one, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	if _, err := one.ExecContext(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	server.Arm(func(_ int, query string) *fake.Misfortune {
		if strings.HasPrefix(query, "DELETE") { // the second statement of the fold
			return &fake.Misfortune{Err: errVictim}
		}
		return nil
	})
	if _, err := one.ExecContext(t.Context(), drained); !errors.Is(err, errVictim) {
		t.Fatalf("error %v", err)
	}
	server.Arm(nil)
	for _, query := range []string{"ROLLBACK", "INSERT INTO log VALUES (1)"} {
		if _, err := one.ExecContext(t.Context(), query); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
}
