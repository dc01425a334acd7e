package cases

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A group of cases has the same tables, rows, configuration and parameters. Its cases run one
// after another on the same databases, which take several times as long to make as a case
// takes to run.
type group struct {
	dialect string
	cases   []*golden.Case
	options twin.Options
}

// grouped puts the cases of a dialect into groups, in the order of their first ones.
func grouped(t *testing.T, all []*golden.Case, dialect string) []group {
	t.Helper()
	var groups []group
	places := map[string]int{}
	for _, c := range all {
		if !slices.Contains(c.Dialects, dialect) {
			continue
		}
		s := statement(t, c, dialect)
		o := twin.Options{Dialect: dialect, Schema: slices.Concat(c.Schema(dialect), c.Seed(dialect)), Config: c.Config(), Params: s.Params}
		key := fmt.Sprint(o.Schema, o.Config, o.Params)
		i, ok := places[key]
		if !ok {
			i = len(groups)
			places[key] = i
			groups = append(groups, group{dialect: dialect, options: o})
		}
		groups[i].cases = append(groups[i].cases, c)
	}
	return groups
}

// seed is what fills the tables.
func (g group) seed() []string { return g.cases[0].Seed(g.dialect) }

// fixture is what the cases of a group run on.
type fixture struct {
	*twin.Pair
	cold     *twin.Pair      // see adaptively
	catalog  *golden.Catalog // of the plain side's tables
	contents string          // of all tables, before the first case

	// What gives the plain side its rows again. Its sessions are not those that run the cases:
	// a session remembers its last identity.
	filler *sql.DB
	config string
	t      *testing.T // the group's
}

// open makes the databases, which live as long as the group's test.
func (g group) open(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Pair: twin.New(t, g.options), config: g.options.Config, t: t}
	if err := f.Wrapped.PingContext(t.Context()); err != nil {
		t.Fatalf("open wrapped: %v\n%s", err, g.options.Config)
	}
	f.filler = f.plain()
	f.catalog = f.facts(t)
	var err error
	if f.contents, err = f.read(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f
}

// plain opens the plain side once more.
func (f *fixture) plain() *sql.DB {
	f.t.Helper()
	db, err := twin.OpenPlain(twin.Plain[f.Dialect], f.PlainDSN, "")
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = db.Close() })
	return db
}

// adaptively is the pair with another process on either side, of which the wrapped one counts
// cold rows on their base rows; nil where the cases set placement or have no slots.
func (f *fixture) adaptively() *twin.Pair {
	f.t.Helper()
	text := strings.Replace(f.config, golden.Placement, "placement: adaptive", 1)
	if f.cold != nil || text == f.config {
		return f.cold
	}
	if !strings.Contains(text, "rollup:") {
		text += "\nrollup: {interval: 1h}\n" // slots that it finds are not folded beside the case
	}
	config, err := slotsql.Parse([]byte(text), "slotsql.yaml")
	if err != nil {
		f.t.Fatal(err)
	}
	own := *f.Pair
	own.Plain, own.Wrapped = f.plain(), sql.OpenDB(twin.ConnectorWith(f.t, f.Pair, config))
	f.t.Cleanup(func() { _ = own.Wrapped.Close() })
	if err := own.Wrapped.PingContext(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	f.cold = &own
	return f.cold
}

// restore gives the tables their first rows again, and reports whether both databases are
// as they were.
func (f *fixture) restore(t *testing.T, g group) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a case may have left locks
	defer cancel()
	for _, db := range []*sql.DB{f.filler, f.Under} {
		if err := f.refill(ctx, db, g.seed()); err != nil {
			t.Logf("new databases for the next case: %v", err)
			return false
		}
	}
	contents, err := f.read(ctx)
	if err != nil || contents != f.contents {
		t.Logf("new databases for the next case: %v, or other rows than at the beginning:\n%s", err, contents)
		return false
	}
	return true
}

// refill empties the tables of one side, its slot tables among them, and fills them again.
func (f *fixture) refill(ctx context.Context, db *sql.DB, seed []string) (err error) {
	names, err := f.TablesOf(ctx, db)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, isLease)
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	var empty []string
	switch f.Dialect {
	case "postgres": // the rows of later cases begin the tables' files, too: their order is what it would be
		empty = []string{"TRUNCATE " + strings.Join(names, ", ") + " RESTART IDENTITY"}
	case "mysql":
		empty = []string{"SET FOREIGN_KEY_CHECKS = 0"}
		defer func() {
			_, e := conn.ExecContext(ctx, "SET FOREIGN_KEY_CHECKS = 1")
			err = errors.Join(err, e)
		}()
		fallthrough
	default:
		for _, n := range names {
			empty = append(empty, "DELETE FROM "+n)
		}
	}
	for _, s := range slices.Concat(empty, seed) {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%w\n%s", err, s)
		}
	}
	return nil
}

// read returns the rows of all tables of both sides.
func (f *fixture) read(ctx context.Context) (string, error) {
	var b strings.Builder
	for _, db := range []*sql.DB{f.filler, f.Under} {
		names, err := f.TablesOf(ctx, db)
		if err != nil {
			return "", err
		}
		for _, n := range slices.DeleteFunc(names, isLease) {
			rows, err := rowsOf(ctx, db, n)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "%s\n%s\n", n, rows)
		}
	}
	return b.String(), nil
}

// rowsOf returns the rows of a table, a line each, in no order of the table's.
func rowsOf(ctx context.Context, db *sql.DB, table string) (string, error) {
	o := twin.Run(ctx, db, twin.Statement{SQL: "SELECT * FROM " + table})
	if o.Err != nil {
		return "", o.Err
	}
	var lines []string
	for _, row := range o.Sets[0].Rows {
		lines = append(lines, fmt.Sprint(row))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

// isLease reports whether a table holds what processes have leased, which is theirs.
func isLease(quoted string) bool { return strings.Contains(quoted, "slotsql_leases") }

// facts are those that the database gives of the tables.
func (f *fixture) facts(t *testing.T) *golden.Catalog {
	t.Helper()
	names, err := f.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var tables []*schema.Table
	for _, quoted := range names {
		schema, name := splitQuoted(quoted)
		table, err := Facts(t.Context(), f.Pair, schema, name)
		if err != nil || table == nil {
			t.Fatalf("facts of %s: %v, %v", quoted, table, err)
		}
		if f.Dialect == "mysql" {
			table.Schema = "" // the database is another on each side
		}
		tables = append(tables, table)
	}
	// Unqualified names mean the tables of the default schema: those first.
	slices.SortStableFunc(tables, func(a, b *schema.Table) int {
		return strings.Compare(inDefault(a), inDefault(b))
	})
	catalog, err := golden.NewCatalog(Dialects[f.Dialect], tables, f.config)
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

func inDefault(t *schema.Table) string {
	if t.Schema == "public" || t.Schema == "main" || t.Schema == "" {
		return "0"
	}
	return "1" + t.Schema
}

// onMySQL reports whether cases of a dialect run on MySQL, and not on MariaDB: their files are of the latter.
func onMySQL(t *testing.T, dialect string) bool {
	t.Helper()
	return dialect == "mysql" && server.MySQLVersion(t).MySQL
}

// served is the plan that the server's own dialect has for a statement, where it is not the dialect of
// the golden plans: on MySQL.
func (f *fixture) served(t *testing.T, s golden.Statement) *rewrite.Plan {
	t.Helper()
	if !onMySQL(t, f.Dialect) {
		return nil
	}
	d, err := mysql.ForServer(t.Context(), session{f.Plain})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := (&rewrite.Planner{Dialect: d, Catalog: f.catalog}).Plan(s.SQL)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// dropMade returns what drops the tables of both sides that have been made in addition to those that
// there are, so that a statement that makes a table can run once more.
func (f *fixture) dropMade(t *testing.T) func() {
	t.Helper()
	sides := []*sql.DB{f.filler, f.Under}
	var before [2][]string
	tables := func(i int) []string {
		names, err := f.TablesOf(t.Context(), sides[i])
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(names, isLease)
	}
	for i := range sides {
		before[i] = tables(i)
	}
	return func() {
		for i, db := range sides {
			after := tables(i)
			gone := slices.ContainsFunc(before[i], func(name string) bool { return !slices.Contains(after, name) })
			for _, name := range after {
				if gone || slices.Contains(before[i], name) {
					continue
				}
				if _, err := db.ExecContext(t.Context(), "DROP TABLE "+name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// splitQuoted takes apart what Pair.Tables returns.
func splitQuoted(s string) (schema, name string) {
	unquote := func(s string) string {
		return strings.ReplaceAll(s[1:len(s)-1], s[:1]+s[:1], s[:1])
	}
	if i := strings.Index(s, `"."`); i > 0 {
		return unquote(s[:i+1]), unquote(s[i+2:])
	}
	return "", unquote(s)
}

// plan plans a statement.
func (f *fixture) plan(t *testing.T, s golden.Statement) *rewrite.Plan {
	t.Helper()
	plan, err := (&rewrite.Planner{Dialect: Dialects[f.Dialect], Catalog: f.catalog}).Plan(s.SQL)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
