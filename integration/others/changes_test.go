package others

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// A consumer of changes sees an increment in a slot as one of the slot table, and a roll-up as one of both tables in one
// transaction. Who takes only the counter table sees the counts with the roll-up.
func TestChanges(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		s := serve(t, dialect, server.Logged(t, dialect), "")
		since := map[string]func(*testing.T, string) func() string{"mysql": s.binaryLog, "postgres": s.pgoutput}[dialect]
		every, listed := since(t, "posts posts_slots"), since(t, "posts")
		const count = "UPDATE posts SET views = views + 1 WHERE id = 1"
		twin.ExecAll(t, twin.Conn(t, s.db), count, count)
		is := func(got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%q, not %q", got, want)
			}
		}
		is(every(), "INSERT posts_slots, COMMIT, UPDATE posts_slots, COMMIT, ")
		is(listed(), "")
		if err := s.rollUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		const moves = "UPDATE posts, UPDATE posts_slots, "
		if got := every(); !strings.HasPrefix(got, moves) || strings.Count(got, "COMMIT") != 1 {
			t.Errorf("%q, not %q", got, moves)
		}
		is(listed(), "UPDATE posts, COMMIT, ")
		want(t, s.plain, base, "2")
	})
}

// committed writes the end of a transaction, unless nothing of it is shown.
func committed(out string) string {
	if out == "" || strings.HasSuffix(out, "COMMIT, ") {
		return out
	}
	return out + "COMMIT, "
}

// pgoutput returns a consumer of a publication of these tables, which returns the changes since it was asked last.
func (s *service) pgoutput(t *testing.T, tables string) func() string {
	t.Helper()
	name := "changes_of_" + strings.ReplaceAll(tables, " ", "_and_")
	twin.ExecAll(t, s.plain, "CREATE PUBLICATION "+name+" FOR TABLE "+strings.ReplaceAll(tables, " ", ", "))
	twin.Rows(t, s.plain, "SELECT pg_create_logical_replication_slot('"+name+"', 'pgoutput')")
	t.Cleanup(func() { _, _ = s.plain.Exec("SELECT pg_drop_replication_slot('" + name + "')") })
	relations := map[uint32]string{}
	return func() (out string) {
		// What it can read has been flushed.
		twin.ExecAll(t, s.plain, "BEGIN; SET LOCAL synchronous_commit = on; SELECT pg_logical_emit_message(true, '', ''); COMMIT")
		for _, message := range strings.Fields(twin.Rows(t, s.plain, "SELECT encode(data, 'hex') FROM pg_logical_slot_get_binary_changes('"+name+
			"', NULL, NULL, 'proto_version', '1', 'publication_names', '"+name+"')")) {
			m, err := hex.DecodeString(message)
			if err != nil {
				t.Fatal(err)
			}
			switch kind := m[0]; kind {
			case 'R':
				relations[binary.BigEndian.Uint32(m[1:])] = strings.Split(string(m[5:]), "\x00")[1]
			case 'I', 'U', 'D':
				out += map[byte]string{'I': "INSERT ", 'U': "UPDATE ", 'D': "DELETE "}[kind] + relations[binary.BigEndian.Uint32(m[1:])] + ", "
			case 'C':
				out = committed(out)
			}
		}
		return out
	}
}

// binaryLog returns a consumer of row events that takes those of these tables.
func (s *service) binaryLog(t *testing.T, tables string) func() string {
	t.Helper()
	end := func() string { return strings.Fields(twin.Rows(t, s.plain, "SHOW MASTER STATUS"))[1] }
	from := end()
	return func() (out string) {
		events := twin.Rows(t, s.plain, "SHOW BINLOG EVENTS FROM "+from)
		from = end()
		names := map[string]string{}
		for event := range strings.Lines(events) {
			f := strings.Fields(event) // log, position, type, server, end, "table_id:" and its number
			verb := map[string]string{"Write_rows_v1": "INSERT ", "Update_rows_v1": "UPDATE ", "Delete_rows_v1": "DELETE "}[f[2]]
			switch {
			case f[2] == "Table_map":
				_, names[f[6]], _ = strings.Cut(strings.Trim(f[len(f)-1], "()"), ".")
			case verb != "" && slices.Contains(strings.Fields(tables), names[f[6]]):
				out += verb + names[f[6]] + ", "
			case f[2] == "Xid":
				out = committed(out)
			}
		}
		return out
	}
}
