package schema

import (
	"context"
	"database/sql"
	"sync"

	"xorm.io/xorm"
	"xorm.io/xorm/core"
	"xorm.io/xorm/dialects"
)

// kept holds the engines: the finalizer of one closes its database.
var kept sync.Map

func init() { creators["xorm"] = byXorm }

// xormPost is xorm's model.
type xormPost struct {
	ID    int64  `xorm:"'id' pk autoincr"`
	Title string `xorm:"varchar(100) notnull default ''"`
	Views int64  `xorm:"notnull default 0"`
	Likes int64  `xorm:"notnull default 0"`
}

// TableName is xorm's.
func (xormPost) TableName() string { return "posts" }

// byXorm does what an application with xorm does when it starts. xorm knows dialects by the driver's name, and reads
// the database's from the DSN.
func byXorm(ctx context.Context, engine string, db *sql.DB) error {
	driver, dsn := "sqlite3", "x"
	switch engine {
	case "mysql":
		var name string
		if err := db.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&name); err != nil {
			return err
		}
		driver, dsn = "mysql", "root@/"+name
	case "postgres":
		driver, dsn = "pgx", "postgres://localhost/x"
	}
	d, err := dialects.OpenDialect(driver, dsn)
	if err != nil {
		return err
	}
	e, err := xorm.NewEngineWithDialectAndDB(driver, dsn, d, core.FromDB(db))
	if err != nil {
		return err
	}
	kept.Store(e, true)
	return e.Context(ctx).Sync(new(xormPost))
}
