package postgres

import (
	"slices"

	tree "github.com/sqlc-dev/oliphant/ast"
)

// presentKeys are unique indexes with a predicate, in the order of their columns.
type presentKeys []presentKey

type presentKey struct {
	name       string
	columns    []string
	predicates []string // the index's, for each column
}

// add takes a column of an index.
func (list *presentKeys) add(index, column, predicate string) {
	n := len(*list)
	if n == 0 || (*list)[n-1].name != index {
		*list = append(*list, presentKey{name: index})
		n++
	}
	k := &(*list)[n-1]
	k.columns, k.predicates = append(k.columns, column), append(k.predicates, predicate)
}

// names returns those that leave out nothing but rows with a NULL in the key.
func (list presentKeys) names() []string {
	var out []string
	for _, k := range list {
		leaves := func(predicate string) bool { return !NotNullOnly(predicateOf(predicate), k.columns) }
		if !slices.ContainsFunc(k.predicates, leaves) {
			out = append(out, k.name)
		}
	}
	return out
}

// predicateOf parses what pg_get_expr writes of a predicate; nil where it cannot.
func predicateOf(sql string) *tree.Node {
	n, err := ParseTree("SELECT WHERE " + sql)
	if err != nil {
		return nil
	}
	return n.GetSelectStmt().GetWhereClause()
}

// NotNullOnly reports whether a predicate asks only that columns of these are not NULL.
func NotNullOnly(n *tree.Node, columns []string) bool {
	if b := n.GetBoolExpr(); b != nil {
		return b.Boolop == tree.BoolExprType_AND_EXPR &&
			!slices.ContainsFunc(b.Args, func(a *tree.Node) bool { return !NotNullOnly(a, columns) })
	}
	test := n.GetNullTest()
	fields := test.GetArg().GetColumnRef().GetFields()
	return test != nil && test.Nulltesttype == tree.NullTestType_IS_NOT_NULL && len(fields) == 1 &&
		slices.Contains(columns, fields[0].GetString_().GetSval())
}
