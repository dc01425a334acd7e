package tickets

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// The row may be locked in a way that slotsql does not see, by a foreign key's check: the
// transaction that has it does not wait for a lease that waits for it.
func TestReferenced(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		o := open(t, dialect, "BIGINT NOT NULL", "100", 2,
			"CREATE TABLE children (queue INT NOT NULL, FOREIGN KEY (queue) REFERENCES queues (id))")
		var wg sync.WaitGroup
		for _, db := range o.processes {
			for range 4 {
				wg.Go(func() {
					for done := 0; done < 6; {
						from := time.Now()
						n, err := o.child(db, 1)
						switch {
						case err == nil:
							o.note("child", from, n)
							done++
						case dialect == "mysql" && strings.Contains(err.Error(), "1213"):
							// two that share the row and then update it, as plain
						default:
							t.Error(err)
							return
						}
					}
				})
			}
		}
		start := time.Now()
		wg.Wait()
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("that took %v", took)
		}
		o.check()
	})
}

// A lease beside a transaction that has the row shared, by a child that it has inserted, does not wait for it,
// as the transaction waits for the lease.
func TestLeaseBesideItsOwnRow(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		o := open(t, dialect, "BIGINT NOT NULL", "100", 1,
			"CREATE TABLE children (queue INT NOT NULL, FOREIGN KEY (queue) REFERENCES queues (id))",
			"INSERT INTO queues (id, next) VALUES (2, 0), (3, 0), (4, 0), (5, 0)")
		fastest := time.Hour // a slow machine may stop any of them
		for id := 1; id <= 5; id++ {
			start := time.Now()
			if _, err := o.child(o.processes[0], id); err != nil {
				t.Fatal(err)
			}
			fastest = min(fastest, time.Since(start))
		}
		if fastest >= time.Second { // the least that MySQL waits for a row
			t.Errorf("each took %v or more", fastest)
		}
	})
}

func (o *office) child(db *sql.DB, id int) (int64, error) {
	ctx := o.t.Context()
	if o.dialect == "sqlite" {
		return o.drawIn(db, id, true)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO children VALUES (%d)", id)); err != nil {
		return 0, err
	}
	n, err := o.draw(ctx, tx, id)
	if err != nil {
		return 0, err
	}
	return n, tx.Commit()
}
