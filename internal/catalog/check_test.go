package catalog

import (
	"reflect"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/schema"
)

func integer(name string) schema.Column {
	return schema.Column{Name: name, Type: "bigint", NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 64}}
}

// column makes a text column and changes it.
func column(name string, change func(*schema.Column)) schema.Column {
	c := schema.Column{Name: name, Type: "text"}
	if change != nil {
		change(&c)
	}
	return c
}

// postsTable is the base table that the cases start from.
func postsTable() *schema.Table {
	return &schema.Table{
		Schema: "app", Name: "posts",
		Columns: []schema.Column{
			integer("id"), column("slug", nil), integer("views"),
			column("title", nil),
			column("likes", func(c *schema.Column) { c.Type, c.Numeric = "numeric(20,2)", schema.Decimal }),
			integer("tenant"),
			column("score", func(c *schema.Column) { c.Type, c.Numeric = "double precision", schema.Float }),
		},
		Uniques: []schema.Unique{
			{Name: "posts_pkey", Primary: true, Columns: []string{"id"}},
			{Name: "posts_slug", Columns: []string{"slug", "tenant"}},
		},
	}
}

// tableOf parses a configuration of one table, written from its second line.
func tableOf(t testing.TB, yaml string) *config.TableConfig {
	t.Helper()
	c, err := config.Parse([]byte("version: 1\ntables:\n"+yaml), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tables := c.Tables()
	return &tables[0]
}

func messages(problems []config.Problem) []string {
	var s []string
	for _, p := range problems {
		s = append(s, p.String())
	}
	return s
}

func TestCheckTable(t *testing.T) {
	for _, tt := range []struct {
		name, dialect, yaml string
		change              func(*schema.Table)
		want                *schema.Counter
	}{
		{
			name: "primary key", yaml: "  posts: {counters: {views: }}",
			want: &schema.Counter{Key: []string{"id"}, Counters: []string{"views"}, Slots: 64, SlotTable: schema.SlotTable{Schema: "app", Name: "posts_slots", Column: "slot"}, Options: schema.Options{Coalesce: true, OnDrain: "run"}},
		},
		{
			name: "counters come in table order, under stored names", yaml: "  posts: {counters: {LIKES: , Views: , score: }, slots: 7, on_drain: warn, slot_table: counts}",
			want: &schema.Counter{Key: []string{"id"}, Counters: []string{"views", "likes", "score"}, Slots: 7, SlotTable: schema.SlotTable{Schema: "app", Name: "counts", Column: "slot"}, Options: schema.Options{Coalesce: true, OnDrain: "warn"}},
		},
		{
			name: "another unique key, in configured order", yaml: "  posts: {key: [Tenant, slug], counters: {views: }}",
			want: &schema.Counter{Key: []string{"tenant", "slug"}, Counters: []string{"views"}, Slots: 64, SlotTable: schema.SlotTable{Schema: "app", Name: "posts_slots", Column: "slot"}, Options: schema.Options{Coalesce: true, OnDrain: "run"}},
		},
		{
			name: "composite primary key", yaml: "  posts: {counters: {views: }}",
			change: func(t *schema.Table) { t.Uniques[0].Columns = []string{"tenant", "id"} },
			want:   &schema.Counter{Key: []string{"tenant", "id"}, Counters: []string{"views"}, Slots: 64, SlotTable: schema.SlotTable{Schema: "app", Name: "posts_slots", Column: "slot"}, Options: schema.Options{Coalesce: true, OnDrain: "run"}},
		},
		{
			name: "single-row table", yaml: "  posts: {key: [], counters: {views: }}",
			change: func(t *schema.Table) { t.Uniques = nil },
			want:   &schema.Counter{Key: []string{}, Counters: []string{"views"}, Slots: 64, SlotTable: schema.SlotTable{Schema: "app", Name: "posts_slots", Column: "slot"}, Options: schema.Options{Coalesce: true, OnDrain: "run"}},
		},
		{
			name: "a key column named slot", yaml: "  posts: {counters: {views: }}",
			change: func(t *schema.Table) { t.Columns[0].Name, t.Uniques[0].Columns = "SLOT", []string{"SLOT"} },
			want:   &schema.Counter{Key: []string{"SLOT"}, Counters: []string{"views"}, Slots: 64, SlotTable: schema.SlotTable{Schema: "app", Name: "posts_slots", Column: "slotsql_slot"}, Options: schema.Options{Coalesce: true, OnDrain: "run"}},
		},
		{
			name: "counters named slot and slotsql_slot", yaml: "  posts: {counters: {Slot: , slotsql_slot: }}",
			change: func(t *schema.Table) { t.Columns = append(t.Columns, integer("Slot"), integer("slotsql_slot")) },
			want:   &schema.Counter{Key: []string{"id"}, Counters: []string{"Slot", "slotsql_slot"}, Slots: 64, SlotTable: schema.SlotTable{Schema: "app", Name: "posts_slots", Column: "slotsql_slot2"}, Options: schema.Options{Coalesce: true, OnDrain: "run"}},
		},
		{
			name: "exact name before letter case", yaml: "  posts: {counters: {Views: }}",
			change: func(t *schema.Table) { t.Columns = append(t.Columns, integer("Views")) },
			want:   &schema.Counter{Key: []string{"id"}, Counters: []string{"Views"}, Slots: 64, SlotTable: schema.SlotTable{Schema: "app", Name: "posts_slots", Column: "slot"}, Options: schema.Options{Coalesce: true, OnDrain: "run"}},
		},
		{
			name: "a generated column of other columns", yaml: "  posts: {counters: {views: }}",
			change: func(t *schema.Table) {
				t.Columns = append(t.Columns, column("upper", func(c *schema.Column) { c.Generated, c.DependsOn = true, []string{"title"} }))
			},
			want: &schema.Counter{Key: []string{"id"}, Counters: []string{"views"}, Slots: 64, SlotTable: schema.SlotTable{Schema: "app", Name: "posts_slots", Column: "slot"}, Options: schema.Options{Coalesce: true, OnDrain: "run"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := postsTable()
			if tt.change != nil {
				tt.change(table)
			}
			problems, got := CheckTable(tableOf(t, tt.yaml), table, rulesOf["postgres"])
			if len(problems) > 0 {
				t.Fatalf("problems:\n%s", strings.Join(messages(problems), "\n"))
			}
			if tt.want.SlotTable.Width == 0 { // where nothing else is said: key, slot and counters
				tt.want.SlotTable.Width = len(tt.want.Key) + 1 + len(tt.want.Counters)
			}
			tt.want.Layout, tt.want.Options.Placement, tt.want.Options.Reads = schema.LayoutDedicated, schema.PlacementAdaptive, schema.ReadsExact
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestCheckTableProblems(t *testing.T) {
	for _, tt := range []struct {
		name, yaml string
		change     func(*schema.Table) *schema.Table
		want       []string
	}{
		{
			"missing table", "  posts: {counters: {views: }}", func(*schema.Table) *schema.Table { return nil },
			[]string{`slotsql.yaml:3: table "posts": does not exist in the database: create it, or correct the name`},
		},
		{
			"view", "  posts: {counters: {views: }}", func(t *schema.Table) *schema.Table { t.IsView = true; return t },
			[]string{`slotsql.yaml:3: table "posts": is a view: configure the table that it reads`},
		},
		{
			"temporary table", "  posts: {counters: {views: }}", func(t *schema.Table) *schema.Table { t.Temporary = true; return t },
			[]string{`slotsql.yaml:3: table "posts": is a temporary table, which other sessions do not see: configure a permanent one`},
		},
		{
			"no unique key", "  posts: {counters: {views: }}", func(t *schema.Table) *schema.Table { t.Uniques = nil; return t },
			[]string{`slotsql.yaml:3: table "posts": has neither a primary key nor another unique key: add one, or write key: [] if it only ever has one row`},
		},
		{
			"no primary key", "  posts: {counters: {views: }}", func(t *schema.Table) *schema.Table { t.Uniques = t.Uniques[1:]; return t },
			[]string{`slotsql.yaml:3: table "posts": has no primary key: name the columns of a unique key with key, here [slug, tenant]`},
		},
		{
			"key not unique", "  posts:\n    key: [slug]\n    counters: {views: }", nil,
			[]string{`slotsql.yaml:4: table "posts": key [slug] is not a unique key of the table: use [id] or [slug, tenant], or add a unique key on exactly these columns`},
		},
		{
			"key of a table without unique keys", "  posts: {key: [id], counters: {views: }}", func(t *schema.Table) *schema.Table { t.Uniques = nil; return t },
			[]string{`slotsql.yaml:3: table "posts": key [id] is not unique: add a unique key on it to the table, or write key: [] if it only ever has one row`},
		},
		{
			"several at once", "  posts:\n    key:\n    - id\n    - nope\n    - ID\n    counters:\n      views:\n      VIEWS:\n      title:\n      gone:\n      tenant:\n    companions:\n      never: max\n      Views: min\n      iD: min", nil,
			[]string{
				`slotsql.yaml:6: table "posts": key column "nope" is not a column of the table: correct the name (columns are id, slug, views, title, likes, tenant, score)`,
				`slotsql.yaml:7: table "posts": key names column "id" twice: keep one`,
				`slotsql.yaml:10: table "posts": counter "VIEWS" is the same column as another counter, "views": keep one`,
				`slotsql.yaml:11: table "posts": counter "title" has type text, which cannot be summed: a counter is an integer, decimal (numeric) or floating-point column`,
				`slotsql.yaml:12: table "posts": counter "gone" is not a column of the table: correct the name (columns are id, slug, views, title, likes, tenant, score)`,
				`slotsql.yaml:13: table "posts": counter "tenant" is part of the unique key "posts_slug" [slug, tenant], which the database checks against base values, not totals: remove it from counters`,
				`slotsql.yaml:15: table "posts": companion "never" is not a column of the table: correct the name (columns are id, slug, views, title, likes, tenant, score)`,
				`slotsql.yaml:16: table "posts": column "views" is both companion and counter: remove it from one`,
				`slotsql.yaml:17: table "posts": column "id" is both companion and key: remove it from companions`,
			},
		},
		{
			"columns that cannot be companions", "  posts:\n    counters: {views: }\n    companions:\n      slug: latest\n      title: max\n      likes: latest\n      LIKES: max", nil,
			[]string{
				`slotsql.yaml:6: table "posts": companion "slug" is part of the unique key posts_slug, which would not see the values in slots: remove it from companions`,
				`slotsql.yaml:7: table "posts": companion "title" has type text, whose greatest or least value may depend on more than the value: only integers and times can be max or min: remove it from companions`,
				`slotsql.yaml:9: table "posts": companion "LIKES" is the same column as another companion, "likes": keep one`,
			},
		},
		{
			"columns whose statements cannot be shared", "  posts:\n    counters: {views: }\n    touch: [title, Views]\n    versions:\n    - likes\n    - gone\n    - ID\n    - LIKES\n    - TITLE\n    - made",
			func(t *schema.Table) *schema.Table {
				t.Columns = append(t.Columns, column("made", func(c *schema.Column) { c.Generated = true }))
				return t
			},
			[]string{
				`slotsql.yaml:5: table "posts": touched column "views" is also a counter: remove it from touch`,
				`slotsql.yaml:8: table "posts": version column "gone" is not a column of the table: correct the name (columns are id, slug, views, title, likes, tenant, score, made)`,
				`slotsql.yaml:9: table "posts": version column "id" is also a key column: remove it from versions`,
				`slotsql.yaml:10: table "posts": version column "likes" is also another version: remove it from versions`,
				`slotsql.yaml:11: table "posts": version column "title" is also a touched column: remove it from versions`,
				`slotsql.yaml:12: table "posts": version column "made" is written by the database: remove it from versions`,
			},
		},
		{
			"ambiguous letter case", "  posts: {counters: {VIEWS: }}",
			func(t *schema.Table) *schema.Table { t.Columns = append(t.Columns, integer("Views")); return t },
			[]string{`slotsql.yaml:3: table "posts": counter "VIEWS" could be "views" or "Views": write the name as the database stores it`},
		},
		{
			"counter in the key by letter case", "  posts: {key: [id], counters: {ID: }}", nil,
			[]string{`slotsql.yaml:3: table "posts": counter "id" is part of the key, which cannot be a counter: remove it from one`},
		},
		{
			"counter in the primary key", "  posts: {counters: {id: }}", nil,
			[]string{`slotsql.yaml:3: table "posts": counter "id" is part of the key, which cannot be a counter: remove it from one`},
		},
		{
			"generated counter", "  posts: {counters: {views: }}",
			func(t *schema.Table) *schema.Table { t.Columns[2].Generated = true; return t },
			[]string{`slotsql.yaml:3: table "posts": counter "views" is a generated column: name the columns it is computed from instead`},
		},
		{
			"numbered counter", "  posts: {counters: {views: }}",
			func(t *schema.Table) *schema.Table { t.Columns[2].Identity = true; return t },
			[]string{`slotsql.yaml:3: table "posts": counter "views" is an auto-increment or identity column: remove it from counters`},
		},
		{
			"generated from the counter", "  posts: {counters: {views: }}",
			func(t *schema.Table) *schema.Table {
				t.Columns = append(t.Columns, column("popular", func(c *schema.Column) { c.Generated, c.DependsOn = true, []string{"views"} }))
				return t
			},
			[]string{`slotsql.yaml:3: table "posts": counter "views" is used by generated column "popular", which would show the base value and not the total: remove it from counters`},
		},
		{
			"column without a type", "  posts: {counters: {views: }}",
			func(t *schema.Table) *schema.Table { t.Columns[2].Type, t.Columns[2].Numeric = "", 0; return t },
			[]string{`slotsql.yaml:3: table "posts": counter "views" has type none, which cannot be summed: a counter is an integer, decimal (numeric) or floating-point column`},
		},
		{
			"long slot table", "  posts:\n    counters: {views: }\n    slot_table: " + strings.Repeat("x", 64), nil,
			[]string{`slotsql.yaml:5: table "posts": slot_table "` + strings.Repeat("x", 64) + `" is longer than 63 bytes: choose a shorter name`},
		},
		{
			"slot table is the table", "  app.POSTS:\n    counters: {views: }\n    slot_table: posts", nil,
			[]string{`slotsql.yaml:5: table "app.POSTS": slot_table is the table itself: choose another name`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := postsTable()
			if tt.change != nil {
				table = tt.change(table)
			}
			problems, counter := CheckTable(tableOf(t, tt.yaml), table, rulesOf["postgres"])
			if got := messages(problems); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			if counter != nil {
				t.Error("a counter beside the problems")
			}
		})
	}
}

func TestCheckTogether(t *testing.T) {
	check := func(yaml, dialect string, stored ...string) []string {
		c, err := config.Parse([]byte("version: 1\ntables:\n"+yaml), "slotsql.yaml")
		if err != nil {
			t.Fatal(err)
		}
		var all []CheckedTable
		tables := c.Tables()
		for i := range tables {
			table := postsTable()
			table.Name = stored[i]
			problems, counter := CheckTable(&tables[i], table, rulesOf[dialect])
			if problems != nil {
				t.Fatal(problems)
			}
			table.Counter = counter
			all = append(all, CheckedTable{&tables[i], table})
		}
		return messages(checkTogether(all, rulesOf[dialect]))
	}
	for _, tt := range []struct {
		name, yaml, dialect string
		stored              []string
		want                []string
	}{
		{"apart", "  posts: {counters: {views: }}\n  pages: {counters: {views: }}", "postgres", []string{"posts", "pages"}, nil},
		{"same table", "  posts: {counters: {views: }}\n  app.posts: {counters: {views: }}", "postgres", []string{"posts", "posts"},
			[]string{`slotsql.yaml:4: table "app.posts": is the same database table as "posts": keep one`}},
		{"slot table is a table", "  posts: {counters: {views: }}\n  app.POSTS_slots: {counters: {views: }}", "mysql", []string{"posts", "POSTS_slots"},
			[]string{`slotsql.yaml:3: table "posts": slot table "posts_slots" is the configured table "app.POSTS_slots": choose another name with slot_table`}},
		{"letter case apart", "  posts: {counters: {views: }}\n  POSTS: {counters: {views: }}", "postgres", []string{"posts", "POSTS"}, nil},
		{"one slot table", "  posts: {counters: {views: }}\n  POSTS: {counters: {views: }}", "sqlite", []string{"posts", "POSTS"},
			[]string{`slotsql.yaml:4: table "POSTS": slot table "POSTS_slots" is already the slot table of "posts": choose another name with slot_table`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := check(tt.yaml, tt.dialect, tt.stored...); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}
