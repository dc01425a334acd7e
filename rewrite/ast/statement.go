package ast

// Statement is one SQL statement in the neutral form that every dialect's
// parser is translated into. It carries what the planner needs to decide and
// to splice: names, nesting, byte ranges into the original SQL. It does not
// carry enough to print the statement again, on purpose: slotsql never prints
// a tree back, it splices into the application's own SQL.
type Statement struct {
	Kind Kind

	// Opaque is the reason why the planner must not rely on this tree, or ""
	// when the tree is complete. A translator that meets a construct it does
	// not carry faithfully sets it; the planner then drains.
	Opaque string

	// Select is the query of a Select statement, the source of INSERT ...
	// SELECT, and the query of CREATE TABLE AS, EXPLAIN and DECLARE CURSOR.
	Select *Select

	// With holds the CTEs written before an INSERT, UPDATE or DELETE.
	With []*CTE

	// Target is the table an INSERT, UPDATE, DELETE or REPLACE writes. For a
	// multi-table UPDATE or DELETE it is nil and From holds every source.
	Target *Source

	// From holds the further sources of UPDATE ... FROM, DELETE ... USING and
	// of the multi-table forms.
	From []*Source

	// DeleteFrom names the aliases or tables that a multi-table DELETE
	// removes rows from.
	DeleteFrom [][]Ident

	Set       []Assignment // UPDATE ... SET, INSERT ... SET
	Where     *Expr
	OrderBy   []*Expr
	Limit     []*Expr
	Returning []Item

	// Columns and Rows are the column list and the VALUES rows of an INSERT
	// or REPLACE. Columns is empty when the statement has no list.
	Columns []Ident
	Rows    [][]*Expr

	// Conflict is the ON CONFLICT / ON DUPLICATE KEY UPDATE clause, or nil.
	Conflict *Conflict

	// Replace reports whether the statement may delete conflicting rows: REPLACE,
	// INSERT OR REPLACE, UPDATE OR REPLACE.
	Replace bool

	// Modifier reports whether the statement carries IGNORE, LOW_PRIORITY, OR
	// ABORT and the like, or index hints, partitions or anything else written
	// between the parts that a slotted upsert could not repeat.
	Modifier bool

	// Merge reports whether Target, From and Where are the target, the source and ON of a
	// MERGE that changes no rows but those that ON joins, and those that it inserts, and
	// that names no other table.
	Merge bool

	// Tables names every table that a statement of Kind DDL or Other
	// mentions (also filled for TRUNCATE and DROP). The first one of
	// KindCreateSelect is the table that it makes.
	Tables [][]Ident

	// Runs reports whether what an EXPLAIN is about also runs.
	Runs bool
}

// Kind is the kind of a Statement.
type Kind int

// The kinds of statement. Everything that reads or writes rows in a way the
// neutral form does not carry is Other.
const (
	Other Kind = iota
	KindSelect
	KindInsert // also REPLACE, with Replace set
	KindUpdate
	KindDelete
	KindTruncate
	KindDrop         // DROP TABLE only
	KindDDL          // every other CREATE, ALTER, DROP, RENAME, COMMENT, GRANT ...
	KindExplain      // EXPLAIN of any statement, which is not translated
	KindSession      // SET, USE, PRAGMA, SHOW, BEGIN, COMMIT, SAVEPOINT, ...: no table's rows
	KindCreateSelect // CREATE TABLE ... AS SELECT, CREATE VIEW is DDL
	KindReads        // reads Select and writes no table: DECLARE CURSOR, COPY (SELECT ...) TO; DO and SET with subqueries, in Select.Values
)

// Span is a byte range [Start, End) of the original SQL. A token's lex.Span converts to it.
type Span struct{ Start, End int }

// At returns the empty span at an offset, where something may be inserted.
func At(offset int) Span { return Span{offset, offset} }

// Ident is one name. Name is the name with quotes taken off and escapes
// resolved; letter case is as written. Quoted reports whether it stood in quotes.
type Ident struct {
	Name   string
	Quoted bool
}

// Select is one SELECT block, one VALUES list, or a set operation over
// several of them.
type Select struct {
	Span
	With []*CTE

	// Operands holds the operands of UNION, INTERSECT or EXCEPT, in text
	// order; Items, From, Where, GroupBy and Having are then empty, and
	// OrderBy and Limit belong to the whole.
	Operands []*Select

	Distinct   bool
	DistinctOn []*Expr // PostgreSQL DISTINCT ON (...)
	Items      []Item
	Values     [][]*Expr // VALUES (...), (...)
	From       []*Source
	Where      *Expr
	GroupBy    []*Expr
	Having     *Expr
	Windows    []*Expr // WINDOW w AS (...): each an Expr of kind Opaque with Args
	OrderBy    []*Expr
	Limit      []*Expr

	// Table reports whether the block is written TABLE name; the span of its only
	// item, a *, is that of the word. Without items it is the table of
	// SQLite's x IN table.
	Table bool

	Lock bool // FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE, ...
	Into bool // SELECT ... INTO
}

// Item is one entry of a select list or of RETURNING. Its Span covers the
// expression and the alias.
type Item struct {
	Span
	Expr  *Expr  // kind Star for * and t.*
	Alias *Ident // nil when none is written
}

// CTE is one common table expression: a query, or a data-modifying statement.
type CTE struct {
	Name      Ident
	Columns   []Ident
	Recursive bool // WITH RECURSIVE
	Select    *Select
	Statement *Statement
}

// Source is one entry of a FROM clause: a table, a derived table, a table
// function, or a join of two sources.
type Source struct {
	// Span covers the table's name and, where written, its alias (with AS).
	// It is only exact for a table (Name set) that is the Target of an
	// UPDATE, DELETE or INSERT; elsewhere it may be zero.
	Span

	// Ref covers everything that a query which takes the place of the table
	// has to hold: ONLY, the name, alias, partitions and hints, but no column
	// aliases. Zero where no query can stand in its place.
	Ref Span

	// Name is the table's name, schema first where written. Empty for
	// anything that is not a table.
	Name  []Ident
	Alias *Ident

	// ColumnAliases is FROM t AS x(a, b).
	ColumnAliases []Ident

	// Select is a derived table. Lateral reports whether it may refer to the
	// sources to its left.
	Select  *Select
	Lateral bool

	// Func is a table function or a source the planner need not look into;
	// its Args are resolved as lateral references.
	Func *Expr

	// A join. Left and Right are set together.
	Left, Right *Source
	On          *Expr
	Using       []Ident
	Natural     bool
	// LeftOuter: rows of Left are kept, so Right's columns may be NULL.
	// RightOuter: the other way round. FULL JOIN sets both.
	LeftOuter, RightOuter bool
}

// Assignment is one column = value of SET.
type Assignment struct {
	Column []Ident // qualifier first where written
	// Value is nil for DEFAULT and for the multi-column forms
	// (a, b) = (...), which set Statement.Opaque.
	Value *Expr
}

// Conflict is ON CONFLICT ... or ON DUPLICATE KEY UPDATE.
type Conflict struct {
	// Columns is the conflict target's column list; empty for ON CONFLICT
	// without a target, ON CONSTRAINT, and ON DUPLICATE KEY.
	Columns    []Ident
	Others     []*Expr // what the target names besides plain columns: expressions, columns with a collation
	Constraint *Ident  // ON CONFLICT ON CONSTRAINT name
	Predicate  *Expr   // ON CONFLICT (...) WHERE ...
	Nothing    bool    // DO NOTHING
	Set        []Assignment
	Where      *Expr // DO UPDATE ... WHERE ...
}

// ExprKind is the kind of an Expr.
type ExprKind int

// The kinds of expression. Opaque is everything not listed: its operands are
// in Args, so that every column reference and every subquery is reachable.
const (
	Opaque    ExprKind = iota
	ColumnRef          // Name holds qualifiers and column
	Star               // * or t.*: Name holds the qualifiers only
	Number             // unsigned numeric literal, as written in the span
	String             // string literal; Text is its value
	Null               // NULL
	Param              // placeholder; Text is the token as written (?, ?3, :name, @name, $1)
	Binary             // Op, two Args. AND and OR are binary, Op upper case; comparison and arithmetic operators as written
	Unary              // Op (-, +, NOT, ~), one Arg
	Paren              // ( Args[0] )
	Call               // function call: Op is the lower-case function name without schema; Args in order. COALESCE, IFNULL, GREATEST are Calls
	In                 // Args[0] IN (Args[1:]...); Negated NOT IN. IN (subquery) has one Arg of kind Subquery
	Subquery           // Query: scalar, EXISTS, ANY, IN
	Excluded           // EXCLUDED.c or VALUES(c): Name holds the column only
)

// Expr is one expression. Span covers the whole expression; where a parser
// gives no end the translator finds it with the token scanner. Spans of
// ColumnRef, Star, Number, String, Param and of the operands of top-level AND
// must be exact: the planner splices there.
type Expr struct {
	Span
	Kind    ExprKind
	Op      string
	Name    []Ident
	Text    string
	Args    []*Expr
	Query   *Select
	Case    *Case // of a CASE, of kind Opaque
	Negated bool
	// Label is the name that an argument has by being a column; nil elsewhere.
	Label *Label
	// Aggregate reports whether a Call is written with OVER, FILTER, WITHIN GROUP
	// or DISTINCT, or is an aggregate function the translator knows.
	Aggregate bool
}

// Label is a name, and the place in the statement where AS would stand.
type Label struct {
	Name string
	At   int
}

// Case gives the role of each expression in a CASE's Args.
type Case struct {
	Operand *Expr // nil for CASE WHEN condition
	Whens   []When
	Else    *Expr
}

// When is one WHEN ... THEN ... .
type When struct{ When, Then *Expr }

// Walk calls f for e and, unless f returns false, for its operands. It does
// not enter subqueries.
func (e *Expr) Walk(f func(*Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	for _, a := range e.Args {
		a.Walk(f)
	}
}
