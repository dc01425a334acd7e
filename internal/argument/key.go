package argument

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Keys, which name the rows of an execution.

// KeyNumbers returns the key of the one row that a drain covers, if it consists of whole numbers
// as the database writes them; else nil.
func (l List) KeyNumbers(d *rewrite.DrainTable) []string {
	return l.WholeNumbers(d.Table, d.Key)
}

// WholeNumbers returns a key that consists of whole numbers; nil for any other.
func (l List) WholeNumbers(t *schema.Table, key []rewrite.KeyValue) []string {
	var out []string
	for i, k := range key {
		if c := t.Column(t.Counter.Key[i]); c == nil || c.Numeric != schema.Integer {
			return nil
		}
		s := ""
		switch {
		case len(k.Args) == 0 && len(k.Parts) == 1:
			s = strings.TrimSpace(k.Parts[0].Of(l.Values))
		case len(k.Args) == 1 && l.nothingBeside(&k):
			v, _ := l.Value(k.Args[0])
			s = fmt.Sprint(v.Value)
		}
		if n, err := strconv.ParseInt(s, 10, 64); err != nil || strconv.FormatInt(n, 10) != s {
			return nil
		}
		out = append(out, s)
	}
	return out
}

// nothingBeside reports whether a key's value is just an argument.
func (l List) nothingBeside(k *rewrite.KeyValue) bool {
	return !slices.ContainsFunc(k.Parts, func(part rewrite.SQL) bool { return strings.TrimSpace(part.Of(l.Values)) != "" })
}

// NumberKey stores the values of a key in into, and reports whether all of them are numbers.
func (l List) NumberKey(key []rewrite.KeyNumber, into []int64) bool {
	for i, k := range key {
		if k.Arg == nil {
			into[i] = k.Literal.Of(l.Values)
			continue
		}
		v, ok := l.Value(*k.Arg)
		if !ok {
			return false
		}
		switch n := v.Value.(type) {
		case int64:
			into[i] = n
		case int:
			into[i] = int64(n)
		default:
			return false
		}
	}
	return true
}

// WriteNumbers writes a key of whole numbers as slots.AppendValue writes each of them behind a comma.
func WriteNumbers(key []int64) string {
	var buf [64]byte
	b := buf[:0]
	for _, n := range key {
		b = strconv.AppendInt(append(b, ','), n, 10)
	}
	return string(b)
}
