// Package mysql is the MySQL 8 and MariaDB 10.11+ dialect. It reads statements
// into the neutral form and writes slotsql's own statements; it imports no
// driver and keeps no state beside a pool of parsers.
//
// New's dialect is for sessions with the default settings. A session's sql_mode
// and character set may have the server read the same statement differently, so
// Namespace names them, and InNamespace returns the dialect of such sessions.
package mysql

import (
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ dialect.Dialect = (*Dialect)(nil)

// Dialect is safe for concurrent use. Make one with New.
type Dialect struct {
	// FoldTableNames makes table names compare without regard to letter
	// case, as a server with lower_case_table_names other than 0 does. Set
	// it before the first use; Folds asks a server.
	FoldTableNames bool

	// NoWait reports whether the server knows SET STATEMENT with a lock wait timeout of 0, and
	// SKIP LOCKED (MariaDB 10.6). Set it before the first use, too.
	NoWait bool
	// StatementLog reports whether the server writes statements to its binary log, and so
	// lets InnoDB change nothing below REPEATABLE READ.
	StatementLog bool

	// KeepsReplaced reports whether a REPLACE whose row has the key of the row that it replaces may leave
	// what refers to that row: MySQL 9.6, which follows foreign keys outside InnoDB, does.
	KeepsReplaced bool

	// Isolation is the name of the variable that holds a session's isolation
	// level; empty when it is not known.
	Isolation string

	// MariaDB and MySQL report whether the server is known to be one.
	MariaDB, MySQL bool

	// SnapshotIsolation reports whether sessions begin with innodb_snapshot_isolation, see
	// isolation.go.
	SnapshotIsolation bool

	// TimeLimit reports whether sessions begin with a limit on how long a statement may run.
	TimeLimit bool

	settings settings
}

// New returns the dialect with exact table names, the default on Linux.
func New() *Dialect { return &Dialect{} }

// Name is "mysql", for MariaDB too.
func (*Dialect) Name() string { return "mysql" }

// NameRules implements dialect.Dialect.
func (*Dialect) NameRules() dialect.NameRules { return dialect.NameRules{Chars: 64, Folds: true} }

var lexRules = lex.Rules{
	Backtick:      true,
	DoubleString:  true,
	Backslash:     true,
	HashComment:   true,
	DashSpace:     true,
	ExecComment:   true,
	QuestionParam: true,
	AtVariable:    true,
}

// LexRules returns the lexical rules of the session's sql_mode and character set.
func (d *Dialect) LexRules() *lex.Rules {
	if d.settings.lexRules != nil {
		return d.settings.lexRules
	}
	return &lexRules
}

// SameTable compares exactly unless FoldTableNames is set.
func (d *Dialect) SameTable(written ast.Ident, stored string) bool {
	if d.FoldTableNames {
		return strings.EqualFold(written.Name, stored)
	}
	return written.Name == stored
}

// SameColumn ignores letter case, as every server does.
func (*Dialect) SameColumn(written ast.Ident, stored string) bool {
	return strings.EqualFold(written.Name, stored)
}

// Quote puts a name between backticks and doubles those inside.
func (*Dialect) Quote(name string) string { return quote(name) }

// Placeholder is always a question mark.
func (*Dialect) Placeholder(int) string { return "?" }

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func quoteAll(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = quote(n)
	}
	return out
}

func qualify(qualifier string, names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = qualifier + "." + quote(n)
	}
	return out
}

// fullName writes schema.name, or the name alone when the schema is unknown.
func fullName(schema, name string) string {
	if schema == "" {
		return quote(name)
	}
	return quote(schema) + "." + quote(name)
}

func baseTable(t *schema.Table) string { return fullName(t.Schema, t.Name) }

func slotTable(t *schema.Table) string {
	schema := t.Counter.SlotTable.Schema
	if schema == "" {
		schema = t.Schema
	}
	return fullName(schema, t.Counter.SlotTable.Name)
}

func slotColumn(t *schema.Table) string {
	if t.Counter.SlotTable.Column == "" {
		return quote("slot")
	}
	return quote(t.Counter.SlotTable.Column)
}
