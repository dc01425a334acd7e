package random

import (
	"regexp"
	"strings"
	"testing"
)

// The applications have what finds faults: each of these is there many times over.
func TestProduced(t *testing.T) {
	t.Parallel()
	ddl := regexp.MustCompile(`^(ALTER TABLE|CREATE (UNIQUE )?INDEX|CREATE TRIGGER|DROP (TABLE|INDEX|TRIGGER)|TRUNCATE) ?`)
	const seeds, steps = 40, 250
	for _, dialect := range []string{"sqlite", "mysql", "postgres"} {
		found := map[string]int{}
		for seed := range uint64(seeds) {
			inTx, before := map[int]bool{}, New(dialect, seed, steps)
			for _, s := range before.Steps {
				upper := strings.ToUpper(s.SQL)
				switch {
				case s.Kind == Begin, strings.Contains(upper, "BEGIN") && !strings.Contains(upper, "TRIGGER"), strings.HasPrefix(upper, "START"):
					inTx[s.Session] = true
				case s.Kind == Commit, s.Kind == Rollback, upper == "COMMIT", upper == "ROLLBACK":
					inTx[s.Session] = false
				case s.Kind == Change:
					found["change by another client"]++
				case s.Kind == Statement && ddl.MatchString(s.SQL):
					found["change through slotsql"]++
				}
				if s.Kind == Statement && s.Session == Restricted {
					found["role"]++
				}
				if strings.Contains(s.SQL, "drawn()") {
					found["volatile"]++
					if strings.Contains(s.SQL, "AND drawn()") || strings.Contains(s.SQL, "(drawn()") {
						found["volatile predicate"]++
					}
				}
				for kind, shape := range sharedKinds {
					if shape.MatchString(upper) {
						found[kind]++
					}
				}
				if kind := byTwoKind(upper); kind != "" {
					found[kind]++
				}
				if strings.Contains(s.SQL, "nope") {
					found["malformed"]++
				}
				if strings.HasPrefix(upper, "INSERT") && hasNewKey(s) {
					found["new key"]++
					if inTx[s.Session] {
						found["new key in a transaction"]++
					}
				}
			}
		}
		want := []string{"change by another client", "change through slotsql", "malformed", "new key", "new key in a transaction"}
		want = append(want, "touch", "compare and set", "UPDATE by two", "DELETE by two", "INSERT SELECT by two", "upsert by two", "SELECT by two")
		if dialect != "sqlite" {
			want = append(want, "role", "volatile", "volatile predicate") // it has neither roles nor functions of this kind
		}
		for _, what := range want {
			if found[what] < seeds/2 {
				t.Errorf("%s: %s: %d in %d applications", dialect, what, found[what], seeds)
			}
		}
		t.Logf("%s: %v", dialect, found)
	}
}

// sharedKinds are statements that set a touched column, and ones that expect a version and set the next.
var sharedKinds = map[string]*regexp.Regexp{
	"touch":           regexp.MustCompile(`UPDATE .* SET .* = CURRENT_DATE`),
	"compare and set": regexp.MustCompile(`UPDATE .* SET \S+ = (\S+) \+ 1.* WHERE .* AND \S+ ?= ?\S+`),
}

var newKeys = regexp.MustCompile(`\b10\d\d\b`)

// hasNewKey reports whether a statement has a key that no statement has had before
// newKey made it.
func hasNewKey(s Step) bool {
	if newKeys.MatchString(s.SQL) {
		return true
	}
	for _, a := range s.Args {
		if n, ok := a.(int64); ok && n > 1000 && n < 1100 {
			return true
		}
	}
	return false
}

var (
	wheres   = regexp.MustCompile(`\bWHERE (.*)`)
	counters = regexp.MustCompile(`\b(VIEWS|LIKES|SCORE|KARMA|STRIKES|HITS|SIZE|USED|TINY|SPARE)\b`)
)

// byTwoKind says what kind of statement has two counters in its WHERE.
func byTwoKind(upper string) string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(upper, "/* APP:WEB */ "), " ")
	m := wheres.FindStringSubmatch(upper)
	switch {
	case m == nil:
		return ""
	case kind == "INSERT" && strings.Contains(upper, "DO UPDATE"), kind == "INSERT" && strings.Contains(upper, "ON DUPLICATE KEY"):
		kind = "upsert"
	case kind == "INSERT":
		kind = "INSERT SELECT"
	case kind == "SELECT" && (strings.Contains(m[1], "(SELECT") || strings.Contains(upper, "JOIN")):
		return ""
	}
	names := map[string]bool{}
	for _, c := range counters.FindAllString(m[1], -1) {
		names[c] = true
	}
	if len(names) < 2 {
		return ""
	}
	return kind + " by two"
}
