package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Instance is a running throwaway server.
type Instance struct {
	// DSN reaches the server's administrative database.
	DSN string

	of   *engine
	dir  string
	pipe *os.File // closing it stops the server
	done chan struct{}
}

// StartMariaDB starts a throwaway server; see EnvFlavor.
func StartMariaDB() (*Instance, error) { return mariadb.start() }

// StartPostgres starts a throwaway server.
func StartPostgres() (*Instance, error) { return postgres.start() }

// layout says how to run one server.
type layout struct {
	users   []string // to run as when we are root, first that exists
	prepare func(dir string) []string
	serve   func(dir string) []string
	signal  string // that stops it at once
	dsn     func(dir, user string) string
}

// again is the file that has a server started again when it ends.
const again = "again"

// startLimit is generous: the machine may be busy with other tests.
const startLimit = 5 * time.Minute

// supervise holds the server. It reads from the pipe whose other end is ours
// (file descriptor 3): that end closes when this process ends, also by SIGKILL.
// A preparation is never cut short, since it ends by itself and soon. A server that ends
// while there is a file named again is started again.
const supervise = `
exec 3<&0 </dev/null >log 2>&1
trap '' HUP INT TERM
if %[1]s 3<&-; then
	(trap - HUP INT TERM; exec %[2]s 3<&-) &
	echo $! >server
	(cat <&3; rm -f again; kill -%[3]s $(cat server); sleep 10; kill -KILL $(cat server)) &
	stop=$!
	while
		wait $(cat server)
		[ -e again ]
	do
		sleep 0.05
		(trap - HUP INT TERM; exec %[2]s 3<&-) &
		echo $! >server
	done
	kill -KILL $stop
fi
touch exited
cat <&3
cd /
rm -rf %[4]s
`

func (e *engine) start() (*Instance, error) {
	l, err := e.find()
	if err != nil {
		return nil, err
	}
	account, cred, err := unprivileged(l.users)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.name, err)
	}
	dir, err := scratch()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.name, err)
	}
	if cred != nil {
		if err := os.Chown(dir, int(cred.Uid), int(cred.Gid)); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	defer r.Close()

	cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf(supervise,
		quoted(l.prepare(dir)), quoted(l.serve(dir)), l.signal, quoted([]string{dir})))
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + dir, "TMPDIR=" + dir}
	if tz, ok := os.LookupEnv("TZ"); ok {
		cmd.Env = append(cmd.Env, "TZ="+tz)
	}
	cmd.Stdin = r
	// An own session: an interrupt at the terminal reaches us, not the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: cred}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	in := &Instance{DSN: l.dsn(dir, account), of: e, dir: dir, pipe: w, done: make(chan struct{})}
	go func() {
		cmd.Wait() // whatever it says: the server is gone
		close(in.done)
	}()
	err = in.ready(e.driver)
	if err == nil && e.revives {
		err = os.WriteFile(filepath.Join(dir, again), nil, 0o600)
	}
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		in.Stop()
		return nil, fmt.Errorf("%s: %w\n%s", e.name, err, tail(log, 30))
	}
	return in, nil
}

// Stop stops the server and returns when it is gone with its files.
func (in *Instance) Stop() {
	in.pipe.Close()
	<-in.done
}

// ready waits until the server answers.
func (in *Instance) ready(driver string) error {
	db, err := sql.Open(driver, in.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxIdleConns(-1)
	for limit := time.Now().Add(startLimit); time.Now().Before(limit); time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(in.dir, "exited")); err == nil {
			return errors.New("throwaway server did not start")
		}
		if _, e := os.Stat(filepath.Join(in.dir, "data")); e != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err = db.PingContext(ctx)
		cancel()
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("throwaway server did not answer within %s: %w", startLimit, err)
}

// unprivileged returns the account that the server runs as: our own, or when we
// are root, which servers refuse to be, the first of names that exists.
func unprivileged(names []string) (string, *syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return "", nil, nil
	}
	for _, name := range append(names, "nobody") {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return "", nil, err
		}
		return name, &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return "", nil, fmt.Errorf("running as root, and no user %s to run the server as", strings.Join(names, " or "))
}

// scratch makes the instance's directory. Its path is short, because a unix
// socket's is limited to about 100 bytes, and every account can reach it.
func scratch() (string, error) {
	parent := os.TempDir()
	if inMemory() {
		parent = memory
	}
	if len(parent) > 60 || !reachable(parent) {
		parent = "/tmp"
	}
	return os.MkdirTemp(parent, "slotsql-server-")
}

func reachable(dir string) bool {
	for {
		fi, err := os.Stat(dir)
		if err != nil || fi.Mode().Perm()&0o001 == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}

// quoted makes one shell command of the words.
func quoted(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("'" + strings.ReplaceAll(w, "'", `'\''`) + "'")
	}
	return b.String()
}

func tail(log []byte, lines int) string {
	l := strings.Split(strings.TrimSpace(string(log)), "\n")
	return strings.Join(l[max(0, len(l)-lines):], "\n")
}
