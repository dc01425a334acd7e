package server

import "path/filepath"

// StartPostgresStandby starts a hot standby of a PostgreSQL server, with the same
// settings. It is to be stopped before that one, unless it is promoted.
func StartPostgresStandby(primary *Instance) (*Instance, error) {
	standby := &engine{name: "PostgreSQL hot standby", driver: postgres.driver, revives: primary.of.revives, find: func() (layout, error) {
		l, err := primary.of.find()
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
