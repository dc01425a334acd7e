// Package sqlite is the SQLite dialect: it reads SQLite's SQL into the neutral
// statement of package rewrite, writes slotsql's own statements, and reads the
// facts of a table from the database. It imports no driver; it is tested with
// modernc.org/sqlite.
//
// What makes SQLite different from the other engines: one connection writes at
// a time, and a write transaction excludes all others, so nothing here locks
// rows; a value has a type of its own whatever its column declares, so slotted
// upserts check the type of what they add to; and foreign keys are off unless
// a connection turns them on, so triggers keep the slot table in step.
//
//	d := sqlite.New()
//	st, err := d.Parse("UPDATE posts SET views = views + 1 WHERE id = ?")
package sqlite

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

var (
	_ dialect.Dialect       = (*Dialect)(nil)
	_ dialect.TriggerKeeper = (*Dialect)(nil)
)

// Dialect is the SQLite dialect. It holds no state.
type Dialect struct{}

// New returns the dialect.
func New() *Dialect { return &Dialect{} }

// Name returns "sqlite".
func (*Dialect) Name() string { return "sqlite" }

// NameRules implements dialect.Dialect.
func (*Dialect) NameRules() dialect.NameRules { return dialect.NameRules{Folds: true} }

// LexRules returns SQLite's lexical rules.
func (*Dialect) LexRules() *lex.Rules { return &lexRules }

// SameTable compares names as SQLite does: ASCII letters without case, quoted
// or not.
func (*Dialect) SameTable(written ast.Ident, stored string) bool {
	return sameName(written.Name, stored)
}

// SameColumn compares as SameTable does.
func (*Dialect) SameColumn(written ast.Ident, stored string) bool {
	return sameName(written.Name, stored)
}

// Quote writes a name in double quotes, which SQLite reads as a name wherever
// a name is expected. (In an expression it falls back to a string when no
// column has that name, so slotsql's statements qualify every column.)
func (*Dialect) Quote(name string) string { return quote(name) }

// Placeholder writes ?n: unlike a bare ? it keeps its number next to any other.
func (*Dialect) Placeholder(n int) string { return "?" + strconv.Itoa(n) }

// Drain uses a savepoint, which is a transaction of its own outside one.
func (*Dialect) Drain() dialect.DrainTx {
	return dialect.DrainTx{
		Begin:    []string{"SAVEPOINT slotsql_drain"},
		Commit:   []string{"RELEASE slotsql_drain"},
		Rollback: []string{"ROLLBACK TO slotsql_drain", "RELEASE slotsql_drain"},
		Nested:   true,
	}
}

// OneState implements dialect.StateReader. What runs in it are queries, which
// take the shared lock with the first one.
func (*Dialect) OneState() (begin, end []string) {
	return []string{"BEGIN DEFERRED"}, []string{"ROLLBACK"}
}

// InTransaction always fails: SQL has no way to ask, and a drain that nests
// need not know.
func (*Dialect) InTransaction(context.Context, dialect.Session) (bool, error) {
	return false, errors.New("sqlite: SQL cannot tell whether a session is in a transaction; drains nest in savepoints instead")
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// sameName folds ASCII only, as sqlite3StrICmp does.
func sameName(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i < len(a); i++ {
		if fold(a[i]) != fold(b[i]) {
			return false
		}
	}
	return true
}

func fold(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func foldName(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] = fold(b[i])
	}
	return string(b)
}
