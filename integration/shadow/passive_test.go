package shadow

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql"
)

// A process for which a table is passive counts on the base row, beside others
// that count in slots; all that it reads, sets and decides by are totals.
func TestPassive(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		for _, layout := range []string{"dedicated", "journal"} {
			p := newPair(t, dialect)
			on, passive := open(t, p, config(", layout: "+layout)), open(t, p, config(", mode: passive, layout: "+layout))
			exec(t, on, count, count, "UPDATE posts SET likes = likes + 3 WHERE id = 1")
			exec(t, passive, count, "UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 1")
			exec(t, p.Under, count)
			for name, db := range map[string]*sql.DB{"on": on, "passive": passive} {
				is(t, name, rows(t, db, "SELECT views, likes FROM posts WHERE id = 1"), "15 5")
			}
			is(t, "base values", rows(t, p.Under, "SELECT views, likes FROM posts WHERE id = 1"), "13 2")
			upsert := "INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1"
			if dialect == "mysql" {
				upsert = "INSERT INTO posts (id, views) VALUES (1, 1) ON DUPLICATE KEY UPDATE views = views + 1"
			}
			exec(t, passive, upsert, "UPDATE posts SET views = views + 1 WHERE id > 0")
			is(t, "base value after increments of other forms", rows(t, p.Under, views), "15")
			is(t, "decided by the total", rows(t, passive, "SELECT COUNT(*) FROM posts WHERE views = 17 AND id = 1"), "1")
			exec(t, passive, "UPDATE posts SET views = views - 1 WHERE id = 1 AND views >= 17")
			is(t, "after that", rows(t, on, views), "16")
			exec(t, on, count)
			exec(t, passive, "UPDATE posts SET views = 50 WHERE id = 1")
			is(t, "set", rows(t, on, views), "50")

			tx, err := passive.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			exec(t, tx, count)
			is(t, "its own increment", rows(t, tx, views), "51")
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			exec(t, on, count)
			exec(t, passive, "DELETE FROM posts WHERE id = 1", "INSERT INTO posts (id, views) VALUES (1, 0)")
			exec(t, on, count)
			is(t, "deleted and inserted", rows(t, passive, views), "1")
			if _, err := slotsql.Drain(
				t.Context(),
				connector(t, p, config(", mode: passive, layout: "+layout)),
				slotsql.DrainOptions{},
			); err != nil {
				t.Fatal(err)
			}
			is(t, "drained", rows(t, p.Under, views), "1")
		}
	})
}

// A companion that a passive process sets is set on top of those in slots.
func TestPassiveCompanion(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect)
		const companions = ", companions: {title: latest}"
		on, passive := open(t, p, config(companions)), open(t, p, config(companions+", mode: passive"))
		set := func(db *sql.DB, title string) {
			exec(t, db, fmt.Sprintf("UPDATE posts SET views = views + 1, title = '%s' WHERE id = 1", title))
		}
		set(on, "by on")
		is(t, "title", rows(t, passive, "SELECT title, views FROM posts WHERE id = 1"), "by on 11")
		set(passive, "by passive")
		is(t, "title", rows(t, on, "SELECT title, views FROM posts WHERE id = 1"), "by passive 12")
		set(on, "by on again")
		is(t, "title", rows(t, passive, "SELECT title, views FROM posts WHERE id = 1"), "by on again 13")
	})
}
