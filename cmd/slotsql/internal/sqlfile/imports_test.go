package sqlfile_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Files are cut into statements without parsing them: of slotsql, only the tokens of SQL are used.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/slotsql/slotsql"
	var got []string
	for _, p := range strings.Fields(string(out)) {
		if strings.HasPrefix(p, module) {
			got = append(got, strings.TrimPrefix(p, module))
		}
	}
	if want := []string{"/rewrite/lex", "/cmd/slotsql/internal/sqlfile"}; !slices.Equal(got, want) {
		t.Errorf("the package imports %v, want %v", got, want)
	}
}
