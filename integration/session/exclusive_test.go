package session

import (
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// A transaction that keeps all others out of an SQLite database does not wait for
// facts that one of those reads.
func TestExclusiveReadsFactsItself(t *testing.T) {
	t.Parallel()
	p := twin.New(t, twin.Options{
		Dialect: "sqlite",
		Schema:  schema("sqlite"),
		Config:  always,
		Params:  "_txlock=exclusive",
	})
	dsn := strings.Replace(p.WrappedDSN, "journal_mode(WAL)", "journal_mode(DELETE)", 1)
	db, err := twin.OpenWrapped(twin.Plain["sqlite"], dsn, p.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	one, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	const add = "UPDATE posts SET views = views + 1 WHERE id = 1"
	if _, err := one.ExecContext(t.Context(), add); err != nil {
		t.Fatal(err)
	}
	execAll(t, db, "CREATE TRIGGER told AFTER UPDATE ON posts BEGIN SELECT 1; END") // the facts are out of date
	tx, err := one.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan error)
	go func() { // reads them, and cannot before the transaction ends
		db.SetMaxIdleConns(-1)
		opened <- db.PingContext(t.Context())
	}()
	select {
	case err := <-opened:
		t.Fatalf("a connection is open beside an exclusive transaction: %v", err)
	case <-time.After(time.Second):
	}
	began := time.Now()
	if _, err := tx.ExecContext(t.Context(), add); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 30*time.Second { // as long as the other one waits
		t.Errorf("the statement has taken %v", took)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	var total int
	if err := db.QueryRowContext(t.Context(), "SELECT views FROM posts WHERE id = 1").Scan(&total); err != nil || total != 12 {
		t.Errorf("%d, %v", total, err)
	}
}
