package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A HolderCatalog is a Catalog that also knows the tables that have a slot table
// though none of their counters is slotted. Every statement on such a table is
// right as it is, but two: the slot table's foreign key would have the engine
// refuse DROP and TRUNCATE.
//
// A table that slots cannot be added up for, since it does not fit its slot table
// any more (SlotTable.Unfit), is one of them. As long as the slots hold something
// its base values are not its totals, so that all statements on it are refused, but
// for DDL, which may put it right.
//
// So is a table that has had the name of a counter table, whose slot table still
// refers to it (SlotTable.Release).
type HolderCatalog interface {
	Holders() []*schema.Table
}

func holders(catalog names.Catalog) []*schema.Table {
	if h, ok := catalog.(HolderCatalog); ok {
		return h.Holders()
	}
	return nil
}

// planHeld plans a statement that names no counter table but, perhaps, tables that only
// have slot tables.
func (df *definitions) planHeld(held []*schema.Table) *Plan {
	changes := definesTable(df.src)
	var unfit []*schema.Table
	for _, t := range held {
		if t.Counter.SlotTable.Holding {
			unfit = append(unfit, t)
		}
	}
	if !changes && (len(unfit) == 0 || sessionOnly(df.src)) {
		return &Plan{Class: PassThrough}
	}
	refused := func() *Plan {
		return &Plan{Class: Refused, Tables: tableNames(unfit), Reason: unfit[0].Counter.SlotTable.Unfit}
	}
	st, err := parse(df.d, df.mentions.sentinels, df.src.sql)
	switch {
	case changes && (err != nil || st.Kind != ast.KindTruncate && st.Kind != ast.KindDrop):
		return &Plan{Class: PassThrough}
	case changes:
		return df.planDDL(st)
	case err != nil || st.Opaque != "" || st.Kind == ast.KindExplain && st.Runs: // which may name any of them
		return refused()
	}
	named := false
	look := func(name []ast.Ident) {
		if t := df.names.LookupAmong(unfit, name); t != nil {
			unfit, named = []*schema.Table{t}, true
		}
	}
	v := ast.Visitor{Source: func(s *ast.Source) {
		if len(s.Name) > 0 {
			look(s.Name)
		}
	}}
	v.Walk(st)
	for _, n := range st.Tables {
		look(n)
	}
	if named {
		return refused()
	}
	return &Plan{Class: PassThrough}
}
