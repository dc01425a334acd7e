package postgres

import (
	"fmt"
	"slices"
	"strings"
)

// The server takes longer to plan a query of its catalogs than to run it. So tableQuery also tells what a table has, by letters,
// and only the kinds of facts are asked for that one of the tables has.
const hasQuery = `pg_catalog.concat(
    CASE WHEN c.relkind = 'p' OR c.relhassubclass OR c.relispartition OR EXISTS (SELECT 1 FROM pg_catalog.pg_inherits h WHERE h.inhrelid = c.oid) THEN 'f' END,
    CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal) THEN 't' END,
    CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_attribute g WHERE g.attrelid = c.oid AND g.attgenerated <> '') THEN 'g' END,
    CASE WHEN c.relchecks > 0 THEN 'c' END,
    (SELECT pg_catalog.string_agg(CASE WHEN i.indisexclusion THEN 'x'
        WHEN i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL THEN ''
        WHEN i.indisunique THEN 'u' ELSE 'i' END, '')
      FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid))`

// The letters of hasQuery.
const (
	hasFamily    = "f" // tables above or below it
	hasTriggers  = "t"
	hasGenerated = "g" // columns
	hasChecks    = "c" // CHECK constraints
	hasExclusion = "x" // constraints
	hasUnique    = "u" // indexes with a condition or an expression, not valid or not checked at once
	hasIndex     = "i" // the same of indexes that are not unique
)

// part is a kind of facts of a table.
type part struct {
	query   string
	of      string // it says nothing of a table that has none of these, see hasQuery; "": of any table
	columns int
	each    func(t *described, r []any) error
}

// parts are in the order in which they are taken.
var parts = []part{
	{columnQuery, "", 15, (*described).column},
	{dependQuery, hasGenerated, 3, (*described).dependsOn},
	{familyQuery, hasFamily + hasTriggers, 6, (*described).family},
	{uniqueQuery, "", 6, (*described).unique},
	{orderQuery, "", 2, (*described).order},
	{partialUniqueQuery, hasFamily + hasUnique, 4, (*described).partialUnique},
	{referringQuery, "", 8, (*described).refers},
	{checkQuery, hasFamily + hasChecks + hasExclusion + hasUnique, 3, (*described).check},
	{partitionQuery, hasFamily, 2, (*described).partitioned},
	{indexQuery, hasFamily + hasIndex, 4, (*described).index},
}

// describeQuery reads parts in one round trip: a row with a list of rows for each.
func describeQuery(parts []part) string {
	list := make([]string, len(parts))
	for i, part := range parts {
		names := make([]string, part.columns)
		for j := range names {
			names[j] = fmt.Sprintf("c%d", j)
		}
		columns := strings.Join(names, ", ")
		list[i] = "(SELECT pg_catalog.json_agg(pg_catalog.json_build_array(" + columns + ")) FROM (" + part.query + ") AS part(" + columns + "))::text"
	}
	return below + " SELECT " + strings.Join(list, ", ")
}

// partsOf returns the parts that say something of tables that have this.
func partsOf(has string) []part {
	return slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return p.of != "" && !strings.ContainsAny(has, p.of) })
}
