// Command testservers starts a throwaway MariaDB and a throwaway PostgreSQL,
// runs the command named by its arguments with the servers' DSNs in the
// environment, stops both servers, and ends with the command's exit code.
//
//	go run ./integration/server/cmd/testservers -- go test ./...
//
// A server whose DSN is in the environment already is not started. With
// SLOTSQL_TEST_MYSQL=mysql the first one is MySQL, where its mysqld is installed. With -check
// it only reports whether the server programs are installed, with -check-galera
// whether those of a Galera cluster are, which the tests that need one start.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/slotsql/slotsql/integration/server"
)

func main() {
	args := os.Args[1:]
	checks := map[string]func() error{"-check": server.Installed, "-check-galera": server.GaleraInstalled}
	if len(args) == 1 && checks[args[0]] != nil {
		if err := checks[args[0]](); err != nil {
			fmt.Fprintln(os.Stderr, "testservers:", err)
			os.Exit(1)
		}
		return
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: testservers -check | -check-galera | [--] COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	code, err := run(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testservers:", err)
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	for _, s := range []struct {
		env   string
		start func() (*server.Instance, error)
	}{
		{server.EnvMySQL, server.StartMariaDB},
		{server.EnvPostgres, server.StartPostgres},
	} {
		if os.Getenv(s.env) != "" {
			continue
		}
		in, err := s.start()
		if err != nil {
			return 1, err
		}
		defer in.Stop()
		if err := os.Setenv(s.env, in.DSN); err != nil {
			return 1, err
		}
	}

	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	// An interrupt at the terminal reaches the command by itself; a signal
	// sent to us alone is passed on. Either way the servers are stopped after.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for s := range signals {
			if s != os.Interrupt {
				cmd.Process.Signal(s)
			}
		}
	}()
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if code := exit.ExitCode(); code > 0 {
			return code, nil
		}
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}
