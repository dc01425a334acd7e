// Package dialect says what slotsql needs of a database engine: a
// [rewrite.Dialect] for the pure part, and the few things that need a
// connection. The engines are in the packages below; none of them imports a
// driver.
package dialect

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/rewrite"
)

// Session runs slotsql's own statements on one connection.
type Session interface {
	// Query runs a statement and returns all its rows. Values are as the
	// parent driver gives them: text may come as string or []byte, integers
	// as int64, string or []byte, booleans as bool or integers.
	Query(ctx context.Context, sql string, args ...any) ([][]any, error)
	Exec(ctx context.Context, sql string, args ...any) error
}

// Dialect is one database engine. What an engine may or may not have is in
// interfaces of their own, here and beside: ServerAware and those that follow
// it, what knows the parent driver in driver.go, and a server's leases and views
// of its sessions.
type Dialect interface {
	rewrite.Dialect
	SchemaParser
	StateReader
	Describer
	Watcher
	Viewer
	Surveyor
	RollUpper
	Auditor
	LockNoter
	SlotRefitter

	// Name is "mysql", "postgres" or "sqlite"; for messages only.
	Name() string

	// NameRules returns how the engine treats names of tables.
	NameRules() NameRules

	// Namespace identifies how this session resolves unqualified table
	// names: two sessions with equal namespaces see the same tables under
	// the same names.
	Namespace(ctx context.Context, s Session) (string, error)

	// Table reads the facts of one table, resolved as the session would
	// resolve it in a statement; schema may be "". It returns nil and no
	// error when there is none. Counter is nil in the result.
	Table(ctx context.Context, s Session, schema, name string) (*rewrite.Table, error)

	// Drain says how a drain gets its own transaction.
	Drain() DrainTx

	// InTransaction asks the engine whether the session is in a transaction.
	// It is only called where Drain().Nested is false and nothing better is
	// known. It does not change the session.
	InTransaction(ctx context.Context, s Session) (bool, error)
}

// ServerAware is a Dialect that depends on the server it meets.
type ServerAware interface {
	// ForServer returns the dialect for the server that the session is on. It
	// is called once per connector, before anything else.
	ForServer(ctx context.Context, s Session) (Dialect, error)
}

// ClusterAware is a Dialect whose server may be one of several that all take
// writes of the same database, where rows which two of them write at about the
// same time are in each other's way.
type ClusterAware interface {
	// Node names the server that the session is on; "" when it is in no
	// cluster.
	Node(ctx context.Context, s Session) (string, error)
}

// StateReader is a Dialect whose sessions can read one state of the database by
// several queries.
type StateReader interface {
	// OneState says how a transaction begins that writes nothing, sees one state
	// of the database from its first query on and does not wait long for
	// other sessions, and how it ends. The session is one of slotsql's own, or in
	// autocommit and as it was afterwards.
	OneState() (begin, end []string)
}

// SnapshotAware is a Dialect where a transaction's first read fixes what it
// sees, and may keep it from writing later on.
type SnapshotAware interface {
	// Defers reports whether a transaction that the statement begins has no such view yet.
	Defers(sql string) bool
	// AsideSession holds what a connection runs first that reads facts for
	// another one in a transaction, such that it waits for no other: that one may
	// be who it would wait for.
	AsideSession() []string
}

// A SnapshotTeller is a Dialect that finds slot rows which are newer than the
// snapshot of a transaction, with the help of another session that has none. See
// docs/design/locks.md.
type SnapshotTeller interface {
	rewrite.SnapshotDialect
	// Newer writes the query of the other session: the slot rows, each as the
	// values of its key and its number, that are not certainly older than the
	// snapshot. It takes what Snapshot has returned: the oldest transaction and,
	// where keyed, a JSON list of keys, each a list of strings.
	Newer(t *rewrite.Table, keyed bool) string
	// Meet writes the statement by which the transaction meets these rows, a JSON
	// list of lists: it fails as a change of a newer row does if one is there that
	// the transaction does not see. What it inserts the fold deletes.
	Meet(t *rewrite.Table) string
	// MeetEvery writes the statement by which the transaction meets every row of a
	// JSON list of keys that has a number below slots, without knowing
	// which exist; "" where numbers are not bounded. What it inserts the fold
	// deletes.
	MeetEvery(t *rewrite.Table, slots int) string
	// Unserializable writes a statement that fails as such a change does.
	Unserializable() string
}

// A BriefLocker is a Dialect whose DDL waits for locks while others wait behind it.
type BriefLocker interface {
	// Briefly has statements, to be run in one transaction, wait for each lock no
	// longer than that; or not at all, or as briefly as the server can, where it
	// counts in seconds.
	Briefly(ddl []string, wait time.Duration) []string
}

// A Widener is a Dialect whose slot tables are of a narrow type for the slots'
// numbers unless they are made for a journal.
type Widener interface {
	// WidenSlots writes the DDL that makes a slot table wide enough for a
	// journal, to be run in one transaction.
	WidenSlots(t *rewrite.Table) []string
}

// NamespaceAware is a Dialect of an engine whose sessions may each read
// statements by rules of their own, which their namespace then names.
type NamespaceAware interface {
	// InNamespace returns the dialect of sessions whose Namespace is this one: it
	// differs in what it reads and writes, not in what it asks the database.
	InNamespace(namespace string) Dialect
}

// SessionAware is a Dialect whose sessions may be such that increments of
// several of them must not share a statement.
type SessionAware interface {
	// Shares reports whether every session which the connector opens, as it is
	// before anything is run, works on the same database and commits each
	// statement by itself. It is called once per connector.
	Shares(ctx context.Context, s Session) (bool, error)
}

// OwnSettings is implemented by a dialect whose sessions may begin, by their DSN
// or the server's defaults, with settings under which slotsql's own statements
// fail, return fewer rows than there are, or are not committed.
type OwnSettings interface {
	// OwnSettings are the statements that a session of slotsql's own, which runs
	// none of the application's, runs first.
	OwnSettings() []string
}

// A DirtyReader is a Dialect whose sessions may read what is not committed.
type DirtyReader interface {
	// Dirty reports whether the sessions of the dialect's namespace do.
	Dirty() bool
	// NextReadCommitted writes the statement by which the next transaction alone, or
	// the next statement outside of one, does not.
	NextReadCommitted() string
}

// RowLimited is a Dialect whose sessions may be set to return no more than so many
// rows of a query that has no LIMIT.
type RowLimited interface {
	// AllRows returns a query of slotsql's own such that all its rows come.
	AllRows(query string) string
}

// A Leaser keeps leases in a table of slotsql's own, [LeaseTable], which holds
// for each name who has it and until when, by the server's clock. Nothing of a
// lease is bound to a session.
type Leaser interface {
	// CreateLeases writes the DDL of the table, to be run in one transaction.
	CreateLeases() []string
	// Leased returns the names of leases that are held.
	Leased(ctx context.Context, s Session) (map[string]bool, error)
	// Lease takes or extends the lease of that name for a holder, for so many
	// seconds, unless another one has it. It reports whether the holder has it.
	Lease(ctx context.Context, s Session, name, holder string, seconds int) (bool, error)
}

// A PassNoter keeps in [LeaseTable], beside the leases, when the last pass of a roll-up
// began that has left nothing behind, by names of the roll-up's choice. No such row is a
// lease that is held.
type PassNoter interface {
	// NotePasses notes that such passes began so long ago.
	NotePasses(ctx context.Context, s Session, begun map[string]time.Duration) error
	// Passes returns how long ago they began, by the server's clock.
	Passes(ctx context.Context, s Session) (map[string]time.Duration, error)
}

// PassPrefix begins the names of passes.
const PassPrefix = "pass "

// A LockNoter says, for people, which locks on a base table CreateSlots takes.
type LockNoter interface {
	CreateLocks(t *rewrite.Table) []string
}

// LeaseTable is the name of the table of leases.
const LeaseTable = "slotsql_leases"

// DrainTx holds the statements that open and end a drain's own transaction.
type DrainTx struct {
	Begin, Commit, Rollback []string
	// Nested reports whether these also work, and are to be used, inside a
	// transaction of the application (a savepoint).
	Nested bool
}

// A SlotRefitter makes a slot table fit again for a base table that has changed
// under it, and keeps what it holds.
type SlotRefitter interface {
	// RefitSlots writes the DDL by which the columns of a slot table, given by its
	// facts, get the types that CreateSlots would give them. With refer its foreign
	// key comes to refer to t, and slots that t has no row of go. The statements
	// run in one transaction where DDL is transactional, and may be repeated.
	RefitSlots(t, slots *rewrite.Table, refer bool) []string
	// DropColumns writes the DDL that takes columns off a slot table.
	DropColumns(t *rewrite.Table, columns []string) []string
}

// A TriggerKeeper is a Dialect whose slot tables are kept in step with their base
// tables by triggers.
type TriggerKeeper interface {
	// MissingTriggers returns the names of those that the table lacks.
	MissingTriggers(t *rewrite.Table) []string
}
