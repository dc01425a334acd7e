package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/slotsql/slotsql"

// layer is a rule for the packages of this module that it matches, without
// their tests.
type layer struct {
	name    string
	matches func(path string) bool
	// direct and all are what these packages may not import themselves, and
	// not even through others: a path, or a tree that ends with "/...".
	direct, all []string
	allowed     []string // exceptions
	why         string
}

var (
	drivers = []string{
		"github.com/go-sql-driver/mysql/...", "github.com/jackc/pgx/...",
		"modernc.org/sqlite/...", "github.com/mattn/go-sqlite3/...",
	}
	parsers = []string{
		"github.com/pingcap/...", "github.com/sqlc-dev/...",
	}
	layers = []layer{{
		name:    "rewrite",
		matches: func(p string) bool { return within(p, module+"/rewrite/...") },
		direct: []string{
			"os/...", "io/...", "net/...", "time", "context", "log/...", "math/rand/...", "crypto/rand",
			"database/sql/...", "syscall", "bufio", "runtime/...",
		},
		all:     []string{module + "/..."},
		allowed: []string{module + "/rewrite/..."},
		why:     "rewrite is pure, and the lowest layer",
	}, {
		name:    "lex",
		matches: func(p string) bool { return p == module+"/rewrite/lex" },
		all:     []string{module + "/..."},
		why:     "tokens know no plan",
	}, {
		name:    "ast",
		matches: func(p string) bool { return p == module+"/rewrite/ast" },
		all:     []string{module + "/..."},
		why:     "the neutral statement knows no table and no plan",
	}, {
		name:    "schema",
		matches: func(p string) bool { return p == module+"/rewrite/schema" },
		all:     []string{module + "/..."},
		why:     "facts of tables know no statement and no plan",
	}, {
		name:    "names",
		matches: func(p string) bool { return p == module+"/rewrite/names" },
		all:     []string{module + "/..."},
		allowed: []string{module + "/rewrite/ast", module + "/rewrite/schema"},
		why:     "names are resolved by the statement and the facts of tables alone",
	}, {
		name:    "dialect",
		matches: func(p string) bool { return within(p, module+"/dialect/...") },
		all:     append([]string{module + "/..."}, drivers...),
		allowed: []string{module + "/rewrite/...", module + "/dialect/..."},
		why:     "dialects sit on rewrite, and need no driver",
	}, {
		name:    "root",
		matches: func(p string) bool { return p == module },
		direct:  []string{module + "/..."},
		all:     append(append([]string{module + "/dialect/..."}, drivers...), parsers...),
		allowed: []string{
			module, module + "/rewrite/...", module + "/dialect", module + "/internal/...",
		},
		why: "an importer of the root package pays for no driver and no parser",
	}, {
		name: "leaves",
		matches: func(p string) bool {
			return within(p, module+"/...") && !within(p, module+"/examples/...") && !within(p, module+"/integration/...")
		},
		all: []string{module + "/cmd/...", module + "/examples/...", module + "/integration/..."},
		why: "nothing imports the command, examples and integration tests",
	}, {
		name: "library",
		matches: func(p string) bool {
			return within(p, module+"/...") && !within(p, module+"/examples/...") && !within(p, module+"/integration/...")
		},
		all: []string{
			"github.com/spf13/...", "github.com/redis/...", "github.com/jedib0t/...", "github.com/schollz/...", "github.com/HdrHistogram/...",
			"github.com/alicebob/...", "github.com/yuin/...", "golang.org/x/tools/...", "golang.org/x/term",
		},
		why: "what the command and tests use is in no importer's go.sum",
	}}
)

// core are the packages below the root, from the lowest up, with those of this
// module that each may import beside rewrite and dialect, themselves or through
// another one.
var core = []struct {
	name   string
	allows []string
}{
	{"config", nil},
	{"link", nil},
	{"slots", nil},
	{"argument", []string{"slots"}},
	{"digest", nil},
	{"tally", nil},
	{"catalog", []string{"config", "link"}},
	{"session", []string{"config", "link", "slots", "argument", "digest", "tally", "catalog"}},
	{"rollup", []string{"config", "link", "slots", "catalog"}},
	{"explain", []string{"config", "link", "slots", "argument", "digest", "tally", "catalog", "session"}},
	{"shadow", []string{"config", "link", "slots", "argument", "digest", "tally", "catalog", "session"}},
	{"verify", []string{"config", "link", "slots", "argument", "digest", "tally", "catalog", "session", "rollup", "explain"}},
	{"upkeep", []string{"config", "link", "slots", "argument", "digest", "tally", "catalog", "session", "rollup", "explain", "verify"}},
}

func init() {
	for _, c := range core {
		l := layer{
			name:    c.name,
			matches: func(p string) bool { return p == module+"/internal/"+c.name },
			all:     append([]string{module + "/..."}, append(drivers, parsers...)...),
			allowed: []string{module + "/rewrite/...", module + "/dialect"},
			why:     "the core's imports point down",
		}
		for _, i := range c.allows {
			l.allowed = append(l.allowed, module+"/internal/"+i)
		}
		layers = append(layers, l)
	}
}

// TestImports holds the direction of imports.
func TestImports(t *testing.T) {
	matched := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(goList(t, "-deps", "-json=ImportPath,Imports,Deps", "./..."))); ; {
		var p struct {
			ImportPath    string
			Imports, Deps []string
		}
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, l := range layers {
			if !l.matches(p.ImportPath) {
				continue
			}
			matched[l.name] = true
			check := func(imports, denied []string, how string) {
				for _, i := range imports {
					hit := func(tree string) bool { return within(i, tree) }
					if slices.ContainsFunc(denied, hit) && !slices.ContainsFunc(l.allowed, hit) {
						t.Errorf("%s imports %s%s: %s", p.ImportPath, i, how, l.why)
					}
				}
			}
			check(p.Imports, l.direct, "")
			check(p.Deps, l.all, " (perhaps through another package)")
		}
	}
	for _, l := range layers {
		if !matched[l.name] {
			t.Errorf("no package is of layer %q", l.name)
		}
	}
}

// within reports whether the path is the pattern, or in its tree.
func within(path, pattern string) bool {
	tree, ok := strings.CutSuffix(pattern, "/...")
	return path == tree || ok && strings.HasPrefix(path, tree+"/")
}

// TestUsersBuild: what only the command does is in its own module (cmd/slotsql), and in no program that imports slotsql.
// So a package of this module's internal/ is part of what users import.
func TestUsersBuild(t *testing.T) {
	imported := []string{".", "./dialect/...", "./doctor", "./mysql", "./postgres", "./rewrite/...", "./sqlite", "./status"}
	linked := list(t, append([]string{"-deps"}, imported...)...)
	for _, p := range linked {
		if within(p, module+"/cmd/...") {
			t.Errorf("a program that imports slotsql links %s", p)
		}
	}
	for _, p := range list(t, "./internal/...") {
		if !slices.Contains(linked, p) {
			t.Errorf("%s is in no program that imports slotsql: if it is the command's, move it to cmd/slotsql/internal", p)
		}
	}
}

// list returns the packages that go list prints, in the root module alone.
func list(t *testing.T, args ...string) []string {
	t.Helper()
	return strings.Fields(string(goList(t, args...)))
}

// goList is what go list prints of this module alone.
func goList(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("go list: %s", exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEngineAlone: who imports the package of one engine links the driver and the parser of no other one.
func TestEngineAlone(t *testing.T) {
	own := map[string][]string{
		"mysql":    {"github.com/go-sql-driver/...", "github.com/pingcap/...", module + "/dialect/mysql/..."},
		"postgres": {"github.com/jackc/...", "github.com/sqlc-dev/oliphant/...", module + "/dialect/postgres/..."},
		"sqlite":   {"modernc.org/...", "github.com/sqlc-dev/meyer/...", module + "/dialect/sqlite/..."},
	}
	for engine := range own {
		deps := list(t, "-deps", "./"+engine)
		for other, trees := range own {
			for _, tree := range trees {
				if linked := slices.ContainsFunc(deps, func(p string) bool { return within(p, tree) }); linked != (other == engine) {
					t.Errorf("%s links %s: %v", engine, tree, linked)
				}
			}
		}
	}
}

// TestNoServers: tests of the planner and of the core need no server, so that they take seconds.
func TestNoServers(t *testing.T) {
	if slices.Contains(list(t, "-deps", "-test", "./rewrite/...", "./internal/..."), module+"/integration/server") {
		t.Error("a test of rewrite or internal needs a server: put it into integration")
	}
}
