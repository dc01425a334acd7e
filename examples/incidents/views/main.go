// Command views replays readers of a bulletin board, most of whom read the same article. Each view is counted in the
// article's row.
package main

import (
	"context"
	"embed"
	"math/rand/v2"

	"github.com/slotsql/slotsql/examples/incidents/internal/replay"
)

//go:embed schema.sql slotsql.yaml
var files embed.FS

const articles = 100

var incident = replay.Incident{
	Name: "views", Files: files,
	Processes: 4, Clients: 32,
	Do: read, Totals: totals,
}

func main() { replay.Main(incident) }

// read shows an article, nine times of ten the one that everybody talks about, and counts the view.
func read(ctx context.Context, c *replay.Client) error {
	article := 1
	if rand.IntN(10) == 0 {
		article = 1 + rand.IntN(articles)
	}
	var title string
	var views int64
	err := c.QueryRow(ctx, "SELECT title, count FROM xboard_header WHERE article_id = ?", article).Scan(&title, &views)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "UPDATE xboard_header SET count = count + 1 WHERE article_id = ?", article)
	return err
}

func totals(s *replay.Side) []replay.Total {
	return []replay.Total{{Name: "views", Query: "SELECT SUM(count) FROM xboard_header", Want: []int64{s.Done()}}}
}
