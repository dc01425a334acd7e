package mysql

import (
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// The data of a lock, as InnoDB writes them, give the key of the row.
func TestLocked(t *testing.T) {
	table := &schema.Table{Uniques: []schema.Unique{{Primary: true, Columns: []string{"site", "path"}}}}
	for _, c := range []struct{ index, row, want string }{
		{"PRIMARY", "1, 'a'", "[a 1]"},
		{"PRIMARY", "-5, 'it''s, so'", "[it's, so -5]"},
		{"title", "'x', 1, 'a'", "[a 1]"},
		{"PRIMARY", "1, 'a', 3", "[]"},
		{"PRIMARY", "1", "[]"},
		{"PRIMARY", "supremum pseudo-record", "[]"},
		{"PRIMARY", "", "[]"},
	} {
		got, err := New().Locked(t.Context(), nil, table, []string{"path", "site"}, &dialect.Wait{Index: c.index, Row: c.row})
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s of %s: got %v, %v, want %s", c.row, c.index, got, err, c.want)
		}
	}
	if got, _ := New().Locked(t.Context(), nil, table, []string{"slug"}, &dialect.Wait{Index: "PRIMARY", Row: "1, 'a'"}); got != nil {
		t.Errorf("another key: %v", got)
	}
	for name, want := range map[string]string{"`shop`.`posts`": "shop posts", "`a``b`.`c.d` /* Partition `p0` */": "a`b c.d", "": " "} {
		if schema, table := lockedTable(name); schema+" "+table != want {
			t.Errorf("%s: %s %s", name, schema, table)
		}
	}
}
