package session

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// manyKinds are types of keys, with an expression of a row's number that rises with it.
var manyKinds = map[string]string{
	"TIMESTAMP":                         "FROM_UNIXTIME(1700000000 + %d)",
	"ENUM('a','b','c','d','e','f','g')": "%d / 10",
	"SET('a','b','c')":                  "%d / 10",
	"FLOAT":                             "%d / 100",
	"DOUBLE":                            "%d / 100",
	"TIME":                              "SEC_TO_TIME(%d)",
	"YEAR":                              "2000 + %d",
	"BIT(20)":                           "%d",
	"INET6":                             "CONCAT('::', %d)",
	"VARCHAR(10)":                       "CONCAT('k', %d)",
}

// As TestDifferentRows, whatever the type of the key: a row is found by another unique
// key, and its slots are kept by this one.
func TestDifferentRowsOfKeyTypes(t *testing.T) {
	for kind, value := range manyKinds {
		for _, before := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/counted=%v", kind, before), func(t *testing.T) {
				t.Parallel()
				schema := []string{
					"CREATE TABLE posts (k " + kind + " NOT NULL PRIMARY KEY, id INT NOT NULL UNIQUE, views INT NOT NULL, title VARCHAR(20))",
				}
				for i := range 5 {
					schema = append(schema, fmt.Sprintf("INSERT INTO posts VALUES ("+value+", %[1]d, 100, 'x')", 10*(i+1)))
				}
				p := twin.New(t, twin.Options{Dialect: "mysql", Params: "innodb_lock_wait_timeout=5", Schema: schema,
					Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n"})
				for first := range firsts {
					if first != "delete" && first != "upsert" {
						checkDifferentRows(t, p, first, before)
					}
				}
				if different, err := p.FinalTables(t.Context()); err != nil || len(different) > 0 {
					t.Errorf("%v, %v", different, err)
				}
			})
		}
	}
}

// checkDifferentRows has two transactions take a row of their own, after they have
// counted in it or not, and increment it, beside an increment of a third.
func checkDifferentRows(t *testing.T, p *twin.Pair, first string, before bool) {
	t.Helper()
	for _, db := range []*sql.DB{p.Plain, p.Wrapped} {
		var txs [2]*sql.Tx
		run := func(i int, query string) {
			t.Helper()
			if _, err := txs[i].Exec(fmt.Sprintf(query, 10*(i+1))); err != nil {
				t.Fatalf("%s: transaction %d: %s: %v", first, i, query, err)
			}
		}
		for i := range txs {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			txs[i] = tx
			if before {
				run(i, "UPDATE posts SET views = views + 1 WHERE id = %d")
			}
		}
		for i := range txs {
			run(i, firsts[first])
		}
		if _, err := db.Exec("UPDATE posts SET views = views + 1 WHERE id = 30"); err != nil {
			t.Errorf("%s: an increment of a third row: %v", first, err)
		}
		for i := range txs {
			run(i, "UPDATE posts SET views = views + 1 WHERE id = %d")
		}
		for _, tx := range txs {
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
