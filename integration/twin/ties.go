package twin

import (
	"math/big"
	"regexp"
	"strings"
	"time"
)

// lastOrder finds the ORDER BY of a statement that ends with it, or with a LIMIT
// behind it, where it names columns only.
var lastOrder = regexp.MustCompile(`(?is)\border\s+by\s+([^()]+?)(?:\s+(?:limit|offset|fetch)\b[^()]*)?[\s;]*$`)

var orderItem = regexp.MustCompile("(?i)^(?:[\\w`\"]+\\.)*([\\w`\"]+)(?:\\s+(?:asc|desc))?(?:\\s+nulls\\s+(?:first|last))?$")

// orderColumns returns the names of the columns by which a statement orders its
// rows, or nil when they cannot be told.
func orderColumns(sql string) []string {
	m := lastOrder.FindStringSubmatch(sql)
	if m == nil {
		return nil
	}
	var out []string
	for _, item := range strings.Split(m[1], ",") {
		c := orderItem.FindStringSubmatch(strings.TrimSpace(item))
		if c == nil {
			return nil
		}
		out = append(out, strings.Trim(c[1], "`\""))
	}
	return out
}

// HiddenOrder reports whether a statement orders its rows by columns of which one is not
// selected, so that their order alone cannot be judged: rows may tie in it.
func HiddenOrder(sql string) bool {
	list, _, ok := strings.Cut(strings.ToLower(sql), " from ")
	if !ok || strings.Contains(list, "*") {
		return false
	}
	for _, name := range orderColumns(sql) {
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(strings.ToLower(name)) + `\b`).MatchString(list) {
			return true
		}
	}
	return false
}

// tied reports whether two orders of the same rows differ only among rows that the
// text does not order: every column that it orders by is the same, row by row, or, whatever it
// orders by, the rows as a whole are.
func tied(plain, wrapped ResultSet, by []string, now time.Time) bool {
	all := make([]int, len(plain.Columns))
	for i := range all {
		all[i] = i
	}
	if alike(plain, wrapped, all, now) {
		return true
	}
	var columns []int
	for _, name := range by {
		at := -1
		for i, c := range plain.Columns {
			if strings.EqualFold(c.Name, name) {
				if at >= 0 {
					return false
				}
				at = i
			}
		}
		if at < 0 {
			return false
		}
		columns = append(columns, at)
	}
	return len(by) > 0 && alike(plain, wrapped, columns, now)
}

// alike reports whether the rows of two results compare as equal in these columns, one by one.
func alike(plain, wrapped ResultSet, columns []int, now time.Time) bool {
	for i := range plain.Rows {
		for _, at := range columns {
			p, w := plain.Rows[i][at], wrapped.Rows[i][at]
			if !equal(p, w, now) && (plain.Columns[at].DatabaseType != "NUMERIC" || !sameNumber(p, w)) {
				return false
			}
		}
	}
	return true
}

// sameNumber reports whether two values of PostgreSQL's NUMERIC are one number: 1.0 and 1.00 tie in an order.
func sameNumber(a, b any) bool {
	x, isText := a.(string)
	y, isTextToo := b.(string)
	if !isText || !isTextToo {
		return false
	}
	p, ok := new(big.Rat).SetString(x)
	q, okToo := new(big.Rat).SetString(y)
	return ok && okToo && p.Cmp(q) == 0
}
