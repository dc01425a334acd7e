package pq

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lib/pq"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
)

// counting is a connector whose connections count the readings of columns.
type counting struct {
	driver.Connector
	readings *atomic.Int64
}

type counted struct {
	driver.Conn
	readings *atomic.Int64
}

func (c counting) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	return counted{conn, c.readings}, err
}

func (c counted) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	if strings.Contains(q, "format_type") {
		c.readings.Add(1)
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, q, args)
}

func (c counted) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, q, args)
}

// lib/pq does not tell whether a transaction is open; a block, a procedure and DDL leave that as it is, also if they fail. What
// they may have changed is read again once.
func TestFactsAreCurrentAfterBlock(t *testing.T) {
	dsn := server.Postgres(t)
	plain, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := plain.Exec("CREATE TABLE c0 (id INT PRIMARY KEY, n INT NOT NULL); INSERT INTO c0 VALUES (1, 0); CREATE PROCEDURE nothing() LANGUAGE sql AS 'SELECT 1'"); err != nil {
		t.Fatal(err)
	}
	const refused = "CREATE TABLE c0 (id INT)"
	for _, query := range []string{"DO $$ BEGIN CREATE TEMP TABLE mine (id INT); END $$", "DO $$ BEGIN PERFORM 1; COMMIT; END $$", "CALL nothing()",
		"ALTER TABLE c0 ADD COLUMN IF NOT EXISTS x INT; CREATE INDEX IF NOT EXISTS c0_x ON c0 (x)", "TRUNCATE c0; ALTER TABLE c0 ADD COLUMN IF NOT EXISTS y INT", refused} {
		connector, err := pq.NewConnector(dsn)
		if err != nil {
			t.Fatal(err)
		}
		config, err := slotsql.Parse([]byte("version: 1\nauto_migrate: true\ntables: {c0: {counters: {n: {}}}}"), "slotsql.yaml")
		if err != nil {
			t.Fatal(err)
		}
		var readings atomic.Int64
		db, err := slotsql.OpenDB(counting{connector, &readings}, dialect, config)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		for i, q := range []string{query, "UPDATE c0 SET n = n + 1 WHERE id = 1", "", "UPDATE c0 SET n = n + 1 WHERE id = 1", "UPDATE c0 SET n = n + 1 WHERE id = 1"} {
			if q == "" {
				readings.Store(0)
				continue
			}
			if _, err := db.ExecContext(t.Context(), q); (err != nil) != (q == refused) {
				t.Fatalf("%d: %s: %v", i, q, err)
			}
		}
		if n := readings.Load(); n > 0 {
			t.Errorf("%s: the columns were read %d times for 2 statements", query, n)
		}
	}
}
