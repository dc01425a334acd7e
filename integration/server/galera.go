package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// EnvGalera, when set, opts in to the tests that need a MariaDB Galera cluster:
// three servers, which take some ten seconds to start. Then what is missing is a
// failure. Without it these tests are skipped. It is 1, or the DSNs, with spaces
// between them, of the nodes of a cluster to use instead of a throwaway one.
const EnvGalera = "SLOTSQL_GALERA"

// GaleraNodes is the number of nodes of the cluster.
const GaleraNodes = 3

// cluster is the throwaway Galera cluster of this process: one MariaDB per
// node, each with its own data directory and unix socket, which replicate over
// the loopback interface.
var cluster struct {
	once  sync.Once
	nodes []string // DSNs
	admin *sql.DB  // of the first node
	err   error
}

// NeedsGalera skips a test that needs a cluster, unless such tests are asked for.
func NeedsGalera(t testing.TB) {
	t.Helper()
	if os.Getenv(EnvGalera) == "" {
		t.Skip("not asked for: " + EnvGalera + "=1 (scripts/test --galera) runs the tests that need a Galera cluster")
	}
}

// Galera returns the DSNs of a new database on the nodes of a cluster, one for
// each. The database lives as long as the test.
func Galera(t testing.TB) []string {
	t.Helper()
	NeedsGalera(t)
	cluster.once.Do(openCluster)
	if cluster.err != nil {
		t.Fatal(cluster.err)
	}
	database := databaseName()
	var dsns []string
	for _, node := range cluster.nodes {
		dsn, err := mariadb.withDatabase(node, database)
		if err != nil {
			t.Fatal(err)
		}
		dsns = append(dsns, dsn)
	}
	if err := createMariaDB(t.Context(), cluster.admin, database); err != nil {
		t.Fatalf("Galera: create database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // the test's is over
		defer cancel()
		if err := dropMariaDB(ctx, cluster.admin, database); err != nil {
			t.Errorf("Galera: drop database: %v", err)
		}
	})
	for i, node := range cluster.nodes {
		if err := appeared(node, database); err != nil {
			t.Fatalf("Galera: database on node %d: %v", i+1, err)
		}
	}
	return dsns
}

// appeared waits until a node has the database that another one has created.
func appeared(node, database string) error {
	db, err := sql.Open(mariadb.driver, node)
	if err != nil {
		return err
	}
	defer db.Close()
	n := 0
	for limit := time.Now().Add(startLimit); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		if err = db.QueryRow(
			"SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?",
			database,
		).Scan(&n); err == nil &&
			n == 1 {
			return nil
		}
	}
	return fmt.Errorf("not within %s: %w", startLimit, err)
}

func openCluster() {
	if dsns := strings.Fields(os.Getenv(EnvGalera)); len(dsns) > 1 {
		cluster.nodes = dsns
	} else {
		cluster.nodes, cluster.err = StartGalera()
	}
	if cluster.err == nil {
		cluster.admin, cluster.err = sql.Open(mariadb.driver, cluster.nodes[0])
	}
	if cluster.err == nil {
		cluster.admin.SetMaxIdleConns(1)
	}
}

// StartGalera starts the nodes one after another: the first makes the cluster,
// and each other one is sent its data. Like every throwaway server they end
// with this process.
func StartGalera() ([]string, error) {
	nodes, err := startGalera(galeraNode{})
	var dsns []string
	for _, in := range nodes {
		dsns = append(dsns, in.DSN)
	}
	return dsns, err
}

// StartSurvivingGalera starts the nodes of a cluster that soon goes on without one that was killed. That one is started again
// by itself, unless it is the first.
func StartSurvivingGalera() ([]*Instance, error) { return startGalera(galeraNode{survives: true}) }

// Rejoined waits until all nodes are members again.
func Rejoined(nodes []*Instance) error {
	for _, in := range nodes {
		if err := synced(in.DSN, len(nodes)); err != nil {
			return err
		}
	}
	return nil
}

func startGalera(g galeraNode) (nodes []*Instance, err error) {
	if err := GaleraInstalled(); err != nil {
		return nil, err
	}
	l, err := mariadbLayout()
	if err != nil {
		return nil, err
	}
	if g.provider, err = galeraProvider(); err != nil {
		return nil, err
	}
	if nodes, err = startNodes(l, g); err != nil { // another program may have taken one of the ports before its node did
		var again error
		if nodes, again = startNodes(l, g); again != nil {
			return nil, errors.Join(err, again)
		}
	}
	return nodes, nil
}

func startNodes(l layout, g galeraNode) (_ []*Instance, err error) {
	ports, err := freePorts(3 * GaleraNodes)
	if err != nil {
		return nil, fmt.Errorf("Galera: %w", err)
	}
	var started []*Instance
	defer func() {
		if err != nil {
			for _, in := range started {
				in.Stop()
			}
		}
	}()
	for i := range GaleraNodes {
		g.name = "node" + strconv.Itoa(i+1)
		g.group, g.transfer, g.increment = ports[3*i], ports[3*i+1], ports[3*i+2]
		e := &engine{
			name: "Galera " + g.name, driver: mariadb.driver, revives: g.survives && i > 0,
			find: func() (layout, error) { return g.layout(l), nil },
		}
		in, err := e.start()
		if err != nil {
			return nil, err
		}
		started = append(started, in)
		if err := synced(in.DSN, i+1); err != nil {
			log, _ := os.ReadFile(filepath.Join(in.dir, "log"))
			return nil, fmt.Errorf("Galera %s: %w\n%s", g.name, err, tail(log, 30))
		}
		g.members = append(g.members, loopback(g.group))
	}
	return started, nil
}

// galeraNode is one node of a cluster that is being started.
type galeraNode struct {
	name, provider string
	members        []string // addresses of the nodes that run
	survives       bool     // the cluster is to go on soon without a killed node

	group, transfer, increment int // TCP ports: of the group, of a whole copy of the data, of a part
}

// layout is a MariaDB server's with replication. A member that joins begins
// with an empty directory.
func (g galeraNode) layout(l layout) layout {
	alone := l
	words := []string{
		"gmcast.listen_addr=tcp://" + loopback(g.group), "ist.recv_addr=" + loopback(g.increment), "gcache.size=32M", "socket.checksum=0",
	}
	if !g.survives { // the machine may be busy with other tests: a node that is slow is not dead
		words = append(words, "evs.suspect_timeout=PT60S", "evs.inactive_timeout=PT120S", "evs.inactive_check_period=PT5S",
			"evs.install_timeout=PT120S", "evs.join_retrans_period=PT5S", "gmcast.peer_timeout=PT60S", "pc.announce_timeout=PT60S")
	}
	options := strings.Join(words, ";")
	if len(g.members) > 0 {
		l.prepare = func(dir string) []string { return []string{"mkdir", filepath.Join(dir, "data")} }
	}
	l.serve = func(dir string) []string {
		words := append(alone.serve(dir),
			"--wsrep-on=ON", "--wsrep-provider="+g.provider, "--wsrep-cluster-name=slotsql",
			"--wsrep-cluster-address=gcomm://"+strings.Join(g.members, ","),
			"--wsrep-node-name="+g.name, "--wsrep-node-address=127.0.0.1",
			"--wsrep-node-incoming-address=127.0.0.1:0",
			"--wsrep-sst-method=rsync", "--wsrep-sst-receive-address="+loopback(g.transfer),
			"--wsrep-provider-options="+options,
			// An applier that waits for a lock whose holder waits for the applier is
			// found out by the time limit only, with the plain driver as well.
			"--innodb-lock-wait-timeout=5",
			"--binlog-format=ROW", "--default-storage-engine=InnoDB", "--innodb-autoinc-lock-mode=2")
		if len(g.members) == 0 {
			words = append(words, "--wsrep-new-cluster")
		}
		return words
	}
	return l
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

var errNoGalera = errors.New("a Galera cluster cannot be started: apt-get install mariadb-server galera-4 rsync lsof")

// galeraProvider returns the path of the replication library.
func galeraProvider() (string, error) {
	for _, dir := range []string{"/usr/lib/galera", "/usr/lib64/galera-4", "/usr/lib64/galera", "/usr/lib/galera-4", "/usr/local/lib"} {
		path := filepath.Join(dir, "libgalera_smm.so")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", errNoGalera
}

// GaleraInstalled reports whether a cluster can be started; its error is one line
// that says what to install.
func GaleraInstalled() error {
	if _, err := mariadbLayout(); err != nil {
		return errNoGalera
	}
	if _, err := galeraProvider(); err != nil {
		return err
	}
	// The data is sent by rsync; the script that runs it looks with one of the
	// others whether it listens.
	for _, programs := range [][]string{{"rsync"}, {"lsof", "ss", "sockstat"}} {
		if _, err := find(programs, []string{"/usr/bin", "/usr/local/bin", "/usr/sbin"}); err != nil {
			return errNoGalera
		}
	}
	return nil
}

// freePorts returns TCP ports of the loopback interface that are not in use.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// synced waits until the node is a member of a cluster of the size and serves
// statements.
func synced(dsn string, size int) error {
	db, err := sql.Open(mariadb.driver, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	const status = `SELECT GROUP_CONCAT(variable_value ORDER BY variable_name) FROM information_schema.global_status
		WHERE variable_name IN ('wsrep_cluster_size', 'wsrep_local_state_comment', 'wsrep_ready')`
	want, got := strconv.Itoa(size)+",Synced,ON", ""
	for limit := time.Now().Add(startLimit); time.Now().Before(limit); time.Sleep(50 * time.Millisecond) {
		if err = db.QueryRow(status).Scan(&got); err == nil && got == want {
			return nil
		}
	}
	return fmt.Errorf("not synced within %s: %s: %w", startLimit, got, err)
}
