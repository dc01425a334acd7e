package shared

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// placed is the configuration with slots chosen in another way.
func placed(placement string) string {
	return strings.Replace(config, "defaults: {layout: shared}", "defaults: {layout: shared, placement: "+placement+"}", 1)
}

// However a slot is chosen, statements are what they are in plain tables, one
// counter at a time and several, also in a table that another program has made.
func TestPlacement(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		for _, placement := range []string{"random", "skip_locked"} {
			for name, more := range map[string][]string{"own": nil, "adopted": {numbered(dialect)}} {
				t.Run(placement+"/"+name, func(t *testing.T) {
					p := twin.New(
						t,
						twin.Options{
							Dialect: dialect,
							Schema:  append(schema(dialect), more...),
							Config:  placed(placement),
							Params:  params(dialect),
						},
					)
					for _, around := range [][2]string{{"", ""}, {"BEGIN", "COMMIT"}, {"BEGIN", "ROLLBACK"}} {
						plain, wrapped := twin.Conn(t, p.Plain), twin.Conn(t, p.Wrapped)
						for _, s := range []string{
							"UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views + 2, likes = likes - 3 WHERE id = 2", "UPDATE posts SET likes = likes + 1, views = views + 1 WHERE id = -1",
							"UPDATE posts SET views = views + 1 WHERE id = 77", "UPDATE comments SET likes = likes + 4 WHERE id = 9007199254740993", "UPDATE comments SET likes = likes - 1 WHERE id = 2",
							"UPDATE pages SET hits = hits + 1, bytes = bytes + 50 WHERE slug = 'b''s'", "UPDATE tags SET uses = uses + 1 WHERE name = 'home'", "UPDATE posts SET views = views * 2 WHERE id = 1",
						} {
							if around[0] != "" {
								same(t, plain, wrapped, around[0], s, reads[0], around[1])
							} else {
								same(t, plain, wrapped, s, s)
							}
						}
						same(t, p.Plain, p.Wrapped, reads...)
					}
				})
			}
		}
	})
}

// numbered is a slot table whose rows the database numbers, where that can be adopted.
func numbered(dialect string) string {
	more := ""
	if dialect == "mysql" {
		more = ", nr INT NOT NULL AUTO_INCREMENT PRIMARY KEY"
	}
	return strings.Replace(slotted(dialect, more), "record_id INT NOT NULL", "record_id BIGINT NOT NULL", 1)
}

// With skip_locked an increment passes a slot that a transaction holds, of each of
// its counters.
func TestSkipLockedPasses(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(
			t,
			twin.Options{Dialect: dialect, Schema: schema(dialect), Config: placed("skip_locked"), Params: params(dialect)},
		)
		const one, both = "UPDATE posts SET views = views + 1 WHERE id = 2", "UPDATE posts SET views = views + 10, likes = likes + 10 WHERE id = 2"
		execAll(t, p.Wrapped, one, both)
		for slot := range 8 { // all that there may be
			for record := range 2 {
				_, _ = p.Under.Exec(
					fmt.Sprintf(
						"INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES (%d, 2, %d, 0)",
						record+1,
						slot,
					),
				)
			}
		}
		var held []interface{ Rollback() error }
		for range 3 {
			tx, err := p.Wrapped.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			execAll(t, tx, one)
			held = append(held, tx)
		}
		execAll(t, p.Wrapped, one)
		for _, tx := range held {
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
		if got := text(t, p.Wrapped, "SELECT views, likes FROM posts WHERE id = 2"); got != "42 13" {
			t.Errorf("totals %s", got)
		}
	})
}
