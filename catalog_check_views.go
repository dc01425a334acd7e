package slotsql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// This file holds a table's views, as configured, against those that the
// database has over it. What the configuration says of views changes nothing
// about what they show: each is drained for, named or not.

// ViewStatus is one view over a configured table, and whether the
// configuration names it. Statements that name the view are drained for.
type ViewStatus struct {
	View  string `json:"view"`
	Named bool   `json:"named"`
}

// checkViews reports configured views that are none over the table, and
// returns the views that the database has.
func (s *catalog) checkViews(ctx context.Context, v *view, c checkedTable) ([]Problem, []ViewStatus, error) {
	over, err := v.viewsOver(ctx, c.table)
	if err != nil {
		return nil, nil, err
	}
	var problems []Problem
	named := map[string]bool{}
	for i, written := range c.config.Views {
		n := viewName(written)
		path := fmt.Sprintf("views[%d]", i)
		v, err := v.look(ctx)(n.Schema, n.Name)
		switch {
		case err != nil:
			return nil, nil, err
		case v == nil:
			problems = append(problems, c.config.problem(path, "view %s does not exist in the database: correct the name, or remove it from views", clip(written)))
		case !v.IsView:
			problems = append(problems, c.config.problem(path, "%s is not a view: remove it from views", clip(written)))
		case !slices.Contains(over, v.Name):
			problems = append(problems, c.config.problem(path, "view %s does not read the table: remove it from views", clip(written)))
		default:
			named[v.Name] = true
		}
	}
	var status []ViewStatus
	for _, name := range over {
		status = append(status, ViewStatus{name, named[name]})
	}
	return problems, status, nil
}

// viewsUnnamed says what happens to views that the configuration does not name, and
// the line that names them; "" when it names all.
func viewsUnnamed(cfg *TableConfig, views []ViewStatus) string {
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
		parts, _ := splitName(written)
		for i := range all {
			if all[i] == configName(parts[len(parts)-1]) {
				all[i] = written
			}
		}
	}
	return fmt.Sprintf("table %s may be read by %s; statements that name such a view drain first; to acknowledge this, add to the table: views: [%s]",
		clip(cfg.Name), strings.Join(names, ", "), strings.Join(all, ", "))
}

// configName writes a stored name as the configuration takes it.
func configName(name string) string {
	if parts, why := splitName(name); why == "" && len(parts) == 1 && parts[0] == name {
		return name
	}
	return `'"` + strings.ReplaceAll(name, `"`, `""`) + `"'`
}

// reportViews warns once of the views over a table that the configuration does
// not name.
func (s *catalog) reportViews(ctx context.Context, cfg *TableConfig, t *rewrite.Table, views []ViewStatus) {
	why := viewsUnnamed(cfg, views)
	if why == "" {
		return
	}
	s.mu.Lock()
	done := s.reported[cfg.Name]
	s.reported[cfg.Name] = true
	s.mu.Unlock()
	if !done {
		p := cfg.problem("", "")
		s.log().WarnContext(ctx, "slotsql: "+why, "table", t.Name, "file", p.File, "line", p.Line)
	}
}
