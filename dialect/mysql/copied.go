package mysql

import (
	"regexp"
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

var (
	plainNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	usualWidth  = regexp.MustCompile(`^(tinyint\((?:4|3)\)|smallint\((?:6|5)\)|mediumint\((?:9|8)\)|int\((?:11|10)\)|bigint\(20\))`)
)

// copied sets the definition that CREATE TABLE ... SELECT gives to a copy of a
// numeric column: type, NOT NULL, DEFAULT and COMMENT, and nothing else. A
// default that is an expression, or a comment that not every SQL mode reads the
// same, is not written out.
func copied(c *schema.Column, value, comment string) {
	if c.Numeric != schema.Integer && c.Numeric != schema.Decimal || c.Identity || c.Generated {
		return
	}
	def := c.Type
	if w := usualWidth.FindString(def); w != "" && !strings.Contains(def, "zerofill") {
		name, _, _ := strings.Cut(w, "(")
		def = name + def[len(w):]
	}
	if !c.Nullable {
		def += " NOT NULL"
	}
	if c.HasDefault {
		if !plainNumber.MatchString(value) {
			return
		}
		if strings.Contains(value, ".") {
			value = strings.TrimRight(strings.TrimRight(value, "0"), ".")
		}
		def += " DEFAULT " + value
	}
	if comment != "" {
		if strings.Contains(comment, "\\") {
			return
		}
		def += " COMMENT '" + strings.ReplaceAll(comment, "'", "''") + "'"
	}
	c.Copied = def
}
