package twin

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Difference is something by which a program can tell the sides apart.
type Difference struct {
	What           string
	Plain, Wrapped string
}

func (d Difference) String() string {
	if d.Plain == "" && d.Wrapped == "" {
		return d.What
	}
	return fmt.Sprintf("%s: plain %s, wrapped %s", d.What, d.Plain, d.Wrapped)
}

// Compare returns all differences. Rows count in their order when the statement asks
// for one, else as a multiset. Times that the two servers made a moment apart
// are equal: both within a day or so of now (zones differ), and within a minute
// of each other.
func Compare(plain, wrapped Outcome) []Difference {
	var ds []Difference
	add := func(what string, p, w any) {
		ds = append(ds, Difference{what, text(p), text(w)})
	}
	if p, w := Class(plain.Err), Class(wrapped.Err); p != w {
		add("error", errorText(p, plain.Err), errorText(w, wrapped.Err))
		return ds // the rest follows from it
	}
	if plain.Mode == Exec && plain.Err == nil {
		number := func(what string, p, w Number) {
			if (p.Err == nil) != (w.Err == nil) || p.Err == nil && p.Value != w.Value {
				add(what, p, w)
			}
		}
		number("RowsAffected", plain.RowsAffected, wrapped.RowsAffected)
		number("LastInsertId", plain.LastInsertID, wrapped.LastInsertID)
	}
	if len(plain.Sets) != len(wrapped.Sets) {
		add("number of result sets", len(plain.Sets), len(wrapped.Sets))
		return ds
	}
	now := time.Now()
	for i := range plain.Sets {
		at := ""
		if len(plain.Sets) > 1 {
			at = fmt.Sprintf("result set %d: ", i)
		}
		for _, d := range compareSets(scaled(plain.Sets[i]), scaled(wrapped.Sets[i]), plain, now) {
			d.What = at + d.What
			ds = append(ds, d)
		}
	}
	return ds
}

func compareSets(plain, wrapped ResultSet, o Outcome, now time.Time) []Difference {
	ordered := o.Ordered
	var ds []Difference
	add := func(what string, p, w any) {
		ds = append(ds, Difference{what, text(p), text(w)})
	}
	if p, w := names(plain), names(wrapped); !slices.Equal(p, w) {
		add("columns", p, w)
		return ds
	}
	for i, p := range plain.Columns {
		if w := wrapped.Columns[i]; !sameType(p, w) {
			add("type of column "+p.Name, fmt.Sprintf("%+v", p), fmt.Sprintf("%+v", w))
		}
	}
	if len(plain.Rows) != len(wrapped.Rows) {
		add("number of rows", len(plain.Rows), len(wrapped.Rows))
		return ds
	}
	same, row := equalRows(plain.Rows, wrapped.Rows, now)
	if same {
		return ds
	}
	p, w := sorted(plain.Rows, now), sorted(wrapped.Rows, now)
	sameSet, setRow := equalRows(p, w, now)
	switch {
	case sameSet && tied(plain, wrapped, o.OrderBy, now):
	case sameSet && ordered:
		add(fmt.Sprintf("order, from row %d", row), plain.Rows[row], wrapped.Rows[row])
	case !sameSet && ordered:
		add(fmt.Sprintf("row %d", row), plain.Rows[row], wrapped.Rows[row])
	case !sameSet:
		add("a row", p[setRow], w[setRow])
	}
	return ds
}

func names(s ResultSet) []string {
	n := make([]string, len(s.Columns))
	for i, c := range s.Columns {
		n[i] = c.Name
	}
	return n
}

// equalRows returns the first row that differs, if one does.
func equalRows(a, b [][]any, now time.Time) (bool, int) {
	for i := range a {
		if !slices.EqualFunc(a[i], b[i], func(x, y any) bool { return equal(x, y, now) }) {
			return false, i
		}
	}
	return true, 0
}

// sorted puts rows into an order that values made just now do not disturb.
func sorted(rows [][]any, now time.Time) [][]any {
	key := func(row []any) string {
		var b strings.Builder
		for _, v := range row {
			if _, recent := moment(v, now); recent {
				b.WriteString("now")
			} else {
				b.WriteString(show(v))
			}
			b.WriteByte(0)
		}
		return b.String()
	}
	return slices.SortedStableFunc(slices.Values(rows), func(a, b []any) int {
		return strings.Compare(key(a), key(b))
	})
}

func equal(a, b any, now time.Time) bool {
	if reflect.TypeOf(a) != reflect.TypeOf(b) {
		return false
	}
	if x, ok := a.(time.Time); ok {
		y := b.(time.Time)
		_, dx := x.Zone()
		_, dy := y.Zone()
		if dx != dy {
			return false
		}
		if x.Equal(y) {
			return true
		}
	}
	if x, ok := a.([]byte); ok && bytes.Equal(x, b.([]byte)) {
		return true
	}
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, recentX := moment(a, now)
	y, recentY := moment(b, now)
	return recentX && recentY && x.Sub(y).Abs() < time.Minute
}

// moment reads a value as a point in time, and reports whether it is of about now.
func moment(v any, now time.Time) (time.Time, bool) {
	var t time.Time
	switch v := v.(type) {
	case time.Time:
		t = v
	case int64:
		t = time.Unix(v, 0)
	case float64:
		t = time.UnixMicro(int64(v * 1e6))
	case []byte:
		return moment(string(v), now)
	case string:
		if n, err := strconv.ParseFloat(v, 64); err == nil {
			return moment(n, now)
		}
		for _, layout := range []string{
			"2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999-07", "2006-01-02 15:04:05.999999999-07:00",
			"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999",
		} {
			if p, err := time.Parse(layout, v); err == nil {
				t = p
				break
			}
		}
	}
	return t, t.Sub(now).Abs() < 26*time.Hour
}

func errorText(class string, err error) string {
	if err == nil {
		return class
	}
	return fmt.Sprintf("%s: %v", class, err)
}

// text prints what is not a value of the database.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return show(v)
}

// show prints a value with its type.
func show(v any) string {
	switch v := v.(type) {
	case []any:
		s := make([]string, len(v))
		for i := range v {
			s[i] = show(v[i])
		}
		return "[" + strings.Join(s, ", ") + "]"
	case []byte:
		return fmt.Sprintf("[]byte(%q)", v)
	case string:
		return strconv.Quote(v)
	case nil:
		return "NULL"
	case int, []string:
		return fmt.Sprint(v)
	case Number:
		if v.Err != nil {
			return fmt.Sprintf("error %v", v.Err)
		}
		return strconv.FormatInt(v.Value, 10)
	default:
		return fmt.Sprintf("%T(%v)", v, v)
	}
}
