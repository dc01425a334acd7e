package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// While the triggers of a counter table are disabled, those of the slot table's foreign key among them, the database
// does not delete the slots of a row with it.
func TestTriggersDisabled(t *testing.T) {
	for _, behind := range []bool{false, true} {
		p := twin.New(t, twin.Options{Dialect: "postgres", Schema: schema("postgres"), Config: always, Params: unprepared["postgres"]})
		one, other := pinned(t, p), pinned(t, p)
		all := func(state string) {
			t.Helper()
			const change = "ALTER TABLE posts "
			if !behind {
				one.script(t, &other, change+state)
				return
			}
			execBoth(t, p, []string{change + state})
			notice(t, p)
		}
		anew := []string{
			work[0], "DELETE FROM posts WHERE id = 1", "INSERT INTO posts (id, views, likes) VALUES (1, 5, 5)", work[0],
			"UPDATE posts SET id = 9 WHERE id = 1",
			"INSERT INTO posts (id, views, likes) VALUES (1, 6, 6)", work[0], "DELETE FROM posts WHERE id = 9",
		}
		one.script(t, &other, anew...)
		for range 2 {
			all("DISABLE TRIGGER ALL")
			one.script(t, &other, anew...)
			all("ENABLE TRIGGER ALL")
			one.script(t, &other, anew...)
		}
		const keys = "SELECT COUNT(*) FROM pg_constraint WHERE conrelid = 'posts_slots'::regclass AND contype = 'f'"
		if got := value(t, p.Under, keys); got != "1" {
			t.Errorf("%s foreign keys of the slot table", got)
		}
	}
}
