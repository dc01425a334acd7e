package dialect

import (
	"context"
	"slices"

	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Viewed is what views may read: a table, or its rows through routines that the configuration
// names, which a view may call.
type Viewed struct {
	*schema.Table
	Routines []string
}

// Views returns the names of the views whose queries read the table, or call one of its
// routines, through other views too. It may name views that do not.
func Views(ctx context.Context, d Describer, s Session, t Viewed) ([]string, error) {
	views, err := d.ViewsOver(ctx, s, []Viewed{t}, AllDatabases)
	if err != nil {
		return nil, err
	}
	return views[0], nil
}

// ViewDefinition is a view's name, its schema where there are several, and the
// text that defines it; empty when it may not be read, and the view then may
// read anything.
type ViewDefinition struct{ Schema, Name, SQL string }

// ViewsOver finds the views in whose definition a table's name occurs, or that of one of its
// routines or of another such view. written is how a statement writes a name, called that of a
// routine, whose schema is not known.
func ViewsOver(t Viewed, views []ViewDefinition, written func(schema, name string) string, called func(name string) string) []string {
	var out []string
	found := make([]bool, len(views))
	names := []string{written(t.Schema, t.Name)}
	for _, name := range t.Routines {
		names = append(names, called(name))
	}
	for ; len(names) > 0; names = names[1:] {
		for i, v := range views {
			if found[i] || v.SQL != "" && !lex.ContainsFold(v.SQL, names[0]) {
				continue
			}
			found[i] = true
			names = append(names, written(v.Schema, v.Name))
			if !slices.Contains(out, v.Name) {
				out = append(out, v.Name)
			}
		}
	}
	return out
}

// SpelledAnywhere is how a statement as its author wrote it has a name: in quotes or
// not, behind a schema or not.
func SpelledAnywhere(_, name string) string { return lex.Spelled(name) }
