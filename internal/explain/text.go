package explain

import (
	"fmt"
	"strings"
)

// String returns several lines.
func (e *Explanation) String() string {
	var b strings.Builder
	e.write(&b, "")
	return b.String()
}

//nolint:funlen // one line of the report after another
func (e *Explanation) write(b *strings.Builder, indent string) {
	line := func(label, text string) {
		if text == "" {
			return
		}
		text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+indent+"           ")
		fmt.Fprintf(b, "%s%-10s %s\n", indent, label+":", text)
	}
	args := func(t ExplainedStatement) {
		if len(t.Args) > 0 {
			line("  args", strings.Join(t.Args, ", "))
		}
	}
	statements := func(label string, list []ExplainedStatement) {
		for _, t := range list {
			line(label, t.SQL)
			args(t)
		}
	}
	one := func(label string, s *ExplainedStatement) {
		if s != nil {
			statements(label, []ExplainedStatement{*s})
		}
	}
	line("statement", e.Statement)
	line("class", e.Class)
	line("reason", e.Reason)
	line("tables", strings.Join(e.Tables, ", "))
	line("cold", e.Cold)
	line("bounded", e.Bounded)
	one("group", e.Group)
	line("ungrouped", e.NotGrouped)
	one("increment", e.Increment)
	one("again", e.Again)
	one("  locked", e.AgainLocked)
	line("observed", e.Observed)
	one("rewritten", e.Rewritten)
	if e.FoldFirst {
		line("fold first", "outside transactions, slots are folded before the query; what follows runs where that leaves some")
	}
	line("requires", strings.Join(e.Requires, "; "))
	line("fallback", e.Fallback)
	one("confirm", e.Confirm)
	statements("proof", e.Proof)
	for _, d := range e.Drains {
		line("drain", d.Table+", "+d.Scope)
		line("  unless", d.Unless)
		line("  missing", d.Missing)
		statements("  lock", d.Lock)
		line("  fold", d.Folding)
		statements("  fold", d.Fold)
	}
	statements("before", e.Before)
	statements("after", e.After)
	if e.Shadow != nil {
		fmt.Fprintf(b, "%swith mode on:\n", indent)
		e.Shadow.write(b, indent+"  ")
	}
	for i, p := range e.Parts {
		fmt.Fprintf(b, "%spart %d:\n", indent, i+1)
		p.write(b, indent+"  ")
	}
	for _, n := range e.Notes {
		line("note", n)
	}
}
