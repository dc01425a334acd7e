package dialecttest

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// transactions holds that the dialect knows whether a session is in a transaction,
// and how a drain has one of its own.
func (o Options) transactions(t *testing.T) {
	s := o.sessions(t, 1)[0]
	in := func(want bool, after string) {
		t.Helper()
		if !s.Drain().Nested {
			if got, err := s.InTransaction(t.Context(), s); got != want || err != nil {
				t.Errorf("in a transaction after %s: %v, %v", after, got, err)
			}
		}
		w, ok := s.Dialect.(dialect.TxWatcher)
		if !ok {
			return
		}
		if err := s.Conn.Raw(func(c any) error {
			if got := w.ConnInTransaction(c.(driver.Conn)); got != want {
				t.Errorf("the connection is in a transaction after %s: %v", after, got)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	in(false, "connecting")
	s.run("BEGIN")
	in(true, "BEGIN")
	s.run("UPDATE posts SET views = 11 WHERE id = 1")
	in(true, "UPDATE")
	if s.try("SELECT missing FROM posts") == nil {
		t.Error("an unknown column is no error")
	}
	in(true, "an error")
	s.run("ROLLBACK")
	in(false, "ROLLBACK")
	s.want("10", "SELECT views FROM posts WHERE id = 1")
	for _, c := range []struct {
		end  []string
		want string
	}{{s.Drain().Rollback, "10"}, {s.Drain().Commit, "12"}} {
		s.begin()
		in(true, "a drain's BEGIN")
		s.run("UPDATE posts SET views = 12 WHERE id = 1")
		s.run(c.end...)
		in(false, "a drain's end")
		s.want(c.want, "SELECT views FROM posts WHERE id = 1")
	}
	begin, end := s.OneState()
	s.run(begin...)
	s.want("2", "SELECT COUNT(*) FROM posts")
	s.run(end...)
	in(false, "reading one state")
}

// marks holds that a change of a table's definition changes its mark, and nothing
// else does.
func (o Options) marks(t *testing.T) {
	s := o.sessions(t, 1)[0]
	s.run("CREATE TABLE other (id BIGINT NOT NULL PRIMARY KEY)")
	marks := func() []dialect.Mark {
		t.Helper()
		out, err := s.Marks(t.Context(), s, []dialect.WrittenName{{Name: "posts"}, {Name: "other"}, {Name: "nothing"}})
		if err != nil || len(out) != 3 {
			t.Fatal(out, err)
		}
		return out
	}
	before := marks()
	if before[0].Name != "posts" || before[0] == before[1] || before[2] != (dialect.Mark{}) {
		t.Errorf("%+v", before)
	}
	s.run("UPDATE posts SET views = views + 1")
	if again := marks(); again[0] != before[0] || again[1] != before[1] {
		t.Errorf("marks change with a row: %+v, were %+v", again, before)
	}
	s.run("ALTER TABLE posts ADD COLUMN more INT NULL")
	if after := marks(); after[0] == before[0] || after[1] != before[1] {
		t.Errorf("marks after a column was added: %+v, were %+v", after, before)
	}
	before = marks()
	s.run("DROP TABLE other")
	if after := marks(); after[0] != before[0] || after[1] != (dialect.Mark{}) {
		t.Errorf("marks after a table was dropped: %+v, were %+v", after, before)
	}
}

// glances holds that each kind of glance shows each change that marks show, made by another session, and that two
// glances are equal while nothing changes. It asks for names as written, and as they are stored.
func (o Options) glances(t *testing.T) {
	all := o.sessions(t, 2)
	s, other := all[0], all[1]
	here, err := s.Server(t.Context(), s)
	there, errThere := other.Server(t.Context(), other)
	if err != nil || errThere != nil || here != there {
		t.Errorf("two sessions on one server are on %q and %q: %v, %v", here, there, err, errThere)
	}
	looks := append([]Glance{s.Glance}, o.Glances...)
	written := []dialect.WrittenName{{Name: "absent"}, {Name: "posts"}, {Name: "thing"}}
	var stored []dialect.WrittenName
	home := marksOf(s, written)[1].Schema
	for _, n := range written {
		stored = append(stored, dialect.WrittenName{Schema: home, Name: n.Name})
	}
	for _, query := range append([]string{
		"ALTER TABLE posts ADD COLUMN more INT NULL",
		"CREATE INDEX posts_grp ON posts (grp)",
		"CREATE UNIQUE INDEX posts_seen ON posts (seen)",
		"CREATE TABLE thing (id BIGINT NOT NULL PRIMARY KEY)",
		"ALTER TABLE thing RENAME TO absent",
		"CREATE VIEW shown AS SELECT id, views FROM posts",
		"CREATE VIEW again AS SELECT id, views FROM shown",
		"DROP VIEW again",
		"DROP VIEW shown",
	}, append(o.Changes, "DROP TABLE posts")...) {
		before := []seen{still(s, looks, written), still(s, looks, stored)}
		other.run(query)
		for _, was := range before {
			after := look(s, looks, was.names, was.marks)
			if slices.Equal(marksOf(s, was.names), was.marks) {
				continue
			}
			for i := range looks {
				if after.glances[i] == was.glances[i] {
					t.Errorf("glance %d of %q does not show what marks do: %s", i, was.names, query)
				}
			}
		}
	}
}

// seen is what a session has seen of tables.
type seen struct {
	names   []dialect.WrittenName
	marks   []dialect.Mark
	glances []dialect.Glance
}

func marksOf(s *session, names []dialect.WrittenName) []dialect.Mark {
	s.Helper()
	marks, err := s.Marks(s.Context(), s, names)
	if err != nil {
		s.Fatal(err)
	}
	return marks
}

func look(s *session, looks []Glance, names []dialect.WrittenName, marks []dialect.Mark) seen {
	s.Helper()
	out := seen{names: names, marks: marks}
	for _, glance := range looks {
		g, err := glance(s.Context(), s, names, marks)
		if err != nil || g.State == "" {
			s.Fatal(g, err)
		}
		out.glances = append(out.glances, g)
	}
	return out
}

// still looks until two looks are equal.
func still(s *session, looks []Glance, names []dialect.WrittenName) seen {
	s.Helper()
	marks := marksOf(s, names)
	for range 1000 { // the server may be busy with other databases
		was, is := look(s, looks, names, marks), look(s, looks, names, marks)
		if slices.Equal(was.glances, is.glances) {
			return is
		}
	}
	s.Fatal("no two glances are equal")
	return seen{}
}

// answered are the classes that these tests are about. Others depend on the engine.
const answered = dialect.SchemaChanged | dialect.SlotFull | dialect.NotApplied | dialect.Conflict | dialect.LockTimeout | dialect.Retryable

// wantClass holds that an error is of a class, wrapped or not.
func (s *session) wantClass(what string, err error, want dialect.ErrorClass) {
	s.Helper()
	if err == nil {
		s.Errorf("%s is no error", what)
		return
	}
	for _, err := range []error{err, fmt.Errorf("slotsql: %w", err)} {
		if got := s.Dialect.(dialect.ErrorClassifier).Classify(err) & answered; got != want {
			s.Errorf("%s (%v)\n is %b\nwant %b", what, err, got, want)
		}
	}
}

// errors holds that the dialect knows its engine's errors for what they are.
func (o Options) errors(t *testing.T) {
	all := o.sessions(t, 2)
	s, other := all[0], all[1]
	tab := s.slotted(layouts["dedicated"])
	s.wantClass("a duplicate key", s.try("INSERT INTO posts (id, grp, views, likes) VALUES (1, 1, 1, 1)"), dialect.NotApplied)
	s.wantClass("an unknown column", s.try("SELECT missing FROM posts"), dialect.SchemaChanged|dialect.NotApplied)
	s.wantClass("an unknown table", s.try("UPDATE missing SET views = 1"), dialect.SchemaChanged|dialect.NotApplied)

	// What a slot does not hold is an error or affects no row, and is never counted.
	in := incrementOf(tab, "p.id = 1", "0")
	in.Deltas = []rewrite.Delta{{Column: "likes", SQL: "4611686018427387904"}}
	if r, err := s.Conn.ExecContext(t.Context(), s.Increment(tab, in)); err != nil {
		s.wantClass("a slot that is full", err, dialect.SlotFull|dialect.NotApplied)
	} else if n, err := r.RowsAffected(); n != 0 || err != nil {
		t.Errorf("a slot that is full takes an increment: %d, %v", n, err)
	}
	s.want("100", "SELECT "+s.Total(tab, "p", "likes", false)+" FROM posts AS p WHERE id = 1")

	s.run("BEGIN", "UPDATE posts SET views = 11 WHERE id = 1")
	other.run(o.Impatient)
	other.wantClass("a lock that is not granted", other.try("UPDATE posts SET views = 12 WHERE id = 1"),
		dialect.NotApplied|dialect.LockTimeout|dialect.Retryable)
	s.run("ROLLBACK")
	if !s.Traits().OneWriter {
		o.deadlock(t)
	}
	if level, ok := s.Dialect.(dialect.SnapshotIsolation); ok {
		s.serialization(other, level)
	}
	if r, ok := s.Dialect.(dialect.ReadOnlyReader); ok {
		tx := r.ReadTx()
		s.run(tx.Begin...)
		err := s.try("UPDATE posts SET views = 12 WHERE id = 1")
		if err != nil && !s.Dialect.(dialect.ErrorClassifier).Classify(err).Has(dialect.ReadOnly) {
			t.Errorf("a write in a READ ONLY transaction is %v", err)
		}
		s.run(tx.Rollback...)
	}
}

// deadlock has two sessions want each other's rows. The one that the engine chooses
// as victim has a conflict; the other goes on.
func (o Options) deadlock(t *testing.T) {
	all := o.sessions(t, 2)
	for i, s := range all {
		s.run("BEGIN", fmt.Sprintf("UPDATE posts SET views = 11 WHERE id = %d", i+1))
	}
	first := make(chan error, 1)
	go func() { first <- all[0].try("UPDATE posts SET likes = 1 WHERE id = 2") }()
	second := all[1].try("UPDATE posts SET likes = 1 WHERE id = 1")
	victim, err := all[1], second
	if second == nil {
		all[1].run("COMMIT")
		victim, err = all[0], <-first
	}
	victim.wantClass("a deadlock", err, dialect.NotApplied|dialect.Conflict|dialect.Retryable)
	if !victim.Traits().ErrorAborts && !victim.Dialect.(dialect.ErrorClassifier).Classify(err).Has(dialect.TxEnded) {
		t.Errorf("a deadlock leaves the transaction open: %v", err)
	}
	victim.run("ROLLBACK")
	if second != nil {
		if err := <-first; err != nil {
			t.Error(err)
		}
		all[0].run("COMMIT")
	}
}

// serialization changes a row that is newer than the transaction's snapshot.
func (s *session) serialization(other *session, level dialect.SnapshotIsolation) {
	s.Helper()
	s.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
	s.want("10", "SELECT views FROM posts WHERE id = 1")
	if rows := s.query(level.IsolationQuery()); len(rows) != 1 || !level.Conflicts(text(rows[0][0])) {
		s.Errorf("a change of a newer row fails at this level: %v", rows)
	}
	other.run("UPDATE posts SET views = 13 WHERE id = 1")
	s.wantClass("a row that is newer than the snapshot", s.try("UPDATE posts SET views = 14 WHERE id = 1"),
		dialect.NotApplied|dialect.Retryable)
	s.run("ROLLBACK")
	if _, ok := s.Dialect.(rewrite.SnapshotDialect); !ok {
		s.Error("rewrite.SnapshotDialect is missing: a fold would not see newer slot rows")
	}
}
