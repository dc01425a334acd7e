package catalog

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
)

func integer(name string) rewrite.Column {
	return rewrite.Column{Name: name, Type: "bigint", Numeric: rewrite.Integer, Bits: 64}
}

// column makes a text column and changes it.
func column(name string, change func(*rewrite.Column)) rewrite.Column {
	c := rewrite.Column{Name: name, Type: "text"}
	if change != nil {
		change(&c)
	}
	return c
}

// postsTable is the base table that the cases start from.
func postsTable() *rewrite.Table {
	return &rewrite.Table{
		Schema: "app", Name: "posts",
		Columns: []rewrite.Column{
			integer("id"), column("slug", nil), integer("views"),
			column("title", nil),
			column("likes", func(c *rewrite.Column) { c.Type, c.Numeric = "numeric(20,2)", rewrite.Decimal }),
			integer("tenant"),
			column("score", func(c *rewrite.Column) { c.Type, c.Numeric = "double precision", rewrite.Float }),
		},
		Uniques: []rewrite.Unique{
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

func texts(problems []config.Problem) []string {
	var s []string
	for _, p := range problems {
		s = append(s, p.String())
	}
	return s
}

func TestCheckTable(t *testing.T) {
	for _, tt := range []struct {
		name, dialect, yaml string
		change              func(*rewrite.Table)
		want                *rewrite.Counter
	}{
		{
			name: "primary key", yaml: "  posts: {counters: {views: }}",
			want: &rewrite.Counter{Key: []string{"id"}, Counters: []string{"views"}, Slots: 64, SlotSchema: "app", SlotTable: "posts_slots", SlotColumn: "slot", Coalesce: true, OnDrain: "run"},
		},
		{
			name: "counters come in table order, under stored names", yaml: "  posts: {counters: {LIKES: , Views: , score: }, slots: 7, on_drain: warn, slot_table: counts}",
			want: &rewrite.Counter{Key: []string{"id"}, Counters: []string{"views", "likes", "score"}, Slots: 7, SlotSchema: "app", SlotTable: "counts", SlotColumn: "slot", Coalesce: true, OnDrain: "warn"},
		},
		{
			name: "another unique key, in configured order", yaml: "  posts: {key: [Tenant, slug], counters: {views: }}",
			want: &rewrite.Counter{Key: []string{"tenant", "slug"}, Counters: []string{"views"}, Slots: 64, SlotSchema: "app", SlotTable: "posts_slots", SlotColumn: "slot", Coalesce: true, OnDrain: "run"},
		},
		{
			name: "composite primary key", yaml: "  posts: {counters: {views: }}",
			change: func(t *rewrite.Table) { t.Uniques[0].Columns = []string{"tenant", "id"} },
			want:   &rewrite.Counter{Key: []string{"tenant", "id"}, Counters: []string{"views"}, Slots: 64, SlotSchema: "app", SlotTable: "posts_slots", SlotColumn: "slot", Coalesce: true, OnDrain: "run"},
		},
		{
			name: "single-row table", yaml: "  posts: {key: [], counters: {views: }}",
			change: func(t *rewrite.Table) { t.Uniques = nil },
			want:   &rewrite.Counter{Key: []string{}, Counters: []string{"views"}, Slots: 64, SlotSchema: "app", SlotTable: "posts_slots", SlotColumn: "slot", Coalesce: true, OnDrain: "run"},
		},
		{
			name: "a key column named slot", yaml: "  posts: {counters: {views: }}",
			change: func(t *rewrite.Table) { t.Columns[0].Name, t.Uniques[0].Columns = "SLOT", []string{"SLOT"} },
			want:   &rewrite.Counter{Key: []string{"SLOT"}, Counters: []string{"views"}, Slots: 64, SlotSchema: "app", SlotTable: "posts_slots", SlotColumn: "slotsql_slot", Coalesce: true, OnDrain: "run"},
		},
		{
			name: "counters named slot and slotsql_slot", yaml: "  posts: {counters: {Slot: , slotsql_slot: }}",
			change: func(t *rewrite.Table) { t.Columns = append(t.Columns, integer("Slot"), integer("slotsql_slot")) },
			want:   &rewrite.Counter{Key: []string{"id"}, Counters: []string{"Slot", "slotsql_slot"}, Slots: 64, SlotSchema: "app", SlotTable: "posts_slots", SlotColumn: "slotsql_slot2", Coalesce: true, OnDrain: "run"},
		},
		{
			name: "exact name before letter case", yaml: "  posts: {counters: {Views: }}",
			change: func(t *rewrite.Table) { t.Columns = append(t.Columns, integer("Views")) },
			want:   &rewrite.Counter{Key: []string{"id"}, Counters: []string{"Views"}, Slots: 64, SlotSchema: "app", SlotTable: "posts_slots", SlotColumn: "slot", Coalesce: true, OnDrain: "run"},
		},
		{
			name: "a generated column of other columns", yaml: "  posts: {counters: {views: }}",
			change: func(t *rewrite.Table) {
				t.Columns = append(t.Columns, column("upper", func(c *rewrite.Column) { c.Generated, c.DependsOn = true, []string{"title"} }))
			},
			want: &rewrite.Counter{Key: []string{"id"}, Counters: []string{"views"}, Slots: 64, SlotSchema: "app", SlotTable: "posts_slots", SlotColumn: "slot", Coalesce: true, OnDrain: "run"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := postsTable()
			if tt.change != nil {
				tt.change(table)
			}
			problems, got := CheckTable(tableOf(t, tt.yaml), table, rulesOf["postgres"])
			if len(problems) > 0 {
				t.Fatalf("problems:\n%s", strings.Join(texts(problems), "\n"))
			}
			if tt.want.Width == 0 { // where nothing else is said: key, slot and counters
				tt.want.Width = len(tt.want.Key) + 1 + len(tt.want.Counters)
			}
			tt.want.Layout, tt.want.Placement, tt.want.Reads = rewrite.LayoutDedicated, rewrite.PlacementAdaptive, rewrite.ReadsExact
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestCheckTableProblems(t *testing.T) {
	for _, tt := range []struct {
		name, yaml string
		change     func(*rewrite.Table) *rewrite.Table
		want       []string
	}{
		{
			"missing table", "  posts: {counters: {views: }}", func(*rewrite.Table) *rewrite.Table { return nil },
			[]string{`slotsql.yaml:3: table "posts": does not exist in the database: create it, or correct the name`},
		},
		{
			"view", "  posts: {counters: {views: }}", func(t *rewrite.Table) *rewrite.Table { t.IsView = true; return t },
			[]string{`slotsql.yaml:3: table "posts": is a view: configure the table that it reads`},
		},
		{
			"temporary table", "  posts: {counters: {views: }}", func(t *rewrite.Table) *rewrite.Table { t.Temporary = true; return t },
			[]string{`slotsql.yaml:3: table "posts": is a temporary table, which other sessions do not see: configure a permanent one`},
		},
		{
			"no unique key", "  posts: {counters: {views: }}", func(t *rewrite.Table) *rewrite.Table { t.Uniques = nil; return t },
			[]string{`slotsql.yaml:3: table "posts": has neither a primary key nor another unique key: add one, or write key: [] if it only ever has one row`},
		},
		{
			"no primary key", "  posts: {counters: {views: }}", func(t *rewrite.Table) *rewrite.Table { t.Uniques = t.Uniques[1:]; return t },
			[]string{`slotsql.yaml:3: table "posts": has no primary key: name the columns of a unique key with key, here [slug, tenant]`},
		},
		{
			"key not unique", "  posts:\n    key: [slug]\n    counters: {views: }", nil,
			[]string{`slotsql.yaml:4: table "posts": key [slug] is not a unique key of the table: use [id] or [slug, tenant], or add a unique key on exactly these columns`},
		},
		{
			"key of a table without unique keys", "  posts: {key: [id], counters: {views: }}", func(t *rewrite.Table) *rewrite.Table { t.Uniques = nil; return t },
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
			"ambiguous letter case", "  posts: {counters: {VIEWS: }}",
			func(t *rewrite.Table) *rewrite.Table { t.Columns = append(t.Columns, integer("Views")); return t },
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
			func(t *rewrite.Table) *rewrite.Table { t.Columns[2].Generated = true; return t },
			[]string{`slotsql.yaml:3: table "posts": counter "views" is a generated column: name the columns it is computed from instead`},
		},
		{
			"numbered counter", "  posts: {counters: {views: }}",
			func(t *rewrite.Table) *rewrite.Table { t.Columns[2].Identity = true; return t },
			[]string{`slotsql.yaml:3: table "posts": counter "views" is an auto-increment or identity column: remove it from counters`},
		},
		{
			"generated from the counter", "  posts: {counters: {views: }}",
			func(t *rewrite.Table) *rewrite.Table {
				t.Columns = append(t.Columns, column("popular", func(c *rewrite.Column) { c.Generated, c.DependsOn = true, []string{"views"} }))
				return t
			},
			[]string{`slotsql.yaml:3: table "posts": counter "views" is used by generated column "popular", which would show the base value and not the total: remove it from counters`},
		},
		{
			"column without a type", "  posts: {counters: {views: }}",
			func(t *rewrite.Table) *rewrite.Table { t.Columns[2].Type, t.Columns[2].Numeric = "", 0; return t },
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
			if got := texts(problems); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			if counter != nil {
				t.Error("a counter beside the problems")
			}
		})
	}
}

func TestSlotTableNameLength(t *testing.T) {
	for _, tt := range []struct {
		dialect string
		size    func(string) int
		limit   int
	}{
		{"mysql", utf8.RuneCountInString, 64},
		{"postgres", func(s string) int { return len(s) }, 63},
	} {
		for _, letter := range []string{"x", "é", "漢"} {
			seen := map[string]int{}
			for n := 1; n*len(letter) <= 200; n++ {
				base := strings.Repeat(letter, n)
				got := rulesOf[tt.dialect].SlotTable(base)
				if again := rulesOf[tt.dialect].SlotTable(base); again != got {
					t.Fatalf("%q and then %q", got, again)
				}
				if !utf8.ValidString(got) || tt.size(got) > tt.limit || !strings.HasSuffix(got, "_slots") {
					t.Errorf("%s: %q for %q", tt.dialect, got, base)
				}
				if tt.size(base)+len("_slots") <= tt.limit && got != base+"_slots" {
					t.Errorf("%s: %q shortened to %q without need", tt.dialect, base, got)
				}
				if other, ok := seen[got]; ok {
					t.Errorf("%s: the same name for %d and %d letters", tt.dialect, other, n)
				}
				seen[got] = n
			}
		}
	}
	if got, want := rulesOf["sqlite"].SlotTable(strings.Repeat("x", 200)), strings.Repeat("x", 200)+"_slots"; got != want {
		t.Errorf("sqlite: %q", got)
	}
	// Slot tables outlive a version of slotsql, so the name must never change.
	if got, want := rulesOf["mysql"].SlotTable(strings.Repeat("x", 60)), strings.Repeat("x", 49)+"_37d12e35_slots"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

var rulesOf = map[string]dialect.NameRules{
	"mysql":    mysql.New().NameRules(),
	"postgres": postgres.New().NameRules(),
	"sqlite":   sqlite.New().NameRules(),
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
		return texts(checkTogether(all, rulesOf[dialect]))
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

func TestCheckSlotTable(t *testing.T) {
	right := func() *rewrite.Table {
		likes := postsTable().Columns[4]
		return &rewrite.Table{
			Schema: "app", Name: "posts_slots",
			Columns: []rewrite.Column{integer("id"), integer("slot"), integer("views"), likes},
			Uniques: []rewrite.Unique{{Name: "posts_slots_pkey", Primary: true, Columns: []string{"id", "slot"}}},
		}
	}
	const repair = "drain the table, drop its slot table and run `slotsql migrate --driver DRIVER --dsn DSN --config FILE`"
	for _, tt := range []struct {
		name   string
		change func(*rewrite.Table) *rewrite.Table
		want   []string
	}{
		{"right", func(s *rewrite.Table) *rewrite.Table { return s }, nil},
		{"letter case", func(s *rewrite.Table) *rewrite.Table {
			s.Columns[2].Name, s.Uniques[0].Columns = "VIEWS", []string{"SLOT", "ID"}
			return s
		}, nil},
		{"with the float counter", func(s *rewrite.Table) *rewrite.Table {
			s.Columns = append(s.Columns, postsTable().Columns[6])
			return s
		}, nil},
		{"missing", func(*rewrite.Table) *rewrite.Table { return nil },
			[]string{"is missing: run `slotsql migrate --driver DRIVER --dsn DSN --config FILE`, or set auto_migrate: true"}},
		{"view", func(s *rewrite.Table) *rewrite.Table { s.IsView = true; return s },
			[]string{"is a view or a temporary table: choose another name with slot_table"}},
		{"missing counter", func(s *rewrite.Table) *rewrite.Table { s.Columns = s.Columns[:3]; return s },
			[]string{`has no column "likes": run ` + "`slotsql migrate --driver DRIVER --dsn DSN --config FILE` to add it (docs/operations.md has the steps before and after)"}},
		{"missing key", func(s *rewrite.Table) *rewrite.Table { s.Columns = s.Columns[1:]; return s },
			[]string{`has no column "id": ` + repair + "; if another program owns it, choose another name with slot_table"}},
		{"removed counter", func(s *rewrite.Table) *rewrite.Table { s.Columns = append(s.Columns, integer("shares")); return s },
			[]string{`has a column "shares" that is neither a configured counter nor a companion and may hold counts: configure it, or ` + repair}},
		{"wrong types", func(s *rewrite.Table) *rewrite.Table {
			s.Columns[1], s.Columns[2] = column("slot", nil), column("views", nil)
			return s
		}, []string{`has a slot column "slot" of type text, which is not an integer: ` + repair, `has a column "views" of type text, which cannot be summed: ` + repair}},
		{"generated", func(s *rewrite.Table) *rewrite.Table { s.Columns[0].Generated = true; return s },
			[]string{`has a generated column "id": ` + repair}},
		{"primary key without the slot", func(s *rewrite.Table) *rewrite.Table { s.Uniques[0].Columns = []string{"id"}; return s },
			[]string{"has the primary key [id], which must be [id, slot]: " + repair}},
		{"no primary key", func(s *rewrite.Table) *rewrite.Table { s.Uniques = nil; return s },
			[]string{"has no primary key, which must be [id, slot]: " + repair}},
		{"further unique key", func(s *rewrite.Table) *rewrite.Table {
			s.Uniques = append(s.Uniques, rewrite.Unique{Name: "one", Columns: []string{"id"}})
			return s
		}, []string{`has a further unique key "one" [id], which allows a row only one slot: drop it`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := postsTable()
			cfg := tableOf(t, "  posts: {counters: {views: , likes: , score: }}")
			problems, counter := CheckTable(cfg, base, rulesOf["postgres"])
			if problems != nil {
				t.Fatal(problems)
			}
			base.Counter = counter
			var want []string
			for _, w := range tt.want {
				want = append(want, `slotsql.yaml:3: table "posts": slot table "posts_slots" `+w)
			}
			if got := texts(cfg.Locate(CheckSlotTable(base, tt.change(right())))); !reflect.DeepEqual(got, want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}
