package postgres

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/jackc/pgx/v5"

	slotdialect "github.com/slotsql/slotsql/dialect"
	dialect "github.com/slotsql/slotsql/dialect/postgres"
)

// Glance is the cheap one of a query that stays prepared, however the DSN has pgx send statements (default_query_exec_mode).
// Only a server session that is this connection's alone keeps it: one behind a pooler has another process number than the
// pooler has sent, and is looked at like that of any other driver.
func (e Engine) Glance(
	ctx context.Context, s slotdialect.Session, names []slotdialect.WrittenName, marks []slotdialect.Mark,
) (slotdialect.Glance, error) {
	on, ok := s.(interface{ ParentConn() driver.Conn })
	if !ok {
		return e.Over.Glance(ctx, s, names, marks)
	}
	c, ok := pgxConn(on.ParentConn())
	if !ok || c.Config().StatementCacheCapacity == 0 {
		return e.Over.Glance(ctx, s, names, marks)
	}
	rows, err := s.Query(ctx, "SELECT pg_catalog.pg_backend_pid()::text")
	if err != nil {
		return slotdialect.Glance{}, fmt.Errorf("postgres: looking at the tables' definitions: %w", err)
	}
	if slotdialect.String(rows[0][0]) != fmt.Sprint(c.PgConn().PID()) {
		return e.Over.Glance(ctx, s, names, marks)
	}
	return dialect.GlanceKept(ctx, keeping{s}, names, marks)
}

// keeping has pgx keep queries prepared.
type keeping struct{ slotdialect.Session }

func (k keeping) Query(ctx context.Context, sql string, args ...any) ([][]any, error) {
	return k.Session.Query(ctx, sql, append([]any{pgx.QueryExecModeCacheStatement}, args...)...)
}
