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
	values, args := "?, ?, ?, ?, ?", []any{o.id(), o.N, o.Tag, o.Mark, o.Mark}
	if table == Pairs {
		query, values, args = query+", likes", values+", ?", append(args, o.N)
	}
	return query + ", title) VALUES (" + values + ", '" + title + "')", args
}

func (r *runner) statement(table Table, o *Op) (string, []any) {
	id := o.id()
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
			o.N,
		)
	case Touch:
		more, args := "", []any{}
		if o.setsSeen() {
			more, args = ", seen = ?", append(args, o.Tag)
		}
		if o.merges() {
			more, args = more+", high = "+greatest+"(high, ?), low = "+least+"(low, ?)", append(args, o.Mark, o.Mark)
		}
		return to(more+byID, append(args, id), "views + ?", o.N)
	case Mark:
		return update + "seen = ?" + byID, []any{o.Tag, id}
	case Wide:
		return to(", title = ?"+byID, []any{r.title(o), id}, "views + ?", o.N)
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
			return to(", title = ?"+byID, []any{r.title(o), id}, "?", o.N)
		}
		return to(byID, []any{id}, "?", o.N)
	case Clamp:
		return to(byID, []any{id}, greatest+"(views - ?, 0)", o.N)
	case Double:
		return to(byID, []any{id}, "views * 2")
	case Take:
		return to(byID+" AND views >= ?", []any{id, o.N}, "views - ?", o.N)
	case Rename:
		return update + "title = ?" + byID, []any{r.title(o), id}
	case File:
		return "INSERT INTO files (id, tag) VALUES (?, ?)", []any{id, o.Tag}
	case Files:
		return "SELECT COUNT(*) FROM files WHERE id = ?", []any{id}
	case Delete, Evict:
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
