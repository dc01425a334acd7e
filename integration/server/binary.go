package server

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// errMissing is what to do about missing server programs, in one line.
var errMissing = errors.New("database servers are not installed: apt-get install mariadb-server postgresql " +
	"(or name running ones in " + EnvMySQL + " and " + EnvPostgres + ")")

// Installed reports whether the servers can be started that the environment does
// not name; its error is one line that says what to install.
func Installed() error {
	for _, e := range []*engine{mariadb, postgres} {
		if os.Getenv(e.env) == "" {
			if _, err := e.find(); err != nil {
				return err
			}
		}
	}
	return nil
}

// find returns the path of the first of the programs that is installed, looking
// in PATH and then in the directories, which may be glob patterns; of several
// directories that match one pattern the highest version counts.
func find(programs, dirs []string) (string, error) {
	for _, p := range programs {
		if path, err := exec.LookPath(p); err == nil {
			return path, nil
		}
		for _, d := range dirs {
			found, err := filepath.Glob(filepath.Join(d, p))
			if err != nil {
				return "", err
			}
			slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
			for _, path := range found {
				if fi, err := os.Stat(path); err == nil && fi.Mode().Perm()&0o111 != 0 {
					return path, nil
				}
			}
		}
	}
	return "", errMissing
}

// version is the number in paths such as /usr/lib/postgresql/15/bin/initdb.
func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}
