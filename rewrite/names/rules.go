package names

// Rules are how names resolve and how result columns are named.
type Rules struct {
	// ItemNames is how a select item without an alias is named.
	ItemNames ItemNames
	// StoredNames is where a bare column as a select item is named as its table has
	// it, not as the statement writes it.
	StoredNames StoredNames
	// AliasInExpr: ORDER BY finds aliases inside expressions too.
	AliasInExpr bool
	// HavingAlias: HAVING may only name grouped columns, aggregates and aliases.
	HavingAlias bool
	// WholeRow: a table's name stands for its row, of the type that has the
	// table's name.
	WholeRow bool
	// SystemColumns are the columns that every table has and no query.
	SystemColumns []string
	// RowNumbers: each of them is the column that numbers the rows, where a table has one (SQLite).
	RowNumbers bool
	// NestedNames: a join in parentheses names its columns by rules of its own
	// where a name comes twice (SQLite).
	NestedNames bool
	// WithSeesAll: WITH queries see each other, and themselves, without the
	// word RECURSIVE, too.
	WithSeesAll bool
	// UpsertSeesQuery: the conflict clause of INSERT ... SELECT may name the
	// columns of the query's tables.
	UpsertSeesQuery bool
	// StrictConflict: ON CONFLICT DO UPDATE has to name its conflict target, and columns of
	// the table by the table's name.
	StrictConflict bool
}

// ItemNames is how an engine names a select item that is an expression without an alias.
type ItemNames uint8

// The ways of naming an item.
const (
	// ItemsByRule: by its function or type, or by a fixed word (PostgreSQL).
	ItemsByRule ItemNames = iota
	// ItemsByText: by its own SQL (MySQL).
	ItemsByText
	// ItemsToNextToken: by its own SQL and all that follows up to the next token, comments
	// included (SQLite).
	ItemsToNextToken
)

// StoredNames is which queries name a bare column as its table has it.
type StoredNames uint8

// The queries that do so.
const (
	NamesAsWritten       StoredNames = iota // none: columns are named as the statement writes them
	NamesStored                             // all
	OutermostNamesStored                    // the outermost one only
)
