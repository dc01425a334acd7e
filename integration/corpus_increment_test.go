package integration

import (
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// sides are a session of the plain database and one of the wrapped.
type sides struct{ plain, wrapped twin.Session }

func (on sides) run(t *testing.T, s twin.Statement) (plain, wrapped twin.Outcome) {
	return twin.Run(t.Context(), on.plain, s), twin.Run(t.Context(), on.wrapped, s)
}

// outside gives sessions in autocommit; inside gives them in a transaction,
// which the function returned commits, or else rolls back.
func outside(p *twin.Pair) (sides, func(bool) []twin.Difference) {
	return sides{p.Plain, p.Wrapped}, func(bool) []twin.Difference { return nil }
}

func inside(t *testing.T, p *twin.Pair) (sides, func(commit bool) []twin.Difference) {
	t.Helper()
	begin := func(db *sql.DB) *sql.Tx {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	plain, wrapped := begin(p.Plain), begin(p.Wrapped)
	return sides{plain, wrapped}, func(commit bool) []twin.Difference {
		end := (*sql.Tx).Rollback
		if commit {
			end = (*sql.Tx).Commit
		}
		ds := twin.Compare(twin.Outcome{Err: end(plain)}, twin.Outcome{Err: end(wrapped)})
		for i := range ds {
			ds[i].What = "end of transaction: " + ds[i].What
		}
		return ds
	}
}

var integers = map[string]float64{
	"TINYINT": 1<<7 - 1, "UNSIGNED TINYINT": 1<<8 - 1, "SMALLINT": 1<<15 - 1, "UNSIGNED SMALLINT": 1<<16 - 1,
	"INT2": 1<<15 - 1, "INT": 1<<31 - 1, "INT4": 1<<31 - 1, "UNSIGNED INT": 1<<32 - 1,
	"BIGINT": 1<<63 - 1, "INT8": 1<<63 - 1, "INTEGER": 1<<63 - 1, "UNSIGNED BIGINT": 1<<64 - 1,
}

// increment adds one to every counter of every row, by its key, on both sides.
// It leaves out counters that are NULL or at their type's limit.
func (on sides) increment(t *testing.T, p *twin.Pair, tables []counterTable) (ds []twin.Difference) {
	t.Helper()
	for _, table := range tables {
		columns := slices.Concat(table.key, table.counters)
		for i := range columns {
			columns[i] = p.Quote(columns[i])
		}
		where := make([]string, len(table.key))
		for i := range where {
			where[i] = columns[i] + " = ?"
			if p.Dialect == "postgres" {
				where[i] = fmt.Sprintf("%s = $%d", columns[i], i+1)
			}
		}
		rows := twin.Run(t.Context(), on.plain, twin.Statement{
			SQL: fmt.Sprintf("SELECT %s FROM %s", strings.Join(columns, ", "), p.Quote(table.name)),
		})
		if rows.Err != nil {
			t.Fatal(rows.Err)
		}
		for _, row := range rows.Sets[0].Rows {
			key := row[:len(table.key)]
			if slices.Contains(key, any(nil)) {
				continue
			}
			for i := len(table.key); i < len(row); i++ {
				if full(row[i], rows.Sets[0].Columns[i]) {
					continue
				}
				s := twin.Statement{
					SQL: fmt.Sprintf(
						"UPDATE %s SET %s = %[2]s + 1 WHERE %s",
						p.Quote(table.name),
						columns[i],
						strings.Join(where, " AND "),
					),
					Args: key,
				}
				for _, d := range twin.Compare(on.run(t, s)) {
					d.What = fmt.Sprintf("increment before it (%s %v): %s", s.SQL, key, d.What)
					ds = append(ds, d)
				}
			}
		}
	}
	return ds
}

// full reports whether a counter cannot be incremented.
func full(v any, c twin.Column) bool {
	if v == nil {
		return true
	}
	text := fmt.Sprint(v)
	if b, ok := v.([]byte); ok {
		text = string(b)
	}
	n, err := strconv.ParseFloat(text, 64)
	limit, known := integers[strings.ToUpper(c.DatabaseType)]
	if c.DecimalOK && !known && c.Precision < 30 {
		limit, known = pow10(c.Precision-c.Scale), true
	}
	return err != nil || known && n >= limit-1
}

func pow10(n int64) float64 {
	p := 1.0
	for range n {
		p *= 10
	}
	return p
}
