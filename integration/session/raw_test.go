package session

import (
	"context"
	"database/sql/driver"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql/integration/twin"
)

// TestCopyFromOfTheRawConnection: what goes through the parent's own connection
// is not seen, and new rows need not be: they have no slots.
func TestCopyFromOfTheRawConnection(t *testing.T) {
	p := newPair(t, "postgres", "")
	s := pinned(t, p)
	same := func(query string) {
		t.Helper()
		p.Same(t, twin.Statement{SQL: query})
	}
	same("UPDATE posts SET views = views + 7 WHERE id = 1")
	copyFrom := func(on twin.Session) {
		t.Helper()
		type rawer interface {
			Raw(f func(driverConn any) error) error
		}
		err := on.(rawer).Raw(func(c any) error {
			for {
				w, ok := c.(interface{ Unwrap() driver.Conn })
				if !ok {
					break
				}
				c = w.Unwrap()
			}
			of, ok := c.(*stdlib.Conn)
			if !ok {
				return fmt.Errorf("CopyFrom is pgx's own, and this is %T", c)
			}
			_, err := of.Conn().CopyFrom(
				context.Background(),
				pgx.Identifier{"posts"},
				[]string{"id", "views", "likes", "title"},
				pgx.CopyFromRows([][]any{{int32(11), int32(5), nil, "new"}, {int32(12), int32(6), int32(1), "newer"}}),
			)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	copyFrom(s.plain)
	copyFrom(s.wrapped)
	for _, query := range []string{
		"UPDATE posts SET views = views + 7 WHERE id = 11", "UPDATE posts SET likes = COALESCE(likes, 0) + 1 WHERE id IN (11, 12)",
		"SELECT id, views, likes, title FROM posts ORDER BY id", "UPDATE posts SET views = 3 WHERE views > 11", "SELECT * FROM posts ORDER BY id",
	} {
		same(query)
	}
	final(t, p)
}
