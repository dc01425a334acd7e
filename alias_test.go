package slotsql_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
)

// aliased are the types that the package names after types of internal packages.
var aliased = map[string]reflect.Type{
	"ConfigError":        reflect.TypeFor[slotsql.ConfigError](),
	"CounterStatus":      reflect.TypeFor[slotsql.CounterStatus](),
	"DrainError":         reflect.TypeFor[slotsql.DrainError](),
	"DrainReport":        reflect.TypeFor[slotsql.DrainReport](),
	"ExplainedDrain":     reflect.TypeFor[slotsql.ExplainedDrain](),
	"ExplainedStatement": reflect.TypeFor[slotsql.ExplainedStatement](),
	"Explainer":          reflect.TypeFor[slotsql.Explainer](),
	"Explanation":        reflect.TypeFor[slotsql.Explanation](),
	"Finding":            reflect.TypeFor[slotsql.Finding](),
	"GroupTracer":        reflect.TypeFor[slotsql.GroupTracer](),
	"Inspection":         reflect.TypeFor[slotsql.Inspection](),
	"Inspector":          reflect.TypeFor[slotsql.Inspector](),
	"NotMovedError":      reflect.TypeFor[slotsql.NotMovedError](),
	"Problem":            reflect.TypeFor[slotsql.Problem](),
	"RollUpReport":       reflect.TypeFor[slotsql.RollUpReport](),
	"RollUpStats":        reflect.TypeFor[slotsql.RollUpStats](),
	"RollUpTable":        reflect.TypeFor[slotsql.RollUpTable](),
	"ShadowStats":        reflect.TypeFor[slotsql.ShadowStats](),
	"SleepStats":         reflect.TypeFor[slotsql.SleepStats](),
	"Stored":             reflect.TypeFor[slotsql.Stored](),
	"StoredStatus":       reflect.TypeFor[slotsql.StoredStatus](),
	"StatementStats":     reflect.TypeFor[slotsql.StatementStats](),
	"TableInspection":    reflect.TypeFor[slotsql.TableInspection](),
	"TableStatus":        reflect.TypeFor[slotsql.TableStatus](),
	"TrialStats":         reflect.TypeFor[slotsql.TrialStats](),
	"UnsupportedError":   reflect.TypeFor[slotsql.UnsupportedError](),
	"VerifyReport":       reflect.TypeFor[slotsql.VerifyReport](),
	"ViewStatus":         reflect.TypeFor[slotsql.ViewStatus](),
}

// TestAliasComments looks for each exported field and method of an aliased type in the
// comment of its alias, since go doc shows neither fields nor methods there.
func TestAliasComments(t *testing.T) {
	comments := aliasComments(t)
	for name := range aliased {
		if _, ok := comments[name]; !ok {
			t.Errorf("%s is not an alias", name)
		}
	}
	for name, comment := range comments {
		typ, ok := aliased[name]
		if !ok {
			t.Errorf("alias %s is missing in this test", name)
			continue
		}
		var members []string
		if typ.Kind() == reflect.Struct {
			for i := range typ.NumField() {
				if f := typ.Field(i); f.IsExported() {
					members = append(members, f.Name)
				}
			}
		}
		for i := range reflect.PointerTo(typ).NumMethod() {
			members = append(members, reflect.PointerTo(typ).Method(i).Name)
		}
		for _, m := range members {
			if !regexp.MustCompile(`\b` + m + `\b`).MatchString(comment) {
				t.Errorf("the comment of %s does not mention %s", name, m)
			}
		}
	}
}

// aliasComments returns the comments of the package's exported aliases.
func aliasComments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	comments := map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			d, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok && s.Assign.IsValid() && s.Name.IsExported() {
					comments[s.Name.Name] = d.Doc.Text()
				}
			}
		}
	}
	return comments
}
