package server

import "path/filepath"

// StartPostgresStandby starts a hot standby of a server that StartPostgres has
// started. It is to be stopped before that one.
func StartPostgresStandby(primary *Instance) (*Instance, error) {
	standby := &engine{name: "PostgreSQL hot standby", driver: postgres.driver, find: func() (layout, error) {
		l, err := postgresLayout()
		if err != nil {
			return layout{}, err
		}
		backup, err := find([]string{"pg_basebackup"}, postgresDirs)
		l.prepare = func(dir string) []string {
			return []string{
				backup, "--pgdata=" + filepath.Join(dir, "data"), "--host=" + primary.dir, "--username=postgres",
				"--checkpoint=fast", "--write-recovery-conf", "--no-sync",
			}
		}
		return l, err
	}}
	return standby.start()
}
