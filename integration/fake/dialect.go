package fake

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Engine is the SQLite dialect with facts made up, and with its ways
// changed to those of other engines.
type Engine struct {
	*sqlite.Dialect
	drain  dialect.DrainTx
	traits rewrite.Traits
	// What an engine locks whose drains have to: a row's key, all keys that
	// have no row, and how it counts those that have.
	LockSQL, CountSQL string
}

// WatchingEngine knows of transactions from the parent.
type WatchingEngine struct{ Engine }

// ConnInTransaction implements the dialect.
func (WatchingEngine) ConnInTransaction(c driver.Conn) bool {
	return c.(interface{ ConnInTransaction() bool }).ConnInTransaction()
}

// Shares implements the dialect.
func (Engine) Shares(context.Context, dialect.Session) (bool, error) { return true, nil }

// Classify implements the dialect.
func (Engine) Classify(err error) (c dialect.ErrorClass) {
	for answer, means := range answers {
		if errors.Is(err, answer) {
			c |= means
		}
	}
	return c
}

var answers = map[error]dialect.ErrorClass{
	ErrRefused:     dialect.NotApplied,
	ErrConflict:    dialect.NotApplied | dialect.Conflict | dialect.Retryable,
	ErrTimeout:     dialect.NotApplied | dialect.LockTimeout | dialect.Retryable,
	ErrChanged:     dialect.SchemaChanged,
	errNoSavepoint: dialect.SavepointGone,
}

// What a server answers.
var (
	ErrRefused  = errors.New("refused")
	ErrConflict = errors.New("deadlock")
	ErrTimeout  = errors.New("lock wait timeout")
)

// ErrChanged is the error of a statement whose column has gone.
var ErrChanged = errors.New("no such column")

// Lock implements the dialect.
func (d Engine) Lock(_ *schema.Table, s rewrite.Scope) []string {
	if d.LockSQL == "" {
		return nil
	}
	return []string{d.LockSQL + " " + s.Where, "SELECT more"}
}

// Proof implements the dialect: rows are made up, so that no statement can prove that one has no slots.
func (Engine) Proof(*schema.Table, rewrite.Scope) rewrite.ProofSQL { return rewrite.ProofSQL{} }

// Unmoved implements the dialect.
func (Engine) Unmoved(*schema.Table, rewrite.Scope) string { return "" }

// Count implements the dialect.
func (d Engine) Count(*schema.Table, rewrite.Scope) string { return d.CountSQL }

// Drain implements the dialect.
func (d Engine) Drain() dialect.DrainTx { return d.drain }

// Traits implements the dialect.
func (d Engine) Traits() rewrite.Traits { return d.traits }

// With returns the engine with some rules changed.
func (d Engine) With(change func(*rewrite.Traits)) Engine {
	change(&d.traits)
	return d
}

// Namespace implements the dialect.
func (Engine) Namespace(context.Context, dialect.Session) (dialect.Namespace, error) {
	return dialect.Namespace{Names: "main"}, nil
}

// InTransaction implements the dialect.
func (Engine) InTransaction(ctx context.Context, s dialect.Session) (bool, error) {
	if err := s.Exec(ctx, "PROBE"); err != nil {
		return false, err
	}
	return (*link.Conn)(s.(*link.Session)).Parent.(interface{ ConnInTransaction() bool }).ConnInTransaction(), nil
}

// Table implements the dialect.
func (Engine) Table(_ context.Context, _ dialect.Session, _, name string) (*schema.Table, error) {
	integer := schema.NumericType{Numeric: schema.Integer, Bits: 64}
	id := schema.Column{Name: "id", Type: "INTEGER", NumericType: integer}
	slot := schema.Column{Name: "slot", Type: "INTEGER", NumericType: integer}
	views := schema.Column{Name: "views", Type: "INTEGER", NumericType: integer, HasDefault: true}
	switch name {
	case "posts":
		return &schema.Table{Schema: "main", Name: name, Columns: []schema.Column{id, views, {Name: "title", Type: "text"}},
			Uniques:  []schema.Unique{{Primary: true, Columns: []string{"id"}}},
			Triggers: schema.Triggers{Own: []string{"slotsql_posts_slots_insert", "slotsql_posts_slots_delete", "slotsql_posts_slots_update"}}}, nil
	case "posts_slots":
		return &schema.Table{Schema: "main", Name: name, Columns: []schema.Column{id, slot, views},
			Uniques: []schema.Unique{{Primary: true, Columns: []string{"id", "slot"}}}}, nil
	}
	return nil, nil
}

// Describe implements the dialect.
func (d Engine) Describe(
	ctx context.Context,
	s dialect.Session,
	names []dialect.WrittenName,
	_ dialect.Temporary,
) ([]*schema.Table, error) {
	out := make([]*schema.Table, len(names))
	for i, n := range names {
		out[i], _ = d.Table(ctx, s, n.Schema, n.Name)
	}
	return out, nil
}

// ViewsOver implements the dialect.
func (Engine) ViewsOver(_ context.Context, _ dialect.Session, tables []dialect.Viewed, _ dialect.Reach) ([][]string, error) {
	return make([][]string, len(tables)), nil
}

// Marks implements the dialect: nothing changes.
func (Engine) Marks(_ context.Context, _ dialect.Session, names []dialect.WrittenName) ([]dialect.Mark, error) {
	marks := make([]dialect.Mark, len(names))
	for i, n := range names {
		marks[i] = dialect.Mark{Schema: "main", Name: n.Name}
	}
	return marks, nil
}

// Glance implements the dialect: it cannot tell.
func (Engine) Glance(context.Context, dialect.Session, []dialect.WrittenName, []dialect.Mark) (dialect.Glance, error) {
	return dialect.Glance{}, nil
}

// Server implements the dialect: there is none.
func (Engine) Server(context.Context, dialect.Session) (string, error) { return "", nil }

// The ways an engine may have with transactions.
var (
	Nesting = Engine{Dialect: sqlite.New(), drain: sqlite.New().Drain(), traits: sqlite.New().Traits()}
	Probing = Engine{Dialect: sqlite.New(), drain: dialect.DrainTx{
		Begin:    []string{"START TRANSACTION"},
		Commit:   []string{"COMMIT"},
		Rollback: []string{"ROLLBACK"},
	}, traits: rewrite.Traits{
		Rules:          names.Rules{ItemNames: names.ItemsByText},
		StatementRules: rewrite.StatementRules{UpsertCounts: true},
		SessionRules:   rewrite.SessionRules{ArgsRestart: true, MultiProbe: "DO 0; DO 0"},
	}}
	Watching = WatchingEngine{Engine{Dialect: sqlite.New(), drain: dialect.DrainTx{Begin: []string{"BEGIN"}, Commit: []string{"COMMIT"},
		Rollback: []string{"ROLLBACK"}}, traits: rewrite.Traits{SessionRules: rewrite.SessionRules{MultiIsTx: true, ErrorAborts: true}}}}
	Ways = map[string]dialect.Dialect{"nesting": Nesting, "probing": Probing, "watching": Watching}
)
