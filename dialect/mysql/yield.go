package mysql

import (
	"strings"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/lex"
)

var _ dialect.Yielder = (*Dialect)(nil)

// MariaDB can refuse such a lock at once; MySQL waits for a second.
const (
	yields     = "lock_wait_timeout = 0"
	yieldsHint = "SET_VAR(lock_wait_timeout=1)"
)

// Yielding implements dialect.Yielder: lock_wait_timeout is for metadata locks, among them those that FLUSH TABLES WITH READ LOCK
// and SET GLOBAL read_only take, and not for row locks.
func (d *Dialect) Yielding(sql string) (string, time.Duration) {
	first := lex.NewScanner(d.LexRules(), sql).Next()
	verb := strings.ToUpper(sql[first.Start:first.End])
	switch {
	case d.MariaDB:
		const set = "SET STATEMENT "
		switch verb {
		case "SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH":
			return set + yields + " FOR " + sql, 0
		case "SET":
			if rest, own := strings.CutPrefix(sql, set); own {
				if !strings.HasPrefix(rest, yields) {
					sql = set + yields + ", " + rest
				}
				return sql, 0
			}
		}
	case d.MySQL && !strings.Contains(sql[:first.Start], "/*!"):
		switch verb {
		case "SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE":
			before, rest := sql[:first.End], sql[first.End:]
			hints, hinted := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), "/*+")
			switch {
			case !hinted:
				sql = before + " /*+ " + yieldsHint + " */" + rest
			case !strings.HasPrefix(hints, " "+yieldsHint):
				sql = before + " /*+ " + yieldsHint + hints
			}
			return sql, time.Second
		}
	}
	return sql, -1
}
