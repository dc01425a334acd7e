package dialecttest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// tables holds that the facts of a table are those that it was made with, whichever
// way they are read.
func (o Options) tables(t *testing.T) {
	s := o.sessions(t, 1)[0]
	s.run("CREATE VIEW popular AS SELECT id, grp FROM posts", "CREATE TABLE pairs (a INT NOT NULL, b INT NOT NULL, n INT NOT NULL, PRIMARY KEY (a, b), UNIQUE (n))")
	definitions := []string{"CREATE TABLE kinds (id BIGINT NOT NULL PRIMARY KEY"}
	for _, c := range o.Columns {
		definitions = append(definitions, c.Definition)
	}
	s.run(strings.Join(definitions, ", ") + ")")

	posts := s.table("posts")
	var columns []string
	for _, c := range posts.Columns {
		columns = append(columns, c.Name)
	}
	if want := []string{"id", "grp", "views", "likes", "best", "seen"}; !reflect.DeepEqual(columns, want) {
		t.Errorf("columns %q, want %q", columns, want)
	}
	for name, nullable := range map[string]bool{"views": false, "likes": false, "best": true} {
		if c := posts.Column(name); c.Nullable != nullable || c.Numeric != schema.Integer || c.Generated || c.Identity {
			t.Errorf("%+v", c)
		}
	}
	if u := posts.Uniques; len(u) != 1 || !u[0].Primary || !slices.Equal(u[0].Columns, []string{"id"}) {
		t.Errorf("unique keys %+v", u)
	}
	if posts.Name != "posts" || posts.IsView || posts.Temporary || posts.Triggers.Update || posts.Triggers.Delete || posts.ForeignKeys.Referenced {
		t.Errorf("%+v", posts)
	}
	if u := s.table("pairs").Uniques; len(u) != 2 || !slices.Equal(u[0].Columns, []string{"a", "b"}) || !slices.Equal(u[1].Columns, []string{"n"}) {
		t.Errorf("unique keys %+v", u)
	}
	if v := s.table("popular"); v == nil || !v.IsView {
		t.Errorf("a view: %+v", v)
	}
	if none := s.table("nothing"); none != nil {
		t.Errorf("a table that is not there: %+v", none)
	}
	if none, err := s.Table(t.Context(), s, "nowhere", "posts"); none != nil || err != nil {
		t.Errorf("a schema that is not there: %+v, %v", none, err)
	}
	for _, c := range o.Columns {
		if got := s.table("kinds").Column(c.Facts.Name); got == nil || !reflect.DeepEqual(*got, c.Facts) {
			t.Errorf("%s\n got %+v\nwant %+v", c.Definition, got, c.Facts)
		}
	}
	s.sameFacts("posts", "popular", "pairs", "kinds", "nothing")
	s.viewed(posts)
}

// sameFacts holds that many tables are described as one is.
func (s *session) sameFacts(names ...string) {
	s.Helper()
	var written []dialect.WrittenName
	for _, name := range names {
		written = append(written, dialect.WrittenName{Name: name})
	}
	for _, temporary := range []dialect.Temporary{dialect.MayHide, dialect.NoneHides} {
		all, err := s.Describe(s.Context(), s, written, temporary)
		if err != nil || len(all) != len(names) {
			s.Fatal(all, err)
		}
		for i, name := range names {
			if one := s.table(name); one != nil && all[i] != nil {
				one.ForeignKeys.Referenced = all[i].ForeignKeys.Referenced
			}
			if one := s.table(name); !reflect.DeepEqual(all[i], one) {
				s.Errorf("%s, described with others\n%+v\nand alone\n%+v", name, all[i], one)
			}
		}
	}
}

// viewed holds that views are found.
func (s *session) viewed(posts *schema.Table) {
	s.Helper()
	views, err := dialect.Views(s.Context(), s, s, dialect.Viewed{Table: posts})
	if err != nil || !slices.Equal(views, []string{"popular"}) {
		s.Errorf("views %q, %v", views, err)
	}
	over, err := s.ViewsOver(s.Context(), s, []dialect.Viewed{{Table: posts}}, dialect.TheirDatabases)
	if err != nil || len(over) != 1 || !slices.Equal(over[0], views) {
		s.Errorf("views over several tables %q, %v", over, err)
	}
}

// slotTables holds that the engine takes the DDL of slot tables, and describes what
// it has made of it as what was meant.
func (o Options) slotTables(t *testing.T) {
	for name, layout := range layouts {
		if name == "shared" {
			continue // of a table that others have made
		}
		t.Run(name, func(t *testing.T) {
			s := o.sessions(t, 1)[0]
			tab := s.slotted(layout)
			slots := s.table("posts_slots")
			if slots == nil {
				t.Fatal("there is no slot table")
			}
			var want []string
			want = append(want, "id", "slot", "views", "likes")
			for _, co := range tab.Counter.Companions {
				if want = append(want, co.Column); co.Stamp() != "" {
					want = append(want, co.Stamp())
				}
			}
			for _, column := range want {
				if slots.Column(column) == nil {
					t.Errorf("the slot table has no column %s", column)
				}
			}
			if len(slots.Columns) != len(want) {
				t.Errorf("columns %+v, want %q", slots.Columns, want)
			}
			if u := slots.Uniques; len(u) != 1 || !u[0].Primary || !slices.Equal(u[0].Columns, []string{"id", "slot"}) {
				t.Errorf("unique keys of the slot table %+v", u)
			}
			if again := s.table("posts"); again.Triggers.Update || again.Triggers.Delete {
				t.Errorf("what slotsql has made counts as the application's: %+v", again)
			}
			if k, ok := s.Dialect.(dialect.TriggerKeeper); ok {
				if missing := k.MissingTriggers(counter(s.table("posts"), layout)); len(missing) > 0 {
					t.Errorf("triggers are missing: %q", missing)
				}
			}
			s.run("DELETE FROM posts")
			s.run(s.RefitSlots(tab, slots, false)...)
			if refit := s.table("posts_slots"); !reflect.DeepEqual(refit.Columns, slots.Columns) {
				t.Errorf("a slot table that fits is changed: %+v, was %+v", refit.Columns, slots.Columns)
			}
			s.run(s.DropSlots(tab)...)
			s.run(s.DropSlots(tab)...)
			if s.table("posts_slots") != nil {
				t.Error("the slot table is still there")
			}
		})
	}
}
