package mysql

import "github.com/slotsql/slotsql/rewrite/lex"

// A wide is a character set of statements in which the second byte of a character
// may be one that means something in SQL, such as a backslash or a backtick. Its
// characters are cut as the server's my_ismbchar cuts them.
type wide string

var _ lex.Wide = wide("")

// wideOf returns the rules of a character set, nil where it needs none.
func wideOf(charset string) lex.Wide {
	switch charset {
	case "gbk", "big5", "sjis", "cp932", "gb18030":
		return wide(charset)
	}
	return nil
}

// Len implements lex.Wide; it is 1 for what is no character of several bytes.
func (w wide) Len(sql string, i int) int {
	b := func(n int) byte {
		if i+n < len(sql) {
			return sql[i+n]
		}
		return 0
	}
	within := func(c byte, ranges ...byte) bool {
		for j := 0; j < len(ranges); j += 2 {
			if c >= ranges[j] && c <= ranges[j+1] {
				return true
			}
		}
		return false
	}
	two := false
	switch w {
	case "gbk", "gb18030":
		two = within(b(0), 0x81, 0xfe) && within(b(1), 0x40, 0x7e, 0x80, 0xfe)
		if w == "gb18030" && within(b(0), 0x81, 0xfe) && within(b(1), '0', '9') && within(b(2), 0x81, 0xfe) && within(b(3), '0', '9') {
			return 4
		}
	case "big5":
		two = within(b(0), 0xa1, 0xf9) && within(b(1), 0x40, 0x7e, 0xa1, 0xfe)
	case "sjis", "cp932":
		two = within(b(0), 0x81, 0x9f, 0xe0, 0xfc) && within(b(1), 0x40, 0x7e, 0x80, 0xfc)
	}
	if two {
		return 2
	}
	return 1
}
