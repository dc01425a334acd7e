package random_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// tolerated reports whether the outcomes differ by what docs/divergences.md
// lists, or by what the engine itself does not keep from one plan to another;
// what is of a column's type is made equal.
func tolerated(dialect, params string, plain, wrapped *twin.Outcome) bool {
	if plain.Err != nil && wrapped.Err == nil &&
		(strings.Contains(plain.Err.Error(), "ambiguous") || slices.Contains([]string{"MySQL 1247 (42S22)", "MySQL 1111 (HY000)"}, twin.Class(plain.Err))) {
		// A name that two result columns share is not ambiguous where one of
		// them has become an expression; likewise MariaDB refuses some names
		// (1247) that it takes where they stand for an expression. SUM(a = ANY (SELECT b FROM q WHERE b <= ANY (...)))
		// it makes one of MAX, and may refuse that within SUM (1111).
		return true
	}
	if p, w := twin.Class(plain.Err), twin.Class(wrapped.Err); plain.Mode == twin.Query && p != w && (p == outOfRange || w == outOfRange) {
		// Whether a query meets a row whose expression is out of range before
		// another condition drops the row is the engine's choice.
		return true
	}
	if p, w := twin.Class(plain.Err), twin.Class(wrapped.Err); ungrouped[p] &&
		(ungrouped[w] || w == unknown && strings.Contains(wrapped.Err.Error(), "HAVING")) {
		return true // of two faults one is named
	}
	if dialect != "postgres" {
		forgive(plain, wrapped, strings.Contains(params, "interpolateParams"))
	}
	if dialect == "mysql" {
		for i := range min(len(plain.Sets), len(wrapped.Sets)) {
			p, w := plain.Sets[i], wrapped.Sets[i]
			for j := range p.Columns {
				if namedTwice(j, p, w) {
					p.Columns[j].Name = w.Columns[j].Name
				}
			}
		}
	}
	return false
}

// ungrouped are MariaDB's errors of columns that are not grouped by, in the
// select list, in HAVING and without GROUP BY.
var ungrouped = map[string]bool{"MySQL 1055 (42000)": true, "MySQL 1463 (42000)": true, "MySQL 1140 (42000)": true}

const unknown = "MySQL 1054 (42S22)"

const outOfRange = "MySQL 1690 (22003)"

// forgive takes out what the engines themselves do not keep. On MariaDB
// whether a result column may be NULL, and how wide it is (INT or BIGINT), depends on the
// plan that the rows at hand lead to, and an expression that is a result column's name has the values in
// it that interpolateParams puts there. On SQLite a column's scan type and
// length are those of the row that happens to be the first.
func forgive(plain, wrapped *twin.Outcome, interpolated bool) {
	for i := range min(len(plain.Sets), len(wrapped.Sets)) {
		p, w := plain.Sets[i].Columns, wrapped.Sets[i].Columns
		for j := range min(len(p), len(w)) {
			p[j].Nullable, p[j].ScanType = w[j].Nullable, w[j].ScanType
			if p[j].DatabaseType == "DECIMAL" {
				p[j].Precision = w[j].Precision
			}
			if p[j].DatabaseType == "TEXT" || p[j].DatabaseType == "" {
				p[j].Length, p[j].LengthOK = w[j].Length, w[j].LengthOK
			}
			if p[j].DatabaseType == "DECIMAL" && w[j].DatabaseType == "DECIMAL" && interpolated {
				p[j].Scale = w[j].Scale // an argument of a prepared statement is a DECIMAL(65,30) on MySQL 8
			}
			if p[j].DatabaseType == "BIGINT" && w[j].DatabaseType == "INT" && interpolated {
				// Computed from an argument: with interpolateParams a prepared
				// statement's is a BIGINT, that of the statement which is asked for
				// the types an INT.
				p[j].DatabaseType = w[j].DatabaseType
			}
			const unsigned = "UNSIGNED "
			if p, w := p[j].DatabaseType, w[j].DatabaseType; p != w && strings.HasPrefix(p, unsigned) && strings.HasPrefix(w, unsigned) {
				sameWidth(j, plain.Sets[i].Rows, wrapped.Sets[i].Rows)
			}
			if p[j].DatabaseType == "INT" && w[j].DatabaseType == "BIGINT" ||
				p[j].DatabaseType == "UNSIGNED INT" && w[j].DatabaseType == "UNSIGNED BIGINT" {
				p[j].DatabaseType = w[j].DatabaseType
			}
			if strings.Contains(p[j].Name+w[j].Name, "?") {
				p[j].Name = w[j].Name
			}
		}
	}
}

// sameWidth gives the unsigned numbers of a column the same Go type. The driver's is int64
// for INT UNSIGNED, and uint64 for BIGINT UNSIGNED in a statement sent as text.
func sameWidth(column int, sides ...[][]any) {
	for _, rows := range sides {
		for _, row := range rows {
			if n, ok := row[column].(uint64); ok && n <= math.MaxInt64 {
				row[column] = int64(n)
			}
		}
	}
}

// namedTwice reports whether MySQL 8 may have given a column the name of another one. Of a constant of a
// derived table that is selected under two names, a temporary table has one column, and both have
// the name of the last: SELECT d.*, one AS n FROM (SELECT 1 AS one, id FROM posts) AS d. So one
// side has the name twice, and both sides hold the same value in both columns, in all rows.
func namedTwice(column int, plain, wrapped twin.ResultSet) bool {
	p, w := plain.Columns, wrapped.Columns
	if len(p) != len(w) || p[column].Name == w[column].Name {
		return false
	}
	rows := slices.Concat(plain.Rows, wrapped.Rows)
	for k := range p {
		if k == column || p[k].Name != w[k].Name || p[k].Name != p[column].Name && w[k].Name != w[column].Name {
			continue
		}
		if !slices.ContainsFunc(rows, func(row []any) bool {
			return !reflect.DeepEqual(row[column], rows[0][column]) || !reflect.DeepEqual(row[k], rows[0][column])
		}) {
			return true
		}
	}
	return false
}

// TestTolerated keeps what is forgiven as narrow as it is meant.
func TestTolerated(t *testing.T) {
	set := func(types, names string, rows ...[]any) twin.Outcome {
		var s twin.ResultSet
		for i, name := range strings.Fields(names) {
			s.Columns = append(s.Columns, twin.Column{Name: name, DatabaseType: strings.Split(types, ", ")[i]})
		}
		s.Rows = rows
		return twin.Outcome{Mode: twin.Query, Sets: []twin.ResultSet{s}}
	}
	const whole, ints = "UNSIGNED BIGINT", "BIGINT, INT, BIGINT"
	for _, c := range []struct {
		name           string
		plain, wrapped twin.Outcome
		same           bool
	}{
		{"width by the plan", set("UNSIGNED INT", "n", []any{int64(5)}), set(whole, "n", []any{uint64(5)}), true},
		{"width, another number", set("UNSIGNED INT", "n", []any{int64(5)}), set(whole, "n", []any{uint64(6)}), false},
		{"one type, two Go types", set(whole, "n", []any{int64(5)}), set(whole, "n", []any{uint64(5)}), false},
		{"signed and unsigned", set("INT", "n", []any{int64(5)}), set(whole, "n", []any{uint64(5)}), false},
		{"a constant named twice", set(ints, "n id n", []any{1, 2, 1}), set(ints, "one id n", []any{1, 2, 1}), true},
		{"named twice when wrapped", set(ints, "one id n", []any{1, 2, 1}), set(ints, "n id n", []any{1, 2, 1}), true},
		{"no constant", set(ints, "n id n", []any{1, 2, 1}, []any{2, 3, 2}), set(ints, "one id n", []any{1, 2, 1}, []any{2, 3, 2}), false},
		{"other values", set(ints, "n id n", []any{1, 2, 3}), set(ints, "one id n", []any{1, 2, 3}), false},
		{"another name", set(ints, "n id m", []any{1, 2, 1}), set(ints, "one id m", []any{1, 2, 1}), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_ = tolerated("mysql", "", &c.plain, &c.wrapped)
			if ds := twin.Compare(c.plain, c.wrapped); (len(ds) == 0) != c.same {
				t.Errorf("%v, want the same: %v", ds, c.same)
			}
		})
	}
}
