// Command mysql is the quickstart on a server.
package main

import (
	"github.com/slotsql/slotsql/examples/internal/pageviews"
	_ "github.com/slotsql/slotsql/mysql"
)

func main() { pageviews.Main(pageviews.MySQL) }
