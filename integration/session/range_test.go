package session

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// narrow are counters that an increment can take out of their range, or past a
// CHECK, or that are not slotted because it could; each with its value and its
// highest (or, for a decrement, lowest) one.
var narrow = map[string][]struct {
	definition string
	value      string
	delta      string
}{
	"mysql": {
		{"TINYINT NOT NULL", "120", "+ 3"},
		{"TINYINT UNSIGNED NOT NULL", "7", "- 3"},
		{"SMALLINT", "32760", "+ 3"},
		{"MEDIUMINT NOT NULL", "-8388600", "- 3"},
		{"INT NOT NULL", "2147483640", "+ 3"},
		{"INT NOT NULL", "-2147483640", "- 3"},
		{"INT UNSIGNED NOT NULL", "4294967290", "+ 3"},
		{"INT UNSIGNED NOT NULL", "7", "- 3"},
		{"BIGINT NOT NULL", "9223372036854775800", "+ 3"},
		{"BIGINT UNSIGNED NOT NULL", "18446744073709551607", "+ 3"},
		{"BIGINT UNSIGNED NOT NULL", "7", "- 3"},
		{"DECIMAL(3,0) NOT NULL", "990", "+ 4"},
		{"DECIMAL(3,1) NOT NULL", "99.0", "+ 0.4"},
		{"DECIMAL(9,2) NOT NULL", "9999999.00", "+ 0.40"},
		{"DECIMAL(9,2) UNSIGNED NOT NULL", "1.00", "- 0.40"},
		{"INT NOT NULL CHECK (c <= 50)", "40", "+ 3"},
		{"INT NOT NULL CHECK (c >= 0)", "7", "- 3"},
		{"INT NOT NULL, o INT NOT NULL DEFAULT 50, CHECK (c < o)", "40", "+ 3"},
	},
	"postgres": {
		{"SMALLINT NOT NULL", "32760", "+ 3"},
		{"SMALLINT", "-32760", "- 3"},
		{"INT NOT NULL", "2147483640", "+ 3"},
		{"INT NOT NULL", "-2147483640", "- 3"},
		{"BIGINT NOT NULL", "9223372036854775800", "+ 3"},
		{"NUMERIC(3,0) NOT NULL", "990", "+ 4"},
		{"NUMERIC(3,1) NOT NULL", "99.0", "+ 0.4"},
		{"NUMERIC(9,2) NOT NULL", "9999999.00", "+ 0.40"},
		{"INT NOT NULL CHECK (c <= 50)", "40", "+ 3"},
		{"INT NOT NULL CHECK (c >= 0)", "7", "- 3"},
		{"NUMERIC NOT NULL CHECK (c >= 0)", "7", "- 3"},
		{"INT NOT NULL, o INT NOT NULL DEFAULT 50, CHECK (c < o)", "40", "+ 3"},
	},
	"sqlite": { // has no ranges of its own
		{"TINYINT NOT NULL CHECK (c BETWEEN -128 AND 127)", "120", "+ 3"},
		{"INT NOT NULL CHECK (c >= 0)", "7", "- 3"},
		{"INT NOT NULL CHECK (typeof(c) = 'integer')", "9223372036854775800", "+ 3"},
		{"INT NOT NULL, o INT NOT NULL DEFAULT 50, CHECK (c < o)", "40", "+ 3"},
	},
}

// TestEndOfRange: an increment that leaves the column's range, or breaks its
// CHECK, is refused when the plain one is, however the value came to be.
func TestEndOfRange(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		for i, c := range narrow[dialect] {
			t.Run(fmt.Sprint(i, " ", c.definition, " ", c.value), func(t *testing.T) {
				p := rangePair(t, dialect, c.definition, c.value)
				update := "UPDATE t SET c = c " + c.delta + " WHERE id = 1"
				for range 6 {
					p.Same(t, twin.Statement{SQL: update})
					p.Same(t, twin.Statement{SQL: "SELECT c FROM t"})
				}
				for _, query := range []string{
					"UPDATE t SET c = c " + c.delta, "UPDATE t SET c = c " + c.delta + " WHERE id IN (1, 2)",
					"UPDATE t SET c = NULL WHERE id = 1", "UPDATE t SET c = c + NULL WHERE id = 1", "UPDATE t SET c = COALESCE(c, 0) " + c.delta + " WHERE id = 1",
				} {
					p.Same(t, twin.Statement{SQL: query})
					p.Same(t, twin.Statement{SQL: "SELECT c FROM t"})
				}
				final(t, p)
			})
		}
	})
}

// TestEndOfRangeConcurrently: of many increments at once exactly those succeed
// that the range has room for, and the total never leaves it.
func TestEndOfRangeConcurrently(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		for i, c := range narrow[dialect] {
			if strings.Contains(c.definition, "typeof") {
				continue // becomes a REAL, plain too
			}
			t.Run(fmt.Sprint(i, " ", c.definition, " ", c.value), func(t *testing.T) {
				p := rangePair(t, dialect, c.definition, c.value)
				update := "UPDATE t SET c = c " + c.delta + " WHERE id = 1"
				want := 0
				for {
					if _, err := p.Plain.ExecContext(t.Context(), update); err != nil {
						break
					}
					want++
				}
				workers := 6
				if dialect == "sqlite" {
					workers = 1
				}
				var done atomic.Int64
				var wg sync.WaitGroup
				for range workers {
					wg.Go(func() {
						for range want + 1 {
							res, err := p.Wrapped.ExecContext(t.Context(), update)
							if err != nil {
								continue
							}
							if n, _ := res.RowsAffected(); n == 1 {
								done.Add(1)
							}
						}
					})
				}
				wg.Wait()
				if n := done.Load(); n != int64(want) {
					t.Errorf("%d increments succeeded, want %d", n, want)
				}
				final(t, p)
			})
		}
	})
}

func rangePair(t *testing.T, dialect, definition, value string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE t (id INTEGER PRIMARY KEY, c " + definition + ")",
			"INSERT INTO t (id, c) VALUES (1, " + value + ")",
		},
		Config: "version: 1\nauto_migrate: true\ntables: {t: {counters: {c: {}}, slots: 4}}\n",
	})
}

func final(t *testing.T, p *twin.Pair) {
	t.Helper()
	ds, err := p.FinalTables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range ds {
		t.Error(d)
	}
}
