package corpus

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

var updateCoverage = flag.Bool("update-coverage", false, "write testdata/coverage.md from the corpus")

// TestCoverage plans every statement of the corpus and holds how many run
// natively against what the project promises. With -update-coverage it writes
// integration/corpus/testdata/coverage.md.
func TestCoverage(t *testing.T) {
	if *corpusFlag == "" {
		t.Log("no corpus to judge: neither -corpus nor SLOTSQL_CORPUS names one")
		return
	}
	text, err := os.ReadFile(*corpusFlag)
	if err != nil {
		t.Fatal(err)
	}
	var apps []application
	if err := yaml.Unmarshal(text, &apps); err != nil {
		t.Fatal(err)
	}
	c := coverage{classes: map[string]map[string]int{}}
	for _, app := range apps {
		config, _ := app.configure(t, true)
		p := twin.New(t, twin.Options{Dialect: app.Dialect, Schema: slices.Concat(app.DDL, app.SeedRows), Config: config})
		for _, s := range app.Statements {
			e, err := slotsql.Explain(t.Context(), p.Wrapped, s.SQL)
			if err != nil {
				t.Fatalf("%s: %v\n%s", app.App, err, s.SQL)
			}
			c.add(app, s, e)
		}
	}
	if native, all := c.reads(); float64(native) < 0.97*float64(all) {
		t.Errorf("%d of %d reads are native, less than 97 %%", native, all)
	}
	if slotted, all := c.slotted, c.slottable; float64(slotted) < 0.9*float64(all) {
		t.Errorf("%d of %d increments by a key, with companions or not, and upserts are slotted, less than 90 %%", slotted, all)
	}
	if *updateCoverage {
		if err := os.WriteFile("testdata/coverage.md", []byte(c.report()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

type coverage struct {
	classes            map[string]map[string]int // kind -> class -> statements
	reasons            map[reason]*occurrences   // of drains, refusals, and increments that are not slotted
	slotted, slottable int
}

// reason is why statements are not as fast as they could be, and how they run instead.
type reason struct{ why, class string }

type occurrences struct {
	n       int
	apps    []string
	example string // the shortest
}

func (c *coverage) note(why string, app application, s statement, class string) {
	if c.reasons == nil {
		c.reasons = map[reason]*occurrences{}
	}
	r := reason{why, class}
	o := c.reasons[r]
	if o == nil {
		o = &occurrences{example: s.SQL}
		c.reasons[r] = o
	}
	o.n++
	if !slices.Contains(o.apps, app.App) {
		o.apps = append(o.apps, app.App)
	}
	if len(s.SQL) < len(o.example) {
		o.example = s.SQL
	}
}

func (c *coverage) add(app application, s statement, e *slotsql.Explanation) {
	if c.classes[s.Kind] == nil {
		c.classes[s.Kind] = map[string]int{}
	}
	c.classes[s.Kind][e.Class]++
	// One heading for all counters, and for all places of a syntax error.
	for _, prefix := range []string{"the statement sets counter", "the parser rejects the statement", "the value given for column"} {
		if strings.HasPrefix(e.Reason, prefix) {
			e.Reason = prefix
		}
	}
	increment := s.Kind == "increment" || s.Kind == "decrement"
	slotted := e.Class == "additive" || e.Class == "upsert"
	if e.Class == "drain" || e.Class == "draw" || e.Class == "refused" || increment && !slotted {
		why := e.Reason
		if e.Class == "pass-through" {
			why = "no column it touches is a counter that can be slotted: the table has no key, or the column is too narrow or a text"
		}
		c.note(why, app, s, e.Class)
	}
	if !increment {
		return
	}
	// What slots are for: one row by a key, alone or with columns that can be
	// companions, and upserts. Other ordinary columns, guards, clamps, several
	// rows and counters that RETURNING reads are other shapes.
	has := func(tags ...string) bool {
		return slices.ContainsFunc(tags, func(x string) bool { return slices.Contains(s.Tags, x) })
	}
	if has("ret", "trap", "insel") ||
		!has("up") &&
			(!has("k1") || has("bw", "cl", "mr", "val", "nokey", "save") || strings.HasSuffix(e.Reason, "also sets ordinary columns")) {
		return
	}
	c.slottable++
	if slotted {
		c.slotted++
	}
}

func short(sql string) string {
	line := strings.ReplaceAll(strings.Join(strings.Fields(sql), " "), "`", "")
	if len(line) > 80 {
		line = line[:80] + " ..."
	}
	return line
}

func (c *coverage) reads() (native, all int) {
	for class, n := range c.classes["read"] {
		all += n
		if class != "drain" && class != "draw" && class != "refused" {
			native += n
		}
	}
	return native, all
}

func (c *coverage) report() string {
	var b strings.Builder
	b.WriteString("# Coverage\n\nFor contributors: how the statements that real applications send against counter columns run. Written by\n" +
		"`go test ./integration/corpus -run TestCoverage -corpus FILE -update-coverage`. The test fails when less than 97 % of the reads are native,\n" +
		"or less than 90 % of the increments by a key and upserts are slotted.\n\n")
	classes := []string{"pass-through", "read", "additive", "upsert", "additive-base", "multi", "draw", "drain", "refused"}
	b.WriteString("| kind | " + strings.Join(classes, " | ") + " |\n|---" + strings.Repeat("|---", len(classes)) + "|\n")
	for _, kind := range slices.Sorted(maps.Keys(c.classes)) {
		b.WriteString("| " + kind)
		for _, class := range classes {
			n := ""
			if v := c.classes[kind][class]; v > 0 {
				n = fmt.Sprint(v)
			}
			b.WriteString(" | " + n)
		}
		b.WriteString(" |\n")
	}
	native, all := c.reads()
	fmt.Fprintf(
		&b,
		"\n- reads that need no drain: %d of %d\n- increments and decrements by a key, alone or with companions, and upserts that are slotted: %d of %d\n",
		native,
		all,
		c.slotted,
		c.slottable,
	)
	b.WriteString(
		"\n## What is not slotted, by reason\n\nIncrements that are not slotted, and all statements that drain, with the shortest example of each reason. " +
			"All of them are right:\n`additive-base` and `pass-through` run as they are, as contended as plain; `drain` folds the slots first.\n\n",
	)
	order := func(x, y reason) int { return cmp.Or(cmp.Compare(x.class, y.class), cmp.Compare(x.why, y.why)) }
	for _, r := range slices.SortedFunc(maps.Keys(c.reasons), order) {
		o := c.reasons[r]
		fmt.Fprintf(&b, "- %s, %d (%s): %s\n\n  `%s`\n", r.class, o.n, strings.Join(o.apps, ", "), r.why, short(o.example))
	}
	return b.String()
}
