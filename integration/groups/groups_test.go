// Package groups holds the planner's groups against what they stand for: one statement
// for all members has to do what theirs do one after another.
package groups

import (
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

var dialects = map[string]dialect.Dialect{"mysql": mysql.New(), "postgres": postgres.New(), "sqlite": sqlite.New()}

// catalog is one table, every number of which is a counter.
type catalog struct{ *schema.Table }

func (c catalog) Counters() []*schema.Table { return []*schema.Table{c.Table} }

func (c catalog) Lookup(name []ast.Ident) (*schema.Table, bool) {
	if name[len(name)-1].Name == c.Name {
		return c.Table, true
	}
	return nil, true
}

// planner plans for the table of a database.
func planner(t *testing.T, d dialect.Dialect, db *sql.DB) *rewrite.Planner {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	table, err := d.Table(t.Context(), dialect.PlainSession{Conn: conn}, "", "t")
	if err != nil || table == nil {
		t.Fatalf("table t: %v, %v", table, err)
	}
	counters := []string{"n", "big", "small", "maybe", "cents"}
	table.Counter = &schema.Counter{
		Key: []string{"id"}, Counters: counters, Counted: counters, Versions: []string{"small", "note"},
		Options:   schema.Options{Coalesce: true},
		SlotTable: schema.SlotTable{Name: "t_slots", Column: "slot"},
		Unslotted: schema.Unslotted{Passive: counters},
	}
	return &rewrite.Planner{Dialect: d, Catalog: catalog{table}}
}

func open(t *testing.T, dialect, params string) *sql.DB {
	t.Helper()
	driver, dsn := "sqlite", ""
	switch dialect {
	case "mysql":
		driver, dsn = "mysql", server.MariaDB(t)+params
	case "postgres":
		driver, dsn = "pgx", server.Postgres(t)
	default:
		dsn = server.SQLite(t)
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestGroups runs members that were drawn at random, one after another, and then the
// group's statement, from the same row. A group that affects the row has to leave the
// same row, with every member's own result; one that affects none or fails is split,
// which must not happen where all members would have succeeded.
func TestGroups(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		modes := map[string]string{"": ""}
		if dialect == "mysql" {
			modes["not strict"] = "?sql_mode=%27%27"
			modes["interpolated"] = "?interpolateParams=true"
			modes["found rows"] = "?clientFoundRows=true"
			modes["signed differences"] = "?sql_mode=%27STRICT_ALL_TABLES%2CNO_UNSIGNED_SUBTRACTION%27"
		}
		for mode, params := range modes {
			for _, unsigned := range []bool{false, true} {
				ddl := createTable
				if unsigned {
					if dialect != "mysql" {
						continue
					}
					ddl = strings.NewReplacer("INT NOT NULL", "INT UNSIGNED NOT NULL", "maybe INT", "maybe INT UNSIGNED").Replace(createTable)
				}
				if dialect == "sqlite" {
					ddl = strings.Replace(ddl, "DECIMAL(12,2)", "INT", 1)
				}
				db := open(t, dialect, params)
				twin.ExecAll(t, db, ddl)
				pl := planner(t, dialects[dialect], db)
				for _, f := range forms {
					if f.only != nil && !slices.Contains(f.only, dialect) {
						continue
					}
					name := fmt.Sprintf("%s/%s/unsigned=%v", f.name, mode, unsigned)
					t.Run(name, func(t *testing.T) {
						f.partly = f.partly || f.clamps && mode == "not strict"
						testForm(t, db, pl, dialect, f)
					})
				}
			}
		}
	})
}

var (
	groupsSeed = flag.Uint64("groups.seed", 1, "seed of what is drawn")
	rounds     = flag.Int("groups.n", 40, "how often a form is tried in each mode")
)

func testForm(t *testing.T, db *sql.DB, pl *rewrite.Planner, dialect string, f form) {
	d := dialects[dialect]
	query := numbered(d, f.sql)
	plan, err := pl.Plan(query)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Group == nil {
		t.Fatalf("no group: %s", plan.GroupReason)
	}
	seed := *groupsSeed
	r := rand.New(rand.NewPCG(seed, uint64(len(f.sql)))) // other values for other forms
	grouped, needless := 0, 0
	for i := 0; i < *rounds || grouped == 0 && i < 20**rounds; i++ {
		row := drawRow(r, dialect)
		members := drawMembers(r, f, row)
		c := &run{t: t, db: db, f: f, sql: query, group: plan.Group, row: row}
		c.tellsInsertID, c.upsertCounts = dialect == "mysql", d.Traits().UpsertCounts
		c.countsChanged = d.Traits().CountsChanged
		if !taken(plan.Group, members) {
			continue
		}
		own := c.alone(members)
		shared := c.together(members)
		if !shared.counted {
			all := !slices.ContainsFunc(own.results, func(x result) bool { return !x.counted })
			if all && len(members) == 1 && plan.Group.Upsert == nil { // an upsert runs alone as written
				t.Fatalf("seed %d: %v, %v of %s: the one member succeeds, but not in a group\n%v", seed, row, members, f.sql, shared.err)
			}
			if all && !f.partly {
				needless++
				t.Errorf("seed %d: %v, %v: split, though all members succeed:\n%s\n%v", seed, row, members, plan.Group.SQL.Of(nil), shared.err)
			}
			continue
		}
		grouped++
		if got, want := fmt.Sprint(shared.row, shared.results), fmt.Sprint(own.row, own.results); got != want {
			t.Fatalf("seed %d: %v, %v of %s:\ngrouped %s\nplain   %s\n%s", seed, row, members, f.sql, got, want, plan.Group.SQL.Of(nil))
		}
	}
	if grouped == 0 {
		t.Errorf("seed %d: none of the groups counted", seed)
	}
}

func numbered(d rewrite.Dialect, query string) string {
	for i := 1; strings.Contains(query, "?"); i++ {
		query = strings.Replace(query, "?", strings.ReplaceAll(d.Placeholder(i), "?", "\x00"), 1)
	}
	return strings.ReplaceAll(query, "\x00", "?")
}
