package main

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/slotsql/slotsql/integration/twin"
)

// account makes a user without rights, and returns its name in a GRANT, and its DSN.
func account(t *testing.T, e testedEngine, db *sql.DB, dsn string) (name, userDSN string) {
	t.Helper()
	name = fmt.Sprintf("app_%x", rand.Uint64())
	create, drop := "CREATE ROLE "+name+" LOGIN", []string{"DROP OWNED BY " + name, "DROP ROLE " + name}
	if e.driver == "mysql" {
		c, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		create, drop = "CREATE USER "+name+" IDENTIFIED BY 'secret'", []string{"DROP USER " + name}
		c.User, c.Passwd = name, "secret"
		userDSN = c.FormatDSN()
	} else {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set("user", name)
		u.RawQuery = q.Encode()
		userDSN = u.String()
	}
	if _, err := db.Exec(create); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, query := range drop {
			if _, err := db.Exec(query); err != nil {
				t.Error(err)
			}
		}
	})
	return name, userDSN
}

// Check finds the rights that a user lacks to create slot tables, to use them and to move slots, and names the
// statements that grant them. They suffice.
func TestCheckRights(t *testing.T) {
	for _, e := range testedEngines {
		if e.driver == "sqlite" {
			continue // it has no users
		}
		t.Run(e.driver, func(t *testing.T) {
			t.Parallel()
			dsn, db := e.database(t, "CREATE TABLE posts (id INT NOT NULL PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 0)")
			name, as := account(t, e, db, dsn)
			twin.ExecAll(t, db, "GRANT SELECT ON posts TO "+name)
			config := write(t, "slotsql.yaml", "version: 1\nauto_migrate: true\ntables: {posts: {placement: connection, counters: {views: }}}\n")
			run := func(code int, dsn string, args ...string) string {
				t.Helper()
				stdout, stderr, got := command(t, "", append(args, "--driver", e.driver, "--dsn", dsn, "--config", config)...)
				if got != code {
					t.Fatalf("%v: exit code %d, want %d: %s%s", args, got, code, stdout, stderr)
				}
				return stdout + stderr
			}
			grants := regexp.MustCompile(`GRANT [^;\n]* TO [^;:\s]+`)
			grant := func(report string, wanted ...string) {
				t.Helper()
				for _, want := range wanted {
					all := grants.FindAllString(report, -1)
					i := slices.IndexFunc(all, func(g string) bool { return strings.HasPrefix(g, want) })
					if i < 0 {
						t.Fatalf("no %s in\n%s", want, report)
					}
					twin.ExecAll(t, db, all[i])
				}
			}

			// The slot table is missing, and the user may not create it.
			missing := run(1, as, "check")
			if !strings.Contains(missing, "creating slot table posts_slots") || strings.Contains(missing, "no problems") {
				t.Error(missing)
			}
			grant(missing, map[string][]string{"mysql": {"GRANT CREATE, REFERENCES"}, "postgres": {"GRANT CREATE", "GRANT REFERENCES"}}[e.driver]...)
			if e.driver == "mysql" { // who may create a table has no rights on it
				lacks := run(1, as, "check")
				run(0, dsn, "migrate")
				grant(lacks, "GRANT SELECT ON")
			}
			run(0, as, "check")
			run(0, as, "migrate")

			// Another user does not create it, and may not use it.
			reader, readerDSN := account(t, e, db, dsn)
			twin.ExecAll(t, db, "GRANT SELECT ON posts TO "+reader)
			unusable := run(1, readerDSN, "check")
			if !strings.Contains(unusable, "missing right: reading totals") {
				t.Error(unusable)
			}
			grant(unusable, "GRANT SELECT ON")

			// It may read, and not move slots.
			warned := run(0, readerDSN, "check")
			if e.driver == "postgres" { // drain names the same, where no slot is in its way
				if got := grants.FindAllString(run(2, readerDSN, "drain"), -1); len(got) == 0 || !slices.Equal(got, grants.FindAllString(warned, -1)) {
					t.Errorf("drain names\n%v\nand check\n%s", got, warned)
				}
			}
			twin.ExecAll(t, db, "INSERT INTO posts_slots (id, slot, views) VALUES (1, 1, 5)")
			run(2, readerDSN, "drain")
			grant(warned, "GRANT SELECT (", "GRANT INSERT, UPDATE, DELETE ON")
			if e.driver == "mysql" { // who may write the table does not see that it has no triggers
				for _, command := range [][]string{{"explain", "UPDATE posts SET views = views + 1 WHERE id = 1"}, {"drain"}} { // drain logs it
					if why := run(0, readerDSN, command...); !strings.Contains(why, "GRANT TRIGGER ON") {
						t.Error(why)
					}
				}
				grant(run(0, readerDSN, "check"), "GRANT TRIGGER ON")
			}
			if quiet := run(0, readerDSN, "check"); strings.Contains(quiet, "GRANT") || !strings.Contains(quiet, "no problems\n") {
				t.Error(quiet)
			}
			run(0, readerDSN, "drain")
		})
	}
}
