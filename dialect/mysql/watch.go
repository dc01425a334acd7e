package mysql

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ dialect.Watcher = (*Dialect)(nil)

// markParts are what a table's mark is made of: a view of information_schema,
// the columns there of the database's name and the table's, and those that
// describe the table. Left out is whatever changes with the table's rows, for
// which a storage engine would be asked.
var markParts = []struct{ from, schema, table, describe string }{
	{"TABLES", "TABLE_SCHEMA", "TABLE_NAME", "TABLE_TYPE, ENGINE, TABLE_COLLATION, CREATE_OPTIONS"},
	{
		"COLUMNS",
		"TABLE_SCHEMA",
		"TABLE_NAME",
		"ORDINAL_POSITION, COLUMN_NAME, COLUMN_DEFAULT, IS_NULLABLE, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME, EXTRA, GENERATION_EXPRESSION, COLUMN_COMMENT, PRIVILEGES",
	},
	{"STATISTICS", "TABLE_SCHEMA", "TABLE_NAME", "INDEX_NAME, NON_UNIQUE, SEQ_IN_INDEX, COLUMN_NAME, SUB_PART, INDEX_TYPE"},
	{
		"KEY_COLUMN_USAGE",
		"TABLE_SCHEMA",
		"TABLE_NAME",
		"CONSTRAINT_NAME, ORDINAL_POSITION, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME",
	},
	{"REFERENTIAL_CONSTRAINTS", "CONSTRAINT_SCHEMA", "TABLE_NAME", "CONSTRAINT_NAME, UPDATE_RULE, DELETE_RULE, REFERENCED_TABLE_NAME"},
	{"TABLE_CONSTRAINTS", "TABLE_SCHEMA", "TABLE_NAME", "CONSTRAINT_NAME, CONSTRAINT_TYPE"},
	{"TRIGGERS", "EVENT_OBJECT_SCHEMA", "EVENT_OBJECT_TABLE", "TRIGGER_NAME, EVENT_MANIPULATION, ACTION_TIMING, ACTION_STATEMENT"},
	{
		"PARTITIONS",
		"TABLE_SCHEMA",
		"TABLE_NAME",
		"PARTITION_ORDINAL_POSITION, SUBPARTITION_ORDINAL_POSITION, PARTITION_METHOD, SUBPARTITION_METHOD, PARTITION_EXPRESSION, SUBPARTITION_EXPRESSION",
	},
}

// keysPart and constraintsPart are the numbers of KEY_COLUMN_USAGE and TABLE_CONSTRAINTS
// among the parts.
const keysPart, constraintsPart = "3", "5"

// Marks implements dialect.Watcher. MariaDB reads the definition of each table
// that it is asked for from its cache; every view of the same databases that may
// read one of the tables is part of all their marks.
func (d *Dialect) Marks(ctx context.Context, s dialect.Session, names []dialect.WrittenName) ([]dialect.Mark, error) {
	marks, err := d.marks(ctx, s, names)
	if err != nil {
		return nil, fmt.Errorf("mysql: looking at the tables' definitions: %w", err)
	}
	return marks, nil
}

func (d *Dialect) marks(ctx context.Context, s dialect.Session, names []dialect.WrittenName) ([]dialect.Mark, error) {
	marks := make([]dialect.Mark, len(names))
	srv, err := d.ask(ctx, s)
	if err != nil {
		return nil, err
	}
	all := bySchema(srv.database, names)
	for i := range all {
		db := &all[i]
		views, err := viewsIn(ctx, s, db.schema)
		if err != nil {
			return nil, err
		}
		rows, err := s.Query(ctx, db.markQuery(views, srv.mariaDB))
		if err != nil {
			return nil, err
		}
		unlisted, err := db.unlisted(ctx, s, rows)
		if err != nil {
			return nil, err
		}
		rows = append(rows, unlisted...)
		over := ""
		for _, r := range rows {
			if dialect.String(r[1]) == "" {
				over += dialect.String(r[2])
			}
		}
		for _, r := range rows {
			name, version := dialect.String(r[1]), dialect.String(r[0])+dialect.String(r[2])
			if name == "" {
				continue
			}
			for _, at := range db.places(name, srv.folds) {
				m := &marks[at]
				if m.Name == "" {
					*m = dialect.Mark{Schema: db.schema, Name: name, Version: over}
				}
				m.Version += version
			}
		}
	}
	return marks, nil
}

// glanceQuery asks for what the server counts of definitions. A change takes the table's definition out of
// the server's cache, and its next use opens it: either the first number falls, or the second
// one has risen. A table that nobody has opened yet, or not lately, is not in the cache, and rights are not in the definition. So
// statements that give a name to a table or take it away, or change rights, are counted as well, but they are when they begin: where
// no thread runs but this one, they have ended. (The server adds up what each thread has counted before whether it runs.)
const glanceQuery = "SHOW GLOBAL STATUS WHERE Variable_name IN" +
	" ('Threads_running', 'Open_table_definitions', 'Opened_table_definitions', 'Com_create_view', 'Com_create_table', 'Com_alter_table'," +
	" 'Com_rename_table', 'Com_drop_table', 'Com_drop_view'," +
	" 'Com_grant', 'Com_grant_role', 'Com_grant_roles', 'Com_revoke', 'Com_revoke_all', 'Com_revoke_role', 'Com_revoke_roles')"

// Glance implements dialect.Watcher.
func (d *Dialect) Glance(ctx context.Context, s dialect.Session, _ []dialect.WrittenName, _ []dialect.Mark) (g dialect.Glance, err error) {
	rows, err := s.Query(ctx, glanceQuery)
	if err != nil {
		return g, fmt.Errorf("mysql: looking at the tables' definitions: %w", err)
	}
	for _, r := range rows {
		name, value := dialect.String(r[0]), dialect.String(r[1])
		switch {
		case name == "Threads_running":
			g.Ended = value == "1"
		case strings.HasPrefix(name, "Com_"):
			g.Begun += name + " " + value + "\n"
		default:
			g.State += name + " " + value + "\n"
		}
	}
	return g, nil
}

// serverQuery adds to the server's names what differs between two of the same names: when it started, in seconds, of
// which UUID_SHORT is made, and the clock sequence and node of UUID, of which one is drawn at each start.
const serverQuery = "SELECT CONCAT_WS(' ', CURRENT_USER(), CURRENT_ROLE(), @@hostname, @@port, @@datadir, UUID_SHORT() >> 24, SUBSTR(UUID(), 20))"

// Server implements dialect.Watcher.
func (*Dialect) Server(ctx context.Context, s dialect.Session) (string, error) {
	rows, err := s.Query(ctx, serverQuery)
	if err != nil {
		return "", fmt.Errorf("mysql: asking which server this is: %w", err)
	}
	return dialect.String(rows[0][0]), nil
}

// unlisted makes a part of the marks of tables whose keys are listed and whose
// constraints are not, because the account may not see them there (unseen.go).
func (db *named) unlisted(ctx context.Context, s dialect.Session, rows [][]any) (parts [][]any, err error) {
	keys, constraints := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		switch dialect.String(r[0]) {
		case keysPart:
			keys[dialect.String(r[1])] = true
		case constraintsPart:
			constraints[dialect.String(r[1])] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if constraints[name] {
			continue
		}
		t := &schema.Table{Schema: db.schema, Name: name}
		if err := define(ctx, s, t); err != nil {
			return nil, err
		}
		for _, c := range t.Checks {
			parts = append(parts, []any{"CHECK", name, c.SQL})
		}
	}
	return parts, nil
}

// viewsIn lists the views of a database, without opening its tables.
func viewsIn(ctx context.Context, s dialect.Session, schema string) ([]string, error) {
	rows, err := s.Query(ctx, "SHOW FULL TABLES FROM "+quote(schema)+" WHERE Table_type = 'VIEW'")
	if err != nil {
		if unknownDatabase(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading the views of %s: %w", schema, err)
	}
	var out []string
	for _, r := range rows {
		out = append(out, dialect.String(r[0]))
	}
	return out, nil
}

// unknownDatabase recognises ER_BAD_DB_ERROR, as noSavepoint does.
func unknownDatabase(err error) bool { return strings.Contains(err.Error(), "1049") }

// markQuery has one row for each table and part: the number of the part's rows
// and a sum of their hashes, whatever their order.
func (db *named) markQuery(views []string, mariaDB bool) string {
	parts := slices.Clone(markParts)
	if mariaDB {
		parts = append(
			parts,
			struct{ from, schema, table, describe string }{
				"CHECK_CONSTRAINTS",
				"CONSTRAINT_SCHEMA",
				"TABLE_NAME",
				"CONSTRAINT_NAME, CHECK_CLAUSE",
			},
		)
	}
	var statements []string
	for i, p := range parts {
		statements = append(
			statements,
			fmt.Sprintf(
				"SELECT %d AS part, CAST(%s AS BINARY) AS name, %s AS version FROM information_schema.%s WHERE %s = %s AND %s IN %s GROUP BY CAST(%s AS BINARY)",
				i,
				p.table,
				hashes(p.describe),
				p.from,
				p.schema,
				nameLiteral(db.schema),
				p.table,
				db.list(),
				p.table,
			),
		)
	}
	if !mariaDB {
		statements = append(
			statements,
			fmt.Sprintf(
				"SELECT %d, CAST(t.TABLE_NAME AS BINARY), %s FROM information_schema.TABLE_CONSTRAINTS t JOIN information_schema.CHECK_CONSTRAINTS c"+
					" ON c.CONSTRAINT_SCHEMA = t.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = t.CONSTRAINT_NAME"+
					" WHERE t.TABLE_SCHEMA = %s AND t.TABLE_NAME IN %s AND t.CONSTRAINT_TYPE = 'CHECK' GROUP BY CAST(t.TABLE_NAME AS BINARY)",
				len(parts),
				hashes("t.CONSTRAINT_NAME, t.ENFORCED, c.CHECK_CLAUSE"),
				nameLiteral(db.schema),
				db.list(),
			),
		)
	}
	if len(views) > 0 {
		over := fmt.Sprintf("SELECT %d, CAST('' AS BINARY), %s FROM information_schema.VIEWS WHERE TABLE_SCHEMA = %s AND TABLE_NAME IN %s",
			len(parts)+1, hashes("TABLE_NAME, VIEW_DEFINITION, IS_UPDATABLE"), nameLiteral(db.schema), literals(views))
		if len(db.names) <= maxPattern {
			over += " AND (VIEW_DEFINITION = '' OR VIEW_DEFINITION REGEXP " + nameLiteral(mentionPattern(db.names)) + ")"
		}
		statements = append(statements, over)
	}
	return strings.Join(statements, " UNION ALL ")
}

// hashes writes the sum over rows: their number, and both ends of the XOR of
// their SHA-256 (MySQL 9.6 has no MD5 any more). QUOTE keeps NULL apart from a
// text and one value from the next.
func hashes(columns string) string {
	var quoted []string
	for _, c := range strings.Split(columns, ", ") {
		quoted = append(quoted, "QUOTE("+c+")")
	}
	digest := "SHA2(CONCAT_WS(',', " + strings.Join(quoted, ", ") + "), 256)"
	half := func(part string) string {
		return "BIT_XOR(CAST(CONV(" + part + "(" + digest + ", 16), 16, 10) AS UNSIGNED))"
	}
	return "CONCAT_WS('.', COUNT(*), " + half("LEFT") + ", " + half("RIGHT") + ")"
}

// maxPattern is how many names a pattern may have: the server's are bounded. With
// more any view counts, also one that reads none of the tables.
const maxPattern = 200

// mentionPattern matches the text of a view that names one of the tables: the
// server keeps it with every name in quotes.
func mentionPattern(names []string) string {
	var quoted []string
	for _, n := range names {
		quoted = append(quoted, regexp.QuoteMeta(quote(n)))
	}
	return "(" + strings.Join(quoted, "|") + ")"
}
