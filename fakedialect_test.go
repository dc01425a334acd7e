package slotsql

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/rewrite"
)

// fakeDialect is the SQLite dialect with facts made up, and with its ways
// changed to those of other engines.
type fakeDialect struct {
	*sqlite.Dialect
	drain  dialect.DrainTx
	traits rewrite.Traits
	// What an engine locks whose drains have to: a row's key, all keys that
	// have no row, and how it counts those that have.
	lock, count string
}

// watchingDialect knows of transactions from the parent.
type watchingDialect struct{ fakeDialect }

func (watchingDialect) ConnInTransaction(c driver.Conn) bool {
	return c.(interface{ ConnInTransaction() bool }).ConnInTransaction()
}

func (fakeDialect) SavepointGone(err error) bool { return errors.Is(err, errNoSavepoint) }

func (fakeDialect) SchemaChanged(err error) bool { return errors.Is(err, errChanged) }

func (fakeDialect) Shares(context.Context, dialect.Session) (bool, error) { return true, nil }

func (fakeDialect) NotApplied(err error) bool {
	return errors.Is(err, errRefused) || errors.Is(err, errConflict) || errors.Is(err, errTimeout)
}

func (fakeDialect) Conflict(err error) bool    { return errors.Is(err, errConflict) }
func (fakeDialect) LockTimeout(err error) bool { return errors.Is(err, errTimeout) }
func (fakeDialect) Retryable(err error) bool {
	return errors.Is(err, errConflict) || errors.Is(err, errTimeout)
}

// What a server answers.
var (
	errRefused  = errors.New("refused")
	errConflict = errors.New("deadlock")
	errTimeout  = errors.New("lock wait timeout")
)

func (fakeDialect) SlotFull(error) bool { return false }

var errChanged = errors.New("no such column")

func (d fakeDialect) Lock(_ *rewrite.Table, s rewrite.Scope) []string {
	if d.lock == "" {
		return nil
	}
	return []string{d.lock + " " + s.Where, "SELECT more"}
}

func (fakeDialect) Unmoved(*rewrite.Table, rewrite.Scope) string { return "" }

func (d fakeDialect) Count(*rewrite.Table, rewrite.Scope) string { return d.count }

func (d fakeDialect) Drain() dialect.DrainTx                                   { return d.drain }
func (d fakeDialect) Traits() rewrite.Traits                                   { return d.traits }
func (fakeDialect) Namespace(context.Context, dialect.Session) (string, error) { return "main", nil }
func (fakeDialect) InTransaction(ctx context.Context, s dialect.Session) (bool, error) {
	if err := s.Exec(ctx, "PROBE"); err != nil {
		return false, err
	}
	return (*link)(s.(*session)).parent.(interface{ ConnInTransaction() bool }).ConnInTransaction(), nil
}

func (fakeDialect) Table(_ context.Context, _ dialect.Session, _, name string) (*rewrite.Table, error) {
	id := rewrite.Column{Name: "id", Type: "INTEGER", Numeric: rewrite.Integer, Bits: 64}
	slot := rewrite.Column{Name: "slot", Type: "INTEGER", Numeric: rewrite.Integer, Bits: 64}
	views := rewrite.Column{Name: "views", Type: "INTEGER", Numeric: rewrite.Integer, Bits: 64, HasDefault: true}
	switch name {
	case "posts":
		return &rewrite.Table{Schema: "main", Name: name, Columns: []rewrite.Column{id, views, {Name: "title", Type: "text"}},
			Uniques:     []rewrite.Unique{{Primary: true, Columns: []string{"id"}}},
			OwnTriggers: []string{"slotsql_posts_slots_insert", "slotsql_posts_slots_delete", "slotsql_posts_slots_update"}}, nil
	case "posts_slots":
		return &rewrite.Table{Schema: "main", Name: name, Columns: []rewrite.Column{id, slot, views},
			Uniques: []rewrite.Unique{{Primary: true, Columns: []string{"id", "slot"}}}}, nil
	}
	return nil, nil
}

func (d fakeDialect) Describe(ctx context.Context, s dialect.Session, names []dialect.WrittenName, _ dialect.Temporary) ([]*rewrite.Table, error) {
	out := make([]*rewrite.Table, len(names))
	for i, n := range names {
		out[i], _ = d.Table(ctx, s, n.Schema, n.Name)
	}
	return out, nil
}

func (fakeDialect) ViewsOver(_ context.Context, _ dialect.Session, tables []*rewrite.Table, _ dialect.Reach) ([][]string, error) {
	return make([][]string, len(tables)), nil
}

// Marks: nothing changes.
func (fakeDialect) Marks(_ context.Context, _ dialect.Session, names []dialect.WrittenName) ([]dialect.Mark, error) {
	marks := make([]dialect.Mark, len(names))
	for i, n := range names {
		marks[i] = dialect.Mark{Schema: "main", Name: n.Name}
	}
	return marks, nil
}

// Views: there are none.
func (fakeDialect) Views(context.Context, dialect.Session, *rewrite.Table) ([]string, error) {
	return nil, nil
}

// The ways an engine may have with transactions.
var (
	nesting = fakeDialect{Dialect: sqlite.New(), drain: sqlite.New().Drain(), traits: sqlite.New().Traits()}
	probing = fakeDialect{Dialect: sqlite.New(), drain: dialect.DrainTx{Begin: []string{"START TRANSACTION"}, Commit: []string{"COMMIT"},
		Rollback: []string{"ROLLBACK"}}, traits: rewrite.Traits{ExprNames: true, ArgsRestart: true, MultiProbe: "DO 0; DO 0", UpsertCounts: true}}
	watching = watchingDialect{fakeDialect{Dialect: sqlite.New(), drain: dialect.DrainTx{Begin: []string{"BEGIN"}, Commit: []string{"COMMIT"},
		Rollback: []string{"ROLLBACK"}}, traits: rewrite.Traits{MultiIsTx: true}}}
	ways = map[string]dialect.Dialect{"nesting": nesting, "probing": probing, "watching": watching}
)
