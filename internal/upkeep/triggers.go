package upkeep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// TriggerDDL returns the statements that have triggers and routines count through functions: see
// slotsql.TriggerDDL.
func TriggerDDL(ctx context.Context, s *catalog.Catalog) (ddl []string, err error) {
	err = withChecked(ctx, s, func(cn *catalog.View, checked []catalog.CheckedTable) error {
		d := cn.Catalog.Dialect
		stored, err := storedSQL(d)
		if err != nil {
			return err
		}
		reader, ok := stored.(dialect.FunctionWriter)
		if !ok {
			return fmt.Errorf("slotsql: %s has no functions that triggers could call to count", d.Name())
		}
		objects, err := storedObjects(d, slotted(checked), Stored{Functions: true})
		if err != nil {
			return err
		}
		routines, err := Routines(ctx, cn.Session(), d, tableNames(objects))
		for i := range routines {
			ddl = append(ddl, newReplacer(reader, d, objects, &routines[i]).ddl()...)
		}
		return err
	})
	return ddl, err
}

func tableNames(objects []storedObject) (names []string) {
	for _, o := range objects {
		names = append(names, o.t.Name)
	}
	return names
}

// Routines returns the triggers and routines whose text may name one of the tables, other than slotsql's
// functions; none where the engine has no functions that could count.
func Routines(ctx context.Context, s dialect.Session, d dialect.Dialect, tables []string) ([]dialect.Routine, error) {
	stored, err := storedSQL(d)
	if err != nil {
		return nil, err
	}
	reader, ok := stored.(dialect.FunctionWriter)
	if !ok {
		return nil, nil
	}
	routines, err := reader.Routines(ctx, s, tables)
	return slices.DeleteFunc(routines, func(r dialect.Routine) bool { return isMarked(r.Before + r.Body) }), err
}

// RoutineStatement is a statement of a routine that may write.
type RoutineStatement struct {
	Text string // as it is there
	SQL  string // with placeholders for variables, parameters and numbers, as an application would send it
}

// RoutineStatements returns the statements of a routine that may write.
func RoutineStatements(d dialect.Dialect, r *dialect.Routine) (out []RoutineStatement) {
	rp := newReplacer(nil, d, nil, r)
	for _, i := range rp.statements() {
		end := rp.end(i)
		text := r.Body[rp.tokens[i].Start:rp.tokens[end-1].End]
		out = append(out, RoutineStatement{Text: text, SQL: rp.placed(i, end).sql})
	}
	return out
}

// A replacer puts calls in the place of the UPDATEs of one routine that the planner would send to
// slots.
type replacer struct {
	reader  dialect.FunctionWriter
	d       dialect.Dialect
	objects []storedObject
	planner rewrite.Planner
	r       *dialect.Routine
	tokens  []lex.Token
	values  []string // names of variables and parameters
	why     []string // what is left as it is, and why
}

func newReplacer(reader dialect.FunctionWriter, d dialect.Dialect, objects []storedObject, r *dialect.Routine) *replacer {
	rp := &replacer{reader: reader, d: d, objects: objects, r: r, tokens: lex.Tokens(d.LexRules(), r.Body)}
	known := routineTables{d: d}
	for _, o := range objects {
		known.tables = append(known.tables, judged(o.t))
	}
	rp.planner = rewrite.Planner{Dialect: d, Catalog: known}
	rp.values = append(append([]string{}, r.Parameters...), rp.declared()...)
	return rp
}

// judged is a table such that an increment is planned as one for a slot by its key, whatever the table's
// layout, and whatever sign a number has.
func judged(t *schema.Table) *schema.Table {
	c, of := *t, *t.Counter
	of.Layout, of.Shared, of.Options.Placement = schema.LayoutDedicated, nil, schema.PlacementConnection
	c.Counter, c.Columns = &of, slices.Clone(t.Columns)
	for i := range c.Columns {
		c.Columns[i].Unsigned = false
	}
	return &c
}

// routineTables are the tables that a routine may name. Any other is an ordinary one, of which nothing is known.
type routineTables struct {
	d      dialect.Dialect
	tables []*schema.Table
}

// Lookup implements names.Catalog.
func (c routineTables) Lookup(name []ast.Ident) (*schema.Table, bool) {
	for _, t := range c.tables {
		if c.d.SameTable(name[len(name)-1], t.Name) && (len(name) == 1 || t.Schema == "" || c.d.SameTable(name[len(name)-2], t.Schema)) {
			return t, true
		}
	}
	return nil, true
}

// Counters implements names.Catalog.
func (c routineTables) Counters() []*schema.Table { return c.tables }

// word returns a token in upper case.
func (rp *replacer) word(i int) string {
	if i < 0 || i >= len(rp.tokens) {
		return ""
	}
	return strings.ToUpper(rp.text(i))
}

func (rp *replacer) text(i int) string { return rp.r.Body[rp.tokens[i].Start:rp.tokens[i].End] }

// declared returns the names that DECLARE gives: PostgreSQL has a section of them, MySQL a statement
// for each type.
func (rp *replacer) declared() (names []string) {
	in, first := false, false
	for i := range rp.tokens {
		switch w := rp.word(i); {
		case w == "DECLARE":
			in, first = true, true
		case w == "BEGIN":
			in = false
		case in && w == ";":
			in = rp.r.Language != ""
			first = in
		case in && first && w != ",":
			names = append(names, strings.Trim(rp.text(i), "`\""))
			first = rp.word(i+1) == ","
		}
	}
	return names
}

// statements returns the places of tokens at which statements that may write begin.
func (rp *replacer) statements() (out []int) {
	for i := range rp.tokens {
		if !slices.Contains([]string{"UPDATE", "INSERT", "MERGE", "REPLACE", "WITH"}, rp.word(i)) {
			continue
		}
		switch rp.word(i - 1) {
		case "", ";", "BEGIN", "THEN", "ELSE", "LOOP", "DO", "ROW":
			out = append(out, i)
		}
	}
	return out
}

// end is the place of the token behind a statement.
func (rp *replacer) end(i int) int {
	depth := 0
	for ; i < len(rp.tokens); i++ {
		switch rp.text(i) {
		case "(":
			depth++
		case ")":
			if depth--; depth < 0 {
				return i // of a rule's list of actions
			}
		case ";":
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// ddl returns the routine with calls, below comments that name what is as it was.
func (rp *replacer) ddl() []string {
	body, from, calls := "", 0, 0
	for _, i := range rp.statements() {
		end := rp.end(i)
		at := ast.Span{Start: rp.tokens[i].Start, End: rp.tokens[end-1].End}
		call, why := rp.call(i, end)
		if why != "" {
			rp.why = append(rp.why, fmt.Sprintf("%s: %s", oneLine(rp.r.Body[at.Start:at.End]), why))
		}
		if call == "" {
			continue
		}
		body, from, calls = body+rp.r.Body[from:at.Start]+call, at.End, calls+1
	}
	rp.hidden()
	if calls == 0 && len(rp.why) == 0 {
		return nil
	}
	notes := []string{rp.r.Kind + " " + rp.r.Name}
	for _, w := range rp.why {
		notes = append(notes, "  as it was: "+w)
	}
	if calls == 0 {
		return []string{commented(notes)}
	}
	create := rp.r.Before + body + rp.r.Body[from:] + rp.r.After
	if rp.r.Drop == "" {
		return []string{commented(notes) + create}
	}
	return []string{commented(notes) + rp.r.Drop, create}
}

// hidden notes SQL in a string that may increment a counter.
func (rp *replacer) hidden() {
	for i, tok := range rp.tokens {
		for _, o := range rp.objects {
			if tok.Kind == lex.String && lex.ContainsFold(rp.text(i), lex.Spelled(o.t.Name)) && lex.ContainsFold(rp.text(i), "update") {
				rp.why = append(rp.why, oneLine(rp.text(i))+": dynamic SQL is not looked into")
			}
		}
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
