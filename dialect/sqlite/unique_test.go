package sqlite

import (
	"testing"

	"github.com/slotsql/slotsql/rewrite/schema"
)

func TestPresent(t *testing.T) {
	for where, want := range map[string]bool{
		"project IS NOT NULL":                     true,
		"(Project NOTNULL) AND \"kind\" NOT NULL": true,
		"other IS NOT NULL":                       false,
		"project IS NULL":                         false,
		"project ISNULL":                          false,
		"project IS NOT 0":                        false,
		"project IS NOT DISTINCT FROM NULL":       false,
		"project IS NOT NULL OR kind IS NOT NULL": false,
		"project IS NOT NULL AND kind > 1":        false,
		"NOT project IS NULL":                     false,
		"abs(project) IS NOT NULL":                false,
	} {
		x := index{name: "i", partial: true, columns: []string{"kind", "project"}, collations: []string{"BINARY", "BINARY"}}
		x.define("CREATE UNIQUE INDEX i ON t (kind, project) WHERE " + where)
		table := &schema.Table{Columns: []schema.Column{{Name: "kind"}, {Name: "project"}, {Name: "other"}}}
		addUniques(table, []index{x}, definition{understood: true})
		if got := table.PartialUniques[0].Present; got != want {
			t.Errorf("%s: %v, want %v", where, got, want)
		}
	}
	coarse := index{name: "i", partial: true, columns: []string{"kind"}, collations: []string{"NOCASE"}}
	coarse.define("CREATE UNIQUE INDEX i ON t (kind COLLATE NOCASE) WHERE kind IS NOT NULL")
	table := &schema.Table{Columns: []schema.Column{{Name: "kind"}}}
	if addUniques(table, []index{coarse}, definition{understood: true}); table.PartialUniques[0].Present {
		t.Error("an index with a collation of its own")
	}
}
