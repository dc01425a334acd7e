package dialect

import (
	"fmt"
	"hash/fnv"
	"unicode/utf8"
)

// NameRules are how an engine treats table names: the longest one, 0 for no
// limit, and whether two that differ in letter case only may be the same
// table.
type NameRules struct {
	Chars, Bytes int
	Folds        bool
}

// TooLong reports whether the engine refuses a table of that name for its length.
func (r NameRules) TooLong(name string) bool {
	return r.Chars > 0 && utf8.RuneCountInString(name) > r.Chars || r.Bytes > 0 && len(name) > r.Bytes
}

// Limit is the longest name, for messages.
func (r NameRules) Limit() string {
	if r.Chars > 0 {
		return fmt.Sprintf("%d characters", r.Chars)
	}
	return fmt.Sprintf("%d bytes", r.Bytes)
}

// SlotTable makes a default slot table name fit.
func (r NameRules) SlotTable(stored string) string { return r.Derived(stored, "_slots") }

// Derived makes a name of a table's name and an ending fit: as much of the table's name as
// there is room for, a hash of all of it, and the ending. The same name always gives the same
// result.
func (r NameRules) Derived(stored, ending string) string {
	name := stored + ending
	if !r.TooLong(name) {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(stored))
	ending = fmt.Sprintf("_%08x%s", h.Sum32(), ending)
	prefix := stored
	for r.TooLong(prefix + ending) {
		_, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
	}
	return prefix + ending
}
