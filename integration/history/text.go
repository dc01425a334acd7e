package history

import (
	"strconv"
	"strings"
)

// title is another one for every statement, so that MySQL counts the row.
func (r *runner) title(o *Op) string { return strconv.FormatInt(o.Tag, 10) }

// insert writes an INSERT of a row.
func (r *runner) insert(table Table, o *Op, title string) (string, []any) {
	query := "INSERT INTO " + string(table) + " (id, views, seen, high, low"
	n := r.Layout.sign() * o.N
	values, args := "?, ?, ?, ?, ?", []any{r.idOf(o), n, o.Tag, o.Mark, o.Mark}
	if table == Pairs {
		query, values, args = query+", likes", values+", ?", append(args, n)
	}
	return query + ", title) VALUES (" + values + ", '" + title + "')", args
}

// call writes a call of the function that counts: it takes the key, a number for each counter, and NULL for each companion.
func (r *runner) call(table Table, id int, n int32) (string, []any) {
	query, args := "SELECT "+string(table)+"_count(?, ?", []any{id, n}
	switch {
	case table == Pairs:
		query, args = query+", ?", append(args, n)
	case r.Layout.companions(table):
		query += ", NULL, NULL, NULL"
	}
	return query + ")", args
}

// guard writes the guard of a statement that takes, with its argument, and what is taken.
func (r *runner) guard(table Table, o *Op) (guard string, bound int32, take string) {
	if r.Layout == Limited {
		capacity := "0"
		if table == Pairs {
			capacity = "capacity"
		}
		switch take = "views + ?"; o.Form {
		case 2:
			return "? >= views", -o.N, take
		case 3:
			return "views + ? <= " + capacity, o.N, take
		case 4:
			return "views < ?", 1 - o.N, take
		case 5:
			return "views <= ? AND title IS NOT NULL", -o.N, take
		}
		return "views <= ?", -o.N, take
	}
	switch take = "views - ?"; o.Form {
	case 2:
		return "? <= views", o.N, take
	case 3:
		return "views - ? >= 0", o.N, take
	case 4:
		return "views > ?", o.N - 1, take
	case 5:
		return "views >= ? AND title IS NOT NULL", o.N, take
	}
	return "views >= ?", o.N, take
}

// judge writes the condition of a statement that judges, with its arguments.
func (r *runner) judge(o *Op) (string, []any) {
	least, below, n, id := "views >= ?", "views < ?", o.N, r.idOf(o)
	if r.Layout == Limited {
		least, below, n = "views <= ?", "views > ?", -n
	}
	switch o.Form {
	case 4:
		return "NOT (" + below + ") AND ABS(id) = ?", []any{n, id}
	case 5:
		return "(" + least + " OR " + least + ") AND id + 0 = ?", []any{n, n, id}
	}
	return least + " AND id + 0 = ?", []any{n, id}
}

func (r *runner) statement(table Table, o *Op) (string, []any) {
	id, n := r.idOf(o), r.Layout.sign()*o.N
	greatest, least := "GREATEST", "LEAST"
	if r.dialect == "sqlite" {
		greatest, least = "MAX", "MIN"
	}
	update := "UPDATE " + string(table) + " SET "
	to := func(where string, more []any, expr string, args ...any) (string, []any) {
		set, args := table.set(expr, args...)
		return update + set + where, append(args, more...)
	}
	const byID = " WHERE id = ?"
	switch o.Kind {
	case Increment:
		where := byID
		if o.Form == 5 {
			where = " WHERE id IN (?)"
		}
		return to(
			where,
			[]any{id},
			[]string{"views + ?", "views + ?", "views + ?", "? + views", "COALESCE(views, 0) + ?", "views + ?"}[o.Form],
			n,
		)
	case Touch:
		more, args := "", []any{}
		if o.setsSeen() {
			more, args = ", seen = ?", append(args, o.Tag)
		}
		if o.merges() {
			more, args = more+", high = "+greatest+"(high, ?), low = "+least+"(low, ?)", append(args, o.Mark, o.Mark)
		}
		return to(more+byID, append(args, id), "views + ?", n)
	case Mark:
		return update + "seen = ?" + byID, []any{o.Tag, id}
	case Wide:
		return to(", title = ?"+byID, []any{r.title(o), id}, "views + ?", n)
	case Upsert, Fresh:
		query, args := r.insert(table, o, "u")
		if r.dialect == "mysql" {
			set, _ := table.set("views + VALUES(views)")
			query += " ON DUPLICATE KEY UPDATE " + set
			if o.setsSeen() {
				query += ", seen = VALUES(seen)"
			}
			return query, args
		}
		set, _ := table.set(string(table) + ".views + excluded.views")
		query += " ON CONFLICT (id) DO UPDATE SET " + set
		if o.setsSeen() {
			query += ", seen = excluded.seen"
		}
		return query, args
	case Set:
		if o.saves() {
			return to(", title = ?"+byID, []any{r.title(o), id}, "?", n)
		}
		return to(byID, []any{id}, "?", n)
	case Clamp:
		switch limited := r.Layout == Limited; {
		case limited && o.Form < 3:
			return to(byID, []any{id}, least+"(views + ?, 0)", o.N)
		case limited:
			return to(byID, []any{id}, "CASE WHEN views <= ? THEN views + ? ELSE 0 END", n, o.N)
		case o.Form < 3:
			return to(byID, []any{id}, greatest+"(views - ?, 0)", o.N)
		}
		return to(byID, []any{id}, "CASE WHEN views >= ? THEN views - ? ELSE 0 END", o.N, o.N)
	case Double:
		return to(byID, []any{id}, "views * 2")
	case Take:
		guard, bound, take := r.guard(table, o)
		if r.Layout.HasBounds() && o.Form%2 == 0 {
			// A form of this history alone: those of others may be known to lock first.
			update = "UPDATE " + string(table) + " AS h" + strconv.Itoa(r.before) + " SET "
		}
		return to(byID+" AND "+guard, []any{id, bound}, take, o.N)
	case Rename:
		if o.judges() {
			where, args := r.judge(o)
			return update + "title = ? WHERE " + where, append([]any{r.title(o)}, args...)
		}
		return update + "title = ?" + byID, []any{r.title(o), id}
	case Swap:
		return update + "version = version + 1, title = ?" + byID + " AND version = ?", []any{r.title(o), id, o.N}
	case Call:
		return r.call(table, id, n)
	case File:
		return "INSERT INTO files (id, tag) VALUES (?, ?)", []any{id, o.Tag}
	case Files:
		return "SELECT COUNT(*) FROM files WHERE id = ?", []any{id}
	case Delete, Evict:
		if o.judges() {
			where, args := r.judge(o)
			return "DELETE FROM " + string(table) + " WHERE " + where, args
		}
		return "DELETE FROM " + string(table) + byID, []any{id}
	case Insert:
		query, args := r.insert(table, o, "n")
		if r.dialect == "mysql" {
			return "INSERT IGNORE" + strings.TrimPrefix(query, "INSERT"), args
		}
		return query + " ON CONFLICT DO NOTHING", args
	case Read:
		return table.read("id = ?"), []any{id}
	case ReadAll:
		return table.read("id > 0"), nil
	case Lock:
		return table.read("id = ? FOR UPDATE"), []any{id}
	case Savepoint:
		return "SAVEPOINT a", nil
	default:
		return "ROLLBACK TO SAVEPOINT a", nil
	}
}
