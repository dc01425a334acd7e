package others

import (
	"database/sql"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"modernc.org/sqlite"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// A dump made beside load has a table and its slots of one moment. One of the counter table alone has base values.
func TestDumps(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		s := serve(t, dialect, server.Logged(t, dialect), "")
		s.during(t, func() { whole(t, s.copied(t)) })
		s.visits(t, 0, 3)
		want(t, s.copied(t, "posts"), base, twin.Rows(t, s.plain, base))
		if twin.Rows(t, s.plain, base) == twin.Rows(t, s.plain, visits) {
			t.Error("nothing is in a slot")
		}
		s.moved(t)
		want(t, s.copied(t, "posts"), base, twin.Rows(t, s.plain, visits))
	})
}

// A copy of a SQLite file by VACUUM INTO or the backup API, as of .backup, is of one moment.
func TestFileCopies(t *testing.T) {
	s := serve(t, "sqlite", server.SQLite(t), "")
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	s.during(t, func() {
		twin.ExecAll(t, s.plain, "VACUUM INTO '"+file("vacuum.db")+"'")
		err := twin.Conn(t, s.plain).Raw(func(c any) error {
			b, err := c.(interface {
				NewBackup(string) (*sqlite.Backup, error)
			}).NewBackup(file("backup.db"))
			if err != nil {
				return err
			}
			for more := true; more && err == nil; {
				more, err = b.Step(2)
			}
			if err != nil {
				return err
			}
			return b.Finish()
		})
		if err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"vacuum.db", "backup.db"} {
		whole(t, open(t, "sqlite", file(name)))
	}
}

// The binary log, applied to a copy up to any commit, makes what there was then: what a replica with row events does, and
// recovery to a point in time.
func TestBinaryLogIsReplayed(t *testing.T) {
	s := serve(t, "mysql", server.Logged(t, "mysql"), "")
	second, err := server.StartLogged("mysql")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.Stop)
	apply := func(sql string) { server.Run(t, sql, client(t, second.DSN, "mariadb")...) }
	s.visits(t, 0, 3)
	dump := server.Run(t, "", client(t, s.dsn, "mariadb-dump", "--single-transaction", "--master-data=2", "--routines", "--databases", database(t, s.dsn))...)
	apply(dump)
	var from int
	_, at, _ := strings.Cut(dump, "MASTER_LOG_POS=")
	if _, err := fmt.Sscanf(at, "%d", &from); err != nil {
		t.Fatal(err)
	}
	s.during(t, func() { s.visits(t, 3, 20) })
	s.visits(t, 20, 22)
	status := strings.Fields(twin.Rows(t, s.plain, "SHOW MASTER STATUS"))
	seen := twin.Rows(t, s.plain, views)
	s.visits(t, 22, 24)
	apply(server.Run(t, "", client(t, s.dsn, "mariadb-binlog", "--read-from-remote-server",
		fmt.Sprint("--start-position=", from), "--stop-position="+status[1], status[0])...))
	replica := open(t, "mysql", strings.Replace(second.DSN, ")/", ")/"+database(t, s.dsn), 1))
	whole(t, replica)
	want(t, replica, views, seen)
}

// Rows that are loaded into a counter table or out of it are those of the base table.
func TestBulk(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		s := serve(t, dialect, server.Logged(t, dialect), "")
		s.visits(t, 0, 3)
		switch dialect {
		case "postgres":
			psql(t, s.dsn, "5\tfive\t50\n", "--command=COPY posts FROM STDIN")
			if got := psql(t, s.dsn, "", "--command=COPY posts TO STDOUT"); !strings.Contains(got, "1\tone\t0\n") || !strings.Contains(got, "5\tfive\t50\n") {
				t.Errorf("base values: %s", got)
			}
			if got := psql(t, s.dsn, "", "--command=COPY (SELECT * FROM posts_totals) TO STDOUT"); !strings.Contains(got, "1\tone\t3\n") || !strings.Contains(got, "5\tfive\t50\n") {
				t.Errorf("totals: %s", got)
			}
		case "mysql":
			load := func(db *sql.DB, how, row string) {
				t.Helper()
				name := fmt.Sprintf("%s %s", t.Name(), row)
				mysql.RegisterReaderHandler(name, readerOf(row))
				defer mysql.DeregisterReaderHandler(name)
				twin.ExecAll(t, db, "LOAD DATA LOCAL INFILE 'Reader::"+name+"' "+how+" INTO TABLE posts")
			}
			load(s.plain, "", "5\tfive\t50\n")
			load(s.db, "", "6\tsix\t60\n")
			want(t, s.plain, "SELECT views FROM posts_totals WHERE id > 4 ORDER BY id", "50\n60")
			load(s.plain, "REPLACE", "1\tone\t7\n") // a new row, which has no slots
			want(t, s.plain, views, "7")
		}
	})
}

func readerOf(rows string) func() io.Reader {
	return func() io.Reader { return strings.NewReader(rows) }
}
