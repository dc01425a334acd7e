package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/workload"
	internalconfig "github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/digest"
	"github.com/slotsql/slotsql/rewrite"
)

// errFailing means that statements are as --fail-on does not want them.
var errFailing = errors.New("statements fail the check")

// What --fail-on takes, each with the lists that it fails on.
var failOn = map[string][]string{
	"never":   nil,
	"refused": {"refused"},
	"drained": {"refused", "drained"},
	"base":    {"refused", "drained", "base"},
}

var failOnNames = []string{"never", "refused", "drained", "base"}

// statementsReport says what becomes of the statements of a file.
type statementsReport struct {
	File    string             `json:"file"`
	Form    workload.Form      `json:"form"`
	Count   int                `json:"count"`
	Classes []classShare       `json:"classes"`
	Base    []checkedStatement `json:"base"` // increments that run on the base row
	Drained []checkedStatement `json:"drained"`
	Refused []checkedStatement `json:"refused"`
	Failing int                `json:"failing"` // statements that --fail-on fails on
	Notes   []string           `json:"notes,omitempty"`
}

type classShare struct {
	Class string  `json:"class"`
	Count int     `json:"count"`
	Share float64 `json:"share"`
}

// checkedStatement are all statements of one shape that become the same.
type checkedStatement struct {
	Statement string   `json:"statement"`
	Verdict   string   `json:"verdict"` // of slotsql explain
	Reason    string   `json:"reason"`
	Scope     string   `json:"scope,omitempty"`
	Tables    []string `json:"tables"`
	Count     int      `json:"count"`
	Line      int      `json:"line"` // of the first
}

// classOrder is that of a report.
var classOrder = []rewrite.Class{
	rewrite.PassThrough,
	rewrite.Read,
	rewrite.Additive,
	rewrite.Upsert,
	rewrite.AdditiveBase,
	rewrite.Draw,
	rewrite.Drain,
	rewrite.Refused,
}

// verdict is what becomes of one statement, or of one part of a call of
// several.
type verdict struct {
	class  rewrite.Class
	fast   bool
	says   string // the sentence of slotsql explain
	sql    string
	reason string
	scope  string // of a drain
	tables []string
	alone  string // why executions that overlap do not share a statement
}

// judged takes the parts of an explanation apart.
func judged(e *slotsql.Explanation) []verdict {
	if e.Shadow != nil {
		return judged(e.Shadow) // what is to be known of a table in shadow
	}
	if len(e.Parts) > 0 {
		var out []verdict
		for _, p := range e.Parts {
			out = append(out, judged(p)...)
		}
		return out
	}
	fast := e.Speed == string(rewrite.SpeedFast)
	v := verdict{rewrite.Class(e.Class), fast, e.Verdict, e.Statement, e.Reason, e.Scope, e.Tables, e.NotGrouped}
	if strings.HasPrefix(v.reason, rewrite.Rejected) { // the parser's words may hold values
		v.reason = rewrite.Rejected + "; slotsql explain shows where"
		v.says = strings.Replace(e.Verdict, e.Because, v.reason, 1)
	}
	if e.Denied {
		v.class, v.reason = rewrite.Refused, "on_drain: error, and the statement drains: "+v.reason
	}
	return []verdict{v}
}

// list is the one that a statement is on; "" for what is as fast as can be.
func (v verdict) list() string {
	switch {
	case v.class == rewrite.Refused:
		return "refused"
	case v.scope != "" || v.class == rewrite.Drain:
		return "drained"
	case v.class == rewrite.AdditiveBase || v.class == rewrite.Draw:
		return "base"
	}
	return ""
}

// maxVerdicts bounds the statements that are remembered: a log may hold as many as
// it has lines.
const maxVerdicts = 50_000

// tally counts statements by what becomes of them.
type tally struct {
	engine    engine
	explainer *slotsql.Explainer
	cached    map[string][]verdict
	classes   map[rewrite.Class]int
	found     map[string]*checkedStatement
	by        map[*checkedStatement]string // its list
	count     int
}

func newTally(e engine, x *slotsql.Explainer) *tally {
	return &tally{
		e,
		x,
		map[string][]verdict{},
		map[rewrite.Class]int{},
		map[string]*checkedStatement{},
		map[*checkedStatement]string{},
		0,
	}
}

func (t *tally) add(st workload.Statement) error {
	verdicts, ok := t.cached[st.SQL]
	if !ok {
		e, err := t.explainer.Explain(workload.Adapt(t.engine.dialect, st.SQL))
		if err != nil {
			return fmt.Errorf("line %d: %w", st.Line, err)
		}
		verdicts = judged(e)
		if len(t.cached) >= maxVerdicts {
			clear(t.cached)
		}
		t.cached[st.SQL] = verdicts
	}
	for _, v := range verdicts {
		t.count++
		t.classes[v.class]++
		if v.list() == "" {
			continue
		}
		shape := digest.Text(t.engine.dialect.LexRules(), v.sql)
		key := strings.Join([]string{string(v.class), shape, v.says, v.reason, v.scope}, "\x00")
		c := t.found[key]
		if c == nil {
			c = &checkedStatement{Statement: shape, Verdict: v.says, Reason: v.reason, Scope: v.scope, Tables: orEmpty(v.tables), Line: st.Line}
			t.found[key], t.by[c] = c, v.list()
		}
		c.Count++
	}
	return nil
}

func (t *tally) report(file string, form workload.Form, fail string) *statementsReport {
	r := &statementsReport{File: fileName(file), Form: form, Count: t.count, Classes: []classShare{}}
	for _, class := range classOrder {
		if n := t.classes[class]; n > 0 {
			r.Classes = append(r.Classes, classShare{string(class), n, float64(n) / float64(t.count)})
		}
	}
	of := func(list string) []checkedStatement {
		out := []checkedStatement{}
		for _, c := range t.found {
			if t.by[c] == list {
				out = append(out, *c)
			}
		}
		slices.SortFunc(out, func(a, b checkedStatement) int {
			return cmp.Or(
				cmp.Compare(b.Count, a.Count),
				cmp.Compare(a.Line, b.Line),
				cmp.Compare(a.Statement, b.Statement),
				cmp.Compare(a.Reason, b.Reason),
				cmp.Compare(a.Scope, b.Scope),
			)
		})
		return out
	}
	r.Base, r.Drained, r.Refused = of("base"), of("drained"), of("refused")
	for c, list := range t.by {
		if slices.Contains(failOn[fail], list) {
			r.Failing += c.Count
		}
	}
	return r
}

// checkStatements reports what becomes of the statements of a file.
func (o *options) checkStatements(
	cmd *cobra.Command, e engine, config *internalconfig.Config, file, fail string,
) (*statementsReport, error) {
	x, err := o.explainer(cmd, e, config)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	t := newTally(e, x)
	order := workload.NewOrder(e.dialect)
	form, err := readStatements(cmd, e, file, func(st workload.Statement) error {
		order.Add(st)
		return t.add(st)
	})
	if err != nil {
		return nil, err
	}
	r := t.report(file, form, fail)
	r.Notes = orderNotes(order, form)
	return r, nil
}

func (o *options) explainer(cmd *cobra.Command, e engine, config *internalconfig.Config) (*slotsql.Explainer, error) {
	if o.schema != "" {
		f, err := o.schemaFile(e)
		if err != nil {
			return nil, err
		}
		return f.Explainer(config)
	}
	c, err := o.connector(e, config)
	if err != nil {
		return nil, err
	}
	return slotsql.NewExplainer(cmd.Context(), c)
}

func (r *statementsReport) print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s, read as %s\n", r.File, number(r.Count, "statement"), r.Form.Text)
	for _, c := range r.Classes {
		fmt.Fprintf(w, "  %-14s %10s  %5.1f %%\n", c.Class, humanize.Comma(int64(c.Count)), 100*c.Share)
	}
	list := func(title string, statements []checkedStatement) {
		if len(statements) == 0 {
			return
		}
		fmt.Fprintf(w, "%s:\n", title)
		for _, c := range statements {
			fmt.Fprintf(w, "  %s, line %d: %s\n    %s\n", number(c.Count, "time"), c.Line, c.Statement, c.Verdict)
		}
	}
	list("on the base row", r.Base)
	list("drained while the table is awake", r.Drained)
	list("refused", r.Refused)
	for _, n := range r.Notes {
		fmt.Fprintln(w, "note: "+n)
	}
	if r.Failing > 0 {
		fmt.Fprintf(w, "%s that --fail-on rejects\n", number(r.Failing, "statement"))
	}
}

// number writes a number of things.
func number(n int, what string) string {
	s := humanize.Comma(int64(n)) + " " + what
	if n != 1 {
		s += "s"
	}
	return s
}
