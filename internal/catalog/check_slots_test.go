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
	"github.com/slotsql/slotsql/rewrite/schema"
)

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

func TestCheckSlotTable(t *testing.T) {
	right := func() *schema.Table {
		likes := postsTable().Columns[4]
		return &schema.Table{
			Schema: "app", Name: "posts_slots",
			Columns: []schema.Column{integer("id"), integer("slot"), integer("views"), likes},
			Uniques: []schema.Unique{{Name: "posts_slots_pkey", Primary: true, Columns: []string{"id", "slot"}}},
		}
	}
	const repair = "drain the table, drop its slot table and run `slotsql migrate --driver DRIVER --dsn DSN --config FILE`"
	for _, tt := range []struct {
		name   string
		change func(*schema.Table) *schema.Table
		want   []string
	}{
		{"right", func(s *schema.Table) *schema.Table { return s }, nil},
		{"letter case", func(s *schema.Table) *schema.Table {
			s.Columns[2].Name, s.Uniques[0].Columns = "VIEWS", []string{"SLOT", "ID"}
			return s
		}, nil},
		{"with the float counter", func(s *schema.Table) *schema.Table {
			s.Columns = append(s.Columns, postsTable().Columns[6])
			return s
		}, nil},
		{"missing", func(*schema.Table) *schema.Table { return nil },
			[]string{"is missing: run `slotsql migrate --driver DRIVER --dsn DSN --config FILE`, or set auto_migrate: true"}},
		{"view", func(s *schema.Table) *schema.Table { s.IsView = true; return s },
			[]string{"is a view or a temporary table: choose another name with slot_table"}},
		{"missing counter", func(s *schema.Table) *schema.Table { s.Columns = s.Columns[:3]; return s },
			[]string{`has no column "likes": run ` + "`slotsql migrate --driver DRIVER --dsn DSN --config FILE` to add it (docs/operations.md has the steps before and after)"}},
		{"missing key", func(s *schema.Table) *schema.Table { s.Columns = s.Columns[1:]; return s },
			[]string{`has no column "id": ` + repair + "; if another program owns it, choose another name with slot_table"}},
		{"removed counter", func(s *schema.Table) *schema.Table { s.Columns = append(s.Columns, integer("shares")); return s },
			[]string{`has a column "shares" that is neither a configured counter nor a companion and may hold counts: configure it, or ` + repair}},
		{"wrong types", func(s *schema.Table) *schema.Table {
			s.Columns[1], s.Columns[2] = column("slot", nil), column("views", nil)
			return s
		}, []string{`has a slot column "slot" of type text, which is not an integer: ` + repair, `has a column "views" of type text, which cannot be summed: ` + repair}},
		{"generated", func(s *schema.Table) *schema.Table { s.Columns[0].Generated = true; return s },
			[]string{`has a generated column "id": ` + repair}},
		{"primary key without the slot", func(s *schema.Table) *schema.Table { s.Uniques[0].Columns = []string{"id"}; return s },
			[]string{"has the primary key [id], which must be [id, slot]: " + repair}},
		{"no primary key", func(s *schema.Table) *schema.Table { s.Uniques = nil; return s },
			[]string{"has no primary key, which must be [id, slot]: " + repair}},
		{"further unique key", func(s *schema.Table) *schema.Table {
			s.Uniques = append(s.Uniques, schema.Unique{Name: "one", Columns: []string{"id"}})
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
			if got := messages(cfg.Locate(CheckSlotTable(base, tt.change(right())))); !reflect.DeepEqual(got, want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}
