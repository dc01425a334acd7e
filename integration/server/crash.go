package server

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"
)

// CrashPostgres makes a server of StartPostgres crash: it kills one of its processes, whereupon the server ends all others and
// recovers from its log. What has been committed is kept, although such a server commits without waiting for its disk. It returns
// when the server has recovered.
func CrashPostgres(ctx context.Context, in *Instance) error {
	db, err := sql.Open(postgres.driver, in.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxIdleConns(-1)
	if _, err := db.ExecContext(ctx, "CHECKPOINT"); err != nil {
		return err
	}
	const running = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
	var before, after int
	if err := db.QueryRowContext(ctx, running).Scan(&before); err != nil {
		return err
	}
	process, err := os.FindProcess(before)
	if err != nil {
		return err
	}
	if err := process.Kill(); err != nil {
		return err
	}
	for limit := time.Now().Add(startLimit); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		if err = db.QueryRowContext(ctx, running).Scan(&after); err == nil && after != before {
			return nil
		}
	}
	return fmt.Errorf("the server has not recovered within %s: %w", startLimit, err)
}
