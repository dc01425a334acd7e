package mysql

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

var _ dialect.SlotNamer = (*Dialect)(nil)

// At REPEATABLE READ InnoDB locks the gap where rows would be that a locking read
// or a change does not find, and the gaps around those of a key that it finds by a
// part of the primary key. A row without slots would so keep the slots of its
// neighbours from coming to be. Statements that name each slot row by all columns of the
// primary key lock these rows alone (locks_rec_but_not_gap).

// here tells servers apart.
const here = "CONCAT_WS('/', @@hostname, @@port, @@server_id, @@datadir)"

// level is the session's isolation level.
func (d *Dialect) level() string {
	if d.renamed {
		return "@@transaction_isolation"
	}
	return "@@tx_isolation"
}

// GapLocks implements dialect.SlotNamer.
func (*Dialect) GapLocks(level string) bool {
	return level != "READ-COMMITTED" && level != "READ-UNCOMMITTED"
}

// OpensSnapshot implements dialect.SlotNamer: at SERIALIZABLE an ordinary query
// locks what it reads.
func (*Dialect) OpensSnapshot(level string) bool { return level == "REPEATABLE-READ" }

// Observer implements dialect.SlotNamer. A transaction that may write is not led to a
// replica by what stands between here and the server.
func (*Dialect) Observer() (connected, begin, end []string) {
	return []string{"SET SESSION lock_wait_timeout = 1", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"},
		[]string{"START TRANSACTION READ WRITE"}, []string{"ROLLBACK"}
}

// Nameable implements dialect.SlotNamer. A table of the empty key has no neighbours.
func (*Dialect) Nameable(t *rewrite.Table) bool {
	for _, k := range t.Counter.Key {
		if literalOf(t, k).read == "" {
			return false
		}
	}
	return len(t.Counter.Key) > 0
}

// keyText is how a key column's value is read as a text, and written: a text that
// is not of the form is not written.
type keyText struct {
	read, write string
	form        *regexp.Regexp
}

var (
	wholeForm    = regexp.MustCompile(`^-?[0-9]+$`)
	numberForm   = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	hexForm      = regexp.MustCompile(`^([0-9A-F][0-9A-F])*$`)
	dateForm     = regexp.MustCompile(`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$`)
	dateTimeForm = regexp.MustCompile(`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]) [0-9:.]+$`)
)

func literalOf(t *rewrite.Table, column string) keyText {
	c := t.Column(column)
	if c == nil {
		return keyText{}
	}
	kind, _, _ := strings.Cut(strings.ToLower(c.Type), " ")
	kind, _, _ = strings.Cut(kind, "(")
	switch kind {
	case "tinyint", "smallint", "mediumint", "int", "integer", "bigint":
		return keyText{"%s", "%s", wholeForm}
	case "decimal", "numeric":
		return keyText{"CAST(%s AS CHAR)", "%s", numberForm}
	case "binary", "varbinary":
		return keyText{"HEX(%s)", "X'%s'", hexForm}
	case "char", "varchar":
		return keyText{"HEX(CONVERT(%s USING utf8mb4))", "_utf8mb4 X'%s'", hexForm}
	case "date":
		return keyText{"CAST(%s AS CHAR)", "CAST('%s' AS DATE)", dateForm}
	case "datetime":
		return keyText{"CAST(%s AS CHAR)", "CAST('%s' AS DATETIME(6))", dateTimeForm}
	}
	return keyText{}
}

// keyTexts reads the key's columns of the alias; from are their names there.
func keyTexts(t *rewrite.Table, alias string, from []string) []string {
	out := make([]string, len(from))
	for i, k := range t.Counter.Key {
		out[i] = fmt.Sprintf(literalOf(t, k).read, alias+"."+quote(from[i]))
	}
	return out
}

// equal writes that the alias has a key; false when the key cannot be written.
func equal(t *rewrite.Table, alias string, key []any) (string, bool) {
	var out []string
	for i, k := range t.Counter.Key {
		l, v := literalOf(t, k), text(key[i])
		if key[i] == nil || !l.form.MatchString(v) {
			return "", false
		}
		out = append(out, alias+"."+quote(t.Counter.SlotKey()[i])+" = "+fmt.Sprintf(l.write, v))
	}
	return strings.Join(out, " AND "), true
}

// FindSlots implements dialect.SlotNamer.
func (d *Dialect) FindSlots(t *rewrite.Table, keys [][]any, lock bool) string {
	slots := slotTable(t) + " AS slotsql_s" + slotIndex(t)
	list := append([]string{here}, keyTexts(t, "slotsql_s", t.Counter.SlotKey())...)
	list = append(list, slotNames(t)...)
	var one []string
	for _, k := range keys {
		eq, ok := equal(t, "slotsql_s", k)
		if !ok {
			return ""
		}
		one = append(one, "("+eq+")")
	}
	where := and(t.Counter.OfTable(quote, "slotsql_s."), "TRUE")
	if len(one) > 0 {
		where += " AND (" + strings.Join(one, " OR ") + ")"
	}
	q := "SELECT " + strings.Join(list, ", ") + " FROM (SELECT 1) AS slotsql_o LEFT JOIN " + slots + " ON " + where
	if lock {
		q += " FOR UPDATE"
	}
	return d.unlimitedText(q)
}

// slotNames are what tells the slot rows of a key apart: the record type, where
// there is one, and the number.
func slotNames(t *rewrite.Table) []string {
	number := "slotsql_s." + slotColumn(t)
	if sh := t.Counter.Shared; sh != nil {
		return []string{"slotsql_s." + quote(sh.Type), number}
	}
	return []string{number}
}

// slotRows are slot rows of some keys, in the order in which they were found.
type slotRows struct {
	t     *rewrite.Table
	keys  []string            // conditions
	slots map[string][]string // of each key: conditions on what is below it
}

// namedRows reads rows as FindSlots returns them, without the server.
func namedRows(t *rewrite.Table, rows [][]any) (*slotRows, bool) {
	n := &slotRows{t: t, slots: map[string][]string{}}
	k := len(t.Counter.Key)
	for _, r := range rows {
		eq, ok := equal(t, "%[1]s", r[:k])
		if !ok {
			return nil, false
		}
		for _, v := range r[k:] {
			if !wholeForm.MatchString(text(v)) {
				return nil, false
			}
		}
		below := text(r[k])
		if sh := t.Counter.Shared; sh != nil {
			below = text(r[k+1])
			eq = "%[1]s." + quote(sh.Type) + " = " + text(r[k]) + " AND " + eq
		}
		if n.slots[eq] == nil {
			n.keys = append(n.keys, eq)
		}
		n.slots[eq] = append(n.slots[eq], below)
	}
	return n, true
}

func (n *slotRows) where(alias string) string {
	var out []string
	for _, k := range n.keys {
		out = append(out, n.one(k, alias))
	}
	return "(" + strings.Join(out, " OR ") + ")"
}

func (n *slotRows) one(key, alias string) string {
	return "(" + strings.ReplaceAll(key, "%[1]s", alias) + " AND " + alias + "." + slotColumn(n.t) + " IN (" + strings.Join(n.slots[key], ", ") + "))"
}

// source is the slot rows with their base rows, locked by the drain, if there are any.
func (n *slotRows) source() string {
	t := n.t
	base := baseTable(t) + " AS slotsql_b"
	if u := keyIndex(t); u != nil {
		base += " FORCE INDEX (" + indexName(u) + ")"
	}
	return slotTable(t) + " AS slotsql_s" + slotIndex(t) + " LEFT JOIN " + base + " ON " + same("slotsql_b", t.Counter.Key, "slotsql_s", t.Counter.SlotKey())
}

// HoldSlots implements dialect.SlotNamer.
func (d *Dialect) HoldSlots(t *rewrite.Table, rows [][]any) string {
	n, ok := namedRows(t, rows)
	if !ok {
		return ""
	}
	list := keyTexts(t, "slotsql_s", t.Counter.SlotKey())
	var by []string
	for _, k := range t.Counter.SlotKey() {
		by = append(by, "slotsql_s."+quote(k))
	}
	list = append(list, "COUNT(*)", "MAX(slotsql_b."+quote(t.Counter.Key[0])+") IS NULL")
	for _, c := range t.Counter.Counters {
		sum := "SUM(" + t.Counter.Held(quote, "slotsql_s.", c) + ")"
		list = append(list, sum+" <> 0", "MAX(slotsql_b."+quote(c)+") + "+sum)
	}
	return d.unlimitedText("SELECT " + strings.Join(list, ", ") + " FROM " + n.source() + " WHERE " + n.where("slotsql_s") + " GROUP BY " + strings.Join(by, ", ") + " FOR UPDATE")
}

// MoveSlots implements dialect.SlotNamer.
func (d *Dialect) MoveSlots(t *rewrite.Table, rows [][]any) string {
	n, ok := namedRows(t, rows)
	if !ok {
		return ""
	}
	return d.unlimitedText(addSlots(t, slotTable(t)+" AS slotsql_s"+slotIndex(t), n.where("slotsql_s"), n.where("slotsql_l")))
}

// RemoveSlots implements dialect.SlotNamer.
func (d *Dialect) RemoveSlots(t *rewrite.Table, rows, held [][]any) string {
	n, ok := namedRows(t, rows)
	if !ok {
		return ""
	}
	k := len(t.Counter.Key)
	var moved []string
	for _, h := range held {
		eq, ok := equal(t, "slotsql_s", h[:k])
		if !ok {
			return ""
		}
		if text(h[k+1]) == "0" {
			for i, c := range t.Counter.Counters {
				some, want := h[k+2+2*i], h[k+3+2*i]
				if some == nil || text(some) == "0" {
					continue
				}
				if want == nil {
					eq += " AND FALSE" // a NULL has taken nothing
					continue
				}
				if !numberForm.MatchString(text(want)) {
					return ""
				}
				eq += " AND slotsql_b." + quote(c) + " = " + text(want)
			}
		}
		moved = append(moved, "("+eq+")")
	}
	return d.unlimitedText("DELETE slotsql_s FROM " + n.source() + " WHERE " + n.where("slotsql_s") + " AND (" + strings.Join(moved, " OR ") + ")")
}
