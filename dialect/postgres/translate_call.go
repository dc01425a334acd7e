package postgres

import (
	"strings"

	tree "github.com/sqlc-dev/oliphant/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// aggregates are the aggregate functions of the server that may be written
// without anything that shows it. Ordered-set aggregates show WITHIN GROUP.
var aggregates = func() map[string]bool {
	m := map[string]bool{}
	for _, f := range strings.Fields(`any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count
		covar_pop covar_samp every json_agg json_agg_strict json_object_agg json_object_agg_strict
		json_object_agg_unique json_object_agg_unique_strict jsonb_agg jsonb_agg_strict jsonb_object_agg
		jsonb_object_agg_strict jsonb_object_agg_unique jsonb_object_agg_unique_strict max min range_agg
		range_intersect_agg regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy
		regr_syy stddev stddev_pop stddev_samp string_agg sum var_pop var_samp variance xmlagg`) {
		m[f] = true
	}
	return m
}()

// funcName is the name of a function, with its schema where that is not the
// server's own.
func funcName(f *tree.FuncCall) string {
	if len(f.Funcname) == 0 {
		return ""
	}
	name := fold(f.Funcname[len(f.Funcname)-1].GetString_().GetSval())
	if n := len(f.Funcname); n > 1 {
		if schema := fold(f.Funcname[n-2].GetString_().GetSval()); schema != "pg_catalog" {
			return schema + "." + name
		}
	}
	return name
}

// callOpen returns the bracket that opens the arguments of a call whose name
// starts at token i, or -1.
func (t *translator) callOpen(i int) int {
	if i < 0 {
		return -1
	}
	for t.is(i+1, '.') {
		i += 2
	}
	if t.is(i+1, '(') && t.tok[i+1].match > 0 {
		return i + 1
	}
	return -1
}

func (t *translator) callExtent(f *tree.FuncCall) (rng, bool) {
	i := t.index(f.Location)
	open := t.callOpen(i)
	if open < 0 {
		return rng{}, false
	}
	end := t.tok[open].match + 1
	group := func(words ...string) bool {
		at := end
		for _, w := range words {
			if !t.isWord(at, w) {
				return false
			}
			at++
		}
		if !t.is(at, '(') || t.tok[at].match < 0 {
			return false
		}
		end = t.tok[at].match + 1
		return true
	}
	if f.AggWithinGroup && !group("within", "group") {
		return rng{}, false
	}
	if f.AggFilter != nil && !group("filter") {
		return rng{}, false
	}
	if f.Over != nil && !group("over") {
		if !t.isWord(end, "over") || end+2 > len(t.tok) {
			return rng{}, false
		}
		end += 2
	}
	return rng{i, end}, true
}

// call translates a function call written with r. Args holds the arguments,
// then whatever ORDER BY, FILTER and OVER bring in.
func (t *translator) call(f *tree.FuncCall, r rng) *ast.Expr {
	op := funcName(f)
	e := t.node(ast.Call, r, op)
	e.Aggregate = f.AggStar || f.AggFilter != nil || f.Over != nil || f.AggWithinGroup || f.AggDistinct ||
		len(f.AggOrder) > 0 || aggregates[op]
	var runs []rng
	if own, ok := t.callExtent(f); ok && own == r && f.Funcformat != tree.CoercionForm_COERCE_SQL_SYNTAX {
		open := t.callOpen(r.lo)
		in := rng{open + 1, t.tok[open].match}
		if t.is(in.lo, tree.Token_DISTINCT) || t.is(in.lo, tree.Token_ALL) {
			in.lo++
		}
		if len(f.AggOrder) > 0 && !f.AggWithinGroup {
			if at := t.find(in, tree.Token_ORDER); at > 0 {
				in.hi = at
			}
		}
		if runs = t.split(in); f.FuncVariadic && len(runs) > 0 && t.is(runs[len(runs)-1].lo, tree.Token_VARIADIC) {
			runs[len(runs)-1].lo++
		}
	}
	e.Args = t.list(f.Args, runs)
	e.Args = append(e.Args, t.list(f.AggOrder, nil)...)
	if f.AggFilter != nil {
		e.Args = append(e.Args, t.expr(f.AggFilter, t.filter(r)))
	}
	if f.Over != nil {
		t.collect(f.Over.ProtoReflect(), &e.Args)
	}
	return e
}

// filter is what a call written with r has in FILTER (WHERE ...), or nothing.
func (t *translator) filter(r rng) rng {
	for i := t.callOpen(r.lo); i > 0 && i < r.hi; {
		i = t.tok[i].match + 1
		if t.isWord(i, "filter") && t.is(i+1, '(') && t.tok[i+1].match > 0 {
			return rng{i + 3, t.tok[i+1].match}
		}
		if !t.isWord(i, "within") {
			break
		}
		i += 2
	}
	return rng{}
}

// builtin translates COALESCE, GREATEST and LEAST.
func (t *translator) builtin(op string, args []*tree.Node, r rng) *ast.Expr {
	var runs []rng
	if t.is(r.lo+1, '(') && t.tok[r.lo+1].match == r.hi-1 {
		runs = t.split(rng{r.lo + 2, r.hi - 1})
	}
	e := t.node(ast.Call, r, op)
	e.Args = t.list(args, runs)
	return e
}

// subquery translates a subquery expression written with r, or returns nil.
func (t *translator) subquery(s *tree.SubLink, r rng) *ast.Expr {
	at := t.index(s.Location)
	if at < r.lo || at >= r.hi {
		return nil
	}
	open := at
	if s.SubLinkType != tree.SubLinkType_EXPR_SUBLINK {
		if t.is(at, tree.Token_OPERATOR) && t.is(at+1, '(') {
			open = t.tok[at+1].match
		}
		for open = open + 1; open < r.hi && !t.is(open, '('); open++ {
		}
	}
	if !t.is(open, '(') || t.tok[open].match != r.hi-1 || s.Subselect.GetSelectStmt() == nil {
		return nil
	}
	q := t.node(ast.Subquery, rng{open, r.hi}, "")
	q.Query = t.query(s.Subselect.GetSelectStmt(), rng{open + 1, r.hi - 1})
	switch s.SubLinkType {
	case tree.SubLinkType_EXPR_SUBLINK:
		return q
	case tree.SubLinkType_EXISTS_SUBLINK:
		q.Op = "exists"
	case tree.SubLinkType_ARRAY_SUBLINK:
		q.Op = "array"
	default:
		if s.Testexpr == nil || at <= r.lo {
			return nil
		}
		test := t.expr(s.Testexpr, rng{r.lo, at})
		if s.SubLinkType == tree.SubLinkType_ANY_SUBLINK && len(s.OperName) == 0 {
			return t.node(ast.In, r, "", test, q)
		}
		q.Op = "any"
		if s.SubLinkType == tree.SubLinkType_ALL_SUBLINK {
			q.Op = "all"
		}
		q.Args = []*ast.Expr{test}
	}
	q.Span = t.span(r)
	return q
}

// looseSubquery translates a subquery whose test expression has no known
// start. Its query is exact all the same.
func (t *translator) looseSubquery(s *tree.SubLink) *ast.Expr {
	at := t.index(s.Location)
	if at < 0 || s.Subselect.GetSelectStmt() == nil {
		return nil
	}
	if t.is(at, tree.Token_OPERATOR) && t.is(at+1, '(') {
		at = t.tok[at+1].match
	}
	open := at + 1
	for open < len(t.tok) && !t.is(open, '(') {
		open++
	}
	if !t.is(open, '(') || t.tok[open].match < 0 {
		return nil
	}
	end := t.tok[open].match
	q := t.node(ast.Subquery, rng{open, end + 1}, "")
	q.Query = t.query(s.Subselect.GetSelectStmt(), rng{open + 1, end})
	if s.Testexpr == nil {
		return q
	}
	return t.node(ast.Opaque, rng{open, end + 1}, "in", t.loose(s.Testexpr), q)
}
