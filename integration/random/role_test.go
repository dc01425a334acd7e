package random_test

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/slotsql/slotsql/integration/random"
	"github.com/slotsql/slotsql/integration/twin"
)

// restrict makes a role with the application's grants, and what slotsql asks for on
// its own tables, and opens the role's session on both sides.
func (r *player) restrict(ctx context.Context, t *testing.T, app *random.Application) {
	t.Helper()
	if app.Grants == nil {
		return
	}
	p, role := r.pair, "restricted_"+strconv.FormatUint(rand.Uint64(), 36)
	create, drop := "CREATE ROLE "+role+" LOGIN", []string{"DROP OWNED BY " + role, "DROP OWNED BY " + role, "DROP ROLE " + role}
	if p.Dialect == "mysql" {
		create, drop = "CREATE USER "+role+" IDENTIFIED BY 'secret'", []string{"DROP USER " + role}
	}
	twin.ExecAll(t, p.Plain, create)
	t.Cleanup(func() {
		for i, query := range drop {
			if _, err := []*sql.DB{p.Plain, p.Under}[i%2].ExecContext(context.Background(), query); err != nil {
				t.Error(err)
			}
		}
	})
	for _, db := range []*sql.DB{p.Plain, p.Under} {
		for _, g := range app.Grants {
			twin.ExecAll(t, db, strings.ReplaceAll(g, random.Role, role))
		}
	}
	for _, name := range r.ownTables(t) {
		twin.ExecAll(t, p.Under, "GRANT SELECT, INSERT, UPDATE, DELETE ON "+p.Quote(name)+" TO "+role)
	}
	plain, err := sql.Open(map[string]string{"mysql": "mysql", "postgres": "pgx"}[p.Dialect], as(t, p.PlainDSN, role))
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err := twin.OpenWrapped(
		map[string]string{"mysql": "mysql", "postgres": "pgx"}[p.Dialect],
		as(t, p.WrappedDSN, role),
		p.ConfigPath,
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = plain.Close(), wrapped.Close() })
	r.role = wrapped
	r.plain[random.Restricted].open(ctx, t, plain)
	r.wrapped[random.Restricted].open(ctx, t, wrapped)
}

// ownTables are the tables that the wrapped side has and the plain one has not.
func (r *player) ownTables(t *testing.T) []string {
	t.Helper()
	query := "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema = "
	query += map[string]string{"mysql": "DATABASE()", "postgres": "'public'"}[r.pair.Dialect]
	plain := map[string]bool{}
	for name := range strings.SplitSeq(twin.Rows(t, r.pair.Plain, query), "\n") {
		plain[name] = true
	}
	var out []string
	for name := range strings.SplitSeq(twin.Rows(t, r.pair.Under, query), "\n") {
		if !plain[name] {
			out = append(out, name)
		}
	}
	return out
}

// as is a DSN of another role.
func as(t *testing.T, dsn, role string) string {
	t.Helper()
	if u, err := url.Parse(dsn); err == nil && strings.HasPrefix(u.Scheme, "postgres") {
		q := u.Query()
		q.Set("user", role)
		u.RawQuery = q.Encode()
		u.User = nil
		return u.String()
	}
	if !strings.Contains(dsn, "@") { // key and value
		return dsn + " user=" + role
	}
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	c.User, c.Passwd = role, "secret"
	return c.FormatDSN()
}

// change runs DDL as another client, and has the wrapped side notice.
func (r *player) change(ctx context.Context, t *testing.T, query string) {
	t.Helper()
	if r.pair.Dialect == "sqlite" {
		look(t, r.pair.Plain, r.pair.Under)
	}
	if _, err := r.pair.Plain.ExecContext(ctx, query); err != nil {
		return // as much as the plain side takes
	}
	if _, err := r.pair.Under.ExecContext(ctx, query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if err := twin.Notice(ctx, r.pair.Wrapped); err != nil {
		t.Fatal(err)
	}
	r.changed = true
}

// look has SQLite's connections look at the definitions, as reading a table does: otherwise one takes an index or a
// trigger for there until it does, although another connection has dropped it.
func look(t *testing.T, on ...twin.Session) {
	t.Helper()
	for _, s := range on {
		if o := twin.Run(t.Context(), s, twin.Statement{SQL: "SELECT COUNT(*) FROM sqlite_master"}); o.Err != nil {
			t.Fatal(o.Err)
		}
	}
}

// roleNotices has the role's process notice changes of definitions, which are another client's to it. It
// reports false while that process cannot connect: a table has been made again, its slot table has not, and
// the role must not create one.
func (r *player) roleNotices(ctx context.Context, t *testing.T) bool {
	t.Helper()
	if !r.changed {
		return true
	}
	err := twin.Notice(ctx, r.role)
	if c := twin.Class(err); c == "MySQL 1142 (42000)" || c == "PostgreSQL 42501" {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	r.changed = false
	return true
}
