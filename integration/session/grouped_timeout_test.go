package session

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Time runs out for the statement that a group shares, while another session holds the row. Each caller gets the error, as
// plain, and the statement is not sent again for ever fewer of them.
func TestGroupedTimedOut(t *testing.T) {
	limit := map[string]string{"mysql": "max_statement_time=0.3", "postgres": "statement_timeout=300"}
	errors := map[string]string{"mysql": "MySQL 1969", "postgres": "PostgreSQL 57014"}
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect),
			Config: "version: 1\ntables: {posts: {counters: {views: {}}, slots: 0}}\n"})
		dsn, counted := p.WrappedDSN, &trips{}
		if strings.Contains(dsn, "?") {
			dsn += "&" + limit[dialect]
		} else {
			dsn += "?" + limit[dialect]
		}
		if dialect == "mysql" && twin.Rows(t, p.Under, "SELECT VERSION() LIKE '%MariaDB%'") != "1" {
			return // MySQL limits the time of queries only
		}
		wrapped, err := twin.OpenWrapped(twin.Plain[dialect], counted.through(t, dialect, dsn), p.ConfigPath)
		if err != nil {
			t.Fatal(err)
		}
		defer wrapped.Close()
		const members = 12
		wrapped.SetMaxIdleConns(members)
		connect(t, wrapped, members)
		holder := twin.Snapshot(t, p.Under, 0, "posts")
		twin.ExecAll(t, holder, "UPDATE posts SET title = 'held' WHERE id = 1")

		var callers sync.WaitGroup
		for range members {
			callers.Go(func() {
				_, err := wrapped.ExecContext(context.Background(), "UPDATE posts SET views = views + 1 WHERE id = 1")
				if got := twin.Class(err); !strings.HasPrefix(got, errors[dialect]) {
					t.Errorf("a caller got %v (%s), want %s", err, got, errors[dialect])
				}
			})
		}
		callers.Wait()
		sent := 0
		for _, s := range counted.statements() {
			sent += strings.Count(s, "UPDATE posts SET views")
		}
		if sent > members {
			t.Errorf("%d statements were sent for %d callers", sent, members)
		}
	})
}

// connect opens that many connections.
func connect(t *testing.T, db *sql.DB, n int) {
	t.Helper()
	for range n {
		defer twin.Conn(t, db).Close()
	}
}
