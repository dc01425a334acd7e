package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// surviving are servers that keep what they have acknowledged when they are killed, and are started again whenever they
// end. Commits are written to files, though not to the disk: only a machine that fails would lose them.
var surviving = map[string]*engine{
	"mysql": {
		name: "MariaDB that survives kills", driver: mariadb.driver, revives: true,
		find: func() (layout, error) {
			return serving(flavored, "--innodb-flush-log-at-trx-commit=1", "--innodb-doublewrite=1")
		},
	},
	"postgres": {
		name: "PostgreSQL that survives kills", driver: postgres.driver, revives: true,
		find: func() (layout, error) {
			return serving(postgresLayout, "-c", "synchronous_commit=on", "-c", "full_page_writes=on")
		},
	},
}

// StartSurviving starts a server that keeps what it has acknowledged when it is killed, and starts again then.
func StartSurviving(dialect string) (*Instance, error) { return surviving[dialect].start() }

// Kill ends the server and its children by SIGKILL: they write nothing more, and tell no client.
func (in *Instance) Kill() error {
	text, err := os.ReadFile(filepath.Join(in.dir, "server"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil { // it makes no further children
		return err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, word := range strings.Fields(string(children)) {
		child, err := strconv.Atoi(word)
		if err != nil {
			return err
		}
		if err := syscall.Kill(child, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// Ready waits until the server answers.
func (in *Instance) Ready() error { return in.ready(in.of.driver) }

// Fail kills the server for good.
func (in *Instance) Fail() error {
	if err := os.Remove(filepath.Join(in.dir, again)); err != nil {
		return err
	}
	err := in.Kill()
	in.Stop()
	return err
}
