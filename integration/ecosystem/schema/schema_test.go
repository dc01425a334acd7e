// Package schema tests applications that create their own tables through slotsql, by the libraries
// that they use for it: the database is empty when they connect.
package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"
	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	migratemysql "github.com/golang-migrate/migrate/v4/database/mysql"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	migratesqlite "github.com/golang-migrate/migrate/v4/database/sqlite"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/pressly/goose/v3"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
	_ "github.com/slotsql/slotsql/mysql"
	_ "github.com/slotsql/slotsql/postgres"
	_ "github.com/slotsql/slotsql/sqlite"
)

// config counts in slots from the first increment on.
const config = `version: 1
auto_migrate: true
tables:
  posts: {counters: {views: {}, likes: {}}, slots: 8, placement: random}
`

var fresh = map[string]func(testing.TB) string{
	"mysql": server.MariaDB, "postgres": server.Postgres,
	"sqlite": func(t testing.TB) string {
		dsn := server.SQLite(t) + "&_pragma=foreign_keys(1)" // ent asks for it
		// Two that switch a new file to WAL at once may find it locked, whatever their busy timeout.
		db, err := sql.Open("sqlite", dsn)
		if err == nil {
			err = errors.Join(db.PingContext(t.Context()), db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return dsn
	},
}

// process opens the database as one more process does.
func process(t *testing.T, engine, dsn string) *sql.DB {
	t.Helper()
	cfg, err := slotsql.Parse([]byte(config), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	db, err := slotsql.Open(twin.Wrapped[engine], dsn, slotsql.WithConfig(cfg))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Post is GORM's model.
type Post struct {
	ID    int64
	Title string
	Views int64 `gorm:"not null;default:0"`
	Likes int64 `gorm:"not null;default:0"`
}

func openGORM(engine string, db *sql.DB) (*gorm.DB, error) {
	dialector := map[string]gorm.Dialector{
		"mysql":    mysql.New(mysql.Config{Conn: db}),
		"postgres": postgres.New(postgres.Config{Conn: db}),
		"sqlite":   &sqlite.Dialector{Conn: db},
	}[engine]
	return gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
}

func byGORM(_ context.Context, engine string, db *sql.DB) error {
	g, err := openGORM(engine, db)
	if err != nil {
		return err
	}
	return g.AutoMigrate(&Post{})
}

// byGoose creates the table in one migration and adds a counter in the next.
func byGoose(ctx context.Context, engine string, db *sql.DB) error {
	name := map[string]goose.Dialect{"mysql": goose.DialectMySQL, "postgres": goose.DialectPostgres, "sqlite": goose.DialectSQLite3}[engine]
	p, err := goose.NewProvider(name, db, fstest.MapFS{
		"001_posts.sql": {Data: []byte("-- +goose Up\nCREATE TABLE posts (id INTEGER PRIMARY KEY, title VARCHAR(100) NOT NULL DEFAULT '', views INTEGER NOT NULL DEFAULT 0);\n")},
		"002_likes.sql": {Data: []byte("-- +goose Up\nALTER TABLE posts ADD COLUMN likes INTEGER NOT NULL DEFAULT 0;\n")},
	})
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// byEnt does what the Schema.Create that ent generates does.
func byEnt(ctx context.Context, engine string, db *sql.DB) error {
	name := map[string]string{"mysql": dialect.MySQL, "postgres": dialect.Postgres, "sqlite": dialect.SQLite}[engine]
	columns := []*schema.Column{
		{Name: "id", Type: field.TypeInt64, Increment: true},
		{Name: "title", Type: field.TypeString, Default: ""},
		{Name: "views", Type: field.TypeInt64, Default: 0},
		{Name: "likes", Type: field.TypeInt64, Default: 0},
	}
	m, err := schema.NewMigrate(entsql.OpenDB(name, db), schema.WithForeignKeys(false))
	if err != nil {
		return err
	}
	return m.Create(ctx, &schema.Table{Name: "posts", Columns: columns, PrimaryKey: columns[:1]})
}

// byMigrate takes a lock of golang-migrate's around the migrations of byGoose.
func byMigrate(_ context.Context, engine string, db *sql.DB) error {
	files, err := iofs.New(fstest.MapFS{
		"1_posts.up.sql": {Data: []byte("CREATE TABLE posts (id INTEGER PRIMARY KEY, title VARCHAR(100) NOT NULL DEFAULT '', views INTEGER NOT NULL DEFAULT 0)")},
		"2_likes.up.sql": {Data: []byte("ALTER TABLE posts ADD COLUMN likes INTEGER NOT NULL DEFAULT 0")},
	}, ".")
	if err != nil {
		return err
	}
	var d database.Driver // never closed: that would close the database, too
	switch engine {
	case "mysql":
		d, err = migratemysql.WithInstance(db, &migratemysql.Config{})
	case "postgres":
		d, err = migratepgx.WithInstance(db, &migratepgx.Config{})
	default:
		d, err = migratesqlite.WithInstance(db, &migratesqlite.Config{})
	}
	if err != nil {
		return err
	}
	m, err := migrate.NewWithInstance("files", files, engine, d)
	if err != nil {
		return err
	}
	if err := m.Up(); !errors.Is(err, migrate.ErrNoChange) {
		return err
	}
	return nil
}

// creators create the table posts as an application that uses the tool does when it starts.
var creators = map[string]func(context.Context, string, *sql.DB) error{
	"gorm": byGORM, "goose": byGoose, "ent": byEnt, "golang-migrate": byMigrate,
}

// One process creates its tables while another one, started at the same time, waits for them.
// Both count in slots from then on, and both read exact totals.
func TestTablesOfTheApplication(t *testing.T) {
	for tool, create := range creators {
		for engine := range fresh {
			t.Run(tool+"/"+engine, func(t *testing.T) {
				t.Parallel()
				dsn := fresh[engine](t)
				one, other := process(t, engine, dsn), process(t, engine, dsn)
				const each = 20
				ctx, stop := context.WithCancel(t.Context()) // neither waits for what the other one could not create
				defer stop()
				failed := func(err error) bool {
					if err != nil {
						t.Error(err)
						stop()
					}
					return err != nil
				}
				var all sync.WaitGroup
				all.Go(func() {
					if failed(create(ctx, engine, one)) {
						return
					}
					_, err := one.ExecContext(ctx, "INSERT INTO posts (id, title, views) VALUES (1, 'one', 5)")
					if !failed(err) {
						failed(count(ctx, one, each))
					}
				})
				all.Go(func() { failed(count(ctx, other, each)) })
				all.Wait()
				if t.Failed() {
					return
				}
				for _, db := range []*sql.DB{one, other} {
					if got := twin.Rows(t, db, "SELECT views, likes FROM posts"); got != fmt.Sprint(5+2*each, 2*each) {
						t.Errorf("totals are %s", got)
					}
				}
				if got := twin.Rows(t, one, "/* slotsql: off */ SELECT COUNT(*) > 0 FROM posts_slots"); got != "true" && got != "1" {
					t.Errorf("nothing was counted in slots: %s", got)
				}
				// The application starts again, and finds everything as it is to be.
				again := process(t, engine, dsn)
				if err := create(t.Context(), engine, again); err != nil {
					t.Error(err)
				}
				if err := count(t.Context(), again, 1); err != nil {
					t.Error(err)
				}
				if got := twin.Rows(t, other, "SELECT views, likes FROM posts"); got != fmt.Sprint(6+2*each, 1+2*each) {
					t.Errorf("totals are %s", got)
				}
			})
		}
	}
}

// count counts n times, each time until the row is there.
func count(ctx context.Context, db *sql.DB, n int) error {
	deadline := time.Now().Add(10 * time.Minute)
	for done := 0; done < n; {
		res, err := db.ExecContext(ctx, "UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 1")
		if err == nil {
			rows, err := res.RowsAffected()
			if err != nil {
				return err
			}
			done += int(rows)
			continue
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return errors.Join(fmt.Errorf("counted %d times", done), err)
		}
	}
	return nil
}
