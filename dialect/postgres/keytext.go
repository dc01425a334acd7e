package postgres

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// Keys go from one session to another, and from one statement to the next, as strings.
// What CAST(k AS text) writes depends on the session for some types (DateStyle,
// IntervalStyle, extra_float_digits, bytea_output, lc_monetary), so these are written
// in a form that every session reads as the same value. Of the others the text is the
// same everywhere.

// keyText writes a key's value, in the expression v, as a text.
func keyText(t *schema.Table, column, v string) string {
	return strings.ReplaceAll(textForm(t.Column(column).Type), "%[1]s", v)
}

// keyValue reads what keyText has written.
func keyValue(t *schema.Table, column, text string) string {
	kind := t.Column(column).Type
	if baseType(kind) == "money" {
		return "CAST(CAST(" + text + " AS numeric) AS money)"
	}
	return "CAST(" + text + " AS " + kind + ")"
}

// baseType is a type's name without its modifiers and collation.
func baseType(kind string) string {
	kind, _, _ = strings.Cut(kind, " COLLATE ")
	name, rest, found := strings.Cut(kind, "(")
	if _, after, ok := strings.Cut(rest, ")"); found && ok {
		name += after // timestamp(3) with time zone
	}
	return strings.TrimSpace(name)
}

// textForm is the form of a type, with %[1]s for the value.
func textForm(kind string) string {
	const iso = "(pg_catalog.to_json(%[1]s) #>> '{}')"
	switch base := baseType(kind); base {
	case "date", "timestamp without time zone", "timestamp with time zone":
		return iso
	case "daterange", "tsrange", "tstzrange":
		bound := func(f string) string { return strings.ReplaceAll(iso, "%[1]s", "pg_catalog."+f+"(%[1]s)") }
		return "CASE WHEN pg_catalog.isempty(%[1]s) THEN 'empty' ELSE pg_catalog.concat(CASE WHEN pg_catalog.lower_inc(%[1]s) THEN '[' ELSE '(' END, " + bound(
			"lower",
		) +
			", ',', " + bound("upper") + ", CASE WHEN pg_catalog.upper_inc(%[1]s) THEN ']' ELSE ')' END) END"
	case "bytea":
		return `(E'\\x' || pg_catalog.encode(%[1]s, 'hex'))`
	case "real", "double precision":
		// 17 digits are enough for each value.
		return "CASE WHEN CAST(%[1]s AS double precision) IN ('NaN', 'Infinity', '-Infinity') THEN CAST(%[1]s AS text) " +
			"ELSE pg_catalog.to_char(CAST(%[1]s AS double precision), '9.9999999999999999EEEE') END"
	case "money":
		return "CAST(CAST(%[1]s AS numeric) AS text)"
	default:
		if base == "interval" || strings.HasPrefix(base, "interval ") {
			return "pg_catalog.concat('P', CAST(EXTRACT(year FROM %[1]s) AS integer) * 12 + CAST(EXTRACT(month FROM %[1]s) AS integer), 'M', CAST(EXTRACT(day FROM %[1]s) AS integer), 'DT', " +
				"CAST(EXTRACT(hour FROM %[1]s) AS bigint) * 3600 + CAST(EXTRACT(minute FROM %[1]s) AS integer) * 60 + CAST(EXTRACT(second FROM %[1]s) AS numeric), 'S')"
		}
		return "CAST(%[1]s AS text)"
	}
}
