package session

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Several queries of totals in one call are sent in one call, each in the form that it has alone. Nothing
// is drained for them but what the transaction has changed itself, and they run where nothing may be written.

// readTogether runs such queries that are sent by Query.
func readTogether(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if !r.call.wantsRows {
		return answer{}, false, nil
	}
	a.rows, err = readingOf(r).queryReads(ctx)
	return a, a.rows != nil, err
}

// queryReads runs a call whose statements are all such queries, or concern no counter. It returns
// no rows if they are not.
func (rd reading) queryReads(ctx context.Context) (driver.Rows, error) {
	c := rd.conn
	if _, unprepared := rd.run.sender.(direct); !unprepared || len(rd.run.call.args) > 0 || c.ReadsDirty() {
		return nil, nil
	}
	var touched []*schema.Table
	var parts []*Run
	var queries []string
	for _, p := range rd.run.Plan.Parts {
		if !onlyReads(&p) {
			return nil, nil
		}
		alone := planOf(p.Plan)
		alone.source, alone.tally = p.SQL, countsOf(c, p.Plan, p.SQL)
		part := c.newRun(alone, rd.run.sender, rd.run.call)
		if err := part.CheckStars(ctx); err != nil {
			return nil, err
		}
		parts, queries = append(parts, part), append(queries, part.Plan.SQL)
		touched = append(touched, part.Plan.Touched...)
	}
	shaped := slices.ContainsFunc(parts, func(part *Run) bool { return part.Plan.Read.Types != nil })
	if shaped && (c.Shared.Traits.OneWriter || !allReturn(parts)) {
		return nil, nil
	}
	if err := rowChangesOf(rd.run).drainChanges(ctx, touched); err != nil {
		return nil, err
	}
	sets := &typedSets{parts: parts}
	for _, part := range parts {
		part.Plan.tally.statements.Add(1)
		part.Plan.tally.exact.Add(1)
		var types []ColumnType
		if part.Plan.Read.Types != nil {
			var err error
			if types, err = readingOf(part).queryShape(ctx); err != nil {
				return nil, err
			}
		}
		sets.types = append(sets.types, types)
	}
	var err error
	sets.sent, err = c.ParentQuery(ctx, strings.Join(queries, "\n;"), rd.run.call.options) // a comment ends with its line
	if err != nil || !shaped {
		return sets.sent, err
	}
	sets.begin()
	return sets, nil
}

// onlyReads reports whether a statement of a call is a query of totals, or one without any effect on counters.
func onlyReads(p *rewrite.Part) bool {
	return (p.Plan.Class == rewrite.Read || p.Plan.Class == rewrite.PassThrough) && p.Plan.Effects == 0 && !p.Dynamic &&
		!p.TxBegin && !p.TxEnd && len(p.Plan.Base.Changes) == 0
}

// allReturn reports whether each statement certainly returns one result set.
func allReturn(parts []*Run) bool {
	for _, part := range parts {
		if part.Plan.Read.Types != nil {
			continue
		}
		query := part.Plan.SQL
		for i, t := range lex.Tokens(part.conn.Dialect().LexRules(), query) {
			word := strings.ToUpper(query[t.Start:t.End])
			if word == "INTO" || i == 0 && word != "SELECT" && word != "VALUES" && word != "TABLE" {
				return false
			}
		}
	}
	return true
}

// typedSets are the result sets of several queries, each with the column types of the application's own SQL.
type typedSets struct {
	link.RowsBase // the set that is being read
	sent          driver.Rows
	parts         []*Run         // of the sets that follow
	types         [][]ColumnType // theirs; nil where they are the parent's
}

// begin begins a result set.
func (s *typedSets) begin() {
	s.Rows = s.sent
	if len(s.parts) == 0 {
		return
	}
	if s.types[0] != nil {
		s.Rows = readingOf(s.parts[0]).withTypes(s.sent, s.types[0])
	}
	s.parts, s.types = s.parts[1:], s.types[1:]
}

// HasNextResultSet implements driver.RowsNextResultSet.
func (s *typedSets) HasNextResultSet() bool { return link.RowsBase{Rows: s.sent}.HasNextResultSet() }

// NextResultSet implements driver.RowsNextResultSet.
func (s *typedSets) NextResultSet() error {
	if err := (link.RowsBase{Rows: s.sent}).NextResultSet(); err != nil {
		return err
	}
	s.begin()
	return nil
}
