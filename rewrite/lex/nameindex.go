package lex

import "strings"

// A NameIndex finds which of a set of names may occur in a statement, with one look-up for each
// word of the statement, however many names there are.
//
// Where an engine could read a name, the name is a word by itself, in any letter case: between
// quotes, in a comment, in a string. A word is a run of ASCII letters, digits and _. A name
// with other characters is looked up by its longest word, and then compared as a whole. A name
// without such a word, or so long that PostgreSQL may have cut it, is searched for in every
// statement.
//
// In three cases a run may have other characters directly in front of the name, so that every
// suffix of the run is looked up: a run that begins with a digit (1FROM, and the version of an
// executable comment), one after a backslash (\nposts in a string), and one after a byte beyond
// ASCII, which may be part of a character of several bytes.
type NameIndex struct {
	names  []string         // as Spelled returns them
	byWord map[string][]int // numbers of names by their longest word, in lower case
	always []int            // numbers of names that are searched for in every statement
	filter []uint64         // one bit for each hash of a word
	mask   uint32
}

// NewNameIndex returns an index of names. It finds their numbers, from 0.
func NewNameIndex(names []string) *NameIndex {
	n := &NameIndex{byWord: map[string][]int{}}
	for i, name := range names {
		spelled := Spelled(name)
		n.names = append(n.names, spelled)
		if word := longestWord(spelled); word == "" || len(name) >= maxName-utf8Tail {
			n.always = append(n.always, i)
		} else {
			n.byWord[word] = append(n.byWord[word], i)
		}
	}
	size := uint32(1 << 10)
	for size < 64*uint32(len(n.byWord)) {
		size <<= 1
	}
	n.filter, n.mask = make([]uint64, size/64), size-1
	for word := range n.byWord {
		h := hashWord(word) & n.mask
		n.filter[h/64] |= 1 << (h % 64)
	}
	return n
}

// longestWord returns the longest word of a name that has a letter, in lower case.
func longestWord(name string) string {
	longest := ""
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r >= 0x80 || lowerWord[r] == 0 }) {
		if len(word) > len(longest) && strings.ContainsFunc(word, func(r rune) bool { return r > '9' }) {
			longest = word
		}
	}
	return strings.ToLower(longest)
}

// In reports whether any of the names may occur in a statement.
func (n *NameIndex) In(sql string) bool {
	found := false
	n.Find(sql, func(int) bool { found = true; return false })
	return found
}

// Find calls f with the number of each name that may occur in a statement, until f returns
// false. A number may come more than once.
func (n *NameIndex) Find(sql string, f func(int) bool) {
	for _, i := range n.always {
		if ContainsFold(sql, n.names[i]) && !f(i) {
			return
		}
	}
	if len(n.byWord) == 0 {
		return
	}
	for at := 0; at < len(sql); {
		if lowerWord[sql[at]] == 0 {
			at++
			continue
		}
		start, hash, letters := at, uint32(hashSeed), byte(0)
		for ; at < len(sql) && lowerWord[sql[at]] != 0; at++ {
			c := lowerWord[sql[at]]
			letters |= c
			hash = (hash ^ uint32(c)) * hashPrime
		}
		switch run := sql[start:at]; {
		case letters < 0x40: // digits alone
		case run[0] <= '9', start > 0 && (sql[start-1] == '\\' || sql[start-1] >= 0x80):
			for i := max(0, len(run)-maxName); i < len(run); i++ { // a longer end is no name's word
				if !n.word(sql, run[i:], hashWord(run[i:]), f) {
					return
				}
			}
		case !n.word(sql, run, hash, f):
			return
		}
	}
}

// word calls f for the names that a word of a statement may be.
func (n *NameIndex) word(sql, word string, hash uint32, f func(int) bool) bool {
	if h := hash & n.mask; n.filter[h/64]&(1<<(h%64)) == 0 || len(word) > maxName {
		return true
	}
	var buf [maxName]byte
	for i := range len(word) {
		buf[i] = lowerWord[word[i]]
	}
	for _, i := range n.byWord[string(buf[:len(word)])] {
		if (len(n.names[i]) == len(word) || ContainsFold(sql, n.names[i])) && !f(i) {
			return false
		}
	}
	return true
}

// FNV-1a.
const (
	hashSeed  = 2166136261
	hashPrime = 16777619
)

func hashWord(word string) uint32 {
	h := uint32(hashSeed)
	for i := range len(word) {
		h = (h ^ uint32(lowerWord[word[i]])) * hashPrime
	}
	return h
}

// lowerWord has the lower case of each byte of a word, and 0 for all others.
var lowerWord = func() (t [256]byte) {
	for c := range 256 {
		switch b := byte(c); {
		case IsDigit(b), b >= 'a' && b <= 'z', b == '_':
			t[c] = b
		case b >= 'A' && b <= 'Z':
			t[c] = b | 0x20
		}
	}
	return t
}()
