package faults

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// A fault is what strikes while the application works. It returns when it is over.
type fault struct {
	name    string
	engines []string
	strike  func(r *round) error
}

var (
	singles  = []string{"postgres", "mysql"}
	servers  = []string{"postgres", "mysql", "galera"}
	everyone = []string{"postgres", "mysql", "galera", "sqlite"}
)

var faults = []fault{
	{"server killed", singles, serverKilled},
	{"failover to a standby", []string{"postgres"}, failover},
	{"node killed", []string{"galera"}, nodeKilled},
	{"sessions killed", servers, sessionsKilled},
	{"connections reset", servers, func(r *round) error { return connectionsBroken(r, false) }},
	{stalled, servers, func(r *round) error { return connectionsBroken(r, true) }},
	{"application killed", everyone, func(r *round) error { return processKilled(r) }},
	{"holder of portions killed", everyone, func(r *round) error { return processKilled(r, sold) }},
	{"leader of a group killed", everyone, func(r *round) error { return processKilled(r, grouped) }},
	{diskFull, []string{"postgres", "mysql", "sqlite"}, fullDisk},
	{"rows locked", everyone, rowsLocked},
	{"deadlocks", servers, deadlocks},
	{"schema changed", everyone, schemaChanged},
}

const diskFull, stalled = "disk full", "connections stalled"

func serverKilled(r *round) error {
	r.breaks++
	in := r.engine.nodes[0]
	return errors.Join(in.Kill(), in.Ready())
}

// failover has a standby that every commit waits for, and promotes it when the primary is gone.
func failover(r *round) error {
	r.breaks++
	e, primary := r.engine, r.engine.nodes[0]
	standby, err := server.StartPostgresStandby(primary)
	if err != nil {
		return err
	}
	e.admin(r.t, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	e.admin(r.t, "SELECT pg_reload_conf()")
	for e.admin(r.t, "SELECT COUNT(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != "1" {
		time.Sleep(10 * time.Millisecond)
	}
	if err := r.answered(); err != nil {
		return err
	}
	e.nodes[0] = standby
	if err := primary.Fail(); err != nil {
		return err
	}
	e.admin(r.t, "SELECT pg_promote()")
	r.reach()
	return nil
}

// nodeKilled kills a node that the application may be using, which goes on with another one.
func nodeKilled(r *round) error {
	e := r.engine
	dead := 1 + r.rand.IntN(len(e.nodes)-1)
	r.breaks += 8 // for some seconds, until the others are certain that it is gone, nothing is committed anywhere
	if err := e.nodes[dead].Kill(); err != nil {
		return err
	}
	if dead == e.at {
		e.at = 0
		r.reach()
	}
	return server.Rejoined(e.nodes)
}

func sessionsKilled(r *round) error {
	for range 1 + r.rand.IntN(3) {
		r.breaks++
		if r.engine.name == "postgres" {
			r.engine.admin(r.t, "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = $1", r.database)
		} else {
			db, err := sql.Open("mysql", r.plain)
			if err != nil {
				return err
			}
			ids := r.engine.admin(r.t, "SELECT GROUP_CONCAT(id SEPARATOR ' ') FROM information_schema.processlist WHERE db = '"+r.database+"'")
			for _, id := range strings.Fields(ids) {
				_, _ = db.Exec("KILL " + id) // it may be gone
			}
			if err := db.Close(); err != nil {
				return err
			}
		}
		r.pause(100)
	}
	return nil
}

// connectionsBroken breaks connections at any byte that is sent or received. What stalls does so for a time.
func connectionsBroken(r *round, stall bool) error {
	for range 3 + r.rand.IntN(20) {
		if r.proxy.strike(r.rand.IntN(1<<r.rand.IntN(12)), stall) {
			r.breaks++
		}
		r.pause(40)
	}
	if stall {
		r.pause(3000) // longer than clients wait, or not
		r.proxy.reset(true)
	}
	return nil
}

// processKilled kills another process of the application, whose clients change all counters or some.
func processKilled(r *round, only ...int) error {
	a := r.app
	child := &app{Engine: a.Engine, DSN: a.DSN, Clients: a.Clients, Counters: only, Seed: r.rand.Uint64(), Patience: a.Patience}
	spec, err := json.Marshal(child)
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), appEnv+"="+string(spec))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	const process = 1
	working, note := make(chan bool), r.ledger.note(process)
	var once sync.Once
	followed := make(chan error, 1)
	go func() {
		followed <- follow(bufio.NewScanner(out), func(e event) {
			if note(e); e.What == acked {
				once.Do(func() { close(working) })
			}
		})
	}()
	select {
	case <-working:
		r.pause(400)
	case err := <-followed:
		return fmt.Errorf("the process has ended: %w", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	err = <-followed
	_ = cmd.Wait()
	r.ledger.killed(process)
	r.breaks++
	return err
}

// fullDisk leaves next to nothing, for a time. A server that gives up is started again.
func fullDisk(r *round) error {
	r.breaks += 2
	if err := r.disk.fill(r.rand.Int64N(256 << 10)); err != nil {
		return err
	}
	r.pause(1000)
	if err := r.disk.resize(diskSize); err != nil {
		return err
	}
	for _, in := range r.engine.nodes {
		if err := in.Ready(); err != nil {
			return err
		}
	}
	return nil
}

// rowsLocked has another program lock base rows and slots for longer than the application waits.
func rowsLocked(r *round) error {
	ctx := context.Background()
	db, err := sql.Open(twin.Plain[dialect(r.engine.name)], r.plain)
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	queries := []string{"BEGIN IMMEDIATE"}
	if r.engine.name != "sqlite" {
		queries = []string{"BEGIN"}
		for _, table := range []string{pages, posts, "posts_slots", items, "items_slots", series} {
			if r.rand.IntN(2) == 0 {
				queries = append(queries, "SELECT * FROM "+table+" FOR UPDATE")
			}
		}
	}
	for _, query := range queries {
		_, err := conn.ExecContext(ctx, query)
		for twin.Retryable(err) && query == queries[0] {
			_, err = conn.ExecContext(ctx, query)
		}
		if twin.Retryable(err) {
			break // the other was not the victim
		}
		if err != nil {
			return err
		}
	}
	r.pause(1600)
	_, err = conn.ExecContext(ctx, "ROLLBACK")
	return err
}

// deadlocks are transactions that drain two rows, each pair in both orders.
func deadlocks(r *round) error {
	var met atomic.Int64
	var all sync.WaitGroup
	until := time.Now().Add(time.Second)
	rows := []string{"pages SET views = views * 1", "posts SET likes = likes * 1", "items SET stock = stock * 1"}
	for client := range 4 {
		all.Go(func() {
			for time.Now().Before(until) {
				order := slices.Clone(rows)
				if client%2 == 0 {
					slices.Reverse(order)
				}
				ctx, cancel := context.WithTimeout(context.Background(), r.app.Patience)
				tx, err := r.app.db.BeginTx(ctx, nil)
				for _, row := range order {
					if err == nil {
						_, err = tx.ExecContext(ctx, "UPDATE "+row+" WHERE id = 1")
					}
				}
				if err == nil {
					err = tx.Commit()
				} else if tx != nil {
					_ = tx.Rollback()
				}
				if twin.Retryable(err) {
					met.Add(1)
				}
				cancel()
			}
		})
	}
	all.Wait()
	r.t.Logf("%d deadlocks and lock timeouts", met.Load())
	return nil
}

// schemaChanged changes tables as another program's migration does.
func schemaChanged(r *round) error {
	changes := []string{
		"ALTER TABLE posts ADD COLUMN extra INT",
		"ALTER TABLE pages RENAME COLUMN title TO heading",
		"CREATE INDEX items_title ON items (title)",
		"ALTER TABLE items ADD COLUMN price DECIMAL(10, 2) DEFAULT 1 NOT NULL",
		"ALTER TABLE posts DROP COLUMN title",
		"CREATE TABLE others (id BIGINT PRIMARY KEY)",
	}
	r.rand.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	db, err := sql.Open(twin.Plain[dialect(r.engine.name)], r.plain)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, change := range changes[:1+r.rand.IntN(len(changes))] {
		_, err := db.Exec(change)
		for twin.Conflict(err) {
			_, err = db.Exec(change)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", change, err)
		}
		r.pause(100)
	}
	return nil
}
