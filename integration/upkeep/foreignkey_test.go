package upkeep

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/internal/config"
)

const postsConfig = `version: 1
tables:
  posts: {counters: {views: {}}}
`

// orphans counts the slot rows without a base row.
const orphans = "SELECT COUNT(*) FROM posts_slots s WHERE NOT EXISTS (SELECT 1 FROM posts p WHERE p.id = s.id)"

// keyless is the pair's connector for migrate --no-foreign-keys.
func keyless(t *testing.T, p *twin.Pair) *slotsql.Connector {
	t.Helper()
	cfg, err := config.Load(p.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	return twin.ConnectorWith(t, p, slotsql.ConfigOf(config.WithoutForeignKeys(cfg)))
}

// without makes a pair whose slot tables have no foreign key, though the
// configuration does not say so: it is a fact of the table.
func without(t *testing.T, dialect string, schema ...string) *twin.Pair {
	t.Helper()
	if schema == nil {
		schema = []string{"CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20), views INT NOT NULL)",
			"INSERT INTO posts VALUES (1, 'one', 10), (2, 'two', 20), (3, 'three', 30)"}
	}
	p := twin.New(t, twin.Options{Dialect: dialect, Config: postsConfig, Params: patience[dialect], Schema: schema})
	if _, err := slotsql.Migrate(t.Context(), keyless(t, p)); err != nil {
		t.Fatal(err)
	}
	return p
}

// Deleted rows take their slots with them, and a row that comes under their key
// begins with its own value.
func TestNoForeignKey(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := without(t, dialect)
		keys := map[string]string{
			"mysql":    "SELECT COUNT(*) FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE() AND TABLE_NAME = 'posts_slots'",
			"postgres": "SELECT COUNT(*) FROM pg_constraint WHERE conrelid = 'posts_slots'::regclass AND contype = 'f'",
			"sqlite":   "SELECT COUNT(*) FROM pragma_foreign_key_list('posts_slots')",
		}[dialect]
		want(t, "foreign keys", rows(t, p.Under, keys), "0")
		for _, db := range []*sql.DB{p.Wrapped, p.Plain} {
			step := func(n int64, q string) {
				t.Helper()
				if got := affected(t, db, q); got != n {
					t.Errorf("%s: %d rows affected, want %d", q, got, n)
				}
			}
			const add, read = "UPDATE posts SET views = views + 5 WHERE id = 1", "SELECT id, views FROM posts ORDER BY id"
			step(1, add)
			step(1, add)
			step(1, "DELETE FROM posts WHERE id = 1")
			step(0, add)
			step(1, "INSERT INTO posts VALUES (1, 'again', 100)")
			want(t, "deleted by its key", rows(t, db, read), "1 100\n2 20\n3 30")
			step(1, add)
			step(1, "UPDATE posts SET views = views + 7 WHERE id = 2")
			step(1, "DELETE FROM posts WHERE title = 'again'")
			want(t, "deleted by another column", rows(t, db, read), "2 27\n3 30")
			step(1, "UPDATE posts SET id = 4 WHERE id = 2")
			step(1, "INSERT INTO posts VALUES (2, 'new', 0)")
			step(0, add)
			want(t, "moved to another key", rows(t, db, read), "2 0\n3 30\n4 27")
			// In one transaction: deleted, made anew, counted, read.
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			execAll(
				t,
				tx,
				"UPDATE posts SET views = views + 1 WHERE id = 4",
				"DELETE FROM posts WHERE id = 4",
				"INSERT INTO posts VALUES (4, 'tx', 1)",
				"UPDATE posts SET views = views + 1 WHERE id = 4",
			)
			want(t, "in a transaction", rows(t, tx, read), "2 0\n3 30\n4 2")
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			// And one that is rolled back has deleted nothing.
			if tx, err = db.BeginTx(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			execAll(t, tx, "DELETE FROM posts")
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			want(t, "rolled back", rows(t, db, read), "2 0\n3 30\n4 2")
			if dialect != "sqlite" {
				step(1, "UPDATE posts SET views = views + 1 WHERE id = 3")
				if _, err := db.ExecContext(t.Context(), "TRUNCATE TABLE posts"); err != nil {
					t.Fatal(err)
				}
				step(1, "INSERT INTO posts VALUES (3, 'truncated', 3)")
				want(t, "truncated", rows(t, db, read), "3 3")
			}
		}
		want(t, "orphans", rows(t, p.Under, orphans), "0")
		ds, err := p.FinalTables(t.Context())
		if err != nil || len(ds) > 0 {
			t.Errorf("%v, %v", ds, err)
		}
	})
}

// Deletes and inserts of rows that others count at the time leave no slot
// behind, and lose no increment that was acknowledged: each row counts from zero,
// the ones that were deleted said how far they had come.
func TestNoForeignKeyUnderLoad(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := without(t, dialect)
		execAll(t, p.Wrapped, "UPDATE posts SET views = 0")
		var counted, deleted atomic.Int64
		var stop atomic.Bool
		var counters, deleters sync.WaitGroup
		for worker := range 4 {
			counters.Go(func() {
				for i := worker; !stop.Load(); i++ {
					res, err := p.Wrapped.ExecContext(t.Context(), fmt.Sprintf("UPDATE posts SET views = views + 1 WHERE id = %d", 1+i%2))
					if err != nil {
						t.Error(err)
						return
					}
					n, _ := res.RowsAffected()
					counted.Add(n)
				}
			})
		}
		for id := 1; id <= 2; id++ {
			deleters.Go(func() {
				for round := 0; round < 30; round++ {
					err := func() error {
						tx, err := p.Wrapped.BeginTx(t.Context(), nil)
						if err != nil {
							return err
						}
						defer tx.Rollback()
						var n int64
						lock := "SELECT views FROM posts WHERE id = %d"
						if dialect != "sqlite" {
							lock += " FOR UPDATE"
						} else if _, err := tx.ExecContext(t.Context(), fmt.Sprintf("UPDATE posts SET title = 'x' WHERE id = %d", id)); err != nil {
							return err
						}
						if err := tx.QueryRowContext(t.Context(), fmt.Sprintf(lock, id)).Scan(&n); err != nil {
							return err
						}
						if _, err := tx.ExecContext(t.Context(), fmt.Sprintf("DELETE FROM posts WHERE id = %d", id)); err != nil {
							return err
						}
						if round%2 == 0 { // else increments find no row for a moment
							if _, err := tx.ExecContext(
								t.Context(),
								fmt.Sprintf("INSERT INTO posts VALUES (%d, 'new', 0)", id),
							); err != nil {
								return err
							}
						}
						if err := tx.Commit(); err != nil {
							return err
						}
						deleted.Add(n)
						for round%2 == 1 {
							if _, err = p.Wrapped.ExecContext(
								t.Context(),
								fmt.Sprintf("INSERT INTO posts VALUES (%d, 'new', 0)", id),
							); !deadlock(err) {
								break
							}
						}
						return err
					}()
					if deadlock(err) {
						round--
						continue
					}
					if err != nil {
						t.Errorf("round %d of row %d: %v", round, id, err)
						return
					}
				}
			})
		}
		deleters.Wait()
		stop.Store(true)
		counters.Wait()
		want(t, "orphans", rows(t, p.Under, orphans), "0")
		var left int64
		if err := p.Wrapped.QueryRowContext(t.Context(), "SELECT SUM(views) FROM posts WHERE id < 3").Scan(&left); err != nil {
			t.Fatal(err)
		}
		if got := deleted.Load() + left; got != counted.Load() {
			t.Errorf(
				"%d increments were acknowledged, %d are there: %d in rows that were deleted, %d in those that are left",
				counted.Load(),
				got,
				deleted.Load(),
				left,
			)
		}
	})
}

// deadlock reports whether the server has undone a transaction for others in its way.
func deadlock(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "Error 1213") || strings.Contains(err.Error(), "40P01"))
}

// A slot row that another session has left behind counts for nothing: not in a
// sum, and an increment of its row affects none.
func TestOrphanCountsForNothing(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := without(t, dialect)
		const add = "UPDATE posts SET views = views + 5 WHERE id = 1"
		for range 2 {
			if n := affected(t, p.Wrapped, add); n != 1 {
				t.Errorf("%d rows affected", n)
			}
		}
		execAll(t, p.Under, "DELETE FROM posts WHERE id = 1")
		want(
			t,
			"orphans",
			rows(t, p.Under, orphans),
			map[string]string{"mysql": "1", "postgres": "1", "sqlite": "0"}[dialect],
		) // its triggers work for all clients
		if n := affected(t, p.Wrapped, add); n != 0 {
			t.Errorf("an increment of a row that is not there affected %d", n)
		}
		want(t, "the sum", rows(t, p.Wrapped, "SELECT SUM(views) FROM posts"), "50")
		want(t, "the list", rows(t, p.Wrapped, "SELECT id, views FROM posts ORDER BY views DESC LIMIT 3"), "3 30\n2 20")
		want(t, "the range", rows(t, p.Wrapped, "SELECT id FROM posts WHERE views > 1 ORDER BY id"), "2\n3")
		if _, err := slotsql.RollUp(t.Context(), twin.Connector(t, p), slotsql.RollUpOptions{Idle: 1}); err != nil {
			t.Fatal(err)
		}
		want(t, "orphans after a roll-up", rows(t, p.Under, orphans), "0")
	})
}

// Check names what deletes rows inside the database.
func TestCheckNoForeignKey(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := without(
			t,
			dialect,
			"CREATE TABLE authors (id INT PRIMARY KEY)",
			"CREATE TABLE posts (id INT PRIMARY KEY, author INT, views INT NOT NULL, FOREIGN KEY (author) REFERENCES authors (id) ON DELETE CASCADE)",
		)
		status, err := slotsql.Check(t.Context(), twin.Connector(t, p))
		if err != nil || len(status) != 1 {
			t.Fatalf("%+v, %v", status, err)
		}
		if got := status[0]; dialect == "sqlite" {
			if got.NoForeignKey || len(got.Risks) > 0 {
				t.Errorf("%+v", got)
			}
		} else if !got.NoForeignKey || len(got.Risks) != 1 || !strings.Contains(got.Risks[0], "authors") {
			t.Errorf("%+v", got)
		}
		e, err := twin.Explain(t, twin.Connector(t, p), "DELETE FROM posts WHERE id = 1")
		if err != nil || e.Class != map[string]string{"mysql": "drain", "postgres": "drain", "sqlite": "pass-through"}[dialect] {
			t.Errorf("%v, %v", e, err)
		}
		// With the foreign key there is nothing to say.
		if _, err := slotsql.MigrateDown(t.Context(), twin.Connector(t, p)); err != nil {
			t.Fatal(err)
		}
		if _, err := slotsql.Migrate(t.Context(), twin.Connector(t, p)); err != nil {
			t.Fatal(err)
		}
		if status, err = slotsql.Check(t.Context(), twin.Connector(t, p)); err != nil || status[0].NoForeignKey ||
			len(status[0].Risks) > 0 {
			t.Errorf("%+v, %v", status, err)
		}
	})
}

// Which lock the foreign key takes: on PostgreSQL it waits for a transaction
// that has written the base table, on MariaDB and SQLite for none; without it
// there is nothing to wait for. It may be run again.
func TestMigrateBesideATransaction(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Config: postsConfig, Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 0)"}})
		tx, err := p.Under.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if dialect == "sqlite" { // one writer: the lock is the database's
			execAll(t, tx, "SELECT * FROM posts")
		} else {
			execAll(t, tx, "UPDATE posts SET views = 1 WHERE id = 1")
		}
		if dialect == "postgres" {
			ddl, err := slotsql.DDL(t.Context(), twin.Connector(t, p))
			if err != nil || !strings.Contains(ddl[0], "SHARE ROW EXCLUSIVE") {
				t.Fatalf("%v, %v", ddl, err)
			}
			c, err := p.Under.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			execAll(t, c, "SET lock_timeout = '200ms'")
			_, err = c.ExecContext(t.Context(), "BEGIN; "+strings.Join(ddl, ";\n")+"; COMMIT")
			if err == nil || !strings.Contains(err.Error(), "55P03") {
				t.Errorf("the foreign key did not wait for the table: %v", err)
			}
		}
		connect := keyless
		if dialect == "mysql" && !server.MySQLVersion(t).MySQL { // MySQL's foreign key waits for the transaction
			connect = func(t *testing.T, p *twin.Pair) *slotsql.Connector { return twin.Connector(t, p) }
		}
		for i, n := range []int{1, 0} { // the second time there is nothing to do
			created, err := slotsql.Migrate(t.Context(), connect(t, p))
			if err != nil || i == 0 && len(created) < n || i > 0 && len(created) > 0 {
				t.Errorf("%v, %v", created, err)
			}
		}
	})
}
