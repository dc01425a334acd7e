// Package sqlite reads schema files of SQLite. SQLite itself runs them, on an empty database in
// memory.
package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"modernc.org/sqlite"

	"github.com/slotsql/slotsql/cmd/slotsql/internal/sqlfile"
	"github.com/slotsql/slotsql/dialect"
	slotsqlite "github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Tables returns the tables that the CREATE, ALTER and DROP statements of a file leave behind, as
// the dialect reads them from a database. Other statements are skipped, and so are those about
// temporary tables; an error is a *sqlfile.Error. Views come without columns.
//
// Functions and collations that SQLite does not know are the application's own: a stand-in of
// that name is enough to define a table with them.
func Tables(text string) ([]*schema.Table, error) {
	own := &stubs{}
	for {
		tables, err := own.tables(text)
		if err == nil || !own.add(err) {
			return tables, err
		}
	}
}

// stubs are the names of functions and collations that the application defines.
type stubs struct{ functions, collations []string }

var unknown = regexp.MustCompile(`no such (function|collation sequence): (.+?)(?: \(\d+\))?$`)

// add takes the name that an error is about, and reports whether it is a new one.
func (s *stubs) add(err error) bool {
	m := unknown.FindStringSubmatch(err.Error())
	if m == nil {
		return false
	}
	list := &s.functions
	if m[1] != "function" {
		list = &s.collations
	}
	if slices.Contains(*list, m[2]) {
		return false
	}
	*list = append(*list, m[2])
	return true
}

// Connect implements driver.Connector.
func (s *stubs) Connect(context.Context) (driver.Conn, error) {
	d := &sqlite.Driver{}
	for _, name := range s.functions {
		null := func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) { return nil, nil }
		if err := d.RegisterDeterministicScalarFunction(name, -1, null); err != nil {
			return nil, err
		}
	}
	for _, name := range s.collations {
		if err := d.RegisterCollationUtf8(name, strings.Compare); err != nil {
			return nil, err
		}
	}
	return d.Open(":memory:")
}

// Driver implements driver.Connector.
func (*stubs) Driver() driver.Driver { return &sqlite.Driver{} }

// tables runs the file on a new database.
func (s *stubs) tables(text string) (out []*schema.Table, err error) {
	ctx := context.Background()
	db := sql.OpenDB(s)
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	session := dialect.PlainSession{Conn: conn}
	d := slotsqlite.New()
	err = sqlfile.Each(d.LexRules(), text, func(st sqlfile.Statement) error {
		if !runs(st) {
			return nil
		}
		if err := session.Exec(ctx, st.SQL); err != nil && (matters(st) || unknown.MatchString(err.Error())) {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	const list = `SELECT l.name, l.type FROM main.sqlite_schema m JOIN pragma_table_list l ON l.schema = 'main' AND l.name = m.name
WHERE m.type IN ('table', 'view') AND l.type <> 'shadow' AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY m.rowid`
	rows, err := session.Query(ctx, list)
	if err != nil {
		return nil, fmt.Errorf("reading the list of tables: %w", err)
	}
	for _, r := range rows {
		t := &schema.Table{Schema: "main", Name: dialect.String(r[0]), IsView: dialect.String(r[1]) == "view"}
		if dialect.String(r[1]) == "table" {
			if t, err = d.Table(ctx, session, "main", t.Name); err != nil {
				return nil, err
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// runs reports whether a statement defines something that stays.
func runs(st sqlfile.Statement) bool {
	own := len(st.Words) > 2 && strings.HasPrefix(st.Words[2], "SQLITE_") // the shell's .schema has SQLite's own tables, too
	return len(st.Words) > 1 && slices.Contains([]string{"CREATE", "ALTER", "DROP"}, st.Words[0]) &&
		st.Words[1] != "TEMP" && st.Words[1] != "TEMPORARY" && !own
}

// matters reports whether a statement that fails leaves out what decides how statements run. A
// module that only the application has makes CREATE VIRTUAL TABLE fail, for instance.
func matters(st sqlfile.Statement) bool {
	return slices.ContainsFunc([]string{"TABLE", "UNIQUE", "TRIGGER"}, func(word string) bool { return st.Is("CREATE", word) }) ||
		st.Is("ALTER", "TABLE")
}
