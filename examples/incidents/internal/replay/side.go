package replay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/network"
	"github.com/slotsql/slotsql/integration/server"
)

// Side is the application with one driver, on a database of its own.
type Side struct {
	Clients []*Client

	name, engine string
	admin        *sql.DB   // the plain driver, without the round trip
	totals       *sql.DB   // what reads the totals
	pools        []*sql.DB // of the processes
	drop         func(context.Context) error
	ran          time.Duration
	waiting      int // the most sessions that have been seen to wait
}

// Done returns how many operations have succeeded.
func (s *Side) Done() (n int64) {
	for _, c := range s.Clients {
		n += int64(len(c.took))
	}
	return n
}

// Sum returns the sum of a count of all clients.
func (s *Side) Sum(count string) (n int64) {
	for _, c := range s.Clients {
		n += c.Counts[count]
	}
	return n
}

// Over reports whether every client has found that nothing is left.
func (s *Side) Over() bool {
	for _, c := range s.Clients {
		if !c.over {
			return false
		}
	}
	return true
}

func (s *Side) open(ctx context.Context, in Incident) error {
	dsn, drop, err := server.New(ctx, s.engine)
	if err != nil {
		return err
	}
	s.drop = drop
	if s.admin, err = s.administer(ctx, in, dsn); err != nil {
		return err
	}
	s.totals = s.admin
	text, err := in.Files.ReadFile("slotsql.yaml")
	if err != nil {
		return err
	}
	for range in.Processes {
		pool, err := s.process(ctx, in, dsn, text)
		if err != nil {
			return err
		}
		pool.SetMaxOpenConns(in.Clients)
		pool.SetMaxIdleConns(in.Clients)
		s.pools = append(s.pools, pool)
		for range in.Clients {
			session := Session{Engine: s.engine, on: pool}
			s.Clients = append(s.Clients, &Client{Session: session, ID: len(s.Clients), Counts: map[string]int64{}, failed: map[string]int{}})
		}
	}
	return s.connect(ctx)
}

// administer makes the application's tables.
func (s *Side) administer(ctx context.Context, in Incident, dsn string) (*sql.DB, error) {
	schema, err := in.Files.ReadFile("schema.sql")
	if err != nil {
		schema, err = in.Files.ReadFile(s.engine + ".sql")
	}
	if err != nil {
		return nil, err
	}
	driver := "pgx"
	if s.engine == "mysql" {
		driver = "mysql"
		if dsn, err = mysqlDSN(dsn, func(c *mysql.Config) { c.MultiStatements = true }); err != nil {
			return nil, err
		}
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, string(schema)); err != nil {
		return nil, errors.Join(fmt.Errorf("schema: %w", err), db.Close())
	}
	return db, nil
}

func mysqlDSN(dsn string, change func(*mysql.Config)) (string, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return "", err
	}
	change(c)
	return c.FormatDSN(), nil
}

// process opens the pool of one process.
func (s *Side) process(ctx context.Context, in Incident, dsn string, config []byte) (*sql.DB, error) {
	var err error
	if s.engine == "mysql" {
		// So that a statement takes one round trip on either side: slotsql would keep it prepared, plain would not.
		if dsn, err = mysqlDSN(dsn, func(c *mysql.Config) { c.InterpolateParams = true }); err != nil {
			return nil, err
		}
	}
	parent, dialect, err := network.Connector(s.engine, dsn, in.RoundTrip)
	if err != nil || s.name == "plain" {
		return sql.OpenDB(parent), err
	}
	cfg, err := slotsql.Parse(config, "slotsql.yaml")
	if err != nil {
		return nil, err
	}
	// Which of the processes rolls up is not worth a line of the output.
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	wrapped, err := slotsql.WrapConnector(parent, dialect, cfg, slotsql.WithLogger(logger))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(wrapped)
	if !in.InDatabase {
		if s.totals == s.admin {
			s.totals = db
		}
		return db, nil
	}
	if s.totals == s.admin {
		s.totals = db
		if err := s.store(ctx, wrapped); err != nil {
			return nil, err
		}
	}
	return sql.OpenDB(parent), nil
}

// store has the database count: slotsql ddl --functions, and then --triggers.
func (s *Side) store(ctx context.Context, c *slotsql.Connector) error {
	if _, err := slotsql.Migrate(ctx, c); err != nil {
		return err
	}
	if _, err := slotsql.MigrateStored(ctx, c, slotsql.Stored{Functions: true}); err != nil {
		return err
	}
	triggers, err := slotsql.TriggerDDL(ctx, c)
	for _, q := range triggers {
		if err == nil {
			_, err = s.admin.ExecContext(ctx, q)
		}
	}
	return err
}

// connect opens the connections, so that this is not measured.
func (s *Side) connect(ctx context.Context) error {
	var open []*sql.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close() // back into the pool
		}
	}()
	for _, c := range s.Clients {
		conn, err := c.on.(*sql.DB).Conn(ctx)
		if err != nil {
			return err
		}
		open = append(open, conn)
	}
	return nil
}

// turn has all clients do their operations for a while. What has begun is finished.
func (s *Side) turn(ctx context.Context, do func(context.Context, *Client) error, d time.Duration) error {
	stop := s.watch(ctx)
	start := time.Now()
	var wg sync.WaitGroup
	for _, c := range s.Clients {
		wg.Go(func() {
			for !c.over && time.Since(start) < d {
				c.do(ctx, do)
			}
		})
	}
	wg.Wait()
	s.ran += time.Since(start)
	return errors.Join(stop(), ctx.Err())
}

func (c *Client) do(ctx context.Context, do func(context.Context, *Client) error) {
	start := time.Now()
	err := do(ctx, c)
	switch {
	case err == nil:
		c.took = append(c.took, time.Since(start))
	case errors.Is(err, ErrOver):
		c.over = true
	default:
		c.failed[kind(err)]++
	}
}

// kind returns the engine's code of an error, or what it says.
func kind(err error) string {
	if e := (*mysql.MySQLError)(nil); errors.As(err, &e) {
		return fmt.Sprint(e.Number)
	}
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) {
		return e.Code
	}
	return err.Error()
}

// waits are queries for the number of sessions that wait for a lock. MariaDB renews its list when nobody has read it for 0.1 s.
var waits = map[string]struct {
	query string
	every time.Duration
}{
	"postgres": {"SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()", 20 * time.Millisecond},
	"mysql": {"SELECT COUNT(*) FROM information_schema.INNODB_TRX t JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id " +
		"WHERE t.trx_state = 'LOCK WAIT' AND p.DB = DATABASE()", 120 * time.Millisecond},
}

// watch samples how many sessions wait, until the function returned is called.
func (s *Side) watch(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	look := waits[s.engine]
	go func() {
		tick := time.NewTicker(look.every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				done <- nil
				return
			case <-tick.C:
			}
			var n int
			if err := s.admin.QueryRowContext(ctx, look.query).Scan(&n); err != nil && ctx.Err() == nil {
				done <- err
				return
			}
			s.waiting = max(s.waiting, n)
		}
	}()
	return func() error {
		cancel()
		return <-done
	}
}

// close closes the pools, and drops the database.
func (s *Side) close() (err error) {
	for _, db := range append(s.pools, s.totals, s.admin) {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	if s.drop != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the run's may be over
		defer cancel()
		err = errors.Join(err, s.drop(ctx))
	}
	return err
}
