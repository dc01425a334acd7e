package adoption

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// arguments writes a configuration into a file, and returns the arguments that name
// it and the database.
func (f *fleet) arguments(c config, args ...string) []string {
	f.t.Helper()
	file, err := os.CreateTemp(f.dir, "slotsql-*.yaml")
	if err == nil {
		_, err = file.WriteString(c.text())
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return append(args, "--driver", f.dialect, "--dsn", f.dsn, "--config", filepath.ToSlash(file.Name()))
}

// run runs slotsql, which must end with one of the exit codes.
func (f *fleet) run(codes []int, c config, args ...string) string {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), f.binary, f.arguments(c, args...)...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || !slices.Contains(codes, cmd.ProcessState.ExitCode()) {
		f.t.Fatalf("step %q: slotsql %s: %v\n%s", f.step, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (f *fleet) command(code int, c config, args ...string) {
	f.t.Helper()
	f.run([]int{code}, c, args...)
}

// migrate is run again when it could not have its locks, as one does on a busy
// system; here it may be very slow.
func (f *fleet) migrate(c config, flags ...string) {
	f.t.Helper()
	args := append([]string{"migrate"}, flags...)
	for limit := time.Now().Add(10 * time.Minute); ; {
		cmd := exec.CommandContext(f.t.Context(), f.binary, f.arguments(c, args...)...)
		out, err := cmd.CombinedOutput()
		if err == nil {
			return
		}
		f.t.Logf("step %q: slotsql %s: %v\n%s", f.step, strings.Join(args, " "), err, out)
		if time.Now().After(limit) {
			f.t.Fatalf("step %q: migrate has had no lock for ten minutes", f.step)
		}
	}
}

// drain drains while applications may count in slots: it says so when it has met
// them.
func (f *fleet) drain(c config) {
	f.t.Helper()
	f.run([]int{0, 1}, c, "drain", "--patience", "10m")
}

// A daemon is `slotsql rollup`.
type daemon struct {
	cmd   *exec.Cmd
	log   lines
	moved chan struct{} // closed when it has moved slots
	ended chan struct{}
}

// lines is what a command has logged so far.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.WriteString(line + "\n")
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func (f *fleet) startRollUp(c config) {
	f.t.Helper()
	d := &daemon{moved: make(chan struct{}), ended: make(chan struct{})}
	d.cmd = exec.Command(f.binary, f.arguments(c, "rollup", "--interval", "200ms", "--idle", "1s")...)
	out, err := d.cmd.StderrPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	go func() {
		defer close(d.ended)
		var once sync.Once
		for s := bufio.NewScanner(out); s.Scan(); {
			d.log.add(s.Text())
			if strings.Contains(s.Text(), "rolled up") && !strings.Contains(s.Text(), " moved=0 ") {
				once.Do(func() { close(d.moved) })
			}
		}
		_ = d.cmd.Wait()
	}()
	f.rollUp = d
}

// rolledUp waits until the roll-up has moved something.
func (f *fleet) rolledUp() {
	f.t.Helper()
	select {
	case <-f.rollUp.moved:
	case <-f.rollUp.ended:
		f.t.Fatalf("step %q: slotsql rollup has ended: %s", f.step, f.rollUp.log.String())
	}
}

// stopRollUp asks it to end.
func (f *fleet) stopRollUp() {
	f.t.Helper()
	if err := f.rollUp.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		f.t.Fatal(err)
	}
	<-f.rollUp.ended
	if code := f.rollUp.cmd.ProcessState.ExitCode(); code != 0 {
		f.t.Fatalf("step %q: slotsql rollup has ended with %d: %s", f.step, code, f.rollUp.log.String())
	}
	f.rollUp = nil
}

// killRollUp kills it, whatever it is doing.
func (f *fleet) killRollUp() {
	if f.rollUp == nil {
		return
	}
	_ = f.rollUp.cmd.Process.Kill()
	<-f.rollUp.ended
	f.rollUp = nil
}
