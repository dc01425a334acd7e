package session

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// editable makes a table of documents with a version, a time and a counter beside it.
func editable(t *testing.T, dialect, params, config string) *twin.Pair {
	t.Helper()
	at := map[string]string{"mysql": "DATETIME", "postgres": "TIMESTAMP", "sqlite": "DATETIME"}[dialect]
	data := map[string]string{"mysql": "JSON", "postgres": "JSONB", "sqlite": "TEXT CHECK (json_valid(data))"}[dialect]
	p := twin.New(t, twin.Options{
		Dialect: dialect, Params: params,
		Schema: []string{
			"CREATE TABLE documents (id INT PRIMARY KEY, version SMALLINT NOT NULL, updated_at " + at + ", name VARCHAR(40), " +
				"edits INT NOT NULL, grade INT NOT NULL CHECK (grade < 100), open INT NOT NULL, data " + data + ")",
			"INSERT INTO documents VALUES (1, 0, '2026-01-01 00:00:00', 'none', 0, 0, 1, '{}')",
		},
		Config: "version: 1\nauto_migrate: true\ntables:\n  documents: " + config + "\n",
	})
	p.Wrapped.SetMaxOpenConns(clients)
	p.Wrapped.SetMaxIdleConns(clients)
	return p
}

func forVersions(t *testing.T, f func(t *testing.T, p *twin.Pair)) {
	modes := []struct{ dialect, params string }{
		{"mysql", ""}, {"mysql", "clientFoundRows=true"}, {"mysql", "interpolateParams=true&sql_mode=%27%27"}, {"postgres", ""}, {"sqlite", ""},
	}
	for _, m := range modes {
		for name, config := range map[string]string{
			"alone": "{versions: [version, updated_at]}", "beside slots": "{counters: {edits: {}}, versions: [version, updated_at], slots: 8}",
		} {
			t.Run(m.dialect+m.params+"/"+name, func(t *testing.T) { f(t, editable(t, m.dialect, m.params, config)) })
		}
	}
}

// sendAll has each client send the statement once, all at a time. It returns the clients whose statement has affected the row, and the
// errors.
func sendAll(t *testing.T, p *twin.Pair, query string, args func(client int) []any) (winners []int, failed map[int]error) {
	t.Helper()
	query, failed = twin.Placeholders(p.Dialect, query), map[int]error{}
	var mu sync.Mutex
	crowd(t, 1, func(ctx context.Context, client, _ int) error {
		res, err := p.Wrapped.ExecContext(ctx, query, args(client)...)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed[client] = err
			return nil
		}
		n, err := res.RowsAffected()
		if n == 1 {
			winners = append(winners, client)
		} else if n != 0 {
			t.Errorf("%d rows affected", n)
		}
		if id, err := res.LastInsertId(); p.Dialect == "mysql" && (id != 0 || err != nil) {
			t.Errorf("insert ID %d, %v", id, err)
		}
		return err
	})
	return winners, failed
}

// often runs f until some executions have shared a statement, and ten times at least.
func often(t *testing.T, dialect string, f func()) {
	t.Helper()
	untilGrouped(t, dialect, func(int) {
		for range 10 {
			f()
		}
	})
}

// Of those that expect the same version one affects the row, and its values are in there, however the statement is written. Those that
// expect another one affect none.
func TestGroupedCompareAndSet(t *testing.T) {
	spellings := map[string]string{
		"plus":    "UPDATE documents SET name = ?, version = version + 1, edits = edits + 1 WHERE id = ? AND documents.version = ?",
		"next":    "UPDATE documents SET name = ?, grade = grade + 1, version = version - -1 WHERE (id = ?) AND ? = version AND open = 1",
		"clock":   "UPDATE documents SET updated_at = CURRENT_TIMESTAMP, name = ?, version = 1 + version WHERE id = ? AND version = ?",
		"literal": "UPDATE documents SET name = ?, version = %d WHERE id = ? AND version = ?",
	}
	forVersions(t, func(t *testing.T, p *twin.Pair) {
		version := 0
		for name, query := range spellings {
			often(t, p.Dialect, func() {
				q := query
				if strings.Contains(q, "%d") {
					q = fmt.Sprintf(q, version+1)
				}
				expect := func(v int) func(client int) []any {
					return func(client int) []any { return []any{fmt.Sprint("client ", client), 1, v} }
				}
				winners, failed := sendAll(t, p, q, expect(version))
				if len(failed) > 0 || len(winners) != 1 {
					t.Fatalf("%s: %v of those that expect version %d have won, %v failed", name, winners, version, failed)
				}
				version++
				want := fmt.Sprintf("%d client %d", version, winners[0])
				if got := twin.Rows(t, p.Under, "SELECT version, name FROM documents"); got != want {
					t.Fatalf("%s: the row is %s, want %s", name, got, want)
				}
				if winners, failed := sendAll(t, p, q, expect(version-1)); len(winners)+len(failed) > 0 {
					t.Fatalf("%s: %v of those that expect what was there have won, %v failed", name, winners, failed)
				}
			})
		}
	})
}

// A time is a version, too. Whether another one has been stored is asked where the engine may round it.
func TestGroupedCompareAndSetTime(t *testing.T) {
	forVersions(t, func(t *testing.T, p *twin.Pair) {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		written := func(at time.Time) any {
			if p.Dialect == "postgres" {
				return at
			}
			return at.Format(time.DateTime)
		}
		query := "UPDATE documents SET updated_at = ?, name = ? WHERE id = ? AND updated_at = ?"
		often(t, p.Dialect, func() {
			next := now.Add(time.Minute)
			winners, failed := sendAll(t, p, query, func(client int) []any {
				return []any{written(next), fmt.Sprint("client ", client), 1, written(now)}
			})
			if len(failed) > 0 || len(winners) != 1 || value(t, p.Under, "SELECT name FROM documents") != fmt.Sprint("client ", winners[0]) {
				t.Fatalf("%v have won, %v failed, and the name is %s", winners, failed, value(t, p.Under, "SELECT name FROM documents"))
			}
			now = next
		})
	})
}

// What leaves the version as it is takes it from nobody: every statement affects the row.
func TestGroupedCompareWithoutChange(t *testing.T) {
	forVersions(t, func(t *testing.T, p *twin.Pair) {
		var round atomic.Int64
		for _, query := range []string{
			"UPDATE documents SET name = ?, version = ? WHERE id = ? AND version = 0",
			"UPDATE documents SET name = ?, version = version + ? WHERE id = ? AND version = 0",
		} {
			for range 5 {
				round.Add(1)
				winners, failed := sendAll(t, p, query, func(client int) []any { return []any{fmt.Sprint(round.Load(), client), 0, 1} })
				if len(winners) != clients || len(failed) > 0 {
					t.Fatalf("%d of %d have affected the row, %v failed", len(winners), clients, failed)
				}
			}
		}
	})
}

// A version that ends its column's range is clamped without strict sql_mode, and then expected by the next one, which still wins.
func TestGroupedCompareClamped(t *testing.T) {
	p := editable(t, "mysql", "sql_mode=%27%27", "{versions: [version]}")
	twin.ExecAll(t, p.Under, "UPDATE documents SET version = 32767")
	for round := range 5 {
		winners, failed := sendAll(t, p, "UPDATE documents SET name = ?, version = version + 1 WHERE id = 1 AND version = ?", func(client int) []any {
			return []any{fmt.Sprint(round, client), 32767}
		})
		if len(winners) != clients || len(failed) > 0 {
			t.Fatalf("%d of %d have affected the row, %v failed", len(winners), clients, failed)
		}
	}
}

// One whose other condition is false takes nobody along, and neither does one that fails.
func TestGroupedCompareAndSetOthers(t *testing.T) {
	forVersions(t, func(t *testing.T, p *twin.Pair) {
		for version := range 10 {
			winners, failed := sendAll(t, p, "UPDATE documents SET version = version + 1 WHERE id = ? AND version = ? AND open = ?", func(client int) []any {
				return []any{1, 2 * version, client % 3}
			})
			if len(winners) != 1 || winners[0]%3 != 1 || len(failed) > 0 {
				t.Fatalf("%v have won, %v failed", winners, failed)
			}
			winners, failed = sendAll(t, p, "UPDATE documents SET grade = ?, version = version + 1 WHERE id = ? AND version = ?", func(client int) []any {
				return []any{100 * (client % 2), 1, 2*version + 1}
			})
			if len(winners) != 1 || winners[0]%2 != 0 {
				t.Fatalf("%v have won", winners)
			}
			for client, err := range failed {
				if client%2 == 0 {
					t.Fatalf("client %d has another one's error: %v", client, err)
				}
			}
		}
	})
}

// JSON that is none is refused as plain refuses it: by PostgreSQL whatever the row's version is, otherwise if it would be stored.
func TestGroupedCompareAndSetJSON(t *testing.T) {
	forVersions(t, func(t *testing.T, p *twin.Pair) {
		for version := range 10 {
			winners, failed := sendAll(t, p, "UPDATE documents SET data = ?, version = version + 1 WHERE id = ? AND version = ?", func(client int) []any {
				return []any{[]string{`{"by": "` + fmt.Sprint(client) + `"}`, `{`}[client%2], 1, version}
			})
			if len(winners) != 1 || winners[0]%2 != 0 || p.Dialect == "postgres" && len(failed) != clients/2 {
				t.Fatalf("%v have won, %v failed", winners, failed)
			}
			for client, err := range failed {
				if client%2 == 0 {
					t.Fatalf("client %d has another one's error: %v", client, err)
				}
			}
			if got := value(t, p.Under, "SELECT data FROM documents"); got != fmt.Sprintf(`{"by": "%d"}`, winners[0]) {
				t.Fatalf("the row has %s after client %d has won", got, winners[0])
			}
		}
	})
}

// Clients that read a document, and write it back if nobody else has meanwhile: no edit is lost.
func TestGroupedCompareAndSetEditors(t *testing.T) {
	forVersions(t, func(t *testing.T, p *twin.Pair) {
		var saved, tries atomic.Int64
		before := groupedSoFar(p.Dialect)
		query := twin.Placeholders(p.Dialect, "UPDATE documents SET edits = ?, name = ?, updated_at = ?, version = version + 1 "+
			"WHERE documents.version = ? AND id = ? AND documents.data IS NOT NULL")
		crowd(t, 20, func(ctx context.Context, client, i int) error {
			for {
				var edits, version int64
				if err := p.Wrapped.QueryRowContext(ctx, "SELECT edits, version FROM documents WHERE id = 1").Scan(&edits, &version); err != nil {
					return err
				}
				tries.Add(1)
				res, err := p.Wrapped.ExecContext(ctx, query, edits+1, fmt.Sprint(client, " ", i), time.Now().UTC(), version, 1)
				if err != nil {
					return err
				}
				if n, err := res.RowsAffected(); n == 1 || err != nil {
					saved.Add(n)
					return err
				}
			}
		})
		want := fmt.Sprintf("%d %d", saved.Load(), saved.Load())
		if got := twin.Rows(t, p.Under, "SELECT edits, version FROM documents"); got != want || saved.Load() != 20*clients {
			t.Errorf("%s after %d edits of %d tries", got, saved.Load(), tries.Load())
		}
		if p.Dialect != "sqlite" && strings.HasSuffix(t.Name(), "alone") && groupedSoFar(p.Dialect) == before {
			t.Error("no edits have shared a statement")
		}
	})
}

// In a transaction each statement is sent, since its own may not be over when the others' are.
func TestGroupedCompareAndSetInTransactions(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := editable(t, dialect, "", "{versions: [version]}")
		before := groupedSoFar(dialect)
		query := twin.Placeholders(dialect, "UPDATE documents SET version = version + 1 WHERE id = ? AND version = ?")
		for version := range 3 {
			var won atomic.Int64
			crowd(t, 1, func(ctx context.Context, _, _ int) error {
				tx, err := p.Wrapped.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
				if err != nil {
					return err
				}
				defer func() { _ = tx.Rollback() }()
				res, err := tx.ExecContext(ctx, query, 1, version)
				if err != nil {
					return err
				}
				n, err := res.RowsAffected()
				won.Add(n)
				if err != nil {
					return err
				}
				return tx.Commit()
			})
			if won.Load() != 1 {
				t.Errorf("%d transactions have won", won.Load())
			}
		}
		if got := groupedSoFar(dialect) - before; got != 0 {
			t.Errorf("%d executions in transactions have shared a statement", got)
		}
	})
}
