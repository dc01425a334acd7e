package shared

import (
	"database/sql"
	"fmt"
	"strings"
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
		slotted(
			dialect,
			"",
		),
		fmt.Sprintf(
			"INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES (1, 1, 3, 100), (1, 1, %d, 7), (9, 1, 40000, 1)",
			number,
		),
	}})
}

// Slots of numbers that slotsql itself does not use are those of the base row,
// whatever they are; where drains do not take one, check and the first connection
// say so, and the audit finds it and leaves it as it is.
func TestForeignNumbers(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		numbers := []int{40000, -1}
		if dialect == "mysql" {
			numbers = append(numbers, 64, 32767, 32768, 65535, 65536, 100001, 2147483646)
		}
		for _, number := range numbers {
			t.Run(fmt.Sprint(number), func(t *testing.T) {
				p := adopted(t, dialect, number)
				refused := dialect == "mysql" && (number < 0 || number > 32767 && (number < 65536 || number%2 == 1))
				if _, err := slotsql.Check(
					t.Context(),
					twin.Connector(t, p),
				); refused != (err != nil) ||
					err != nil && !strings.Contains(err.Error(), fmt.Sprintf("has slot %d for this table, but drains only fold", number)) {
					t.Fatalf("check: %v", err)
				}
				v, err := slotsql.Verify(t.Context(), twin.Connector(t, p), slotsql.VerifyOptions{Fix: refused})
				if err != nil || len(v[0].Notes) > 0 || refused != (len(v[0].Findings) == 1) ||
					refused && (v[0].Findings[0].Kind != slotsql.FindingSlot || v[0].Findings[0].Fixed) {
					t.Fatalf("audit: %+v, %v", v, err)
				}
				if err := p.Wrapped.PingContext(t.Context()); refused != (err != nil) {
					t.Fatal(err)
				}
				if refused {
					if got := text(t, p.Under, "SELECT COUNT(*), SUM(count) FROM slotted_counters WHERE record_type = 1"); got != "2 107" {
						t.Errorf("left: %s", got)
					}
					return
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
