package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// What a drain covers: see Plan.DrainScope.
const (
	ScopeKey = "rows of a unique key"
	ScopeAll = "all rows"
)

// DrainScope returns which rows the plan's drain covers, or "" for a plan of another class.
// Of several tables the one of which most is drained decides.
func (p *Plan) DrainScope() string {
	if p.Class != Drain || len(p.Drain.Tables) == 0 {
		return ""
	}
	for i := range p.Drain.Tables {
		if !p.Drain.Tables[i].Keyed {
			return ScopeAll
		}
	}
	return ScopeKey
}

// Scope returns which of its rows are drained.
func (d *DrainTable) Scope() string {
	if d.Keyed {
		return ScopeKey
	}
	return ScopeAll
}

// removes reports whether a statement that drains rows of a table deletes them or changes their keys, or locks
// them as if it did.
func (dr *drainer) removes(st *ast.Statement, t *schema.Table) bool {
	switch st.Kind {
	case ast.KindSelect:
		return st.Select != nil && st.Select.Lock && !dr.src.hasWord("SHARE") && !dr.src.hasWord("NO") // FOR NO KEY UPDATE
	case ast.KindInsert:
		return st.Replace
	case ast.KindUpdate:
		return slices.ContainsFunc(st.Set, func(a ast.Assignment) bool {
			name, has := names.Column(dr.d, t, a.Column[len(a.Column)-1])
			return has && t.ChangesKey(name)
		})
	}
	return st.Kind == ast.KindDelete || dr.src.hasWord("DELETE")
}
