package main

import (
	"regexp"

	"github.com/slotsql/slotsql/integration/foreign/wrap"
)

var (
	gorm = source{
		module: "gorm.io/gorm/tests", version: "v1.31.2", with: []string{"gorm.io/gorm@v1.31.2"},
		repository: "https://github.com/go-gorm/gorm", commit: "1d6ce99528060be18a42be09aca8d39efcb47f28", directory: "tests",
	}
	bun = source{
		module: "github.com/uptrace/bun/internal/dbtest", version: "v1.2.18",
		repository: "https://github.com/uptrace/bun", commit: "5de0fb9d7ec48c80fc216493ee0b2e07d3da9e49", directory: "internal/dbtest",
	}
	ent = source{
		module: "entgo.io/ent/entc/integration", version: "v0.14.5", with: []string{"entgo.io/ent@v0.14.5"},
		repository: "https://github.com/ent/ent", commit: "9442826ba628d9fe309e91cc3331c695c32b1db6", directory: "entc/integration",
	}
	oldGorm = source{module: "github.com/jinzhu/gorm", version: "v1.9.16"}
	sqlx    = source{module: "github.com/jmoiron/sqlx", version: "v1.4.0"}
	xorm    = source{module: "xorm.io/xorm", version: "v1.4.3", empty: []string{"gitee.com/travelliu/dm"}}
)

// Columns that the suites' own tables have. Of a table without a primary key only one row may be counted in.
const (
	sqlxTables = "{place: {key: [], counters: {telcode: {}}}}"
	xormTables = "{userinfo: {counters: {detail_id: {}}}, update_incr: {counters: {cnt: {}}}}"
	gormTables = "{users: {counters: {age: {}}, touch: [name, active, birthday]}}"
	bunTables  = "{books: {counters: {author_id: {}}}}"
	entTables  = "{users: {counters: {age: {}}}}"
)

var suites = []suite{
	{
		name: "go-sql-driver/mysql", source: source{module: "github.com/go-sql-driver/mysql", version: "v1.10.1"}, engine: "mysql",
		args:   []string{"-test.skip=^(TestConnectorReturnsTimeout|TestLongData)$"},
		env:    map[string]string{"MYSQL_TEST_PROT": "unix", "MYSQL_TEST_ADDR": "$ADDRESS", "MYSQL_TEST_DBNAME": "$DATABASE"},
		tables: "{test: {key: [], counters: {value: {}}}}",
		differs: []difference{{
			regexp.MustCompile("^TestRejectReadOnly($|/.*#01$)"),
			"with rejectReadOnly=true, a schema change of a configured table that a read-only server refuses is an error, and " +
				"is not run again on another connection: what slotsql does around it may have been applied",
		}},
	},
	{
		name: "pgx stdlib", source: source{module: "github.com/jackc/pgx/v5", version: "v5.12.0"}, pkg: "stdlib", engine: "postgres",
		env:       map[string]string{"PGX_TEST_DATABASE": "$DSN"},
		tables:    "{t: {touch: [str]}}",
		uncounted: "its tables are temporary, or have no number but their key",
	},
	{
		name: "modernc sqlite", source: source{module: "modernc.org/sqlite", version: "v1.60.1"}, engine: "sqlite",
		args:   []string{"-test.short", "-test.skip=^TestConcurrentGoroutines$"},          // it builds and runs itself
		tables: "{testtable: {key: [], counters: {integer: {}}}, users: {touch: [name]}}", // most make a t, each of columns of its own
		differs: []difference{{
			regexp.MustCompile("^Test(ConnectorDriverIsRegisteredDriver|VtabRegisterModuleHonoursDB)$"),
			"sql.DB.Driver is slotsql's driver: functions and virtual tables are registered with the driver that it wraps",
		}},
	},
	{
		name: "sqlx, MySQL", source: sqlx, engine: "mysql", inInit: true, tables: sqlxTables,
		env: map[string]string{"SQLX_MYSQL_DSN": "$DSN", "SQLX_POSTGRES_DSN": "skip", "SQLX_SQLITE_DSN": "skip"},
	},
	{
		name: "sqlx, PostgreSQL", source: sqlx, engine: "postgres", inInit: true, tables: sqlxTables,
		env: map[string]string{"SQLX_POSTGRES_DSN": "$DSN", "SQLX_MYSQL_DSN": "skip", "SQLX_SQLITE_DSN": "skip"},
	},
	{
		name: "sqlx, SQLite", source: sqlx, engine: "sqlite", inInit: true, tables: sqlxTables,
		env: map[string]string{"SQLX_SQLITE_DSN": "sqlx.db", "SQLX_MYSQL_DSN": "skip", "SQLX_POSTGRES_DSN": "skip"},
	},
	{
		name: "xorm, MySQL", source: xorm, pkg: "tests", engine: "mysql", tables: xormTables,
		args: []string{"-db=mysql", "-conn_str=$DSN?charset=utf8mb4", "-show_sql=false"},
	},
	{
		name: "xorm, PostgreSQL", source: xorm, pkg: "tests", engine: "postgres", tables: xormTables,
		args: []string{"-db=pgx", "-conn_str=$DSN", "-show_sql=false"},
	},
	{
		name: "xorm, SQLite", source: xorm, pkg: "tests", engine: "sqlite", tables: xormTables,
		args: []string{"-db=sqlite", "-conn_str=./test.db", "-show_sql=false"},
	},
	{
		name: "GORM 1, MySQL", source: oldGorm, engine: "mysql", tables: gormTables,
		env: map[string]string{"GORM_DIALECT": "mysql", "GORM_DSN": "$DSN?charset=utf8&parseTime=True"},
	},
	{
		name: "GORM 1, PostgreSQL", source: oldGorm, engine: "postgres", tables: gormTables,
		env: map[string]string{"GORM_DIALECT": "postgres", "GORM_DSN": "$DSN"},
	},
	{
		name: "GORM, MySQL", source: gorm, engine: "mysql", tables: gormTables,
		env: map[string]string{"GORM_DIALECT": "mysql", "GORM_DSN": "$DSN?charset=utf8&parseTime=True&loc=Local"},
	},
	{
		name: "GORM, PostgreSQL", source: gorm, engine: "postgres", tables: gormTables,
		env: map[string]string{"GORM_DIALECT": "postgres", "GORM_DSN": "$DSN"},
	},
	{
		name: "GORM, SQLite", source: gorm, engine: "sqlite", tables: gormTables,
		env: map[string]string{"GORM_DIALECT": "sqlite"},
	},
	{
		name: "bun, MySQL", source: bun, engine: "mysql", tables: bunTables,
		args: []string{"-test.run=/^(mysql8|mariadb)$"},
		env:  map[string]string{"MYSQL": "$DSN", "MARIADB": "$DSN", "TZ": ""},
	},
	{
		name: "bun, SQLite", source: bun, engine: "sqlite", tables: bunTables,
		args: []string{"-test.run=/^sqlite$"},
	},
	{
		name: "ent, MySQL", source: ent, engine: "mysql", tables: entTables,
		args: []string{"-test.run=^TestMaria$/^10.3$"}, env: map[string]string{wrap.EnvDSN: "$DSN?parseTime=True"},
	},
	{
		name: "ent, PostgreSQL", source: ent, engine: "postgres", tables: entTables,
		args: []string{"-test.run=^TestPostgres$/^15$"}, env: map[string]string{wrap.EnvDSN: "$DSN"},
	},
	{
		name: "ent, SQLite", source: ent, engine: "sqlite", tables: entTables,
		args: []string{"-test.run=^TestSQLite$"},
	},
}
