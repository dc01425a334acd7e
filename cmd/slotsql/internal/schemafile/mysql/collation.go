package mysql

import (
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// MariaDB's UCA-14 collations are unknown to the parser, which refuses them.
// Others, that hardly any table has, stand in for them.
var standIns = []string{"utf8mb4_vietnamese_ci", "utf8mb4_esperanto_ci", "utf8mb4_croatian_ci", "utf8mb4_icelandic_ci"}

// knownCollations puts a stand-in in the place of each collation that the
// parser does not know, and returns what they stand for.
func knownCollations(rules *lex.Rules, sql string) (string, map[string]string) {
	if !lex.ContainsFold(sql, "uca1400") {
		return sql, nil
	}
	stands := map[string]string{}
	used := map[string]string{}
	free := standIns
	var b strings.Builder
	last := 0
	collate := false // COLLATE or COLLATE = stands before
	for _, t := range lex.Tokens(rules, sql) {
		after := collate
		collate = strings.EqualFold(sql[t.Start:t.End], "COLLATE") || collate && sql[t.Start:t.End] == "="
		name := strings.ToLower(strings.Trim(sql[t.Start:t.End], "`'\""))
		if !after || !isUCA(name) {
			continue
		}
		if used[name] == "" {
			for len(free) > 0 && lex.ContainsFold(sql, free[0]) {
				free = free[1:]
			}
			if len(free) == 0 {
				continue // the parser says so
			}
			used[name], stands[free[0]] = free[0], name
			free = free[1:]
		}
		b.WriteString(sql[last:t.Start] + used[name])
		last = t.End
	}
	return b.String() + sql[last:], stands
}

func isUCA(name string) bool {
	_, rest, ok := strings.Cut(name, "uca1400_")
	return ok && rest != "" && (strings.HasPrefix(name, "uca1400_") || strings.Contains(name, "_uca1400_"))
}

// restoreCollations undoes knownCollations in the tree.
func restoreCollations(n ast.StmtNode, stands map[string]string) {
	if len(stands) == 0 {
		return
	}
	undo := func(s *string) {
		if name, ok := stands[strings.ToLower(*s)]; ok {
			*s = name
		}
	}
	options := func(list []*ast.TableOption) {
		for _, o := range list {
			if o.Tp == ast.TableOptionCollate {
				undo(&o.StrValue)
			}
		}
	}
	columns := func(list []*ast.ColumnDef) {
		for _, c := range list {
			for _, o := range c.Options {
				if o.Tp == ast.ColumnOptionCollate {
					undo(&o.StrValue)
				}
			}
		}
	}
	switch n := n.(type) {
	case *ast.CreateTableStmt:
		options(n.Options)
		columns(n.Cols)
	case *ast.AlterTableStmt:
		for _, a := range n.Specs {
			options(a.Options)
			columns(a.NewColumns)
		}
	}
}
