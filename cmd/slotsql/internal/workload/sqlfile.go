package workload

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/slotsql/slotsql/cmd/slotsql/internal/sqlfile"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// verb is what a statement begins with.
var verb = regexp.MustCompile(
	`(?i)^\s*(?:/\*.*?\*/\s*)*(?:SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH|MERGE|VALUES|TABLE|BEGIN|START|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET|SHOW|USE|` +
		`CREATE|ALTER|DROP|TRUNCATE|RENAME|LOCK|UNLOCK|CALL|DO|EXPLAIN|ANALYZE|VACUUM|PRAGMA|ATTACH|DETACH|PREPARE|EXECUTE|DEALLOCATE|DECLARE|FETCH|CLOSE|COPY|GRANT|REVOKE|LISTEN|NOTIFY|\()\b`,
)

// readSQL reads statements that end with a semicolon. Where no line ends with
// one and every line begins as a statement does, each line is one.
func readSQL(lexRules *lex.Rules, sql string, f func(Statement) error) (Form, error) {
	if single, ok := perLine(sql); ok {
		for i, line := range single {
			if line == "" {
				continue
			}
			if err := f(Statement{SQL: line, Line: i + 1}); err != nil {
				return formLines, err
			}
		}
		return formLines, nil
	}
	var failed error
	err := sqlfile.Each(lexRules, sql, func(st sqlfile.Statement) error {
		if t := strings.TrimSpace(st.SQL); t != "" && failed == nil {
			failed = f(Statement{SQL: t, Line: st.Line})
		}
		return failed
	})
	if failed != nil {
		return formSQL, failed // without the line that sqlfile.Each puts before it
	}
	return formSQL, err
}

// perLine returns the lines of a file that has one statement on each, comments
// as empty lines.
func perLine(sql string) ([]string, bool) {
	var out []string
	statements := 0
	for line := range strings.Lines(strings.TrimPrefix(sql, "\ufeff")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "--") || strings.HasPrefix(line, "#"):
			line = ""
		case strings.HasSuffix(line, ";") || !verb.MatchString(line):
			return nil, false
		default:
			statements++
		}
		out = append(out, line)
	}
	return out, statements > 1
}

// readYAML reads the value of every key sql, wherever it stands.
func readYAML(text []byte, f func(Statement) error) error {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return fmt.Errorf("read as YAML: %w", err)
	}
	w := &yamlWalker{f: f}
	for _, doc := range file.Docs {
		if doc.Body != nil {
			ast.Walk(w, doc.Body)
		}
	}
	return w.err
}

type yamlWalker struct {
	f   func(Statement) error
	err error
}

// Visit implements ast.Visitor.
func (w *yamlWalker) Visit(n ast.Node) ast.Visitor {
	if w.err != nil {
		return nil
	}
	m, ok := n.(*ast.MappingValueNode)
	if !ok || m.Key == nil || m.Key.GetToken() == nil || m.Key.GetToken().Value != "sql" {
		return w
	}
	text := ""
	switch v := m.Value.(type) {
	case *ast.StringNode:
		text = v.Value
	case *ast.LiteralNode:
		text = v.Value.Value
	}
	if text = strings.TrimRight(strings.TrimSpace(text), "; \n"); text != "" {
		w.err = w.f(Statement{SQL: text, Line: m.Key.GetToken().Position.Line})
	}
	return w
}
