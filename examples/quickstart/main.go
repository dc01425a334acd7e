// Command quickstart runs a small page-view application on an embedded SQLite database, with the
// plain driver and with slotsql's. Visitors come at the same rate to both. It shows what changed:
// speed, not results.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart/mysql -dsn 'user:password@tcp(localhost:3306)/test'
//	go run ./examples/quickstart/postgres -dsn 'postgres://user:password@localhost/test'
//
// The first build of SQLite takes a minute or more. On a server the example creates tables named
// slotsql_quickstart_* and drops them when it ends; where such tables exist already it touches
// nothing. It exits with 1 when a total is not what the application was told.
package main

import (
	"github.com/slotsql/slotsql/examples/internal/pageviews"
	_ "github.com/slotsql/slotsql/sqlite"
)

func main() { pageviews.Main(pageviews.SQLite) }
