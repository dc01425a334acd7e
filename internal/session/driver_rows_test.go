package session

import (
	"database/sql/driver"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/fake"
)

func TestRows(t *testing.T) {
	typed := func(b fake.BareConn) driver.Conn {
		b.Rows = func(r *fake.BareRows) driver.Rows { return &fake.Typed{BareRows: r, Sets: 1} }
		return &fake.Conn{BareConn: b}
	}
	skipping := func(b fake.BareConn) driver.Conn { // rows of a statement that is closed with them
		b.Rows = func(r *fake.BareRows) driver.Rows { return &fake.Typed{BareRows: r, Sets: 1} }
		b.SkipExec = true
		return &fake.Conn{BareConn: b}
	}
	for name, f := range map[string]func(fake.BareConn) driver.Conn{"typed": typed, "skipping": skipping} {
		for _, query := range []string{"SELECT x FROM log WHERE x = ?", "SELECT views FROM posts WHERE id = ?", "UPDATE posts SET views = 5 WHERE id = ? RETURNING views"} {
			db, server := openMade(t, fake.Watching, f)
			rows, err := db.Query(query, 1)
			if err != nil {
				t.Fatal(err)
			}
			types, err := rows.ColumnTypes()
			if err != nil {
				t.Fatal(err)
			}
			c := types[0]
			length, _ := c.Length()
			nullable, hasNull := c.Nullable()
			p, s, _ := c.DecimalSize()
			if c.DatabaseTypeName() != "WONDER" || length != 11 || !nullable || !hasNull || p != 12 || s != 3 ||
				c.ScanType() != reflect.TypeFor[fake.Odd]() {
				t.Errorf("%s: %s: types %+v", name, query, c)
			}
			n := 0
			for more := true; more; more = rows.NextResultSet() {
				for rows.Next() {
					n++
				}
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil || n != 2 {
				t.Errorf("%s: %s: %d rows, %v", name, query, n, err)
			}
			if server.LeftOpen() != 0 {
				t.Errorf("%s: %s: left open", name, query)
			}
		}
	}
	db, _ := openMade(t, fake.Watching, full)
	rows, err := db.Query(drained + " RETURNING views")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	_, hasLength := types[0].Length()
	_, hasNull := types[0].Nullable()
	_, _, hasPrecision := types[0].DecimalSize()
	if types[0].DatabaseTypeName() != "" || hasLength || hasNull || hasPrecision || types[0].ScanType() != reflect.TypeFor[any]() {
		t.Errorf("without types: %+v", types[0])
	}
}

// result extras: go-sql-driver/mysql's Result has them.
func TestResultExtras(t *testing.T) {
	for _, d := range []dialect.Dialect{fake.Nesting, fake.Probing} {
		db, server := openMade(t, d, full)
		server.Mu.Lock()
		server.Affected = func(string) int64 { return 2 }
		server.Mu.Unlock()
		err := withConn(t, db, func(c *Conn) {
			res, err := c.ExecContext(t.Context(), incrementSQL, nil)
			if err != nil {
				t.Fatal(err)
			}
			all, ok := res.(interface {
				AllRowsAffected() []int64
				AllLastInsertIds() []int64
			})
			const want = 1 // row of a unique key, however the parent counts an upsert
			n, err := res.RowsAffected()
			if err != nil || n != want || !ok || !slices.Equal(all.AllRowsAffected(), []int64{want}) || len(all.AllLastInsertIds()) != 1 {
				t.Errorf("%d rows, %v", n, err)
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
}
