package session

import (
	"context"
	"fmt"
	"testing"
)

// A session that has drawn a number in a group is not given it before it draws the next:
// that statement sets its own. One that finds no row sets none, and then the session
// tells the number that it has drawn before.
func TestDrawnInsertIDs(t *testing.T) {
	p := groupable(t, "mysql", ", slots: 0")
	const draw = "UPDATE stock SET n = LAST_INSERT_ID(n + ?) WHERE id = ?"
	rounds := 0
	for before := groupedSoFar("mysql"); groupedSoFar("mysql") == before; rounds++ {
		if rounds == 20 {
			t.Fatal("no execution has shared a statement")
		}
		crowd(t, 1, func(ctx context.Context, caller, _ int) error {
			conn, err := p.Wrapped.Conn(ctx)
			if err != nil {
				return err
			}
			defer conn.Close()
			given := func() (n int64, err error) {
				var name string
				return n, conn.QueryRowContext(ctx, "SHOW SESSION STATUS LIKE 'Com_do'").Scan(&name, &n)
			}
			if _, err := conn.ExecContext(ctx, draw, 1, 3); err != nil { // it is planned
				return err
			}
			was, err := given()
			if err != nil {
				return err
			}
			var want int64
			for i := range 20 {
				res, err := conn.ExecContext(ctx, draw, 1+caller%3, 3)
				if err != nil {
					return err
				}
				want, _ = res.LastInsertId()
				if i%5 == 0 {
					if _, err := conn.ExecContext(ctx, draw, 1, -1); err != nil {
						return err
					}
				}
			}
			if is, err := given(); err != nil || is > was {
				return fmt.Errorf("the session has been given its number %d times: %w", is-was, err)
			}
			var got int64
			if err := conn.QueryRowContext(ctx, "SELECT LAST_INSERT_ID()").Scan(&got); err != nil || got != want {
				return fmt.Errorf("the session tells %d, want %d: %w", got, want, err)
			}
			return nil
		})
	}
}
