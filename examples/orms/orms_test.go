package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"xorm.io/xorm"

	bunshop "github.com/slotsql/slotsql/examples/orms/bun"
	gormshop "github.com/slotsql/slotsql/examples/orms/gorm"
	"github.com/slotsql/slotsql/examples/orms/shop"
	xormshop "github.com/slotsql/slotsql/examples/orms/xorm"
	"github.com/slotsql/slotsql/integration/server"
)

var update = flag.Bool("update", false, "rewrite statements.txt of every example")

// What the shop prints with every ORM, on every engine, plain and wrapped.
const visited = `Lamps: 80 views, 8 likes
Who we are: 8 views, 0 likes
Desk lamps: 5 orders, 0 left, 3 customers too late
Tickets: [1 2 3 4 5 6 7 8]
`

var fresh = map[string]func(testing.TB) string{
	"mysql": server.MariaDB, "postgres": server.Postgres,
	"sqlite": func(t testing.TB) string { return server.SQLite(t) + "&_pragma=foreign_keys(1)" }, // ent asks for it
}

func TestSameOutput(t *testing.T) {
	for orm := range orms {
		for engine := range drivers {
			t.Run(orm+"/"+engine, func(t *testing.T) {
				for _, plain := range []bool{true, false} {
					var out strings.Builder
					if err := run(t.Context(), orm, engine, fresh[engine](t), plain, &out); err != nil {
						t.Fatalf("plain %v: %v", plain, err)
					}
					if !strings.HasPrefix(out.String(), visited) {
						t.Errorf("plain %v:\n%s", plain, &out)
					}
				}
			})
		}
	}
}

// The environment in which the test's own binary is one program that uses one ORM.
const envORM, envDSN = "SLOTSQL_TEST_ORM", "SLOTSQL_TEST_ORM_DSN"

func TestMain(m *testing.M) {
	orm := os.Getenv(envORM)
	if orm == "" {
		os.Exit(m.Run())
	}
	if err := run(context.Background(), orm, "postgres", os.Getenv(envDSN), false, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestStatements holds statements.txt of every example, which docs/orms.md is about: the kinds of its
// statements on PostgreSQL. How many of them were alone, grouped or in slots differs from run to run.
func TestStatements(t *testing.T) {
	for orm := range orms {
		t.Run(orm, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), envORM+"="+orm, envDSN+"="+server.Postgres(t))
			var problems bytes.Buffer
			cmd.Stderr = &problems
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, &problems)
			}
			_, kinds, _ := strings.Cut(string(out), "\n\n")
			var got strings.Builder
			for line := range strings.Lines(kinds) {
				if !strings.Contains(line, " times: ") {
					got.WriteString(line)
				}
			}
			file := filepath.Join(orm, "statements.txt")
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("not as %s (-update rewrites it):\n%s", file, &got)
			}
		})
	}
}

// TestOneColumn: saving what has been loaded sets the counters to what they were then, unless the column
// is named.
func TestOneColumn(t *testing.T) {
	for name, save := range map[string]func(db *sql.DB, dsn string, between func()) error{
		"gorm": func(db *sql.DB, _ string, between func()) error {
			g, err := gorm.Open(&sqlite.Dialector{Conn: db}, &gorm.Config{})
			if err != nil {
				return err
			}
			var p gormshop.Page
			err = g.First(&p, 1).Error
			between()
			p.Title = "new"
			return errors.Join(err, g.Select("title").Save(&p).Error)
		},
		"bun": func(db *sql.DB, _ string, between func()) error {
			b := bun.NewDB(db, sqlitedialect.New())
			p := bunshop.Page{ID: 1}
			err := b.NewSelect().Model(&p).WherePK().Scan(t.Context())
			between()
			p.Title = "new"
			_, saved := b.NewUpdate().Model(&p).Column("title").WherePK().Exec(t.Context())
			return errors.Join(err, saved)
		},
		"xorm": func(_ *sql.DB, dsn string, between func()) error {
			x, err := xorm.NewEngine("sqlite3-slotsql", dsn)
			if err != nil {
				return err
			}
			defer x.Close()
			var p xormshop.Pages
			_, err = x.ID(1).Get(&p)
			between()
			p.Title = "new"
			_, saved := x.ID(1).Cols("title").Update(&p)
			return errors.Join(err, saved)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dsn := server.SQLite(t)
			db, err := sql.Open("sqlite3-slotsql", dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, q := range shop.Statements("sqlite") {
				if _, err := db.ExecContext(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			between := func() {
				if _, err := db.ExecContext(t.Context(), "UPDATE pages SET views = views + 1 WHERE id = 1"); err != nil {
					t.Error(err)
				}
			}
			if err := save(db, dsn, between); err != nil {
				t.Fatal(err)
			}
			var title string
			var views int64
			if err := db.QueryRow("SELECT title, views FROM pages WHERE id = 1").Scan(&title, &views); err != nil || title != "new" || views != 1 {
				t.Errorf("%q, %d views, %v", title, views, err)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for _, c := range [][2]string{{"hibernate", "sqlite"}, {"gorm", "oracle"}} {
		if err := run(t.Context(), c[0], c[1], "", true, t.Output()); err == nil {
			t.Errorf("no error for %v", c)
		}
	}
}
