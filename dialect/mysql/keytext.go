package mysql

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A keyText is how a key column's value is read as text, in any session, and written
// as a literal that equals this value alone and by which the server looks into an
// index. A text that is not of the form is not written.
type keyText struct {
	read, write string
	form        *regexp.Regexp
}

var (
	wholeForm   = regexp.MustCompile(`^-?[0-9]+$`)
	numberForm  = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	floatForm   = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?$`)
	hexForm     = regexp.MustCompile(`^([0-9A-F][0-9A-F])*$`)
	dateForm    = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9:.]+)?$`)
	timeForm    = regexp.MustCompile(`^-?[0-9]+:[0-9]{2}:[0-9]{2}(\.[0-9]+)?$`)
	addressForm = regexp.MustCompile(`^[0-9a-fA-F:.-]+$`)
)

// keyTextOf is the zero value for a type of which no key can be.
func keyTextOf(c *schema.Column) keyText {
	kind, _, _ := strings.Cut(strings.ToLower(c.Type), " ")
	kind, _, _ = strings.Cut(kind, "(")
	switch kind {
	case "tinyint", "smallint", "mediumint", "int", "integer", "bigint":
		return keyText{"%s", "%s", wholeForm}
	case "year", "enum": // by their numbers
		return keyText{"%s + 0", "%s", wholeForm}
	case "set":
		return keyText{"CAST(%s AS UNSIGNED)", "%s", wholeForm}
	case "bit":
		// MariaDB 10.11.14 casts one of 64 bits that is grouped by to a signed number.
		return keyText{"CONV(HEX(%s), 16, 10)", "%s", wholeForm}
	case "decimal", "numeric":
		return keyText{"CAST(%s AS CHAR)", "%s", numberForm}
	case "float", "double", "real": // a FLOAT's value is that of one DOUBLE
		return keyText{"CAST(%s + 0e0 AS CHAR)", "%s", floatForm}
	case "binary", "varbinary":
		return keyText{"HEX(%s)", "X'%s'", hexForm}
	case "char", "varchar":
		return keyText{"HEX(CONVERT(%s USING utf8mb4))", "_utf8mb4 X'%s'", hexForm}
	case "date":
		return keyText{"CAST(%s AS CHAR)", "CAST('%s' AS DATE)", dateForm}
	case "datetime":
		return keyText{"CAST(%s AS CHAR)", "CAST('%s' AS DATETIME(6))", dateForm}
	case "time":
		return keyText{"CAST(%s AS CHAR)", "CAST('%s' AS TIME(6))", timeForm}
	case timestamp:
		return keyText{"CAST(UNIX_TIMESTAMP(%s) AS CHAR)", "FROM_UNIXTIME(%s)", numberForm}
	case "inet4", "inet6", "uuid":
		return keyText{"CAST(%s AS CHAR)", "CAST('%s' AS " + kind + ")", addressForm}
	}
	return keyText{}
}

const timestamp = "timestamp"

func literalOf(t *schema.Table, column string) keyText {
	c := t.Column(column)
	if c == nil {
		return keyText{}
	}
	return keyTextOf(c)
}

// keyStrings reads the key's columns of the alias; from are their names there.
func keyStrings(t *schema.Table, alias string, from []string) []string {
	out := make([]string, len(from))
	for i, k := range t.Counter.Key {
		out[i] = fmt.Sprintf(literalOf(t, k).read, alias+"."+quote(from[i]))
	}
	return out
}

// anyOf writes that a row has one of the keys; false when a key cannot be written.
func anyOf(t *schema.Table, alias string, keys [][]any) (string, bool) {
	var one []string
	for _, k := range keys {
		eq, ok := equal(t, alias, k)
		if !ok {
			return "", false
		}
		one = append(one, "("+eq+")")
	}
	return strings.Join(one, " OR "), true
}

// equal writes that the alias has a key; false when the key cannot be written.
func equal(t *schema.Table, alias string, key []any) (string, bool) {
	if len(key) == 0 {
		return "TRUE", true
	}
	var out []string
	for i, k := range t.Counter.Key {
		l, v := literalOf(t, k), dialect.String(key[i])
		if key[i] == nil || l.form == nil || !l.form.MatchString(v) {
			return "", false
		}
		column := alias + "." + quote(t.Counter.SlotKey()[i])
		switch {
		case isTimestamp(t, k):
			out = append(out, instant(column, v))
		case l.form == dateForm && strings.Contains(v[:10], "-00"): // which a cast may refuse
			out = append(out, column+" = '"+v+"'")
		case l.form == floatForm && !strings.Contains(v, "e"):
			out = append(out, column+" = "+v+"e0")
		default:
			out = append(out, column+" = "+fmt.Sprintf(l.write, v))
		}
	}
	return strings.Join(out, " AND "), true
}

func isTimestamp(t *schema.Table, column string) bool {
	c := t.Column(column)
	return c != nil && strings.HasPrefix(strings.ToLower(c.Type), timestamp)
}

// instant writes that a TIMESTAMP is a number of seconds since 1970. The literal is a
// local time, of the statement's zone, by which the index is searched. Zero is the
// date 0000-00-00, which is stored so.
func instant(column, seconds string) string {
	local := "FROM_UNIXTIME(" + seconds + ")"
	if strings.Trim(seconds, "0.") == "" {
		local = "'0000-00-00 00:00:00'"
	}
	return column + " = " + local + " AND UNIX_TIMESTAMP(" + column + ") = " + seconds
}

// inUTC writes a statement of slotsql's own that names rows by literals. In a zone
// with summer time two TIMESTAMP values may be one local time; in UTC none are.
func (d *Dialect) inUTC(t *schema.Table, q string) string {
	for _, k := range t.Counter.Key {
		if !isTimestamp(t, k) {
			continue
		}
		if d.MariaDB {
			return strings.Replace(lifted, " FOR ", ", time_zone = '+00:00' FOR ", 1) + q
		}
		verb, rest, _ := strings.Cut(q, " ")
		return verb + strings.Replace(liftedHint, " */", " SET_VAR(time_zone='+00:00') */", 1) + " " + rest
	}
	return d.unlimitedText(q)
}
