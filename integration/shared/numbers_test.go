package shared

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// adopted is a pair whose slot table is another program's, with a slot of posts 1
// of that number.
func adopted(t *testing.T, dialect string, number int) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{Dialect: dialect, Config: adoptConfig, Params: params(dialect), Schema: []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL, likes BIGINT NOT NULL)",
		"INSERT INTO posts VALUES (1, 10, 0), (2, 20, 5)",
		slotted(dialect, ""),
		fmt.Sprintf(
			"INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES (1, 1, 3, 100), (1, 1, %d, 7), (9, 1, 40000, 1)",
			number,
		),
	}})
}

// Slots of numbers that slotsql itself does not use are those of the base row,
// whatever they are: they count, check and the audit accept them, and drains and
// roll-ups move them.
func TestForeignNumbers(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		for _, number := range []int{-1, 64, 32767, 32768, 40000, 65535, 65536, 100001, 2147483646} {
			t.Run(fmt.Sprint(number), func(t *testing.T) {
				p := adopted(t, dialect, number)
				if _, err := slotsql.Check(t.Context(), twin.Connector(t, p)); err != nil {
					t.Fatalf("check: %v", err)
				}
				v, err := slotsql.Verify(t.Context(), twin.Connector(t, p), slotsql.VerifyOptions{Fix: true})
				if err != nil || len(v[0].Notes)+len(v[0].Findings) > 0 {
					t.Fatalf("audit: %+v, %v", v, err)
				}
				execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
				if got := text(t, p.Wrapped, "SELECT views FROM posts WHERE id = 1"); got != "118" {
					t.Errorf("total %s", got)
				}
				execAll(t, p.Wrapped, "UPDATE posts SET views = views * 2 WHERE id = 1")
				if got := text(t, p.Under, "SELECT views FROM posts WHERE id = 1"); got != "236" {
					t.Errorf("drained: %s", got)
				}
				if got := text(t, p.Under, "SELECT COUNT(*) FROM slotted_counters"); got != "1" {
					t.Errorf("%s slot rows are left", got)
				}
				execAll(t, p.Under, fmt.Sprintf(
					"INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES (1, 1, %d, 7), (1, 2, %d, 1)", number, number))
				execAll(t, p.Wrapped, "UPDATE posts SET views = views * 2")
				if got := text(t, p.Under, "SELECT SUM(views) FROM posts"); got != "528" {
					t.Errorf("all rows drained: %s", got)
				}
				execAll(t, p.Under, fmt.Sprintf(
					"INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES (1, 1, %d, 7)", number))
				if _, err := slotsql.Migrate(t.Context(), twin.Connector(t, p)); err != nil {
					t.Fatal(err)
				}
				if _, err := slotsql.RollUp(t.Context(), twin.Connector(t, p), slotsql.RollUpOptions{}); err != nil {
					t.Fatal(err)
				}
				if got := text(t, p.Under, "SELECT SUM(views) FROM posts"); got != "535" {
					t.Errorf("rolled up: %s", got)
				}
			})
		}
	})
}

// At PostgreSQL's higher levels a drain notices slot rows that another program has
// made since the transaction's snapshot, whatever their numbers.
func TestForeignRowsSinceSnapshot(t *testing.T) {
	for _, number := range []int{5, 40000} {
		for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
			for _, drain := range []string{"UPDATE posts SET views = 5 WHERE id = 1", "UPDATE posts SET views = views * 2"} {
				t.Run(fmt.Sprintf("%d/%s/%s", number, level, drain), func(t *testing.T) {
					t.Parallel()
					p := adopted(t, "postgres", 70)
					tx := twin.Snapshot(t, p.Wrapped, level, "posts")
					// Of another record type, and so nothing to it.
					execAll(
						t,
						p.Under,
						fmt.Sprintf("INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES (8, 1, %d, 1000)", number),
					)
					if _, err := tx.Exec(drain); err != nil {
						t.Fatalf("%v (%s)", err, twin.Class(err))
					}
					if err := tx.Rollback(); err != nil {
						t.Fatal(err)
					}
					tx = twin.Snapshot(t, p.Wrapped, level, "posts")
					execAll(
						t,
						p.Under,
						fmt.Sprintf("INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES (1, 1, %d, 1000)", number),
					)
					if _, err := tx.Exec(drain); twin.Class(err) != "PostgreSQL 40001" {
						t.Errorf("%v (%s), want 40001", err, twin.Class(err))
					}
				})
			}
		}
	}
}
