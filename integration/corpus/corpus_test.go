// Package corpus runs the statements of real applications, plain and wrapped side by side, and counts how
// they are planned.
package corpus

import (
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

var (
	corpusFlag = flag.String("corpus", os.Getenv("SLOTSQL_CORPUS"), "file of statements to run plain and wrapped, besides our own")
	fullFlag   = flag.Bool("full", os.Getenv("SLOTSQL_FULL") != "", "run the corpus in all ways a driver can be configured")
)

// application is a program's tables, rows and statements.
type application struct {
	App        string      `yaml:"app"`
	Dialect    string      `yaml:"dialect"`
	DDL        []string    `yaml:"ddl"`
	Counters   []counter   `yaml:"counters"`
	SeedRows   []string    `yaml:"seed_rows"`
	Statements []statement `yaml:"statements"`
	Words      []string    `yaml:"words"` // names that MySQL reserves and MariaDB does not
}

type counter struct {
	Table  string   `yaml:"table"`
	Key    []string `yaml:"key"`
	Column string   `yaml:"column"`
	Min    *int64   `yaml:"min"`
}

type statement struct {
	Kind string   `yaml:"kind"`
	Tags []string `yaml:"tags"`
	SQL  string   `yaml:"sql"`
	Args []any    `yaml:"args"`
}

// variant is one way to use the drivers.
type variant struct {
	name, params string
	prepared     bool
	transaction  bool // each statement, with the increments before it
	adaptive     bool // rows that nobody waits for are counted without slots
	slotless     bool // the default on SQLite
}

// variants of each dialect; without -full only the first runs.
var variants = map[string][]variant{
	"mysql": {
		{name: "default"},
		{name: "prepared", prepared: true},
		{name: "transaction", transaction: true},
		{name: "interpolateParams", params: "interpolateParams=true"},
		{name: "clientFoundRows", params: "clientFoundRows=true"},
		{name: "parseTime", params: "parseTime=true&interpolateParams=true&clientFoundRows=true"},
		{name: "adaptive", adaptive: true},
		{name: "adaptive, transaction", adaptive: true, transaction: true},
		{name: "slots 0", slotless: true},
		{name: "slots 0, transaction", slotless: true, transaction: true},
	},
	"postgres": {
		{name: "default"},
		{name: "prepared", prepared: true},
		{name: "transaction", transaction: true},
		{name: "exec", params: "default_query_exec_mode=exec"},
		{name: "simple_protocol", params: "default_query_exec_mode=simple_protocol"},
		{name: "adaptive", adaptive: true},
		{name: "adaptive, transaction", adaptive: true, transaction: true},
		{name: "slots 0", slotless: true},
		{name: "slots 0, transaction", slotless: true, transaction: true},
	},
	"sqlite": {
		{name: "default"},
		{name: "prepared", prepared: true},
		{name: "transaction", transaction: true},
		{name: "adaptive", adaptive: true},
		{name: "adaptive, transaction", adaptive: true, transaction: true},
		{name: "slots 0", slotless: true},
		{name: "slots 0, transaction", slotless: true, transaction: true},
	},
}

// TestCorpus runs the statements of programs, in order, plain and wrapped side
// by side. Before each, every counter of every row is incremented, so that
// slots are never empty. Everything must be the same, and so must the tables
// be in the end.
func TestCorpus(t *testing.T) {
	for _, file := range corpora(t) {
		testCorpus(t, file, nil)
	}
}

// TestCorpusPlain holds the test above to its word: where both sides are plain
// it must find nothing, so that whatever it finds is ours.
func TestCorpusPlain(t *testing.T) {
	for _, file := range corpora(t) {
		testCorpus(t, file, twin.OpenPlain)
	}
}

func corpora(t *testing.T) []string {
	files := []string{"testdata/statements.yaml"}
	if *corpusFlag == "" {
		t.Log("no further corpus: neither -corpus nor SLOTSQL_CORPUS names one")
		return files
	}
	return append(files, *corpusFlag)
}

func testCorpus(t *testing.T, file string, open twin.Opener) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var apps []application
	if err := yaml.Unmarshal(text, &apps); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, app := range apps {
		ways := variants[app.Dialect]
		if len(ways) == 0 {
			t.Fatalf("%s: no dialect %q", app.App, app.Dialect)
		}
		if !*fullFlag || open != nil {
			ways = ways[:1]
		}
		t.Run(app.App, func(t *testing.T) {
			t.Parallel()
			if len(app.Words) > 0 && server.MySQLVersion(t).MySQL {
				app.quoteWords()
			}
			config, tables := app.configure(t, false)
			for _, v := range ways {
				t.Run(v.name, func(t *testing.T) {
					t.Parallel()
					app.run(t, v, open, config, tables)
				})
			}
			// Names of their own: the runs above have not begun yet.
			companions, counted := app.configure(t, true)
			if open != nil || !strings.Contains(companions, "companions:") {
				return
			}
			for _, v := range ways {
				if v.slotless { // companions need slots
					continue
				}
				t.Run(v.name+", companions", func(t *testing.T) {
					t.Parallel()
					app.run(t, v, open, companions, counted)
				})
			}
		})
	}
}

// quoteWords quotes names that are reserved words, as a program for MySQL does. They are in lower case, as keywords are not.
func (a *application) quoteWords() {
	words := regexp.MustCompile("(^|[^`@.\\w])(" + strings.Join(a.Words, "|") + `)\b`)
	quoted := func(sql string) string { return words.ReplaceAllString(sql, "$1`$2`") }
	for i := range a.DDL {
		a.DDL[i] = quoted(a.DDL[i])
	}
	for i := range a.SeedRows {
		a.SeedRows[i] = quoted(a.SeedRows[i])
	}
	for i := range a.Statements {
		a.Statements[i].SQL = quoted(a.Statements[i].SQL)
	}
}

// mostErrors is where a run stops: after so many the sides have little in
// common.
const mostErrors = 20

func (a application) run(t *testing.T, v variant, open twin.Opener, config string, tables []counterTable) {
	if v.adaptive {
		config += "defaults: {placement: adaptive}\n"
	}
	if v.slotless {
		config += "defaults: {slots: 0}\n"
	}
	p := twin.New(t, twin.Options{
		Dialect: a.Dialect, Schema: slices.Concat(a.DDL, a.SeedRows), Config: config, Params: v.params, Open: open,
	})
	if err := p.Wrapped.PingContext(t.Context()); err != nil {
		t.Fatalf("open wrapped: %v\n%s", err, config)
	}

	errs := 0
	report := func(i int, s statement, ds []twin.Difference) {
		for _, d := range ds {
			if strings.HasPrefix(d.String(), "order") && twin.HiddenOrder(s.SQL) {
				t.Logf("statement %d (%s), rows that may tie: %s\n%s %v", i+1, s.Kind, d, strings.TrimSpace(s.SQL), s.Args)
				continue
			}
			t.Errorf("statement %d (%s): %s\n%s %v", i+1, s.Kind, d, strings.TrimSpace(s.SQL), s.Args)
		}
		if errs += len(ds); errs >= mostErrors {
			t.Fatalf("%d differences, stopping at statement %d of %d\n%s", errs, i+1, len(a.Statements), config)
		}
	}
	run := func(on twin.Sides, s statement) (plain, wrapped twin.Outcome) {
		return on.Run(t.Context(), twin.Statement{
			SQL: s.SQL, Args: s.args(), Prepared: v.prepared && !slices.Contains(s.Tags, "mstmt"),
		})
	}

	var random []int // statements that make rows which differ
	for i, s := range a.Statements {
		if slices.Contains(s.Tags, "rand") {
			random = append(random, i)
			continue
		}
		on, end := p.Outside()
		if v.transaction && !slices.Contains(s.Tags, "mstmt") { // such a call begins its own
			on, end = p.Inside(t)
		}
		report(i, s, incrementCounters(t, on, p, tables))
		plain, wrapped := run(on, s)
		report(i, s, end(plain.Err == nil))
		if i == 0 && open == nil && !v.adaptive && !v.slotless {
			slotted(t, p, tables)
		}
		if plain.Err != nil {
			t.Logf("statement %d (%s): the plain driver says %v", i+1, s.Kind, plain.Err)
		}
		report(i, s, twin.Compare(plain, wrapped))
	}
	ds, err := p.FinalTables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range ds {
		t.Errorf("in the end: %s", d)
	}

	// What the server's chance decides comes last, because tables are not the
	// same from then on. Totals over all rows are.
	for _, i := range random {
		on, _ := p.Outside()
		plain, wrapped := run(on, a.Statements[i])
		if p, w := twin.Class(plain.Err), twin.Class(wrapped.Err); p != w {
			t.Errorf("statement %d (rand): error %s, wrapped %s", i+1, p, w)
		}
		for _, table := range tables {
			for _, c := range table.counters {
				report(i, a.Statements[i], twin.Compare(p.Run(t.Context(), twin.Statement{
					SQL: fmt.Sprintf("SELECT SUM(%s) FROM %s", p.Quote(c), p.Quote(table.name)),
				})))
			}
		}
	}
}

// slotted sees that increments were slotted at all: a wrapper that sends all of
// them to the base rows would pass, and prove nothing.
func slotted(t *testing.T, p *twin.Pair, tables []counterTable) {
	t.Helper()
	sum := 0
	for _, table := range tables {
		var n int
		count := "SELECT COUNT(*) FROM " + p.Quote(table.name+"_slots")
		if err := p.Under.QueryRowContext(t.Context(), count).Scan(&n); err != nil {
			t.Errorf("slot table of %s: %v", table.name, err)
		}
		if n == 0 {
			t.Logf("table %s: no slot rows after the first increments", table.name)
		}
		sum += n
	}
	if sum == 0 && len(tables) > 0 {
		t.Error("no increment of any table was slotted")
	}
}

// args are the arguments as a program would pass them.
func (s statement) args() []any {
	args := slices.Clone(s.Args)
	for i, a := range args {
		if n, ok := a.(uint64); ok && n <= math.MaxInt64 {
			args[i] = int64(n)
		}
	}
	return args
}
