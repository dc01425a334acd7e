package mysql

import (
	"slices"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// TestViews: views over a table, in any database and at any depth, and none
// over another database's table of the same name.
func TestViews(t *testing.T) {
	s := sessions(t, 1)[0]
	here, other := s.one("SELECT DATABASE()"), sessions(t, 1)[0].one("SELECT DATABASE()")
	for _, db := range []string{here, other} {
		s.run("CREATE TABLE "+quote(db)+".posts (id INT PRIMARY KEY, views INT)", "CREATE TABLE "+quote(db)+".users (id INT PRIMARY KEY)")
	}
	s.run(
		"CREATE VIEW tops AS SELECT views FROM posts",
		"CREATE VIEW over_tops AS SELECT * FROM tops t",
		"CREATE VIEW aside AS SELECT id AS posts FROM users",
		"CREATE VIEW "+quote(other)+".far AS SELECT MAX(views) AS top FROM posts p",
		"CREATE VIEW "+quote(other)+".theirs AS SELECT views FROM "+quote(other)+".posts",
		"CREATE VIEW "+quote(other)+".tops AS SELECT id FROM "+quote(other)+".posts",
		"CREATE VIEW under_theirs AS SELECT views FROM "+quote(other)+".tops, "+quote(other)+".theirs, users",
	)
	got, err := dialect.Views(t.Context(), New(), s, dialect.Viewed{Table: &schema.Table{Schema: here, Name: "posts"}})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if want := []string{"far", "over_tops", "tops"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
