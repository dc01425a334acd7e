package lex

// Rules are the lexical rules of a dialect: what quotes, comments and placeholders look like.
// The zero value is standard SQL.
type Rules struct {
	Backtick       bool // `name` is an identifier
	Bracket        bool // [name] is an identifier
	DoubleString   bool // "text" is a string (MySQL without ANSI_QUOTES)
	Backslash      bool // \ escapes inside '...' (and inside "..." with DoubleString)
	HashComment    bool // # starts a comment
	DashSpace      bool // -- starts a comment only before white space or the end
	NestedComment  bool // /* /* */ */ nests
	ReturnEndsLine bool // a carriage return ends a -- comment, too
	MarkIsSpace    bool // a byte order mark is white space
	ExecComment    bool // /*! ... */ and /*M! ... */ hold code
	EString        bool // E'...', B'', X'', N'', U&'...', U&"..."
	DollarString   bool // $tag$ ... $tag$
	DollarParam    bool // $1
	QuestionParam  bool // ?
	QuestionNumber bool // ?7
	NamedParam     bool // :name, @name, #name, $name
	AtVariable     bool // @name and @@name are variables
	SelectInto     bool // SELECT ... INTO name makes a table

	// Foreign reports whether statements come in another character set than UTF-8:
	// bytes beyond ASCII are then understood inside quotes and comments only.
	Foreign bool
	// Wide is set for a character set in which the bytes of a character may look
	// like ASCII.
	Wide Wide
}

// Wide divides a statement in some character set into characters. Two values that are equal
// do so in the same way.
type Wide interface {
	// Len returns how many bytes the character at offset i of a statement has.
	Len(sql string, i int) int
}
