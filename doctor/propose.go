package doctor

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/rewrite"
)

// candidate is a configuration of one table that may help.
type candidate struct {
	schema, table string
	counters      []string
	companions    []string
}

// propose finds the counters of a spot's table, nil when there are none: columns
// that a waiting statement assigns, and with which it becomes an increment.
func (l *looker) propose(ctx context.Context, s *Spot) (*candidate, error) {
	t, err := l.table(ctx, s.Schema, s.Table)
	if err != nil || t == nil || t.facts == nil {
		return nil, err
	}
	schema := s.Schema
	if plain, err := l.table(ctx, "", s.Table); err != nil {
		return nil, err
	} else if plain != nil && plain.facts != nil && plain.facts.Schema == schema {
		schema = "" // an application finds it without
	}
	best := &candidate{schema: schema, table: s.Table}
	for _, text := range l.waiting(s) {
		numbers, others := l.assigned(t.facts, text)
		// All numbers that it assigns together, then each alone: one of them may
		// be set and not counted.
		tries := [][]string{numbers}
		for _, n := range numbers {
			if len(numbers) > 1 {
				tries = append(tries, []string{n})
			}
		}
		for _, counters := range tries {
			found := false
			rest := slices.Clone(others)
			for _, n := range numbers {
				if !slices.Contains(counters, n) {
					rest = append(rest, n)
				}
			}
			for _, companions := range [][]string{nil, rest} {
				c := &candidate{schema, s.Table, counters, companions}
				if found, err = l.increments(ctx, c, text); err != nil {
					return nil, err
				}
				if found {
					best.counters, best.companions = union(best.counters, counters), union(best.companions, companions)
					break
				}
			}
			if found {
				break
			}
		}
	}
	if len(best.counters) == 0 {
		return nil, nil
	}
	return best, nil
}

// waiting returns the statements that wait for any row of a spot's table.
func (l *looker) waiting(s *Spot) (out []string) {
	for _, other := range l.report.Spots {
		if other.Schema != s.Schema || other.Table != s.Table {
			continue
		}
		for _, st := range other.Statements {
			if st.full != "" && !st.Cut && !slices.Contains(out, st.full) {
				out = append(out, st.full)
			}
		}
	}
	return out
}

// assigned returns the columns of the table that a statement assigns, numbers
// apart, but for those of its primary key.
func (l *looker) assigned(t *rewrite.Table, text string) (numbers, others []string) {
	st, err := l.dialect.Parse(text)
	if err != nil || st.Target == nil {
		return nil, nil
	}
	set := st.Set
	if st.Conflict != nil {
		set = st.Conflict.Set
	}
	for _, a := range set {
		for i := range t.Columns {
			c := &t.Columns[i]
			if !l.dialect.SameColumn(a.Column[len(a.Column)-1], c.Name) || slices.Contains(numbers, c.Name) || slices.Contains(others, c.Name) {
				continue
			}
			switch {
			case len(t.Uniques) > 0 && slices.Contains(t.Uniques[0].Columns, c.Name):
			case c.Numeric == rewrite.Integer || c.Numeric == rewrite.Decimal:
				numbers = append(numbers, c.Name)
			default:
				others = append(others, c.Name)
			}
		}
	}
	return numbers, others
}

// increments says whether a statement goes to slots with a candidate.
func (l *looker) increments(ctx context.Context, c *candidate, text string) (bool, error) {
	if len(c.counters) == 0 {
		return false, nil
	}
	e, err := l.explain(ctx, c)
	if errors.Is(err, slotsql.ErrConfig) {
		return false, nil // such as a counter in a unique key
	}
	if err != nil {
		return false, err
	}
	defer e.Close()
	x, err := e.Explain(text)
	return err == nil && fast(x.Class), err
}

func (l *looker) explain(ctx context.Context, c *candidate) (*slotsql.Explainer, error) {
	config, err := slotsql.Parse([]byte("version: 1\n"+yamlOf([]*candidate{c})), "proposal")
	if err != nil {
		return nil, err
	}
	return l.options.Explain(ctx, config)
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// yamlOf writes the tables of a configuration.
func yamlOf(list []*candidate) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("tables:\n")
	for _, c := range list {
		b.WriteString("  " + tableName(c) + ":\n    counters:\n")
		for _, column := range c.counters {
			b.WriteString("      " + quoted(column) + ":\n")
		}
		if len(c.companions) > 0 {
			b.WriteString("    companions:\n")
		}
		for _, column := range c.companions {
			b.WriteString("      " + quoted(column) + ": latest\n")
		}
	}
	return b.String()
}

var (
	plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	yamlWords = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
)

func tableName(c *candidate) string {
	parts := []string{c.table}
	if c.schema != "" {
		parts = []string{c.schema, c.table}
	}
	bare := true
	for _, p := range parts {
		bare = bare && plainName.MatchString(p)
	}
	if !bare {
		for i, p := range parts {
			parts[i] = `"` + strings.ReplaceAll(p, `"`, `""`) + `"`
		}
	}
	return quoted(strings.Join(parts, "."))
}

// quoted writes a key of YAML.
func quoted(name string) string {
	bare := !slices.Contains(yamlWords, strings.ToLower(name))
	for _, p := range strings.Split(name, ".") {
		bare = bare && plainName.MatchString(p)
	}
	if bare {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", "''") + "'"
}
