package twin

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"

	"github.com/slotsql/slotsql/internal/session"
)

var looks atomic.Int64

// Notice has a process look at the definitions of its tables now, as it does within two
// seconds. What it then cannot work with is the error of a connection opened after that.
func Notice(ctx context.Context, wrapped *sql.DB) error {
	on, err := wrapped.Conn(ctx)
	if err != nil {
		return err
	}
	defer on.Close()
	if err := on.Raw(func(c any) error { c.(*session.Conn).Shared.Watch.Due(); return nil }); err != nil {
		return err
	}
	// No statement of this text has run before, so this one waits for the look.
	if _, err := on.ExecContext(ctx, fmt.Sprintf("SELECT 1 AS look%d", looks.Add(1))); err != nil {
		return err
	}
	another, err := wrapped.Conn(ctx)
	if err != nil {
		return err
	}
	return another.Close()
}
