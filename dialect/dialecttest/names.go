package dialecttest

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// odd are names that have to be quoted.
var odd = []string{"Select", "a b", `a"b`, "a`b", "a'b", "a]b", "1a", "ü", "a--b", "a/*b", "a?b", "$1", "a;b"}

// names holds that a quoted name reads back as itself, for the scanner and for the
// parser, that placeholders are ones, and that names of tables fit.
func (o Options) names(t *testing.T) {
	d := o.Dialect
	for _, name := range odd {
		q := d.Quote(name)
		if toks := lex.Tokens(d.LexRules(), q); len(toks) != 1 || toks[0].Kind != lex.QuotedIdent {
			t.Errorf("%s is no quoted identifier: %+v", q, toks)
		}
		sql := "SELECT " + q + " FROM " + q
		st, err := d.Parse(sql)
		if err != nil || st.Opaque != "" || st.Select == nil || len(st.Select.From) != 1 || len(st.Select.Items) != 1 {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		e, from := st.Select.Items[0].Expr, st.Select.From[0]
		if e.Kind != ast.ColumnRef || len(e.Name) != 1 || e.Name[0] != (ast.Ident{Name: name, Quoted: true}) {
			t.Errorf("%s: column %+v", sql, e)
		}
		if len(from.Name) != 1 || !d.SameTable(from.Name[0], name) || !d.SameColumn(from.Name[0], name) {
			t.Errorf("%s: table %+v", sql, from.Name)
		}
		if other := (ast.Ident{Name: name + "x", Quoted: true}); d.SameTable(other, name) || d.SameColumn(other, name) {
			t.Errorf("%s is the same as %s", other.Name, name)
		}
	}
	if !d.SameColumn(ast.Ident{Name: "Views"}, "views") {
		t.Error("a bare column's letter case counts")
	}
	sql := "SELECT " + d.Placeholder(1) + ", " + d.Placeholder(2)
	var params []string
	for _, tok := range lex.Tokens(d.LexRules(), sql) {
		if tok.Kind == lex.Param {
			params = append(params, sql[tok.Start:tok.End])
		}
	}
	if len(params) != 2 || params[0] != d.Placeholder(1) || params[1] != d.Placeholder(2) {
		t.Errorf("placeholders of %s: %q", sql, params)
	}
	rules := d.NameRules()
	for _, stored := range []string{"posts", strings.Repeat("x", 70), strings.Repeat("é", 70)} {
		if name := rules.SlotTable(stored); rules.TooLong(name) || name != rules.SlotTable(stored) {
			t.Errorf("slot table %s of %s", name, stored)
		}
	}
	if rules.Chars+rules.Bytes > 0 && (rules.TooLong("posts") || !rules.TooLong(strings.Repeat("x", rules.Chars+rules.Bytes+1))) {
		t.Errorf("%+v", rules)
	}
}
