package twin

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"
)

// MySQL types an expression by the column of the temporary table that has held
// it, where one has: MIN(n) OVER () of an INT is a BIGINT, and an INT of no
// rows; a GROUP_CONCAT is a LONGTEXT, and a TEXT once its rows are sorted. Of one
// query the plain driver reports either, as the optimizer goes. Slotsql reports
// what the original has with LIMIT 0. But for unsigned numbers scanned
// into any, what a program scans is the same.

// onMySQL is set once a pair is made on MySQL, and not on MariaDB.
var onMySQL atomic.Bool

// sameType reports whether columns have the same type, or two that MySQL takes for the same.
func sameType(p, w Column) bool {
	if p == w || !onMySQL.Load() {
		return p == w
	}
	of := widened(p.DatabaseType)
	same := of == widened(w.DatabaseType)
	p.DatabaseType, w.DatabaseType = of, of
	return same && p == w
}

// widened is the widest type of its kind.
func widened(databaseType string) string {
	unsigned := strings.HasPrefix(databaseType, "UNSIGNED ")
	switch strings.TrimPrefix(databaseType, "UNSIGNED ") {
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT":
		if unsigned {
			return "UNSIGNED BIGINT"
		}
		return "BIGINT"
	case "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT":
		return "LONGTEXT"
	}
	return databaseType
}

// scaled is a set of rows without the zeros that end a DECIMAL: IF(a, score, 0) is 0 or 0.00,
// as a temporary table has held it or not.
func scaled(s ResultSet) ResultSet {
	if !onMySQL.Load() {
		return s
	}
	rows := make([][]any, len(s.Rows))
	for i, row := range s.Rows {
		rows[i] = slices.Clone(row)
		for j, v := range row {
			if b, ok := v.([]byte); ok && s.Columns[j].DatabaseType == "DECIMAL" && bytes.Contains(b, []byte(".")) {
				rows[i][j] = bytes.TrimSuffix(bytes.TrimRight(b, "0"), []byte("."))
			}
		}
	}
	s.Rows = rows
	return s
}
