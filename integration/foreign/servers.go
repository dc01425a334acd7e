package main

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	gomysql "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	_ "modernc.org/sqlite"             // driver "sqlite"

	"github.com/slotsql/slotsql/integration/server"
)

// database makes a database, and returns what the words of suites stand for.
func (p place) database(ctx context.Context, engine string) (map[string]string, func(context.Context) error, error) {
	if engine == "sqlite" {
		return nil, func(context.Context) error { return nil }, nil
	}
	dsn, drop, err := server.New(ctx, engine)
	if err != nil {
		return nil, nil, err
	}
	if engine == "mysql" {
		c, err := gomysql.ParseDSN(dsn)
		if err != nil {
			return nil, nil, err
		}
		return map[string]string{"DSN": dsn, "ADDRESS": c.Addr, "DATABASE": c.DBName}, drop, nil
	}
	if p.bouncer != nil {
		if dsn, err = p.bouncer.before(ctx, dsn); err != nil {
			return nil, nil, err
		}
	}
	return map[string]string{"DSN": dsn}, drop, nil
}

// version asks a server what it is.
func (p place) version(ctx context.Context, engine string) (string, error) {
	ask := map[string][2]string{
		"mysql":    {"mysql", "SELECT VERSION()"},
		"postgres": {"pgx", "SHOW server_version"},
		"sqlite":   {"sqlite", "SELECT sqlite_version()"},
	}[engine]
	value, drop, err := p.database(ctx, engine)
	if err != nil {
		return "", err
	}
	defer drop(context.WithoutCancel(ctx))
	db, err := sql.Open(ask[0], value["DSN"])
	if err != nil {
		return "", err
	}
	defer db.Close()
	var text string
	if err := db.QueryRowContext(ctx, ask[1]).Scan(&text); err != nil {
		return "", err
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(text, "5.5.5-"), " ")
	number, _, _ = strings.Cut(number, "-")
	switch {
	case engine == "sqlite":
		return "SQLite " + number, nil
	case engine == "postgres" && p.bouncer != nil:
		return "PostgreSQL " + number + ", PgBouncer", nil
	case engine == "postgres":
		return "PostgreSQL " + number, nil
	case strings.Contains(text, "MariaDB"):
		return "MariaDB " + number, nil
	}
	return "MySQL " + number, nil
}

// pgbouncer is a PgBouncer with a pool of sessions: in one of transactions, what the suites prepare fails plainly, too.
type pgbouncer struct {
	dir string
	cmd *exec.Cmd
}

// before starts it before a server, if it is not running, and returns the DSN through it.
func (b *pgbouncer) before(ctx context.Context, dsn string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	query := u.Query()
	if b.cmd == nil {
		if err := b.start(query.Get("host")); err != nil {
			return "", err
		}
	}
	query.Set("host", b.dir)
	query.Set("port", "6432")
	u.RawQuery = query.Encode()
	return u.String(), b.answers(ctx, u.String())
}

func (b *pgbouncer) start(host string) error {
	// PgBouncer refuses to be root.
	account := &syscall.SysProcAttr{}
	if err := os.Mkdir(b.dir, 0o755); err != nil { //nolint:gosec // others connect
		return err
	}
	if os.Geteuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			return err
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		account.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chmod(filepath.Dir(b.dir), 0o755); err != nil { //nolint:gosec // on its way
			return err
		}
		if err := os.Chown(b.dir, uid, gid); err != nil {
			return err
		}
	}
	ini := filepath.Join(b.dir, "ini")
	text := "[databases]\n* = host=" + host + " user=postgres\n[pgbouncer]\nunix_socket_dir = " + b.dir +
		"\nlisten_port = 6432\nauth_type = any\npool_mode = session\nmax_client_conn = 500\nignore_startup_parameters = extra_float_digits\n"
	if err := os.WriteFile(ini, []byte(text), 0o644); err != nil { //nolint:gosec // it has no secrets
		return err
	}
	b.cmd = exec.Command("pgbouncer", "--quiet", ini)
	b.cmd.SysProcAttr, b.cmd.Stderr = account, os.Stderr
	return b.cmd.Start()
}

// answers waits until the pooler does.
func (b *pgbouncer) answers(ctx context.Context, dsn string) error {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if err = db.PingContext(ctx); err == nil || time.Now().After(end) {
			return err
		}
	}
}

func (b *pgbouncer) stop() {
	if b.cmd != nil {
		_ = b.cmd.Process.Kill()
		_ = b.cmd.Wait()
	}
}
