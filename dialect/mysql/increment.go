package mysql

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Increment writes the slotted upsert.
//
// What makes it exact is the shared lock on the base row's clustered record,
// which lasts until the transaction ends and which a drain's exclusive lock
// conflicts with. LOCK IN SHARE MODE sets it at every isolation level, but a
// secondary index that covers the statement would be locked in its place, so
// the statement names the index: the primary key where the predicate fixes it,
// else a second access to the same row through it.
func (d *Dialect) Increment(t *schema.Table, in rewrite.IncrementSQL) string {
	if t.Counter.Layout == schema.LayoutShared {
		return incrementShared(t, in)
	}
	key := t.Counter.Key
	columns := quoteAll(key)
	values := qualify(in.Qualifier, key)
	columns = append(columns, slotColumn(t))
	values = append(values, in.Slot)
	var update, guards []string
	for _, dl := range in.Deltas {
		c := quote(dl.Column)
		columns = append(columns, c)
		values = append(values, dl.SQL)
		update = append(update, c+" = "+slotTable(t)+"."+c+" + VALUES("+c+")")
		if col := t.Column(dl.Column); col != nil {
			l := limit(col, t.Counter)
			guards = append(guards, in.Qualifier+"."+c+" BETWEEN "+l.baseLow+" AND "+l.baseHigh)
		}
	}
	for _, co := range in.Companions {
		c, slot := quote(co.Column), slotTable(t)+"."+quote(co.Column)
		columns, values = append(columns, c), append(values, co.SQL)
		switch co.Merge {
		case schema.Latest:
			stamp := quote(co.Stamp())
			columns, values = append(columns, stamp), append(values, stampNow)
			update = append(update, c+" = VALUES("+c+")", stamp+" = "+later(slotTable(t)+"."+stamp, "VALUES("+stamp+")"))
		default:
			update = append(update, c+" = "+extreme(co.Merge)+"(COALESCE("+slot+", VALUES("+c+")), VALUES("+c+"))")
			if t.Column(co.Column).Nullable {
				guards = append(guards, in.Qualifier+"."+c+" IS NOT NULL")
			}
		}
		if co.NotNull {
			guards = append(guards, "("+co.SQL+") IS NOT NULL")
		}
	}
	if t.Counter.Single() {
		guards = append(guards, oneRow(t, in))
	}
	hint, guard := rowLock(t, in)
	if guard != "" {
		guards = append(guards, guard)
	}
	var b strings.Builder
	b.WriteString("INSERT INTO " + slotTable(t) + " (" + strings.Join(columns, ", ") + ")")
	b.WriteString(" SELECT " + strings.Join(values, ", ") + " FROM " + in.Ref + hint)
	b.WriteString(" WHERE (" + in.Where + ")")
	for _, g := range guards {
		b.WriteString(" AND " + g)
	}
	b.WriteString(" LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE " + strings.Join(update, ", "))
	return b.String()
}

// oneRow reports whether a table of the empty key has one row. An INSERT drains the
// table first, and has the base row locked for that until its new row is
// committed. So the rows must be counted when this statement has the lock on
// the base row, and as they are then: that the subquery names a column of that
// row keeps it from being run before, and it is a locking read. It reads the
// clustered index, like the drain.
func oneRow(t *schema.Table, in rewrite.IncrementSQL) string {
	return "(SELECT SUM(1) + 0 * " + in.Qualifier + "." + quote(in.Deltas[0].Column) + " FROM " + baseTable(t) + " AS " +
		alias("slotsql_o", in.Qualifier) + clusteredHint(t) + " LOCK IN SHARE MODE) = 1"
}

// clusteredHint has a scan of the base table read the clustered index.
func clusteredHint(t *schema.Table) string {
	if u := rowIndex(t); u != nil && u.Primary {
		return " FORCE INDEX (PRIMARY)"
	}
	return " USE INDEX ()"
}

// rowLock says how the statement comes to read the clustered record: by an
// index hint on the reference, or by a predicate that reads the row again.
func rowLock(t *schema.Table, in rewrite.IncrementSQL) (hint, guard string) {
	u := rowIndex(t)
	switch {
	case u == nil:
		return " USE INDEX ()", "" // a scan of the clustered index
	case in.Clustered && u.Primary:
		return " FORCE INDEX (PRIMARY)", ""
	}
	row := alias("slotsql_r", in.Qualifier)
	// A counter column is in no index of the key, so reading it through that
	// index reads the clustered record.
	guard = "EXISTS (SELECT 1 FROM " + baseTable(t) + " AS " + row + " FORCE INDEX (" + indexName(u) + ")" +
		" WHERE " + same(row, u.Columns, in.Qualifier, u.Columns)
	for _, dl := range in.Deltas {
		guard += " AND " + row + "." + quote(dl.Column) + " = " + in.Qualifier + "." + quote(dl.Column)
	}
	return "", guard + " LOCK IN SHARE MODE)"
}

// rowIndex is the index that leads to the clustered record: the primary key,
// or else the unique key that the slots are keyed by.
func rowIndex(t *schema.Table) *schema.Unique {
	for i := range t.Uniques {
		if t.Uniques[i].Primary {
			return &t.Uniques[i]
		}
	}
	return keyIndex(t)
}

// keyIndex is the unique key that the slots are keyed by.
func keyIndex(t *schema.Table) *schema.Unique {
	for i := range t.Uniques {
		if len(t.Uniques[i].Columns) == len(t.Counter.Key) && containsAll(t.Uniques[i].Columns, t.Counter.Key) {
			return &t.Uniques[i]
		}
	}
	return nil
}

func indexName(u *schema.Unique) string {
	if u.Primary {
		return "PRIMARY"
	}
	return quote(u.Name)
}

func containsAll(set, want []string) bool {
	for _, w := range want {
		found := false
		for _, s := range set {
			found = found || s == w
		}
		if !found {
			return false
		}
	}
	return true
}

// same writes a.k = b.l AND ... .
func same(a string, ak []string, b string, bk []string) string {
	out := make([]string, len(ak))
	for i := range ak {
		out[i] = a + "." + quote(ak[i]) + " = " + b + "." + quote(bk[i])
	}
	return strings.Join(out, " AND ")
}

// alias returns a name of ours that differs from the application's qualifier.
func alias(name, qualifier string) string {
	for strings.EqualFold(strings.Trim(qualifier, "`"), name) {
		name += "_"
	}
	return name
}
