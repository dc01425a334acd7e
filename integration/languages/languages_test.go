// Package languages runs the programs of docs/languages.md: they count through slotsql's functions, and read its views.
package languages

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// Debian's interpreter is the one for which Debian's packages are.
var interpreters = map[string]string{"php": "php", "ruby": "ruby", "python": "/usr/bin/python3"}

// The code of the page counts beside a Go program, and shows the totals of both.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/languages.md")
	if err != nil {
		t.Fatal(err)
	}
	twin.Servers(t, func(t *testing.T, dialect string) {
		for language, file := range map[string]string{"php": "program.php", "ruby": "program.rb", "python": "program.py"} {
			t.Run(language, func(t *testing.T) {
				_, code, _ := strings.Cut(string(page), "```"+language+"\n")
				code, _, _ = strings.Cut(code, "```")
				path := filepath.Join(t.TempDir(), "code")
				if err := os.WriteFile(path, []byte(code), 0o600); err != nil {
					t.Fatal(err)
				}
				p := pair(t, dialect)
				const count = "UPDATE posts SET views = views + 1 WHERE id = 1"
				twin.ExecAll(t, p.Wrapped, count, count) // in slots
				args := slices.Concat([]string{filepath.Join("testdata", file), dialect}, at(t, p), []string{path})
				cmd := exec.CommandContext(t.Context(), interpreters[language], args...)
				var problems strings.Builder
				cmd.Stderr = &problems
				out, err := cmd.Output()
				if want := "1\n1\n0\n1 one 4\n2 two 0\n"; err != nil || string(out) != want {
					t.Errorf("%v\n%s%s\nnot %s", err, problems.String(), out, want)
				}
				if got := twin.Rows(t, p.Wrapped, "SELECT views FROM posts WHERE id = 1"); got != "4" {
					t.Errorf("%s views", got)
				}
			})
		}
	})
}

// pair has a table whose counts go to slots, with the functions and views of slotsql.
func pair(t *testing.T, dialect string) *twin.Pair {
	t.Helper()
	p := twin.New(t, twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE posts (id BIGINT PRIMARY KEY, title VARCHAR(40) NOT NULL, views BIGINT NOT NULL)",
			"INSERT INTO posts VALUES (1, 'one', 0), (2, 'two', 0)",
		},
		Config: "version: 1\nauto_migrate: true\ntables: {posts: {placement: connection, counters: {views: {}}}}\n",
	})
	if err := p.Wrapped.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := twin.Connector(t, p)
	defer c.Close() //nolint:errcheck // it has been used
	if _, err := slotsql.MigrateStored(t.Context(), c, slotsql.Stored{Functions: true, Views: true}); err != nil {
		t.Fatal(err)
	}
	return p
}

// at returns the socket of the server, the user and the database.
func at(t *testing.T, p *twin.Pair) []string {
	t.Helper()
	if p.Dialect == "mysql" {
		c, err := mysql.ParseDSN(p.WrappedDSN)
		if err != nil {
			t.Fatal(err)
		}
		return []string{c.Addr, c.User, c.DBName}
	}
	u, err := url.Parse(p.WrappedDSN)
	if err != nil {
		t.Fatal(err)
	}
	return []string{u.Query().Get("host"), u.Query().Get("user"), strings.TrimPrefix(u.Path, "/")}
}
