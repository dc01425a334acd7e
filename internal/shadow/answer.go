package shadow

import (
	"bytes"
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// An answer that is larger is not compared.
const (
	maxShadowRows  = 10000
	maxShadowBytes = 8 << 20
)

// answer is the rows of a query with all that an application can know of them.
type answer struct {
	columns []string
	types   []session.ColumnType
	rows    [][]driver.Value
}

// answerOf runs a query and reads its rows; nil when there are too many.
func answerOf(ctx context.Context, r *session.Run) (*answer, error) {
	rows, err := r.QueryOnce(ctx)
	if err != nil {
		return nil, err
	}
	a := &answer{columns: slices.Clone(rows.Columns()), types: session.TypesOf(rows)}
	size := 0
	for err == nil && len(a.rows) <= maxShadowRows && size <= maxShadowBytes {
		row := make([]driver.Value, len(a.columns))
		if err = rows.Next(row); err != nil {
			break
		}
		for i, v := range row {
			switch v := v.(type) {
			case []byte:
				row[i] = bytes.Clone(v)
				size += len(v)
			case string:
				size += len(v)
			}
		}
		a.rows = append(a.rows, row)
	}
	cerr := rows.Close()
	switch {
	case err == nil:
		return nil, cerr
	case err != io.EOF:
		return nil, err
	}
	return a, cerr
}

// likeness is what comes of comparing two answers.
type likeness int

const (
	same likeness = iota
	different
	undecided
)

// differs compares an answer with another one, and says what differs. Rows
// count in their order where the statement gives them one.
func (a *answer) differs(b *answer, text lex.Repeat, counters []string) (likeness, string) {
	if !slices.Equal(a.columns, b.columns) {
		return different, fmt.Sprintf("columns %q, but %q when rewritten", a.columns, b.columns)
	}
	for i := range a.types {
		x, y := a.types[i], b.types[i]
		x.Column, y.Column = "", "" // MySQL says more of a name there
		if x != y {
			return different, fmt.Sprintf("type of column %s: %s, but %s when rewritten", a.columns[i], x.String(), y.String())
		}
	}
	if len(a.rows) != len(b.rows) {
		return different, fmt.Sprintf("%d rows, but %d when rewritten", len(a.rows), len(b.rows))
	}
	x, y := keysOf(a.rows), keysOf(b.rows)
	if slices.Equal(x, y) {
		return same, ""
	}
	px, py := inOrder(x), inOrder(y)
	sameSet := slices.EqualFunc(px, py, func(i, j int) bool { return x[i] == y[j] })
	switch {
	case sameSet && !text.Ordered:
		return same, ""
	case sameSet, text.Limited && !a.countersDiffer(b, counters):
		return undecided, ""
	case !text.Ordered:
		at := 0
		for x[px[at]] == y[py[at]] {
			at++
		}
		return different, "a row" + a.difference(a.rows[px[at]], b.rows[py[at]])
	}
	at := 0
	for x[at] == y[at] {
		at++
	}
	return different, fmt.Sprintf("row %d%s", at+1, a.difference(a.rows[at], b.rows[at]))
}

// countersDiffer reports whether a result column with the name of a counter has other
// values, in whatever order.
func (a *answer) countersDiffer(b *answer, counters []string) bool {
	for i, name := range a.columns {
		if !slices.ContainsFunc(counters, func(c string) bool { return strings.EqualFold(c, name) }) {
			continue
		}
		column := func(rows [][]driver.Value) []string {
			out := make([]string, len(rows))
			for j, r := range rows {
				out[j] = valueKey(r[i])
			}
			slices.Sort(out)
			return out
		}
		if !slices.Equal(column(a.rows), column(b.rows)) {
			return true
		}
	}
	return false
}

// difference says which column of two rows differs. Values are shown only if
// they are numbers: a log is no place for others.
func (a *answer) difference(p, q []driver.Value) string {
	for i := range p {
		if valueKey(p[i]) == valueKey(q[i]) {
			continue
		}
		out := ", column " + a.columns[i]
		x, isNumber := asNumber(p[i])
		y, too := asNumber(q[i])
		if isNumber && too {
			out += fmt.Sprintf(": %s, but %s when rewritten", x, y)
		}
		return out
	}
	return ""
}

func asNumber(v driver.Value) (string, bool) {
	s := ""
	switch v := v.(type) {
	case nil:
		return "NULL", true
	case int64, uint64, float64:
		s = fmt.Sprint(v)
	case []byte:
		s = string(v)
	case string:
		s = v
	}
	_, err := strconv.ParseFloat(s, 64)
	return s, err == nil && len(s) < 64
}

// keysOf returns for each row a string that is that of rows with the same values
// of the same types, and of no others.
func keysOf(rows [][]driver.Value) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		for _, v := range row {
			b.WriteString(strconv.Quote(valueKey(v)))
		}
		out[i] = b.String()
	}
	return out
}

func valueKey(v driver.Value) string {
	switch v := v.(type) {
	case []byte:
		if v == nil {
			return "nil bytes"
		}
		return "bytes " + string(v)
	case time.Time:
		return "time " + v.Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%T %v", v, v)
}

// inOrder returns the places of the keys in the keys' order.
func inOrder(keys []string) []int {
	out := make([]int, len(keys))
	for i := range out {
		out[i] = i
	}
	slices.SortFunc(out, func(i, j int) int { return strings.Compare(keys[i], keys[j]) })
	return out
}
