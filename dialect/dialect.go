// Package dialect defines what slotsql needs from a database engine: a rewrite.Dialect
// for the pure part, and the few things that need a connection. The engines are in the
// packages below; none of them imports a driver.
//
// This package is exported for dialects outside this module. It has no compatibility
// promise before v1.
//
// A Dialect must implement the interfaces that its declaration lists: rewrite.Dialect,
// StateReader, Describer, Watcher, RollUpper, Auditor,
// LockNoter and SlotRefitter. The others are optional; package rewrite has more, for the
// planner. slotsql looks for each of them by a type assertion:
//
//   - Servers, sessions and DDL: ServerAware, ClusterAware, NamespaceAware, NamespaceMover, SessionAware,
//     OwnSettings, StatementLimited, LimitLifter, BriefLocker, Yielder, Widener, TriggerKeeper, InsertIDSetter,
//     TargetFinder, Pipeliner, ArgRewriter and ErrorClassifier.
//   - Transactions: TxWatcher, SelectiveTxWatcher, BusyWatcher, TxGuard, SlotNamer, PortionMover and TicketLeaser.
//   - Snapshots: SnapshotAware, SnapshotTeller, SnapshotIsolation,
//     SelectiveSnapshots and DirtyReader.
//   - Read-only transactions: ReadOnlyAsker, ReadOnlyReader and ReadOnlyWatcher.
//   - Rights: RightsReader.
//   - Roll-up: Leaser, Fencer, PassNoter, WriterLocker and FoldErrorClassifier.
//   - Functions and views of slotsql's own: Storer, and StoredSQL and FunctionWriter for what it returns.
//   - Observing: Observer and DeadlockReader.
package dialect

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Session runs slotsql's own statements on one connection.
type Session interface {
	// Query runs a statement and returns all its rows. Values are as the
	// parent driver gives them: text may come as string or []byte, integers
	// as int64, string or []byte, booleans as bool or integers.
	Query(ctx context.Context, sql string, args ...any) ([][]any, error)
	// Exec runs a statement and discards its result.
	Exec(ctx context.Context, sql string, args ...any) error
}

// Dialect is one database engine. Capabilities that only some engines have are separate
// interfaces, which the package comment lists.
type Dialect interface {
	rewrite.Dialect
	StateReader
	Describer
	Watcher
	RollUpper
	Auditor
	LockNoter
	SlotRefitter

	// Name is "mysql", "postgres" or "sqlite": for messages, and for tools that choose by
	// engine.
	Name() string

	// NameRules returns how the engine treats names of tables.
	NameRules() NameRules

	// Namespace identifies how this session resolves unqualified table
	// names, and its settings.
	Namespace(ctx context.Context, s Session) (Namespace, error)

	// Table reads the facts of one table, resolved as the session would
	// resolve it in a statement; schema may be "". It returns nil and no
	// error when there is none. Counter is nil in the result.
	Table(ctx context.Context, s Session, schema, name string) (*schema.Table, error)

	// Drain returns how a drain begins and ends its own transaction.
	Drain() DrainTx

	// InTransaction asks the engine whether the session is in a transaction. It is called
	// only if Drain().Nested is false and nothing better is known. It does not change the
	// session.
	InTransaction(ctx context.Context, s Session) (bool, error)
}

// Namespace is what decides what a statement means in a session.
type Namespace struct {
	// Names is the same for two sessions that see the same tables under the same names, and read
	// statements by the same rules.
	Names string
	// Settings is the same for two sessions in which a change of a row has the same effect: the
	// user and whatever settings such a change depends on.
	Settings string
}

// ServerAware is a Dialect that depends on the server to which it connects.
type ServerAware interface {
	// ForServer returns the dialect for the server that the session is on. It
	// is called once per connector, before anything else.
	ForServer(ctx context.Context, s Session) (Dialect, error)
}

// ClusterAware is a Dialect whose server may be one of several that all accept writes to
// the same database, where rows that two of them write at about the same time conflict.
type ClusterAware interface {
	// Node returns the name of the server that the session is on; "" if it is in no
	// cluster.
	Node(ctx context.Context, s Session) (string, error)
}

// StateReader is a Dialect whose sessions can read one state of the database with several
// queries.
type StateReader interface {
	// OneState returns the statements that begin and end a transaction that writes
	// nothing, sees one state of the database from its first query on, and does not wait
	// long for other sessions. The session is one of slotsql's own, or is in autocommit
	// and must be unchanged afterwards.
	OneState() (begin, end []string)
}

// SnapshotAware is a Dialect in which a transaction's first read fixes what the
// transaction sees, and may prevent it from writing later on.
type SnapshotAware interface {
	// Defers reports whether a transaction that the statement begins has no such snapshot
	// yet.
	Defers(sql string) bool
	// AsideSession returns what a connection runs first if it reads facts for another one
	// that is in a transaction. It must then wait for no session, since that might be the
	// one it reads for.
	AsideSession() []string
}

// A SnapshotTeller is a Dialect that finds slot rows newer than the snapshot of a
// transaction, with the help of another session that has no such snapshot. See
// docs/design/transactions.md.
type SnapshotTeller interface {
	rewrite.SnapshotDialect
	// Newer writes the query of the other session. It returns the slot rows, each as the
	// values of its key and its number, that are not certainly older than the snapshot.
	// It takes what Snapshot has returned: the oldest transaction and, if keyed, a JSON
	// list of keys, each a list of strings.
	Newer(t *schema.Table, keyed bool) string
	// Meet writes the statement with which the transaction checks these rows, a JSON list
	// of lists. If one of them exists that the transaction does not see, it fails as a
	// change of a newer row does. The fold deletes what it inserts.
	Meet(t *schema.Table) string
	// MeetEvery writes the same check for every number below slots of a JSON list of
	// keys, without knowing which rows exist; "" if numbers are not bounded. The fold
	// deletes what it inserts.
	MeetEvery(t *schema.Table, slots int) string
	// Unserializable writes a statement that fails as such a change does.
	Unserializable() string
}

// A BriefLocker is a Dialect in which other sessions queue behind DDL that waits for a
// lock.
type BriefLocker interface {
	// Briefly changes statements, to be run in one transaction, so that they wait for
	// each lock no longer than the given time. An engine that counts in seconds does not
	// wait, or waits as briefly as it can. Where the session's settings have to change for that,
	// restore changes them back: it runs afterwards, whether the statements have succeeded, failed
	// or not begun.
	Briefly(ddl []string, wait time.Duration) (brief, restore []string)
}

// A Yielder is a Dialect of an engine where a statement that writes first takes locks that end with it, which a backup, say,
// keeps from being granted while it waits for statements under way.
type Yielder interface {
	// Yielding changes a statement so that it fails, with an error that is LockTimeout and Retryable, rather than wait for
	// such a lock, and returns within what time. It returns a statement that it cannot change as it is, with a negative
	// time. Changing a statement twice is changing it once.
	Yielding(sql string) (string, time.Duration)
}

// A Widener is a Dialect whose slot tables have a narrow type for the slot number unless
// they are created for a journal.
type Widener interface {
	// WidenSlots writes the DDL that makes a slot table wide enough for a
	// journal, to be run in one transaction.
	WidenSlots(t *schema.Table) []string
}

// NamespaceMover is for an engine whose functions may move the session that calls them to
// another namespace.
type NamespaceMover interface {
	// Movers returns the names of the functions that may, as far as can be seen.
	Movers(ctx context.Context, s Session) ([]string, error)
}

// NamespaceAware is a Dialect of an engine whose sessions may each parse statements by
// their own rules, which are then part of their namespace.
type NamespaceAware interface {
	// InNamespace returns the dialect for sessions with this Namespace. It differs in the
	// SQL that it reads and writes, but not in what it asks the database.
	InNamespace(namespace string) Dialect
}

// SessionAware is a Dialect some of whose sessions must not share statements for
// increments.
type SessionAware interface {
	// Shares reports whether all sessions that the connector opens, in their initial
	// state, work on the same database and commit each statement by itself. It is called
	// once per connector.
	Shares(ctx context.Context, s Session) (bool, error)
}

// OwnSettings is implemented by a dialect whose sessions may begin, because of the DSN or
// the server's defaults, with settings under which slotsql's own statements fail, return
// fewer rows than there are, or are not committed.
type OwnSettings interface {
	// OwnSettings returns the statements that one of slotsql's own sessions, which runs
	// none of the application's statements, runs first.
	OwnSettings() []string
}

// A DirtyReader is a Dialect whose sessions may read uncommitted data.
type DirtyReader interface {
	// Dirty reports whether sessions of this namespace may read uncommitted data.
	Dirty() bool
	// NextReadCommitted writes the statement after which the next transaction, or the next
	// statement outside transactions, does not read such data. It changes no later one.
	NextReadCommitted() string
}

// StatementLimited is a Dialect whose sessions may limit the number of rows of a query that has
// no LIMIT, or the time that a statement takes.
type StatementLimited interface {
	// WithoutLimits changes one of slotsql's own statements so that it returns all rows, however
	// long it takes.
	WithoutLimits(statement string) string
}

// A Leaser keeps leases in LeaseTable, a table of slotsql's own. For each name it holds
// who has the lease and until when, by the server's clock. A lease is not bound to a
// session.
type Leaser interface {
	// CreateLeases writes the DDL of the table, to be run in one transaction.
	CreateLeases() []string
	// Leased returns the names of leases that are held.
	Leased(ctx context.Context, s Session) (map[string]bool, error)
	// Lease takes or extends the lease of that name for a holder, for that many seconds,
	// unless another holder has it. It reports whether the holder has it.
	Lease(ctx context.Context, s Session, name, holder string, seconds int) (bool, error)
}

// A PassNoter records in LeaseTable when the last pass of a roll-up began, if it left
// nothing behind, under names that the roll-up chooses. Such a row is not a lease.
// [ForgetPasses] deletes it.
type PassNoter interface {
	// NotePasses records that such passes began that long ago.
	NotePasses(ctx context.Context, s Session, begun map[string]time.Duration) error
	// Passes returns how long ago they began, by the server's clock.
	Passes(ctx context.Context, s Session) (map[string]time.Duration, error)
}

// PassPrefix begins the names of passes.
const PassPrefix = "pass "

// A LockNoter describes, for people, which locks CreateSlots takes on a base table.
type LockNoter interface {
	// CreateLocks returns the lines of the comment, without --.
	CreateLocks(t *schema.Table) []string
}

// LeaseTable is the name of the table of leases.
const LeaseTable = "slotsql_leases"

// DrainTx holds the statements that begin and end a drain's own transaction.
type DrainTx struct {
	Begin, Commit, Rollback []string
	// Nested reports whether these also work inside a transaction of the application (as
	// a savepoint), and are to be used there.
	Nested bool
}

// A SlotRefitter adapts a slot table to a base table that has changed, and keeps what the
// slots hold.
type SlotRefitter interface {
	// RefitSlots writes the DDL that gives the columns of a slot table, described by its
	// facts, the types that CreateSlots would give them. With refer, it also makes the
	// foreign key reference t, and deletes slots without a row in t. The statements run
	// in one transaction if DDL is transactional, and may be repeated.
	RefitSlots(t, slots *schema.Table, refer bool) []string
	// DropColumns writes the DDL that drops columns of a slot table.
	DropColumns(t *schema.Table, columns []string) []string
}

// A TriggerKeeper is a Dialect that keeps slot tables in step with their base tables by
// triggers.
type TriggerKeeper interface {
	// MissingTriggers returns the names of the triggers that the table lacks.
	MissingTriggers(t *schema.Table) []string
}
