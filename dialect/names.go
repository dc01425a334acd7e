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

// SlotTable makes a default slot table name fit: as much of the base table's
// name as there is room for, a hash of all of it, and the usual ending. The
// same name always gives the same result.
func (r NameRules) SlotTable(stored string) string {
	name := stored + "_slots"
	if !r.TooLong(name) {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(stored))
	ending := fmt.Sprintf("_%08x_slots", h.Sum32())
	prefix := stored
	for r.TooLong(prefix + ending) {
		_, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
	}
	return prefix + ending
}
