package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// MySQL compares a string with a time, a UUID or an address by converting one of
// them, and what becomes of a string that does not have the type's own form, such
// as 2026-01-02T00:00:00Z for a DATE, depends on the statement: an UPDATE may find
// no row by it where the SELECT of a slotted upsert finds one, and in strict mode
// the latter fails where the former does not. So a row whose key is given in
// another form is not addressed by it: the statement runs on the base row, and a
// drain covers all rows.

// KeyForm is the form that a string has to have to be certainly compared as the
// value of a key column that it is stored as.
type KeyForm uint8

// The forms.
const (
	AnyString KeyForm = iota
	DateTime          // 2026-01-02, with or without 00:00:00 and a fraction
	TimeOfDay         // 00:00:00
	UUID              // with its four dashes
	NoString
)

// FormArg is an argument that a key column is compared with.
type FormArg struct {
	Arg  Arg
	Form KeyForm
}

// Fits reports whether a string has the form.
func (f KeyForm) Fits(s string) bool {
	switch f {
	case AnyString:
		return true
	case DateTime:
		return timeText(s)
	case TimeOfDay:
		return len(s) == len("00:00:00") && timeText("2000-01-01 "+s)
	case UUID:
		if len(s) != 36 {
			return false
		}
		for i := range len(s) {
			dash := i == 8 || i == 13 || i == 18 || i == 23
			if dash != (s[i] == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", rune(s[i])) {
				return false
			}
		}
		return true
	}
	return false
}

// fitsForm is Fits for a string of the statement.
func (cs *constants) fitsForm(f KeyForm, s string) bool {
	return f == AnyString || f.Fits(cs.noted(s))
}

// keyForms has the forms by what a type's name begins with. The first that fits counts.
var keyForms = []struct {
	prefix string
	form   KeyForm
}{{"date", DateTime}, {"timestamp", DateTime}, {"time", TimeOfDay}, {"uuid", UUID}, {"inet", NoString}}

// keyForm is the form that strings compared with a column need.
func (cs *constants) keyForm(c *schema.Column) KeyForm {
	if !cs.d.Traits().LooseEquality || c == nil {
		return AnyString
	}
	typ := strings.ToLower(c.Type)
	for _, f := range keyForms {
		if strings.HasPrefix(typ, f.prefix) {
			return f.form
		}
	}
	return AnyString
}

// forms are the arguments of a key's values that need a form.
func (cs *constants) forms(args []keyArg) (out []FormArg) {
	for _, k := range args {
		if form := cs.keyForm(k.column); form != AnyString {
			out = append(out, FormArg{k.arg, form})
		}
	}
	return out
}

// comparedForms is forms for the rest of WHERE: what else stands beside a column of
// such a type. Not ok is a literal in another form.
func (sw slotWriter) comparedForms() (out []FormArg, ok bool) {
	if sw.m.st.Where == nil || sw.m.table == nil || !sw.p.d.Traits().LooseEquality {
		return nil, true
	}
	ok = true
	for _, c := range equalities(sw.m.st.Where) {
		form := AnyString
		c.Walk(func(x *ast.Expr) bool {
			if x.Kind == ast.ColumnRef {
				if f := sw.p.consts.keyForm(sw.m.table.Column(sw.p.names.TargetColumn(sw.m.sc, sw.m.target, x.Name))); f != AnyString {
					form = f
				}
			}
			return true
		})
		if form == AnyString {
			continue
		}
		c.Walk(func(x *ast.Expr) bool {
			ok = ok && (x.Kind != ast.String || sw.p.consts.fitsForm(form, x.Text))
			if a, found := sw.p.src.paramAt(x.Span); found && x.Kind == ast.Param {
				out = append(out, FormArg{a, form})
			}
			return true
		})
	}
	return out, ok
}
