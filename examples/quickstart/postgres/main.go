// Command postgres is the quickstart on a server.
package main

import (
	"github.com/slotsql/slotsql/examples/internal/pageviews"
	_ "github.com/slotsql/slotsql/postgres"
)

func main() { pageviews.Main(pageviews.Postgres) }
