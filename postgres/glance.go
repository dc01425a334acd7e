package postgres

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/jackc/pgx/v5"

	slotdialect "github.com/slotsql/slotsql/dialect"
)

// Glance is that of the dialect, with its query kept prepared also where the DSN has pgx prepare nothing
// (default_query_exec_mode). Only a server session that is this connection's alone keeps it: one behind a pooler has
// another process number than the pooler has sent, and no two glances are equal there.
func (e Engine) Glance(
	ctx context.Context, s slotdialect.Session, names []slotdialect.WrittenName, marks []slotdialect.Mark,
) (slotdialect.Glance, error) {
	on, ok := s.(interface{ ParentConn() driver.Conn })
	if !ok {
		return e.Over.Glance(ctx, s, names, marks)
	}
	c, ok := pgxConn(on.ParentConn())
	if !ok || c.Config().DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		return e.Over.Glance(ctx, s, names, marks)
	}
	rows, err := s.Query(ctx, "SELECT pg_catalog.pg_backend_pid()::text")
	if err != nil {
		return slotdialect.Glance{}, fmt.Errorf("postgres: looking at the tables' definitions: %w", err)
	}
	if slotdialect.String(rows[0][0]) != fmt.Sprint(c.PgConn().PID()) || c.Config().StatementCacheCapacity == 0 {
		return slotdialect.Glance{}, nil
	}
	return e.Over.Glance(ctx, keeping{s}, names, marks)
}

// keeping has pgx keep queries prepared.
type keeping struct{ slotdialect.Session }

func (k keeping) Query(ctx context.Context, sql string, args ...any) ([][]any, error) {
	return k.Session.Query(ctx, sql, append([]any{pgx.QueryExecModeCacheStatement}, args...)...)
}
