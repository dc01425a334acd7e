package session

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// A process that does nothing but wait for the transactions of other processes finds out that its row queues: waiting is what all its
// updates do, so that no comparison of their durations could tell.
func TestRowQueuesForOtherProcesses(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		const table = "queued_posts"
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema: []string{
				"CREATE TABLE " + table + " (id INT PRIMARY KEY, views BIGINT NOT NULL)",
				"INSERT INTO " + table + " VALUES (1, 0), (2, 0)",
			},
			Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 16, placement: adaptive}\ntables: {" + table + ": {counters: {views: {}}}}\n",
		})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		held := make(chan int64)
		go func() { // another program holds the row nearly all the time
			n := int64(0)
			defer func() { held <- n }()
			for ctx.Err() == nil {
				if err := holdRow(p.Under, table); err != nil {
					t.Error(err)
					return
				}
				n++
			}
		}()
		slotted := func() bool {
			return slices.ContainsFunc(slotsql.Stats(), func(s slotsql.StatementStats) bool {
				return s.Dialect == dialect && slices.Contains(s.Tables, table) && s.Slotted > 0
			})
		}
		counted := int64(0)
		for end := time.Now().Add(time.Minute); !slotted(); counted++ {
			if time.Now().After(end) {
				t.Fatal("its increments wait for the row, and none has gone to a slot")
			}
			if _, err := p.Wrapped.ExecContext(ctx, "UPDATE "+table+" SET views = views + 1 WHERE id = 1"); err != nil {
				t.Fatal(err)
			}
		}
		stop()
		counted += <-held
		var views int64
		if err := p.Wrapped.QueryRowContext(t.Context(), "SELECT views FROM "+table+" WHERE id = 1").Scan(&views); err != nil || views != counted {
			t.Errorf("%d views of %d, %v", views, counted, err)
		}
	})
}

// holdRow counts in a transaction that holds the row for 20 ms.
func holdRow(db *sql.DB, table string) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.Exec("UPDATE " + table + " SET views = views + 1 WHERE id = 1"); err != nil {
		return err
	}
	time.Sleep(20 * time.Millisecond)
	return tx.Commit()
}
