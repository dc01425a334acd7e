package upkeep

import (
	"strings"

	"github.com/slotsql/slotsql/internal/catalog"
)

// A SetupOption changes what Migrate, DDL and SchemaDDL create.
type SetupOption func(*setupOptions)

type setupOptions struct{ noForeignKeys bool }

// WithoutForeignKeys leaves out the foreign keys of slot tables, as
// foreign_keys: false does for a table, so that no lock on a base table is
// needed. Slot tables that are there stay as they are.
func WithoutForeignKeys() SetupOption { return func(o *setupOptions) { o.noForeignKeys = true } }

func applySetup(checked []catalog.CheckedTable, opts []SetupOption) {
	without := withoutForeignKeys(opts)
	for _, t := range checked {
		t.Table.Counter.NoForeignKey = t.Table.Counter.NoForeignKey || without
	}
}

func withoutForeignKeys(opts []SetupOption) bool {
	var o setupOptions
	for _, opt := range opts {
		opt(&o)
	}
	return o.noForeignKeys
}

// commented makes lines a comment above a statement.
func commented(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("-- " + l + "\n")
	}
	return b.String()
}
