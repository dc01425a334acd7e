package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file checks the configured views of a table against those that the database has over it.
// Naming a view changes nothing about what it shows: statements that name any view over the table
// drain.

// ViewStatus is one view over a configured table, and whether the configuration names it.
// Statements that name the view drain.
type ViewStatus struct {
	View  string `json:"view"`
	Named bool   `json:"named"`
}

// TotalsEnding ends the name of slotsql's own view of a table's totals, which need not be configured.
const TotalsEnding = "_totals"

// CheckViews reports configured views that do not read the table, and returns the views that the
// database has over it.
func (c *Catalog) CheckViews(ctx context.Context, v *View, t CheckedTable) ([]config.Problem, []ViewStatus, error) {
	over, err := v.viewsOver(ctx, t.Table)
	if err != nil {
		return nil, nil, err
	}
	var problems []config.Problem
	named := map[string]bool{}
	for i, written := range t.Config.Views {
		n := viewName(written)
		path := fmt.Sprintf("views[%d]", i)
		v, err := v.Look(ctx)(n.Schema, n.Name)
		switch {
		case err != nil:
			return nil, nil, err
		case v == nil:
			problems = append(
				problems,
				t.Config.Problem(
					path,
					"view %s does not exist in the database: correct the name, or remove it from views",
					config.Clip(written),
				),
			)
		case !v.IsView:
			problems = append(problems, t.Config.Problem(path, "%s is not a view: remove it from views", config.Clip(written)))
		case !slices.Contains(over, v.Name):
			problems = append(
				problems,
				t.Config.Problem(path, "view %s does not read the table: remove it from views", config.Clip(written)),
			)
		default:
			named[v.Name] = true
		}
	}
	var status []ViewStatus
	for _, name := range over {
		own := name == c.Dialect.NameRules().Derived(t.Table.Name, TotalsEnding)
		status = append(status, ViewStatus{name, named[name] || own})
	}
	return problems, status, nil
}

// ViewsUnnamed says what happens to views that the configuration does not name, and
// the line that names them; "" when it names all.
func ViewsUnnamed(cfg *config.TableConfig, views []ViewStatus) string {
	var names, all []string
	for _, v := range views {
		if !v.Named {
			names = append(names, v.View)
		}
		all = append(all, configName(v.View))
	}
	if len(names) == 0 {
		return ""
	}
	for _, written := range cfg.Views { // as written: they may have a schema
		parts, _ := config.SplitName(written)
		for i := range all {
			if all[i] == configName(parts[len(parts)-1]) {
				all[i] = written
			}
		}
	}
	return fmt.Sprintf(
		"table %s may be read by %s; statements that name such a view drain first; to acknowledge this, add to the table: views: [%s]",
		config.Clip(cfg.Name),
		strings.Join(names, ", "),
		strings.Join(all, ", "),
	)
}

// configName writes a stored name as the configuration takes it.
func configName(name string) string {
	if parts, why := config.SplitName(name); why == "" && len(parts) == 1 && parts[0] == name {
		return name
	}
	return `'"` + strings.ReplaceAll(name, `"`, `""`) + `"'`
}

// reportViews warns once of the views over a table that the configuration does
// not name.
func (c *Catalog) reportViews(ctx context.Context, cfg *config.TableConfig, t *schema.Table, views []ViewStatus) {
	why := ViewsUnnamed(cfg, views)
	if why == "" {
		return
	}
	c.mu.Lock()
	done := c.notes.reported[cfg.Name]
	c.notes.reported[cfg.Name] = true
	c.mu.Unlock()
	if !done {
		p := cfg.Problem("", "")
		c.Log().WarnContext(ctx, "slotsql: "+why, "table", t.Name, "file", p.File, "line", p.Line)
	}
}
