package bounded

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// What a process that sells has to know is in its environment.
const (
	sellerDialect = "SLOTSQL_TEST_SELLER"
	sellerDSN     = "SLOTSQL_TEST_SELLER_DSN"
	sellerConfig  = "SLOTSQL_TEST_SELLER_CONFIG"
	sellerOrders  = "SLOTSQL_TEST_SELLER_ORDERS"
)

const sellOne = "UPDATE items SET stock = stock - 1 WHERE id = 1 AND stock > 0"

// The test's own binary is the process that the tests kill and stop.
func TestMain(m *testing.M) {
	dialect := os.Getenv(sellerDialect)
	if dialect == "" {
		os.Exit(m.Run())
	}
	fmt.Println("error", sell(dialect))
	os.Exit(1)
}

// sell runs until the process is killed; it returns what keeps it from that. Its clients sell in
// transactions, each as many orders as it is told to, and it says so when all have. Where it is
// told none they sell without end, and it says so when the first order is committed: others have
// portions moved then.
func sell(dialect string) error {
	db, err := twin.OpenWrapped(twin.Plain[dialect], os.Getenv(sellerDSN), os.Getenv(sellerConfig))
	if err != nil {
		return err
	}
	var most int
	if _, err := fmt.Sscan(os.Getenv(sellerOrders), &most); err != nil {
		return err
	}
	const clients = 12
	sold := make(chan struct{}, clients)
	for client := range clients {
		go func() {
			random := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(client)))
			for n := 0; most == 0 || n < most; {
				_, taken, err := order(context.Background(), db, sellOne, client, uint(random.IntN(10)))
				switch {
				case err != nil && !conflict(err):
					fmt.Println("error", err)
					return
				case taken:
					if n++; n == max(most, 1) {
						sold <- struct{}{}
					}
				}
			}
		}()
	}
	for n := range clients {
		if <-sold; n == 0 && most == 0 {
			break
		}
	}
	fmt.Println("sold")
	select {}
}

// seller starts a process that sells, and waits until it has; orders is how many of each client
// it is to commit, 0 for as many as it can.
func seller(t *testing.T, p *twin.Pair, orders int) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), sellerDialect+"="+p.Dialect, sellerDSN+"="+p.WrappedDSN, sellerConfig+"="+p.ConfigPath,
		sellerOrders+"="+fmt.Sprint(orders))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for lines := bufio.NewScanner(out); ; {
		if !lines.Scan() {
			t.Fatal("the seller has ended")
		}
		if line := lines.Text(); line == "sold" {
			return cmd
		} else if strings.HasPrefix(line, "error") {
			t.Fatal(line)
		}
	}
}

// stand is a store whose slots hold some of the units.
func stand(t *testing.T, dialect string, units int) *twin.Pair {
	t.Helper()
	p := store(t, dialect, "connection", units-given)
	give(t, p)
	return p
}

const given = 40

// give puts units into slots, on every engine.
func give(t *testing.T, p *twin.Pair) {
	t.Helper()
	for range given {
		mustExec(t, p.Wrapped, t.Context(), "UPDATE items SET stock = stock + 1 WHERE id = 1")
	}
}

// A process that is killed while it sells from portions leaves no unit behind and takes none
// with it: what it has committed is sold, and others sell the rest to the last unit.
func TestSellerKilled(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		const rounds, last = 4, 150
		units := 100_000
		p := stand(t, dialect, units)
		random := rand.New(rand.NewPCG(14, 9))
		for range rounds {
			cmd := seller(t, p, 0)
			time.Sleep(time.Duration(random.IntN(40)) * time.Millisecond)
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if number(t, p.Under, slotStock) == 0 {
				t.Error("no slot held anything when the process was killed")
			}
			// A drain waits for what the server still has of the process's transactions.
			mustExec(t, p.Wrapped, t.Context(), "UPDATE items SET stock = stock * 1 WHERE id = 1")
			if n := number(t, p.Wrapped, "SELECT stock + (SELECT COUNT(*) FROM orders) FROM items WHERE id = 1"); n != units {
				t.Fatalf("%d units are sold or left of %d", n, units)
			}
			give(t, p)
			units += given
		}
		rest := units - number(t, p.Wrapped, "SELECT COUNT(*) FROM orders") - last
		mustAffect(t, p, fmt.Sprintf("UPDATE items SET stock = stock - %d WHERE id = 1 AND stock >= %d", rest, rest+last+1), 0)
		mustAffect(t, p, fmt.Sprintf("UPDATE items SET stock = stock - %d WHERE id = 1 AND stock >= %d", rest, rest+last), 1)
		clients := 16
		if dialect == "sqlite" {
			clients = 4
		}
		if sold, left := race(t, p, sellOne, clients), number(t, p.Wrapped, baseStock); sold != last || left != 0 {
			t.Errorf("%d sold of the last %d, %d are left", sold, last, left)
		}
	})
}

// mustAffect runs a statement in a transaction.
func mustAffect(t *testing.T, p *twin.Pair, query string, want int64) {
	t.Helper()
	tx, err := p.Wrapped.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if n := affected(t, tx, query); n != want {
		t.Errorf("%s: %d rows affected, want %d", query, n, want)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// A process that has moved portions to slots and does nothing more, as one that hangs or is
// stopped, keeps none of them from others.
func TestSellerStopped(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		const units, orders = 1000, 3
		p := stand(t, dialect, units)
		cmd := seller(t, p, orders)
		stop(t, p, cmd.Process)
		if dialect != "sqlite" && number(t, p.Under, slotStock) == 0 {
			t.Error("no slot holds anything")
		}
		rest := units - number(t, p.Wrapped, "SELECT COUNT(*) FROM orders")
		take := fmt.Sprintf("UPDATE items SET stock = stock - %d WHERE id = 1 AND stock >= ", rest)
		mustAffect(t, p, take+fmt.Sprint(rest+1), 0)
		mustAffect(t, p, take+fmt.Sprint(rest), 1)
		if n := number(t, p.Wrapped, baseStock); n != 0 {
			t.Errorf("%d are left", n)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
	})
}

// stop stops a process whose clients have ended, at a moment when none of slotsql's own
// transactions is open: what it has locked stays locked, with and without slotsql.
func stop(t *testing.T, p *twin.Pair, seller *os.Process) {
	t.Helper()
	for range 100 {
		if err := seller.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if p.Dialect == "sqlite" || !p.Open(t) {
			return
		}
		if err := seller.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the process is never without a transaction")
}
