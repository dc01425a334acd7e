package dialect

import (
	"context"

	"github.com/slotsql/slotsql/rewrite"
)

// Viewer is a Dialect that knows which views read a table.
type Viewer interface {
	// Views returns the names of the views whose queries read the table,
	// through other views too. It may name views that do not.
	Views(ctx context.Context, s Session, t *rewrite.Table) ([]string, error)
}

// ViewDefinition is a view's name and the text that defines it; empty when it
// may not be read, and the view then may read anything.
type ViewDefinition struct{ Name, Text string }

// ViewsOver finds the views in whose text a table's name occurs, or that of
// another such view. written is how a text writes a name.
func ViewsOver(table string, views []ViewDefinition, written func(name string) string) []string {
	var out []string
	found := map[string]bool{}
	for names := []string{table}; len(names) > 0; names = names[1:] {
		for _, v := range views {
			if !found[v.Name] && (v.Text == "" || rewrite.ContainsFold(v.Text, written(names[0]))) {
				found[v.Name] = true
				out, names = append(out, v.Name), append(names, v.Name)
			}
		}
	}
	return out
}
