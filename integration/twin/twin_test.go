package twin

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"
)

func by(column string, list ...[]any) Outcome {
	o := rows([]string{"a", "b"}, true, list...)
	o.OrderBy = []string{column}
	return o
}

// numeric makes the columns of PostgreSQL's NUMERIC.
func numeric(o Outcome) Outcome {
	for i := range o.Sets[0].Columns {
		o.Sets[0].Columns[i].DatabaseType = "NUMERIC"
	}
	return o
}

func rows(columns []string, ordered bool, rows ...[]any) Outcome {
	set := ResultSet{Rows: rows}
	for _, c := range columns {
		set.Columns = append(set.Columns, Column{Name: c})
	}
	return Outcome{Mode: Query, Ordered: ordered, Sets: []ResultSet{set}}
}

func TestCompare(t *testing.T) {
	now := time.Now().UTC()
	a := []string{"a"}
	typed := rows(a, false)
	typed.Sets[0].Columns[0].DatabaseType = "NUMERIC"
	for _, c := range []struct {
		name           string
		plain, wrapped Outcome
		want           []string // what differs
	}{
		{"equal", rows(a, true, []any{int64(1)}), rows(a, true, []any{int64(1)}), nil},
		{"value", rows(a, true, []any{int64(1)}), rows(a, true, []any{int64(2)}), []string{"row 0"}},
		{"Go type", rows(a, false, []any{int64(1)}), rows(a, false, []any{[]byte("1")}), []string{"a row"}},
		{"string NULL", rows(a, false, []any{nil}), rows(a, false, []any{"NULL"}), []string{"a row"}},
		{"multiset", rows(a, false, []any{"x"}, []any{"y"}), rows(a, false, []any{"y"}, []any{"x"}), nil},
		{"multiplicity", rows(a, false, []any{"x"}, []any{"x"}, []any{"y"}), rows(a, false, []any{"x"}, []any{"y"}, []any{"y"}), []string{"a row"}},
		{"order", rows(a, true, []any{"x"}, []any{"y"}), rows(a, true, []any{"y"}, []any{"x"}), []string{"order, from row 0"}},
		{"order among equals", by("A", []any{"x", "1"}, []any{"x", "2"}), by("A", []any{"x", "2"}, []any{"x", "1"}), nil},
		{"order among others", by("a", []any{"x", "1"}, []any{"y", "1"}), by("a", []any{"y", "1"}, []any{"x", "1"}), []string{"order, from row 0"}},
		{"order by what is not shown", by("c", []any{"x", "1"}, []any{"y", "1"}), by("c", []any{"y", "1"}, []any{"x", "1"}), []string{"order, from row 0"}},
		{
			"order among equal numbers",
			numeric(rows(a, true, []any{"1.0"}, []any{"1.00"})), numeric(rows(a, true, []any{"1.00"}, []any{"1.0"})), nil,
		},
		{
			"order by equal numbers",
			numeric(by("a", []any{"1.0", "1"}, []any{"1.00", "2"})), numeric(by("a", []any{"1.00", "2"}, []any{"1.0", "1"})), nil,
		},
		{
			"order among strings",
			rows(a, true, []any{"1.0"}, []any{"1.00"}), rows(a, true, []any{"1.00"}, []any{"1.0"}), []string{"order, from row 0"},
		},
		{
			"order among numbers",
			numeric(rows(a, true, []any{"1.0"}, []any{"2"})), numeric(rows(a, true, []any{"2"}, []any{"1.0"})), []string{"order, from row 0"},
		},
		{"scale", numeric(rows(a, true, []any{"1.0"})), numeric(rows(a, true, []any{"1.00"})), []string{"row 0"}},
		{"number of rows", rows(a, true, []any{"x"}), rows(a, true), []string{"number of rows"}},
		{"column name", rows(a, true), rows([]string{"A"}, true), []string{"columns"}},
		{"column type", rows(a, false), typed, []string{"type of column a"}},
		{"number of sets", rows(a, false), Outcome{Mode: Query}, []string{"number of result sets"}},
		{"made just now", rows(a, true, []any{now}), rows(a, true, []any{now.Add(time.Second)}), nil},
		{"seconds made just now", rows(a, true, []any{now.Unix()}), rows(a, true, []any{now.Unix() + 1}), nil},
		{
			"text made just now, in any order",
			rows(a, false, []any{now.Format(time.DateTime), "x"}, []any{now.Add(time.Second).Format(time.DateTime), "y"}),
			rows(a, false, []any{now.Add(2 * time.Second).Format(time.DateTime), "y"}, []any{now.Format(time.DateTime), "x"}),
			nil,
		},
		{"old times", rows(a, true, []any{now.AddDate(-1, 0, 0)}), rows(a, true, []any{now.AddDate(-1, 0, 1)}), []string{"row 0"}},
		{
			"affected", Outcome{Mode: Exec, RowsAffected: Number{Value: 1}}, Outcome{Mode: Exec, RowsAffected: Number{Value: 2}},
			[]string{"RowsAffected"},
		},
		{
			"identity", Outcome{Mode: Exec, LastInsertID: Number{Err: errors.New("no")}}, Outcome{Mode: Exec},
			[]string{"LastInsertId"},
		},
		{"error", Outcome{Err: errors.New("x")}, Outcome{}, []string{"error"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, d := range Compare(c.plain, c.wrapped) {
				got = append(got, d.What)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestMode(t *testing.T) {
	for text, want := range map[string]Mode{
		"select 1": Query,
		"-- c\n/* d */ (SELECT 1) UNION SELECT 2":                                  Query,
		"UPDATE t SET a = 1":                                                       Exec,
		"UPDATE t SET a = 1 RETURNING a":                                           Query,
		"WITH x AS (SELECT 1) SELECT * FROM x":                                     Query,
		"WITH x AS (SELECT 1) SELECT * FROM t FOR UPDATE":                          Query,
		"WITH x AS (SELECT 1) UPDATE t SET a = 1":                                  Exec,
		"WITH x AS (UPDATE t SET a = 1 RETURNING a) SELECT * FROM x":               Query,
		"BEGIN; SELECT 1; COMMIT":                                                  Exec,
		"INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2 RETURNING *": Query,
	} {
		if got := (Statement{SQL: text}).mode(); got != want {
			t.Errorf("%s: mode %d, want %d", text, got, want)
		}
	}
}

// TestPlainPair holds the pair itself to its word: plain beside plain is
// without differences, and a real difference is seen.
func TestPlainPair(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := New(t, Options{
				Dialect: dialect,
				Schema: []string{
					"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL, price DECIMAL(9,2), at TIMESTAMP DEFAULT CURRENT_TIMESTAMP)",
					"INSERT INTO posts (id, views, price) VALUES (1, 1, 1.50), (2, 2, NULL)",
				},
				Open: OpenPlain,
			})
			arg := "?"
			if dialect == "postgres" {
				arg = "$1"
			}
			for _, s := range []Statement{
				{SQL: "SELECT * FROM posts ORDER BY id"},
				{SQL: "SELECT views FROM posts WHERE id = " + arg, Args: []any{1}},
				{SQL: "SELECT views FROM posts WHERE id = " + arg, Args: []any{1}, Prepared: true},
				{SQL: "UPDATE posts SET views = views + 1 WHERE id = " + arg, Args: []any{2}},
				{SQL: "INSERT INTO posts (id, views) VALUES (1, 1)"},
				{SQL: "SELECT nothing FROM posts"},
			} {
				p.Same(t, s)
			}
			final := func() []Difference {
				ds, err := p.FinalTables(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return ds
			}
			if ds := final(); len(ds) > 0 {
				t.Error(ds)
			}
			if _, err := p.Under.ExecContext(t.Context(), "UPDATE posts SET views = 7 WHERE id = 1"); err != nil {
				t.Fatal(err)
			}
			if ds := final(); len(ds) != 1 {
				t.Errorf("one difference was made, seen: %v", ds)
			}
			if plain, wrapped := p.Run(
				t.Context(),
				Statement{SQL: "SELECT views FROM posts WHERE id = 1"},
			); len(Compare(plain, wrapped)) != 1 {
				t.Error("a difference was not seen")
			}
		})
	}
}

func TestOrderColumns(t *testing.T) {
	for query, want := range map[string][]string{
		"SELECT a FROM t ORDER BY a":                              {"a"},
		"SELECT a FROM t ORDER BY t.`a` DESC, \"b\" LIMIT ?, 10;": {"a", "b"},
		"SELECT a FROM t ORDER BY a NULLS LAST OFFSET 3":          {"a"},
		"SELECT a FROM t ORDER BY a + 1":                          nil,
		"SELECT a FROM t ORDER BY f(a)":                           nil,
		"SELECT a FROM (SELECT a FROM t ORDER BY a) x":            nil,
		"SELECT a FROM t ORDER BY a FOR UPDATE":                   nil,
	} {
		if got := orderColumns(query); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestHiddenOrder(t *testing.T) {
	for sql, want := range map[string]bool{
		"SELECT u.user_id FROM users u ORDER BY u.user_posts DESC LIMIT 50": true,
		"SELECT id, posts FROM users ORDER BY posts":                        false,
		"SELECT * FROM users ORDER BY posts":                                false,
		"SELECT id FROM users":                                              false,
	} {
		if got := HiddenOrder(sql); got != want {
			t.Errorf("%s: %v", sql, got)
		}
	}
}
