package catalog

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// fewAndMany are numbers of counter tables between which nothing is to grow.
var fewAndMany = []int{3, 70}

// A first connection that creates the slot tables reads them, and what they change, by
// the same number of queries for any number of tables. Only the statements that create
// them are as many as they are.
func TestCreatingReadsOnce(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		asked := map[int]int{}
		for _, n := range fewAndMany {
			p := without(t, dialect, n)
			r := parent(t, p)
			if err := open(t, p, r, n).PingContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			asked[n] = r.selected()
		}
		more := 0
		if dialect != "sqlite" {
			more = 2 * (fewAndMany[1] - fewAndMany[0]) // whether each is there, and whether it may be made
		}
		if asked[fewAndMany[0]]+more != asked[fewAndMany[1]] {
			t.Errorf("queries by number of tables: %v", asked)
		}
	})
}

// When slot tables are created the columns are read twice, before and after: by a first connection,
// and where the application creates a configured table.
func TestCreatingReadsTwice(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := without(t, dialect, 3)
		r := parent(t, p)
		db := open(t, p, r, 4)
		db.SetMaxOpenConns(1)
		exec(t, db, increment)
		if _, readings := r.asked(); readings != 2 {
			t.Errorf("the first connection read the columns %d times", readings)
		}
		exec(t, db, "CREATE TABLE c3 (id INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)", "INSERT INTO c3 (id) VALUES (1)")
		exec(t, db, "UPDATE c3 SET n = n + 1 WHERE id = 1")
		if _, readings := r.asked(); readings != 2 {
			t.Errorf("the columns were read %d times for a new table", readings)
		}
		var slots int
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM c3_slots").Scan(&slots); err != nil {
			t.Error(err)
		}
	})
}

// A slot table that cannot be created because its base table is in use is created soon after, even if another one was created in the
// same reading.
func TestBusyTableGetsItsSlots(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := without(t, dialect, 1)
		db := open(t, p, parent(t, p), 3)
		exec(t, db, increment)
		for _, table := range []string{"c1", "c2"} {
			if _, err := p.Under.Exec("CREATE TABLE " + table + " (id INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)"); err != nil {
				t.Fatal(err)
			}
		}
		user, err := p.Under.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := user.Exec("INSERT INTO c2 (id) VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		awaitTable(t, p, db, "c1_slots")
		if err := user.Commit(); err != nil {
			t.Fatal(err)
		}
		awaitTable(t, p, db, "c2_slots")
	})
}

// awaitTable runs increments until a table exists.
func awaitTable(t *testing.T, p *twin.Pair, db *sql.DB, name string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		exec(t, db, "UPDATE c1 SET n = n + 1 WHERE id = 1")
		var n int
		err := p.Under.QueryRow("SELECT COUNT(*) FROM " + name).Scan(&n)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// A connection that is opened later asks nothing about the tables where there are many.
// What has changed meanwhile is found by its statements (TestUnrelatedDDLReadsNothing).
func TestLaterConnectionAsksNothing(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		n := fewAndMany[1]
		p := without(t, dialect, n)
		r := parent(t, p)
		db := open(t, p, r, n)
		first, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		r.selected()
		second, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		if asked := r.selected(); asked > 0 {
			t.Errorf("the second connection asked %d queries", asked)
		}
	})
}

// without has counter tables whose slot tables are yet to be created.
func without(t *testing.T, dialect string, n int) *twin.Pair {
	t.Helper()
	var schema []string
	for i := range n {
		schema = append(schema, fmt.Sprintf("CREATE TABLE c%d (id INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)", i))
	}
	return twin.New(t, twin.Options{Dialect: dialect, Schema: schema, Config: config(n)})
}

// selected returns how many queries there were since the last call, statements that
// change something left out.
func (r *recorder) selected() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, q := range r.queries {
		switch verb, _, _ := strings.Cut(strings.TrimSpace(q), " "); verb {
		case "SELECT", "WITH", "SHOW":
			n++
		}
	}
	r.queries = nil
	return n
}
