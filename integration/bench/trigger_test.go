package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// countedComments are the triggers that count comments, by an UPDATE and by a counting function.
var countedComments = map[string]struct{ plain, function []string }{
	"postgres": {
		plain: []string{
			"CREATE FUNCTION commented() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE pages SET comments = comments + 1 WHERE id = NEW.page_id; RETURN NULL; END $$",
			"CREATE TRIGGER commented AFTER INSERT ON comments FOR EACH ROW EXECUTE FUNCTION commented()",
		},
		function: []string{
			"CREATE FUNCTION commented() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF pages_count(NEW.page_id, 1) IS NULL THEN END IF; RETURN NULL; END $$",
			"CREATE TRIGGER commented AFTER INSERT ON comments FOR EACH ROW EXECUTE FUNCTION commented()",
		},
	},
	"mysql": {
		plain:    []string{"CREATE TRIGGER commented AFTER INSERT ON comments FOR EACH ROW UPDATE pages SET comments = comments + 1 WHERE id = NEW.page_id"},
		function: []string{"CREATE TRIGGER commented AFTER INSERT ON comments FOR EACH ROW SET @slotsql_rows = pages_count(NEW.page_id, 1)"},
	},
}

const commentedPages = 100_000

// series are the rows of the pages.
var series = map[string]string{
	"postgres": fmt.Sprintf("n, 'page', 0 FROM generate_series(1, %d) AS s(n)", commentedPages),
	"mysql":    "seq, 'page', 0 FROM " + server.Series(commentedPages),
}

// BenchmarkTrigger measures comments that a trigger counts, inserted by plain clients: the trigger updates
// the page, or calls the counting function.
func BenchmarkTrigger(b *testing.B) {
	for _, e := range benchEngines {
		if e.dialect == "sqlite" {
			continue // which has no functions
		}
		for _, c := range []struct {
			name    string
			clients int
			op      operation
		}{
			{"hot/autocommit", 32, comment(1)},
			{"hot/transaction-1ms", 32, commentTx},
			{"hot/1-session", 1, comment(1)},
			{"random", 32, comment(commentedPages)},
		} {
			b.Run(e.name+"/"+c.name, func(b *testing.B) {
				p := twin.New(b, twin.Options{
					Dialect: e.dialect,
					Schema: []string{
						"CREATE TABLE pages (id BIGINT PRIMARY KEY, title VARCHAR(80) NOT NULL, comments BIGINT NOT NULL)",
						"CREATE TABLE comments (id " + e.id + ", page_id BIGINT NOT NULL)",
						"INSERT INTO pages SELECT " + series[e.dialect],
					},
					Config: "version: 1\nauto_migrate: true\ntables: {pages: {counters: {comments: {}}}}\n",
				})
				if _, err := slotsql.Migrate(b.Context(), twin.Connector(b, p)); err != nil {
					b.Fatal(err)
				}
				if _, err := slotsql.MigrateStored(b.Context(), twin.Connector(b, p), slotsql.Stored{Functions: true, Views: true}); err != nil {
					b.Fatal(err)
				}
				plain, function := &side{db: p.Plain, dialect: e.dialect}, &side{db: p.Under, dialect: e.dialect}
				for _, s := range []*side{plain, function} {
					s.db.SetMaxOpenConns(c.clients)
					s.db.SetMaxIdleConns(c.clients)
					connectAll(b, s.db, c.clients)
				}
				twin.ExecAll(b, p.Plain, countedComments[e.dialect].plain...)
				twin.ExecAll(b, p.Under, countedComments[e.dialect].function...)
				b.Run("ratio", func(b *testing.B) { ratio(b, plain, function, c.op, c.clients) })
				for _, q := range []string{"SELECT SUM(comments) FROM pages_totals", "SELECT COUNT(*) FROM comments"} {
					if got := twin.Rows(b, p.Under, q); got != fmt.Sprint(function.counted.Load()) {
						b.Errorf("%s: %s, want %d", q, got, function.counted.Load())
					}
				}
			})
		}
	}
}

// comment inserts a comment of one of so many pages.
func comment(pages int) operation {
	return func(ctx context.Context, s *side) error {
		_, err := s.db.ExecContext(ctx, s.q("INSERT INTO comments (page_id) VALUES (?)"), 1+rand.IntN(pages))
		if err == nil {
			s.counted.Add(1)
		}
		return err
	}
}

// commentTx inserts a comment in a transaction that goes on for a millisecond.
func commentTx(ctx context.Context, s *side) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, s.q("INSERT INTO comments (page_id) VALUES (?)"), 1); err != nil {
		return err
	}
	time.Sleep(time.Millisecond)
	if err = tx.Commit(); err == nil {
		s.counted.Add(1)
	}
	return err
}
