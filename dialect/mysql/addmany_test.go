package mysql

import (
	"testing"

	"github.com/slotsql/slotsql/rewrite"
)

// TestUpsertMany holds that the upsert of many rows counts all of them or none,
// and waits for nobody.
func TestUpsertMany(t *testing.T) {
	s := sessions(t, 2)
	d, err := ForServer(t.Context(), s[0])
	if err != nil {
		t.Fatal(err)
	}
	s[0].run(
		"CREATE TABLE hits (site SMALLINT UNSIGNED NOT NULL, page BIGINT NOT NULL, n INT, cost DECIMAL(20, 2) NOT NULL, PRIMARY KEY (site, page), KEY k (n))",
		"INSERT INTO hits VALUES (7, 1, 0, 0), (7, 2, 0, 0), (7, -3, 0, 0), (8, 1, 2147483000, 0), (8, 2, NULL, 0)",
	)
	tab := load(t, s[0], "hits", []string{"site", "page"}, []string{"n", "cost"}, 64)
	upsert := d.UpsertMany(tab, rewrite.AddManyText{JSON: "?", Deltas: []string{"n", "cost"}})
	if !d.NoWait { // MySQL
		if upsert != "" {
			t.Error(upsert)
		}
		return
	}
	const slots = "SELECT COALESCE(GROUP_CONCAT(CONCAT_WS('/', site, page, slot, n, cost) ORDER BY site, page, slot), '') FROM hits_slots"
	try := func(rows string, want bool) {
		t.Helper()
		err := s[0].Exec(t.Context(), upsert, rows)
		if (err == nil) != want {
			t.Errorf("%s: %v", rows, err)
		}
	}
	const first = "7/-3/2/-5/0.00,7/1/0/3/1.25"
	try("[[7,1,0,3,1.25],[7,-3,2,-5,0]]", true)
	s[0].want(first, slots)
	try("[[7,1,0,1,1],[7,3,0,1,1]]", false) // no such row
	try("[[7,1,0,1,1],[8,1,0,1,1]]", false) // close to the end of its range
	try("[[7,1,0,1,1],[8,2,0,1,1]]", false) // NULL
	try("[[7,2,0,1,1],[7,1,0,2147483000,1]]", false)
	s[0].want(first, slots)
	for _, lock := range []string{
		"SELECT 1 FROM hits WHERE site = 7 AND page = 2 FOR UPDATE",
		"SELECT 1 FROM hits_slots WHERE site = 7 AND page = 1 FOR UPDATE",
		"INSERT INTO hits_slots VALUES (7, 2, 0, 1, 1)",
	} {
		s[1].run("BEGIN", lock)
		try("[[7,1,0,1,1],[7,2,0,1,1]]", false)
		s[1].run("ROLLBACK")
		s[0].want(first, slots)
	}
	try("[[7,2,0,4,1],[7,1,0,1,1]]", true) // one is made, one is there
	s[0].want("7/-3/2/-5/0.00,7/1/0/4/2.25,7/2/0/4/1.00", slots)
}
