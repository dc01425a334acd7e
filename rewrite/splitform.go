package rewrite

import (
	"sort"
	"strings"
)

// This file decides which queries can be split, and finds the parts that the
// split has to write again.

// An orderEntry is one ORDER BY entry as the arms have to write it.
type orderEntry struct {
	expr *Expr
	tail string // ASC, DESC, NULLS FIRST ...
}

func (s *splitter) hasAggregate() bool {
	found := false
	look := func(e *Expr) {
		e.Walk(func(x *Expr) bool {
			found = found || x.Aggregate || x.Kind == Subquery
			return true
		})
	}
	for _, it := range s.q.Items {
		look(it.Expr)
	}
	for _, e := range s.q.OrderBy {
		look(e)
	}
	look(s.q.Where)
	return found || s.limitedByQuery()
}

// limitedByQuery says that LIMIT or OFFSET is a query, which may be of the same
// table: its counters are not the query's own.
func (s *splitter) limitedByQuery() bool {
	found := false
	for _, e := range s.q.Limit {
		e.Walk(func(x *Expr) bool {
			found = found || x.Kind == Subquery
			return !found
		})
	}
	return found
}

// repeatable says that WHERE may be written several times.
func (s *splitter) repeatable() bool { return s.unsteady(s.sc, s.q.Where) == "" }

// places finds the FROM clause and where WHERE stands. The clauses of one
// block follow each other, so the token behind the last item is FROM.
func (s *splitter) places() bool {
	last := s.q.Items[len(s.q.Items)-1]
	i := s.tokenAt(last.End)
	if !s.src.is(i, "FROM") {
		return false
	}
	start := i + 1
	for i++; i < len(s.src.tokens); i++ {
		t := s.src.tokens[i]
		if t.Kind == Word && (s.src.is(i, "WHERE") || s.src.is(i, "ORDER") || s.src.is(i, "LIMIT") || s.src.is(i, "OFFSET")) {
			break
		}
		if t.Kind == Operator && s.src.text[t.Start] != '.' {
			return false
		}
		if t.Kind == Word && !s.isName(t) {
			return false // an index hint, TABLESAMPLE, ...
		}
	}
	if start >= i {
		return false
	}
	s.from = Span{s.src.tokens[start].Start, s.src.tokens[i-1].End}
	s.where = s.from.End
	return s.q.Where == nil || s.src.is(i, "WHERE")
}

// isName says whether a word is part of the source's own name: schema, table,
// AS, alias.
func (s *splitter) isName(t Token) bool {
	w := s.src.text[t.Start:t.End]
	if strings.EqualFold(w, "AS") {
		return true
	}
	for _, n := range s.b.source.Name {
		if strings.EqualFold(w, n.Name) {
			return true
		}
	}
	return s.b.source.Alias != nil && strings.EqualFold(w, s.b.source.Alias.Name)
}

// tokenAt returns the first token that starts at or behind a position.
func (s *splitter) tokenAt(pos int) int {
	return sort.Search(len(s.src.tokens), func(i int) bool { return s.src.tokens[i].Start >= pos })
}

// ordered says whether the query takes the first rows by a counter.
func (s *splitter) ordered() bool {
	if len(s.q.OrderBy) == 0 || len(s.q.Limit) == 0 {
		return false
	}
	for i, e := range s.q.OrderBy {
		x := s.meaning(e)
		if x == nil {
			return false
		}
		t, err := s.resolve(s.sc, x.Name)
		if err != nil || i == 0 && (t == nil || t.column == nil) {
			return false
		}
		tail, ok := s.tail(e)
		if !ok {
			return false
		}
		s.order = append(s.order, orderEntry{x, tail})
	}
	return s.limits()
}

// meaning returns the column that an ORDER BY entry means: itself, or the bare
// column of the select list that its name or position stands for.
func (s *splitter) meaning(e *Expr) *Expr {
	if e.Kind != ColumnRef {
		return nil
	}
	if len(e.Name) > 1 {
		return e
	}
	s.work += len(s.q.Items)
	for _, it := range s.q.Items {
		if s.work > maxWork {
			return nil
		}
		if it.Expr == nil || it.Expr.Kind == Star {
			continue
		}
		x := it.Expr
		for x.Kind == Paren {
			x = x.Args[0]
		}
		name := it.Alias
		if name == nil && x.Kind == ColumnRef {
			name = &x.Name[len(x.Name)-1]
		}
		if name != nil && s.sameLabel(e.Name[0], *name) {
			if x.Kind != ColumnRef {
				return nil
			}
			return x
		}
	}
	return e
}

// tail returns what follows an ORDER BY entry up to the comma or the end of
// the clause.
func (s *splitter) tail(e *Expr) (string, bool) {
	var words []string
	for i := s.tokenAt(e.End); i < len(s.src.tokens); i++ {
		w := strings.ToUpper(s.src.text[s.src.tokens[i].Start:s.src.tokens[i].End])
		switch w {
		case "ASC", "DESC", "NULLS", "FIRST", "LAST":
			words = append(words, w)
		case ",", "LIMIT", "OFFSET":
			return strings.Join(words, " "), true
		default:
			return "", false
		}
	}
	return "", false
}

// limits reads LIMIT n, LIMIT m, n and LIMIT n OFFSET m.
func (s *splitter) limits() bool {
	i := -1
	for j := range s.src.tokens {
		if s.src.is(j, "LIMIT") && s.src.tokens[j].Start >= s.q.OrderBy[len(s.q.OrderBy)-1].End {
			i = j
			break
		}
	}
	if i < 0 {
		return false
	}
	rest := s.src.tokens[i+1:]
	if len(rest) != 1 && !(len(rest) == 3 && (s.src.is(i+2, ",") || s.src.is(i+2, "OFFSET"))) {
		return false
	}
	var numbers []fragment
	for k := 0; k < len(rest); k += 2 {
		if rest[k].Kind != NumberTok && rest[k].Kind != ParamTok {
			return false
		}
		f := s.src.cut(rest[k].Span)
		if len(f.args) == 0 && addDecimal(f.texts[0], "0") == "" {
			return false
		}
		numbers = append(numbers, f)
	}
	s.limit = numbers[0]
	if len(numbers) == 2 {
		s.limit = sum(numbers[0], numbers[1])
	}
	return true
}

// sum adds two limits; engines that take no expression there get one argument
// computed when it is bound.
func sum(a, b fragment) fragment {
	if len(a.args) == 0 && len(b.args) == 0 {
		return literal(addDecimal(a.texts[0], b.texts[0]))
	}
	one := func(f fragment) Arg {
		if len(f.args) > 0 {
			return f.args[0]
		}
		return Arg{Number: f.texts[0], Index: -1}
	}
	return bound(plus(one(a), one(b)))
}

func plus(x, y Arg) Arg {
	if x.Plus != nil {
		y = plus(*x.Plus, y)
	}
	x.Plus = &y
	return x
}

// addDecimal adds two non-negative whole numbers given as text; "" when they
// are not.
func addDecimal(a, b string) string {
	var x, y uint64
	for _, p := range []struct {
		s string
		n *uint64
	}{{a, &x}, {b, &y}} {
		for _, c := range []byte(p.s) {
			if !isDigit(c) || *p.n > 1<<58 {
				return ""
			}
			*p.n = *p.n*10 + uint64(c-'0')
		}
	}
	return formatUint(x + y)
}

func formatUint(n uint64) string {
	if n == 0 {
		return "0"
	}
	var b []byte
	for ; n > 0; n /= 10 {
		b = append([]byte{byte('0' + n%10)}, b...)
	}
	return string(b)
}

// filtered says whether a top-level conjunct compares a counter with
// constants.
func (s *splitter) filtered() bool {
	if s.q.Where == nil {
		return false
	}
	for _, c := range conjuncts(s.q.Where, nil) {
		e := c
		for e.Kind == Paren {
			e = e.Args[0]
		}
		if e.Kind != Binary && e.Kind != In || len(e.Args) < 2 {
			continue
		}
		switch e.Op {
		case "=", "<", ">", "<=", ">=", "":
		default:
			continue
		}
		counters, constants := 0, 0
		for _, a := range e.Args {
			switch {
			case s.isCounter(a):
				counters++
			case constant(a):
				constants++
			}
		}
		if counters == 1 && counters+constants == len(e.Args) && !e.Negated {
			return true
		}
	}
	return false
}

func (s *splitter) isCounter(e *Expr) bool {
	if e.Kind != ColumnRef {
		return false
	}
	t, err := s.resolve(s.sc, e.Name)
	return err == nil && t != nil && t.column != nil
}
