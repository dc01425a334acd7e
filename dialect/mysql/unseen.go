package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// information_schema leaves out what an account may not see, without a word: MariaDB
// lists constraints for those who have rights on the whole database, and columns for
// those who have a right on them. So for an account that has not been granted everything on
// a table, what is missing there says nothing until it is clear that it would be there:
//
//   - every column is seen by who may read all of them;
//   - CHECK constraints are listed where TABLE_CONSTRAINTS has the table's others, and as
//     many of them as CHECK_CONSTRAINTS.
//
// Else SHOW CREATE TABLE tells all, to who has any right on the table as a whole. For the
// rest the table is unseen (schema.Table.Unseen). Triggers: see assumeTriggers.

// unseen reads what information_schema has left out.
func (f *found) unseen(ctx context.Context, s dialect.Session) error {
	var doubtful []*schema.Table
	for _, t := range f.tables {
		if !t.IsView && slices.ContainsFunc(t.Columns, func(c schema.Column) bool { return c.Denied.References }) {
			doubtful = append(doubtful, t)
		}
	}
	if len(doubtful) == 0 {
		return nil
	}
	slices.SortFunc(doubtful, func(a, b *schema.Table) int { return strings.Compare(a.Name, b.Name) })
	listed := map[*schema.Table]bool{}
	if err := f.of(ctx, s, "constraints", "COUNT(CASE WHEN CONSTRAINT_TYPE = 'CHECK' THEN 1 END)", "TABLE_CONSTRAINTS", "TABLE_SCHEMA", "TABLE_NAME",
		" GROUP BY TABLE_NAME", func(t *schema.Table, r []any) { listed[t] = dialect.String(r[0]) == fmt.Sprint(len(t.Checks)) }); err != nil {
		return err
	}
	hidden, err := unreadable(ctx, s, doubtful)
	if err != nil {
		return err
	}
	for _, t := range doubtful {
		if listed[t] && !hidden[t] {
			continue
		}
		if err := define(ctx, s, t); err != nil {
			return err
		}
	}
	return nil
}

// unreadable finds the tables of which the account may not read all columns.
func unreadable(ctx context.Context, s dialect.Session, tables []*schema.Table) (map[*schema.Table]bool, error) {
	out := map[*schema.Table]bool{}
	for part := range slices.Chunk(tables, maxExplained) {
		var from []string
		for i, t := range part {
			from = append(from, fmt.Sprintf("%s AS slotsql_%d", baseTable(t), i))
		}
		_, err := s.Query(ctx, "EXPLAIN SELECT * FROM "+strings.Join(from, " JOIN ")+" WHERE FALSE")
		switch {
		case err == nil:
		case !deniedRight(err):
			return nil, fmt.Errorf("reading the rights on columns: %w", err)
		case len(part) == 1:
			out[part[0]] = true
		default:
			for i := range part {
				one, err := unreadable(ctx, s, part[i:i+1])
				if err != nil {
					return nil, err
				}
				out[part[i]] = one[part[i]]
			}
		}
	}
	return out, nil
}

// define reads the CHECK constraints of a table in its definition.
func define(ctx context.Context, s dialect.Session, t *schema.Table) error {
	rows, err := s.Query(ctx, "SHOW CREATE TABLE "+baseTable(t))
	if err != nil && deniedRight(err) {
		t.Unseen = "the session's user may not see what else there is of the table, such as constraints: grant a right on the whole table, not only on columns"
		return nil
	}
	if err != nil || len(rows) == 0 || len(rows[0]) < 2 {
		return err
	}
	t.Checks, t.Checked = nil, nil
	for _, expr := range checksIn(dialect.String(rows[0][1])) {
		check(t, expr)
	}
	return nil
}

// check notes a CHECK constraint.
func check(t *schema.Table, expr string) {
	c := schema.Check{Columns: mentioned(t, expr), SQL: expr}
	t.Checks = append(t.Checks, c)
	for _, name := range c.Columns {
		if !slices.Contains(t.Checked, name) {
			t.Checked = append(t.Checked, name)
		}
	}
}

// checksIn returns the expressions of the CHECK constraints in a table's definition.
func checksIn(definition string) []string {
	var out []string
	tokens := lex.Tokens(&lexRules, definition)
	at := func(i int) string { return definition[tokens[i].Start:tokens[i].End] }
	for i := 0; i+1 < len(tokens); i++ {
		if tokens[i].Kind != lex.Word || !strings.EqualFold(at(i), "CHECK") || at(i+1) != "(" {
			continue
		}
		depth, from := 0, tokens[i+1].End
		for i++; i < len(tokens); i++ {
			if tokens[i].Kind != lex.Operator {
				continue
			}
			if at(i) == "(" {
				depth++
			} else if at(i) == ")" {
				depth--
			}
			if depth == 0 {
				out = append(out, definition[from:tokens[i].Start])
				break
			}
		}
	}
	return out
}
