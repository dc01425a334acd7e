package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// The size of what String returns.
const (
	width     = 80
	mostLines = 12
)

// report is made of paragraphs, each of which is cut to so many lines.
type report struct {
	lines []string
	whole bool // nothing is cut
}

// add adds a paragraph under a label.
func (r *report) add(label, text string, most int) {
	if text == "" {
		return
	}
	if label != "" {
		label = fmt.Sprintf("%-8s", label+":")
	}
	lines := wrap(label+text, len(label))
	if len(lines) > most && !r.whole {
		lines = lines[:most]
		lines[most-1] = cut(lines[most-1]+" ...", width)
	}
	r.lines = append(r.lines, lines...)
}

// wrap breaks a text into lines, all but the first one indented.
func wrap(text string, indent int) (lines []string) {
	margin := strings.Repeat(" ", indent)
	for text != "" {
		at := len(text)
		if at > width {
			if at = strings.LastIndexByte(text[:width+1], ' '); at <= indent {
				if at = strings.IndexByte(text[width:], ' ') + width; at < width {
					at = len(text)
				}
			}
		}
		lines = append(lines, strings.TrimRight(text[:at], " "))
		if text = strings.TrimLeft(text[at:], " "); text != "" {
			text = margin + text
		}
	}
	return lines
}

// cut shortens a line to so many bytes.
func cut(line string, most int) string {
	if len(line) <= most {
		return line
	}
	return strings.ToValidUTF8(strings.TrimRight(line[:most-4], " "), "") + " ..."
}

// String returns the verdict, and what happens asleep and awake: at most 12 lines of 80 columns, but for words that are longer.
func (e *Explanation) String() string {
	r := &report{}
	e.summarize(r)
	return strings.Join(r.lines, "\n") + "\n"
}

func (e *Explanation) summarize(r *report) {
	r.add("", oneLine(e.Verdict), 4)
	if strings.Contains(e.Instead, "\n") { // lines for the configuration
		for line := range strings.Lines(e.Instead) {
			r.lines = append(r.lines, "    "+strings.TrimRight(line, "\n"))
		}
	}
	of := e
	if e.Shadow != nil {
		of = e.Shadow
		r.add("", "With mode on, "+oneLine(of.Verdict), 4)
	}
	r.add("asleep", of.Asleep, 2)
	always := "always"
	if of.Asleep != "" {
		always = "awake"
	}
	r.add(always, of.Awake, 2)
	r.add("groups", oneLine(of.Groups), 2)
	for i, p := range of.Parts {
		if left := len(of.Parts) - i; left > 1 && len(r.lines) == mostLines-1 && !r.whole {
			r.add("", fmt.Sprintf("and %d more statements: see --sql", left), 1)
			break
		}
		r.add("", cut(fmt.Sprintf("%d: %s", i+1, oneLine(p.Verdict)), width), 1)
	}
	notes := slices.DeleteFunc(slices.Clone(e.Notes), func(n string) bool { return strings.Contains(e.Verdict, n) })
	for i, n := range notes {
		room := mostLines - len(r.lines)
		if lines := len(wrap("note:   "+oneLine(n), 8)); !r.whole && (lines > room || lines == room && i < len(notes)-1) {
			if room > 0 {
				r.add("note", fmt.Sprintf("%d more: see --sql", len(notes)-i), 1)
			}
			break
		}
		r.add("note", oneLine(n), mostLines)
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Detailed returns what String returns, and behind it the SQL that is sent, with its arguments. The dialect is that of the explained
// statement.
func (e *Explanation) Detailed(d dialect.Dialect) string {
	r := &report{whole: true}
	e.summarize(r)
	r.lines = append(r.lines, "")
	e.detail(r, d.LexRules(), "")
	return strings.Join(r.lines, "\n") + "\n"
}

// margin indents what stands under a label.
func margin(label string) string {
	return label[:len(label)-len(strings.TrimLeft(label, " "))] + "  "
}

//nolint:funlen // one line of the report after another
func (e *Explanation) detail(r *report, rules *lex.Rules, indent string) {
	line := func(label, text string) {
		if text != "" {
			r.lines = append(r.lines, wrap(fmt.Sprintf("%s%-10s %s", indent, label+":", oneLine(text)), len(indent)+11)...)
		}
	}
	statement := func(label, sql string) {
		if strings.TrimSpace(sql) != "" {
			r.lines = append(append(r.lines, indent+label+":"), lex.Clauses(rules, sql, indent+margin(label), width)...)
		}
	}
	statements := func(label string, list []ExplainedStatement) {
		for _, t := range list {
			statement(label, t.SQL)
			line(margin(label)+"args", strings.Join(t.Args, ", "))
		}
	}
	one := func(label string, s *ExplainedStatement) {
		if s != nil {
			statements(label, []ExplainedStatement{*s})
		}
	}
	statement("statement", e.Statement)
	line("class", e.Class)
	line("reason", e.Reason)
	line("tables", strings.Join(e.Tables, ", "))
	line("cold", e.Cold)
	line("bounded", e.Bounded)
	one("group", e.Group)
	line("ungrouped", e.NotGrouped)
	one("increment", e.Increment)
	one("again", e.Again)
	one("again, in a transaction", e.AgainLocked)
	statement("observed", e.Observed)
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
		r.lines = append(r.lines, indent+"with mode on:")
		e.Shadow.detail(r, rules, indent+"  ")
	}
	for i, p := range e.Parts {
		r.lines = append(r.lines, fmt.Sprintf("%spart %d:", indent, i+1))
		p.detail(r, rules, indent+"  ")
	}
}
