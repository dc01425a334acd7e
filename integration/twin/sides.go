package twin

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Sides are a session of the plain database and one of the wrapped.
type Sides struct{ Plain, Wrapped Session }

// Run runs the statement in both sessions.
func (on Sides) Run(ctx context.Context, s Statement) (plain, wrapped Outcome) {
	return Run(ctx, on.Plain, s), Run(ctx, on.Wrapped, s)
}

// Outside gives sessions in autocommit. The function returned ends nothing.
func (p *Pair) Outside() (Sides, func(bool) []Difference) {
	return Sides{p.Plain, p.Wrapped}, func(bool) []Difference { return nil }
}

// Inside gives sessions in a transaction, which the function returned commits, or else rolls back.
func (p *Pair) Inside(t testing.TB) (Sides, func(commit bool) []Difference) {
	t.Helper()
	begin := func(db *sql.DB) *sql.Tx {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	plain, wrapped := begin(p.Plain), begin(p.Wrapped)
	return Sides{plain, wrapped}, func(commit bool) []Difference {
		end := (*sql.Tx).Rollback
		if commit {
			end = (*sql.Tx).Commit
		}
		ds := Compare(Outcome{Err: end(plain)}, Outcome{Err: end(wrapped)})
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

// Full reports whether a counter cannot be incremented.
func Full(v any, c Column) bool {
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
