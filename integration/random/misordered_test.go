package random_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/random"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// reversed finds a scan of several ranges of an index from its end, in what EXPLAIN FORMAT=TREE writes.
var reversed = regexp.MustCompile(`Index range scan on .* over [^\n]* OR [^\n]*\(reverse\)`)

// misordered reports whether the rows differ because MySQL 8 orders them wrongly. WHERE n IN (1, 2) ORDER BY n DESC, id DESC it may read
// from the end of an index of n, without a sort; but each range of one n it reads from its beginning, and the ids come ascending.
func (r *player) misordered(ctx context.Context, t *testing.T, s random.Step, ds []twin.Difference) bool {
	t.Helper()
	if r.pair.Dialect != "mysql" || !s.Ordered || len(ds) != 1 || !strings.Contains(ds[0].What, "row") ||
		ds[0].What == "number of rows" || !server.MySQLVersion(t).MySQL {
		return false
	}
	var plan string
	err := r.pair.Plain.QueryRowContext(ctx, "EXPLAIN FORMAT=TREE "+in(r.pair.PlainDSN, s).SQL, s.Args...).Scan(&plan)
	return err == nil && reversed.MatchString(plan)
}
