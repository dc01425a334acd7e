package catalog

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// concern is how DDL that an application sends through slotsql concerns the facts in use.
type concern int

// The concerns, from the least to the greatest.
const (
	NoFacts     concern = iota // it changes no definition
	NewNames                   // it creates something that no fact in use is about
	OtherTables                // it changes a table that is not in use, but that one in use may depend on
	factsInUse                 // it names something in use, or may change anything
)

// Concerns judges a statement by its first words and the names in it.
func (c *Catalog) Concerns(lx *lex.Rules, sql string) concern {
	if len(sql) > MaxCachedSQL {
		return factsInUse
	}
	out, first := NoFacts, true
	tokens := lex.Tokens(lx, sql)
	word := func(i int) string {
		if i >= len(tokens) || tokens[i].Kind != lex.Word {
			return ""
		}
		return strings.ToUpper(sql[tokens[i].Start:tokens[i].End])
	}
	for i, t := range tokens {
		if t.Kind == lex.Operator && sql[t.Start] == ';' {
			first = true
			continue
		}
		if word(i) == "CASCADE" || t.Kind != lex.Word && first {
			return factsInUse
		}
		if !first {
			continue
		}
		first = false
		verb := word(i)
		if verb == "TRUNCATE" {
			continue
		}
		object := i + 1
		for isModifier[word(object)] {
			object++
		}
		switch kind := word(object); {
		case kind != "TABLE" && kind != "INDEX" && kind != "SEQUENCE":
			return factsInUse
		case verb == "CREATE":
			out = max(out, NewNames)
		case verb == "ALTER", verb == "DROP":
			out = max(out, OtherTables)
		default:
			return factsInUse
		}
	}
	if out != NoFacts && c.inUse(sql) {
		return factsInUse
	}
	return out
}

// isModifier has the words that may come between CREATE, ALTER or DROP and the kind of object.
var isModifier = map[string]bool{"TEMP": true, "TEMPORARY": true, "UNIQUE": true, "UNLOGGED": true, "FULLTEXT": true, "SPATIAL": true}

// inUse reports whether a statement may name anything about which facts are known.
func (c *Catalog) inUse(sql string) bool {
	if c.Mentions(sql) {
		return true
	}
	for i := range c.Tables {
		if t := &c.Tables[i]; t.SlotTable != "" && lex.ContainsFold(sql, t.SlotTable) {
			return true
		}
	}
	c.mu.Lock()
	all := []*Schema{c.Home.Facts}
	for _, sc := range c.schemas {
		all = append(all, sc)
	}
	c.mu.Unlock()
	for _, sc := range all {
		if sc != nil && sc.knows(sql) {
			return true
		}
	}
	for _, k := range c.Role.Kin {
		if k.inUse(sql) {
			return true
		}
	}
	return false
}

// knows reports whether a name that has been looked up occurs in the statement.
func (sc *Schema) knows(sql string) bool {
	sc.mu.RLock()
	defer sc.mu.RUnlock()
	for key := range sc.Known {
		parts := strings.Split(strings.TrimSuffix(key, "\x00"), "\x00")
		if lex.ContainsFold(sql, lex.Spelled(parts[len(parts)-1])) {
			return true
		}
	}
	return false
}

// forgetOthers drops what is known about tables that are not counter tables, and the plans.
func (sc *Schema) forgetOthers() {
	sc.mu.Lock()
	for key, t := range sc.Known {
		if t == nil || t.Counter == nil {
			delete(sc.Known, key)
		}
	}
	sc.mu.Unlock()
	sc.Plans.Clear()
	sc.Shapes.Clear()
}

// ForgetViews has the views over counter tables looked for in all databases.
func (c *Catalog) ForgetViews() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.far = nil
}
