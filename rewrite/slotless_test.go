package rewrite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
)

// With slots: 0 the statement of every case, of whatever class, runs as it is.
func TestWithoutSlots(t *testing.T) {
	increments := 0
	for _, c := range cases(t) {
		t.Run(c.Class+"/"+c.Name, func(t *testing.T) {
			sql := slotless(t, c)
			for _, d := range c.Dialects {
				s, err := c.Statement(d)
				if err != nil {
					t.Fatal(err)
				}
				pl, err := newPlanner(d, c.Schema(d), sql)
				if err != nil {
					t.Fatalf("%s: %v", d, err)
				}
				plan, err := pl.Plan(s.SQL)
				if err != nil {
					t.Fatalf("%s: %v", d, err)
				}
				runsAsItIs(t, d, s.SQL, plan)
				if plan.Class == rewrite.AdditiveBase {
					increments++
				}
			}
		})
	}
	if increments == 0 {
		t.Error("no statement is known to be an increment")
	}
}

func runsAsItIs(t *testing.T, dialect, sql string, plan *rewrite.Plan) {
	t.Helper()
	asIs := plan.AsIs()
	if plan.Class == rewrite.Multi { // a part of it is not known before it runs
		asIs = true
		for _, part := range plan.Parts {
			runsAsItIs(t, dialect, part.SQL, part.Plan)
		}
	}
	base, read, drain := plan.Base, plan.Read, plan.Drain
	if !asIs || plan.SQL != sql || plan.Increment != nil || len(drain.Tables)+len(drain.Before)+len(drain.After) > 0 ||
		len(base.Changes)+len(base.DeletesFrom) > 0 || base.Fresh || len(read.Stars) > 0 || read.Args != nil ||
		read.Types != nil {
		t.Errorf("%s: the plan of\n%s\nis\n%s", dialect, sql, golden.Print(engines[dialect].LexRules(), sql, plan, true))
	}
}

// slotless is the configuration of a case with slots: 0, and without what is about slots.
func slotless(t *testing.T, c *golden.Case) string {
	t.Helper()
	cfg, err := config.Parse([]byte(c.Config()), "config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("version: 1\ndefaults: {slots: 0}\ntables:\n")
	for _, table := range cfg.Tables() {
		fmt.Fprintf(&b, "  %q:\n", table.Name)
		if table.Key != nil {
			fmt.Fprintf(&b, "    key: [%s]\n", quoted(table.Key))
		}
		fmt.Fprintf(&b, "    routines: [%s]\n    views: [%s]\n", quoted(table.Routines), quoted(table.Views))
		for key, columns := range map[string][]string{"touch": table.Touch, "versions": table.Versions} {
			if len(columns) > 0 {
				fmt.Fprintf(&b, "    %s: [%s]\n", key, quoted(columns))
			}
		}
		if len(table.Counters) > 0 {
			b.WriteString("    counters:\n")
		}
		for _, counter := range table.Counters {
			fmt.Fprintf(&b, "      %q: {}\n", counter.Column)
		}
	}
	return b.String()
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(out, ", ")
}
