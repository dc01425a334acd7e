package mysql

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
)

// named are tables of one database, by the names they were asked for with.
// information_schema is asked for one database at a time, by a constant: the
// server then opens nothing of the others.
type named struct {
	schema string
	names  []string
	at     [][]int // for each name its places among all that were asked for

	folded map[string][]int // numbers of names, by their lower case; made when it is needed
}

// standing is what must be known of a session before information_schema is asked.
type standing struct {
	database string // the current one
	folds    bool   // names of tables compare without case
	mariaDB  bool
}

func (d *Dialect) ask(ctx context.Context, s dialect.Session) (standing, error) {
	rows, err := s.Query(ctx, "SELECT DATABASE(), @@lower_case_table_names, VERSION()")
	if err != nil {
		return standing{}, fmt.Errorf("reading the current database: %w", err)
	}
	if len(rows) != 1 || len(rows[0]) != 3 {
		return standing{}, fmt.Errorf("reading the current database: got %d rows", len(rows))
	}
	return standing{
		database: dialect.String(rows[0][0]),
		folds:    d.FoldTableNames || dialect.String(rows[0][1]) != "0",
		mariaDB:  strings.Contains(strings.ToLower(dialect.String(rows[0][2])), "mariadb"),
	}, nil
}

// bySchema sorts names by database; those without are in the session's.
func bySchema(current string, names []dialect.WrittenName) []named {
	var all []named
	schemas, places := map[string]int{}, map[dialect.WrittenName]int{}
	for i, n := range names {
		if n.Schema == "" {
			if n.Schema = current; current == "" {
				continue
			}
		}
		at, ok := schemas[n.Schema]
		if !ok {
			at = len(all)
			schemas[n.Schema] = at
			all = append(all, named{schema: n.Schema})
		}
		db := &all[at]
		place, ok := places[n]
		if !ok {
			place = len(db.names)
			places[n] = place
			db.names, db.at = append(db.names, n.Name), append(db.at, nil)
		}
		db.at[place] = append(db.at[place], i)
	}
	return all
}

// list writes the names for IN.
func (n *named) list() string { return literals(n.names) }

func literals(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = nameLiteral(name)
	}
	return "(" + strings.Join(out, ", ") + ")"
}

// nameLiteral writes a name as a constant of the character set that
// information_schema has, whatever that of the connection.
func nameLiteral(name string) string {
	if name == "" {
		return "_utf8 ''"
	}
	return "_utf8 0x" + hex.EncodeToString([]byte(name))
}

// places finds those of the names asked for that mean the stored table:
// information_schema compares loosely.
func (n *named) places(stored string, folds bool) []int {
	if n.folded == nil {
		n.folded = map[string][]int{}
		for i, name := range n.names {
			n.folded[strings.ToLower(name)] = append(n.folded[strings.ToLower(name)], i)
		}
	}
	var out []int
	for _, i := range n.folded[strings.ToLower(stored)] {
		if n.names[i] == stored || folds && strings.EqualFold(n.names[i], stored) {
			out = append(out, n.at[i]...)
		}
	}
	return out
}
