package rewrite

import "strings"

// A regrouped block has its aggregates in a query of its base rows, slotsql_b.
type regrouped struct {
	summer
	// aggregated edits an aggregate; false for one that it cannot write.
	aggregated func(*Expr) bool

	out  []edit
	keys []*Expr        // what the block groups by
	aggs []string       // the aggregates of the base rows
	of   map[string]int // places in aggs
	end  int            // of the clauses that the base rows' query takes
}

// item edits an item of the result, which keeps its name.
func (g *regrouped) item(it Item) bool {
	if it.Expr == nil || !g.outside(it.Expr, false) {
		return false
	}
	if it.Alias != nil {
		return true
	}
	b := blockReader{g.reader, g.sc, g.q}
	name, ok := b.itemName(it)
	if c := g.targetColumnOf(it.Expr); c != "" && b.storedNames() {
		name = c
	}
	if g.d.Traits().ItemNames == ItemsByRule {
		x := unparen(it.Expr)
		for x.Kind == Opaque && (x.Op == "cast" || x.Op == "collate") && len(x.Args) == 1 {
			x = unparen(x.Args[0])
		}
		switch {
		case x.Kind == ColumnRef:
		case x.Kind == Call && !otherwise[x.Op]:
			name = x.Op
		case x.Kind == Call, x.Kind == Opaque, x != unparen(it.Expr):
			return false
		default:
			name = "?column?"
		}
	}
	if !ok || name == "" {
		return ok
	}
	g.out = append(g.out, edit{Span{it.Expr.End, it.Expr.End}, " AS " + g.d.Quote(name)})
	return true
}

// otherwise are calls that name a result column by another word on some version of PostgreSQL.
var otherwise = Names("extract trim btrim position overlay substring normalize xmlparse xmlserialize")

// result returns the item that a whole ORDER BY entry means, and how many it may mean.
func (g *regrouped) result(e *Expr) (item *Expr, n int) {
	if e.Kind == Number {
		if item = g.itemAt(g.q, e); item != nil {
			return item, 1
		}
	}
	if e.Kind != ColumnRef || len(e.Name) != 1 {
		return nil, 0
	}
	b := blockReader{g.reader, g.sc, g.q}
	for _, it := range g.q.Items {
		if name, _, err := b.itemMeans(it, nil); err == nil && name != nil && g.sameLabel(e.Name[0], *name) {
			item = it.Expr
			n++
		}
	}
	return item, n
}

// alias returns the item that a name means which is no column of the table.
func (g *regrouped) alias(e *Expr) *Expr {
	if e.Kind != ColumnRef || len(e.Name) != 1 || g.targetColumn(g.sc, g.b, e.Name) != "" {
		return nil
	}
	for _, it := range g.q.Items {
		if it.Alias != nil && g.sameLabel(e.Name[0], *it.Alias) {
			return it.Expr
		}
	}
	return nil
}

// ordinary reports whether an expression computes with ordinary columns of the table, and gives
// the same value each time.
func (g *regrouped) ordinary(e *Expr) bool {
	columns := 0
	ok := g.volatile(g.sc, e) == "" && !g.edited(e.Span) && namesOnly(e, func(name []Ident) bool {
		columns++
		return g.targetColumn(g.sc, g.b, name) != "" && g.ownColumn(name)
	}, nil)
	e.Walk(func(x *Expr) bool {
		ok = ok && !x.Aggregate && x.Kind != Param
		return ok
	})
	return ok && columns > 0
}

// scalar are functions that compute with what aggregates return.
var scalar = Names("coalesce nullif ifnull round abs floor ceil ceiling greatest least")

// outside edits an expression that is made of aggregates, of what the block groups by, and of
// constants. In a condition the name of an item becomes that item.
func (g *regrouped) outside(e *Expr, condition bool) bool {
	if i := g.key(e); i >= 0 {
		g.replace(e, "slotsql_b."+keyName(i))
		return true
	}
	switch {
	case e.Kind == Number, e.Kind == String, e.Kind == Null, e.Kind == Param:
		return true
	case e.Kind == ColumnRef:
		it := g.alias(e)
		if it == nil || !g.d.Traits().AliasInExpr {
			return false
		}
		if condition {
			f := g.src.cutEdited(it.Span, g.out)
			g.replace(e, "("+f.parts[0]+")")
			return len(f.args) == 0
		}
		return true
	case e.Kind == Call && e.Aggregate:
		return g.aggregated(e)
	case e.Kind == Call && !scalar[e.Op], e.Kind == Opaque && !computes[strings.ToLower(e.Op)],
		e.Kind == Star, e.Kind == Subquery, e.Kind == Excluded:
		return false
	}
	for _, a := range e.Args {
		if !g.outside(a, condition) {
			return false
		}
	}
	return true
}

// computes are further forms of expression that compute with their operands alone.
var computes = map[string]bool{"cast": true, "case": true, "collate": true}

func (g *regrouped) replace(e *Expr, sql string) { g.out = append(g.out, edit{e.Span, sql}) }

// key returns which of the block's groups an expression is, or -1.
func (g *regrouped) key(e *Expr) int {
	if e.Kind == Number || e.Kind == String || e.Kind == Param || e.Kind == Null {
		return -1
	}
	g.work += len(g.keys)
	for i, k := range g.keys {
		k, x := unparen(k), unparen(e)
		if (k.Kind == ColumnRef) != (x.Kind == ColumnRef) {
			continue
		}
		if k.Kind == ColumnRef {
			if c := g.targetColumn(g.sc, g.b, x.Name); c != "" && c == g.targetColumn(g.sc, g.b, k.Name) {
				return i
			}
			continue
		}
		if g.noted(g.src.sql[k.Start:k.End]) == g.noted(g.src.sql[x.Start:x.End]) {
			return i
		}
	}
	return -1
}

// moved returns the name of an aggregate in the query of base rows.
func (g *regrouped) moved(e *Expr) string {
	f := g.src.cut(e.Span)
	text := g.tp.mark(f)
	if len(f.args) == 0 {
		text = f.parts[0]
	}
	return g.moves(text)
}

// moves is moved for an aggregate that the statement may not have.
func (g *regrouped) moves(text string) string {
	if i, ok := g.of[text]; ok {
		return aggName(i)
	}
	if g.of == nil {
		g.of = map[string]int{}
	}
	g.of[text] = len(g.aggs)
	g.aggs = append(g.aggs, text)
	return aggName(len(g.aggs) - 1)
}

// targetColumnOf returns the column that a key is, or "".
func (g *regrouped) targetColumnOf(e *Expr) string {
	if e = unparen(e); e.Kind != ColumnRef {
		return ""
	}
	return g.targetColumn(g.sc, g.b, e.Name)
}
