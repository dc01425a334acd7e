package rewrite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// A fragment is a piece of the application's SQL, cut at its placeholders:
// sql[0] arg[0] sql[1] arg[1] ... sql[n].
type fragment struct {
	parts []string
	args  []Arg
}

func literal(s string) fragment { return fragment{parts: []string{s}} }

func bound(a Arg) fragment { return fragment{parts: []string{"", ""}, args: []Arg{a}} }

// cut makes a fragment of a span of the statement.
func (s *source) cut(sp ast.Span) fragment {
	var f fragment
	last := sp.Start
	for _, t := range s.params {
		if t.Start < sp.Start || t.End > sp.End {
			continue
		}
		f.parts = append(f.parts, s.sql[last:t.Start])
		f.args = append(f.args, t.arg)
		last = t.End
	}
	f.parts = append(f.parts, s.sql[last:sp.End])
	return f
}

// cutEdited makes a fragment of a span with the edits inside it applied.
func (s *source) cutEdited(sp ast.Span, edits []edit) fragment {
	var f fragment
	var b strings.Builder
	sorted := slices.Clone(edits)
	slices.SortStableFunc(sorted, func(a, b edit) int { return a.Start - b.Start })
	last, params := sp.Start, s.params
	for _, e := range append(sorted, edit{Span: ast.At(sp.End)}) {
		if e.Start < last || e.End > sp.End {
			continue
		}
		for len(params) > 0 && params[0].Start < e.Start {
			if params[0].Start >= last {
				b.WriteString(s.sql[last:params[0].Start])
				f.parts = append(f.parts, b.String())
				f.args = append(f.args, params[0].arg)
				b.Reset()
				last = params[0].End
			}
			params = params[1:]
		}
		b.WriteString(s.sql[last:e.Start])
		b.WriteString(e.sql)
		last = e.End
	}
	f.parts = append(f.parts, b.String())
	return f
}

// inside reports whether a span holds what is replaced. What is inserted at an end of it belongs to what is around it.
func (e edit) within(sp ast.Span) bool {
	if e.Start == e.End {
		return sp.Start < e.Start && e.End < sp.End
	}
	return sp.Start <= e.Start && e.End <= sp.End
}

func (f fragment) keyValue() KeyValue {
	out := KeyValue{Args: f.args}
	for _, part := range f.parts {
		out.Parts = append(out.Parts, Whole(part))
	}
	return out
}

// join concatenates fragments with a separator, each in parentheses.
func join(fs []fragment, sep string) fragment {
	out := fragment{parts: []string{""}}
	for i, f := range fs {
		if i > 0 {
			out.parts[len(out.parts)-1] += sep
		}
		out.parts[len(out.parts)-1] += "(" + f.parts[0]
		out.parts = append(out.parts, f.parts[1:]...)
		out.parts[len(out.parts)-1] += ")"
		out.args = append(out.args, f.args...)
	}
	return out
}

// A template collects the fragments that a dialect's SQL refers to by marker.
type template struct {
	fragments []fragment
}

const markerByte = "\x00"

// mark returns the marker that stands for f.
func (t *template) mark(f fragment) string {
	t.fragments = append(t.fragments, f)
	return markerByte + strconv.Itoa(len(t.fragments)-1) + markerByte
}

// expand replaces the markers of a dialect's SQL, numbering placeholders in
// order of occurrence. A placeholder that the engine can refer to twice is
// still written twice: engines infer the type of each on its own.
func (t *template) expand(d Dialect, sql string) Bound {
	var out Bound
	out.SQL.same = t.fill(sql, func(a Arg) string {
		out.Args = append(out.Args, a)
		return d.Placeholder(len(out.Args))
	})
	return out
}

// bound is expand for SQL that there may be none of: nil for "".
func (t *template) bound(d Dialect, sql string) *Bound {
	if sql == "" {
		return nil
	}
	b := t.expand(d, sql)
	return &b
}

// pieces is expand without the placeholders.
func (t *template) pieces(sql string) fragment {
	out := fragment{parts: []string{""}}
	for i, p := range strings.Split(sql, markerByte) {
		f := literal(p)
		if n, err := strconv.Atoi(p); i%2 == 1 && err == nil && n >= 0 && n < len(t.fragments) {
			f = t.fragments[n]
		}
		out.parts[len(out.parts)-1] += f.parts[0]
		out.parts = append(out.parts, f.parts[1:]...)
		out.args = append(out.args, f.args...)
	}
	return out
}

// expandSQL replaces the outer markers of a statement only: what they stand for
// may hold markers itself.
func (t *template) expandSQL(sql string) string {
	return t.fill(sql, func(a Arg) string { return t.mark(bound(a)) })
}

// fill replaces each marker by its fragment, whose arguments are what write returns.
func (t *template) fill(sql string, write func(Arg) string) string {
	var b strings.Builder
	for i, p := range strings.Split(sql, markerByte) {
		if i%2 == 0 {
			b.WriteString(p)
			continue
		}
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || n >= len(t.fragments) {
			b.WriteString(p)
			continue
		}
		f := t.fragments[n]
		for j, part := range f.parts {
			b.WriteString(part)
			if j < len(f.args) {
				b.WriteString(write(f.args[j]))
			}
		}
	}
	return b.String()
}

func (t *template) expandAll(d Dialect, sqls []string) []Bound {
	var out []Bound
	for _, s := range sqls {
		out = append(out, t.expand(d, s))
	}
	return out
}
