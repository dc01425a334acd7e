package rewrite

import (
	"slices"
	"strconv"
	"strings"
)

// A fragment is a piece of the application's SQL, cut at its placeholders:
// text[0] arg[0] text[1] arg[1] ... text[n].
type fragment struct {
	texts []string
	args  []Arg
}

func literal(s string) fragment { return fragment{texts: []string{s}} }

func bound(a Arg) fragment { return fragment{texts: []string{"", ""}, args: []Arg{a}} }

// cut makes a fragment of a span of the statement.
func (s *source) cut(sp Span) fragment {
	var f fragment
	last := sp.Start
	for _, t := range s.params {
		if t.Start < sp.Start || t.End > sp.End {
			continue
		}
		f.texts = append(f.texts, s.text[last:t.Start])
		f.args = append(f.args, t.arg)
		last = t.End
	}
	f.texts = append(f.texts, s.text[last:sp.End])
	return f
}

// cutEdited makes a fragment of a span with the edits inside it applied.
func (s *source) cutEdited(sp Span, edits []edit) fragment {
	var f fragment
	var b strings.Builder
	sorted := slices.Clone(edits)
	slices.SortStableFunc(sorted, func(a, b edit) int { return a.Start - b.Start })
	last, params := sp.Start, s.params
	for _, e := range append(sorted, edit{Span: Span{sp.End, sp.End}}) {
		if e.Start < last || e.End > sp.End {
			continue
		}
		for len(params) > 0 && params[0].Start < e.Start {
			if params[0].Start >= last {
				b.WriteString(s.text[last:params[0].Start])
				f.texts = append(f.texts, b.String())
				f.args = append(f.args, params[0].arg)
				b.Reset()
				last = params[0].End
			}
			params = params[1:]
		}
		b.WriteString(s.text[last:e.Start])
		b.WriteString(e.text)
		last = e.End
	}
	f.texts = append(f.texts, b.String())
	return f
}

// join concatenates fragments with a separator, each in parentheses.
func join(fs []fragment, sep string) fragment {
	out := fragment{texts: []string{""}}
	for i, f := range fs {
		if i > 0 {
			out.texts[len(out.texts)-1] += sep
		}
		out.texts[len(out.texts)-1] += "(" + f.texts[0]
		out.texts = append(out.texts, f.texts[1:]...)
		out.texts[len(out.texts)-1] += ")"
		out.args = append(out.args, f.args...)
	}
	return out
}

// A template collects the fragments that a dialect's text refers to by marker.
type template struct {
	fragments []fragment
}

const markerByte = "\x00"

// mark returns the marker that stands for f.
func (t *template) mark(f fragment) string {
	t.fragments = append(t.fragments, f)
	return markerByte + strconv.Itoa(len(t.fragments)-1) + markerByte
}

// expand replaces the markers of a dialect's text, numbering placeholders in
// order of occurrence. A placeholder that the engine can refer to twice is
// still written twice: engines infer the type of each on its own.
func (t *template) expand(d Dialect, sql string) Bound {
	var out Bound
	var b strings.Builder
	pieces := strings.Split(sql, markerByte)
	for i, p := range pieces {
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
		for j, text := range f.texts {
			b.WriteString(text)
			if j < len(f.args) {
				out.Args = append(out.Args, f.args[j])
				b.WriteString(d.Placeholder(len(out.Args)))
			}
		}
	}
	out.SQL = b.String()
	return out
}

// expandText replaces the outer markers of a statement only: what they stand for
// may hold markers itself.
func (t *template) expandText(text string) string {
	var b strings.Builder
	pieces := strings.Split(text, markerByte)
	for i, p := range pieces {
		if i%2 == 0 {
			b.WriteString(p)
			continue
		}
		n, _ := strconv.Atoi(p)
		f := t.fragments[n]
		for j, part := range f.texts {
			b.WriteString(part)
			if j < len(f.args) {
				b.WriteString(t.mark(bound(f.args[j])))
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
