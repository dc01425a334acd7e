package server

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// EnvFlavor, when it is "mysql", has throwaway servers be MySQL's and not
// MariaDB's. EnvMySQL names a running one of either.
const EnvFlavor = "SLOTSQL_TEST_MYSQL"

// flavored is the layout of the server that is asked for.
func flavored() (layout, error) {
	if os.Getenv(EnvFlavor) == "mysql" {
		return mysqlLayout()
	}
	return mariadbLayout()
}

var errNoMySQL = errors.New(EnvFlavor + "=mysql, and no mysqld of MySQL is installed: apt-get install mysql-server-core-8.0, or scripts/mysql " +
	"(or name a running server in " + EnvMySQL + ")")

// findMySQL returns the path of a mysqld that is MySQL's: MariaDB installs one under that name, too.
func findMySQL() (string, error) {
	dirs := []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/opt/homebrew/bin"}
	if path, err := exec.LookPath("mysqld"); err == nil {
		dirs = append([]string{filepath.Dir(path)}, dirs...)
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, "mysqld")
		version, err := exec.Command(path, "--no-defaults", "--version").Output()
		if err == nil && !strings.Contains(string(version), "MariaDB") {
			return path, nil
		}
	}
	return "", errNoMySQL
}

func mysqlLayout() (layout, error) {
	daemon, err := findMySQL()
	if err != nil {
		return layout{}, err
	}
	begin := func(dir string, more ...string) []string {
		all := []string{daemon, "--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--secure-file-priv=", "--mysqlx=OFF"}
		return append(append(all, more...), words(mysqlSettings)...)
	}
	return layout{
		users:   []string{"mysql"},
		prepare: func(dir string) []string { return begin(dir, "--initialize-insecure") },
		serve: func(dir string) []string {
			return begin(dir, append(words(innodbServing),
				"--tmpdir="+dir, "--socket="+filepath.Join(dir, "s"), "--pid-file="+filepath.Join(dir, "pid"))...)
		},
		signal: "KILL",
		dsn: func(dir, _ string) string {
			return "root@unix(" + filepath.Join(dir, "s") + ")/"
		},
	}, nil
}
