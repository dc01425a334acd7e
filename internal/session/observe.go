package session

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"reflect"
	"slices"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A query of counters first runs as the application wrote it, with one more column, which reports whether its tables have
// slots (rewrite.Observed). If the first row says no, the rows are the application's: one statement sees one
// state of the database, and base values without slots beside them are totals. If it says yes, the rows are closed, and the query runs in
// the way that is exact beside slots. docs/design/observed.md explains why that is right on each engine and at each level.

// observe runs the query so. It returns no rows if the other way has to be taken.
func (rd reading) observe(ctx context.Context) (driver.Rows, error) {
	if !rd.observes() {
		return nil, nil
	}
	return rd.queryObserved(ctx)
}

func (rd reading) queryObserved(ctx context.Context) (driver.Rows, error) {
	rows, err := rd.run.sender.queryObserved(ctx, rd.run.Plan, rd.run.call)
	if err != nil {
		return nil, rd.observedError(ctx, err)
	}
	return rd.judge(ctx, rows, rows.Close)
}

// judge reads the first row of an observed query. It returns no rows, and closes those, if the other way has to be taken.
func (rd reading) judge(ctx context.Context, rows driver.Rows, close func() error) (driver.Rows, error) {
	o := rd.run.Plan.Read.Observed
	out := rd.readAhead(rows, 1)
	switch {
	case out.err == io.EOF && o.DecidesRows:
		return nil, close()
	case out.err == io.EOF:
	case out.err != nil && (o.MayFail || rd.conn.Engine.SchemaChanged(out.err)):
		_ = close()
		return nil, rd.observedError(ctx, out.err)
	case out.err != nil: // comes with the rows, as from the parent
	case !isFalse(out.row[len(out.columns)]):
		rd.noteObserved(false)
		return nil, close()
	default:
		rd.noteObserved(true)
	}
	return out, nil
}

// foldFirst has the slots of a query folded that would compute the totals of many rows, and observes the query again. It returns no
// rows if other sessions have made slots meanwhile. The fold decides nothing but the cost, and waits for no transaction; in a
// transaction of the application it would not help, if the query's snapshot is older.
func (rd reading) foldFirst(ctx context.Context) (driver.Rows, error) {
	if !rd.run.Plan.Read.FoldFirst || !rd.run.call.wantsRows || !rd.conn.InAutocommit() || !rd.mayObserve() {
		return nil, nil
	}
	folded := false
	for _, t := range rd.tablesAsked() {
		folded = t.Fold(ctx) || folded
	}
	if !folded {
		return nil, ctx.Err()
	}
	return rd.observe(ctx)
}

// observedDrain is observe for a query that drains beside slots. Rows that the transaction has changed have to be
// drained before it reads them.
func observedDrain(ctx context.Context, r *Run) (a answer, done bool, err error) {
	rd := readingOf(r)
	c := r.conn
	if r.Plan.Read.Observed == nil || !r.call.wantsRows {
		return answer{}, false, nil
	}
	for _, ch := range c.changed() {
		if !ch.drained && slices.ContainsFunc(r.Plan.Touched, func(t *schema.Table) bool { return ch.of(t) }) {
			return answer{}, false, nil
		}
	}
	a.rows, err = rd.observe(ctx)
	if a.rows == nil && err == nil && !rd.mayObserve() {
		a.rows, err = rd.observeUndoable(ctx)
	}
	if a.rows != nil {
		noteRead(c, r.Plan.Touched)
		c.Tx.Read()
		r.Plan.tally.observed.Add(1)
		return a, true, err
	}
	if err == nil {
		if a, done, err = foldedFirst(ctx, r); !done {
			r.Plan.tally.exact.Add(1)
		}
	}
	return a, done, err
}

// observeUndoable is observe for a query whose error would end the application's transaction, though it may be one of base values that
// are no totals. Its rows are read under a savepoint.
func (rd reading) observeUndoable(ctx context.Context) (rows driver.Rows, err error) {
	if !rd.conn.mayAsk() || !rd.asks() {
		return nil, nil
	}
	if open, err := rd.conn.InTransaction(ctx); err != nil {
		return nil, err
	} else if !open {
		return rd.queryObserved(ctx)
	}
	err = slotlessOf(rd.run).undoable(ctx, func() error {
		observed, err := rd.queryObserved(ctx)
		if observed == nil {
			return cmp.Or(err, errAwake)
		}
		rows, err = readBuffered(observed)
		return err
	})
	if err == errAwake {
		return nil, nil
	}
	return rows, err
}

// readAhead reads the first row of a query that has so many columns of slotsql's own behind the application's.
func (rd reading) readAhead(rows driver.Rows, added int) *observedRows {
	o := &observedRows{RowsBase: link.RowsBase{Rows: rows}, columns: rows.Columns(), ahead: true}
	if rd.conn.Shared.Traits.LateErrors {
		o.types = TypesOf(rows) // some parents take them from the current row
	}
	if all := len(o.columns); all <= len(o.few) {
		o.row = o.few[:all]
	} else {
		o.row = make([]driver.Value, all)
	}
	own := len(o.columns) - added
	o.columns = o.columns[:own:own]
	o.err = rows.Next(o.row)
	return o
}

// firstRow reads the first row of a rewritten query at once. SQLite notices in the first step of a query that another connection
// has changed the schema, and some parents take that step only when the first row is asked for (rewrite.SessionRules.LateErrors):
// by then the application has the rows, and it is too late to plan again. Any other error comes with the rows, as from the parent.
func (rd reading) firstRow(rows driver.Rows) (driver.Rows, error) {
	o := rd.readAhead(rows, 0)
	if o.err != nil && rd.conn.Engine.SchemaChanged(o.err) {
		_ = rows.Close()
		return nil, o.err
	}
	return o, nil
}

// observedError returns the error of an observed query; nil if it may be one of base values that are no totals, so that the query has
// to run in the other way.
func (rd reading) observedError(ctx context.Context, err error) error {
	c := rd.conn
	if !rd.run.Plan.Read.Observed.MayFail || err == driver.ErrSkip || ctx.Err() != nil || c.Rare.Any(link.Broken) || c.failsTx(err) ||
		c.Engine.SchemaChanged(err) {
		return err
	}
	return nil
}

// isFalse reports whether a value is what engines and parents give for a condition that is not met.
func isFalse(v driver.Value) bool {
	switch v := v.(type) {
	case bool:
		return !v
	case int64:
		return v == 0
	case []byte:
		return string(v) == "0" || string(v) == "f"
	case string:
		return v == "0" || v == "f"
	}
	return false
}

// mayObserve reports whether the query may run in that form.
func (rd reading) mayObserve() bool {
	c, o := rd.conn, rd.run.Plan.Read.Observed
	return o != nil && c.mayAsk() && !(o.MayFail && c.Shared.Traits.ErrorAborts && !c.InAutocommit()) // the error would end the transaction
}

// observes reports whether the execution is worth a try in that form.
func (rd reading) observes() bool {
	switch {
	case !rd.mayObserve() || !rd.run.call.wantsRows || slices.ContainsFunc(rd.run.call.options, byColumn):
		return false
	case rd.run.Plan.Read.Observed.Row != nil:
		return rd.run.Plan.proofs.due()
	}
	return rd.asks()
}

// asks reports whether the tables have no slots as far as the process knows, or it is time to look.
func (rd reading) asks() bool {
	return !slices.ContainsFunc(rd.tablesAsked(), func(t *slots.Sleeper) bool { return !t.Asks() })
}

// expectsNone reports whether executions are likely to run in that form. It is asked when a statement is prepared.
func (rd reading) expectsNone() bool {
	return rd.mayObserve() && (rd.run.Plan.Read.Observed.Row != nil ||
		!slices.ContainsFunc(rd.tablesAsked(), (*slots.Sleeper).Awake))
}

// byColumn reports whether an option has a value for each column of the result.
func byColumn(option driver.NamedValue) bool {
	v := reflect.ValueOf(option.Value)
	return v.Kind() == reflect.Slice && v.Len() > 1
}

// mayAsk reports whether a query may ask for slots: not if it may read uncommitted data, nor if what its transaction reads counts
// against others. The question would then be a lock on, or conflict with, the first slot of any row.
func (c *Conn) mayAsk() bool {
	dirty, serializable := c.Levels()
	if sql.IsolationLevel(c.begun) == sql.LevelSerializable {
		return !dirty && c.Shared.Traits.OneWriter
	}
	return !dirty && (!serializable || c.InAutocommit())
}

// noteObserved remembers what a query has observed.
func (rd reading) noteObserved(none bool) {
	if rd.run.Plan.Read.Observed.Row != nil {
		if rd.run.Plan.proofs.note(none); none {
			return // other rows may have slots
		}
	}
	tables := rd.tablesAsked()
	known := slices.ContainsFunc(tables, (*slots.Sleeper).Awake)
	for _, t := range tables {
		switch {
		case none:
			t.Slept()
		case !known || t.Awake(): // of several it may be any, and probably is the one that was awake before
			t.Woke(slots.WokenByOther)
		}
	}
}

// observedRows are the rows of a query of which the first one has been read, without columns of slotsql's own.
type observedRows struct {
	link.RowsBase
	columns []string
	types   columnTypes     // as before the first row; nil where they do not depend on it
	row     []driver.Value  // of the parent
	few     [6]driver.Value // row, if it is short
	ahead   bool            // row, or err, has been read and not been returned
	err     error           // in place of the first row
}

var _ rowsTyper = (*observedRows)(nil)

// Columns implements driver.Rows.
func (o *observedRows) Columns() []string { return o.columns }

// Next implements driver.Rows.
func (o *observedRows) Next(dest []driver.Value) error {
	switch {
	case o.err != nil:
		return o.err
	case o.ahead:
		o.ahead = false
	default:
		if err := o.Rows.Next(o.row); err != nil {
			return err
		}
	}
	copy(dest, o.row[:len(o.columns)])
	return nil
}

// ColumnTypeDatabaseTypeName implements driver.RowsColumnTypeDatabaseTypeName.
func (o *observedRows) ColumnTypeDatabaseTypeName(i int) string {
	if o.ahead && o.types != nil {
		return o.types.ColumnTypeDatabaseTypeName(i)
	}
	return o.RowsBase.ColumnTypeDatabaseTypeName(i)
}

// ColumnTypeScanType implements driver.RowsColumnTypeScanType.
func (o *observedRows) ColumnTypeScanType(i int) reflect.Type {
	if o.ahead && o.types != nil {
		return o.types.ColumnTypeScanType(i)
	}
	return o.RowsBase.ColumnTypeScanType(i)
}

// ColumnTypeLength implements driver.RowsColumnTypeLength.
func (o *observedRows) ColumnTypeLength(i int) (int64, bool) {
	if o.ahead && o.types != nil {
		return o.types.ColumnTypeLength(i)
	}
	return o.RowsBase.ColumnTypeLength(i)
}

// tablesAsked returns what is known of the tables whose slots an observed query asks for.
func (rd reading) tablesAsked() []*slots.Sleeper {
	if known := rd.run.Plan.asked.Load(); known != nil {
		return *known
	}
	out := make([]*slots.Sleeper, len(rd.run.Plan.Read.Observed.Tables))
	for i, t := range rd.run.Plan.Read.Observed.Tables {
		out[i] = rd.conn.Shared.Folding.Sleep.Of(t.Counter)
	}
	rd.run.Plan.asked.Store(&out)
	return out
}

// queryObserved implements sender. The query is kept prepared where the parent would otherwise prepare it for its arguments,
// or parse it, each time.
func (t direct) queryObserved(ctx context.Context, p *plan, c call) (driver.Rows, error) {
	query := p.Read.Observed.SQL.Of(p.Values)
	tr := &t.conn.Shared.Traits
	// A parent that executes it late would return the columns of when it was prepared.
	if len(c.options) == 0 && (tr.SlowParse && !tr.LateErrors) {
		if rows, err := t.conn.Kept.Query(ctx, &t.conn.Conn, query, query, c.args); rows != nil || err != nil {
			return rows, err
		}
	}
	switch {
	case len(c.options) > 0:
		return t.conn.ParentQuery(ctx, query, link.JoinArgs(c.options, c.args))
	case t.conn.PreparesArgs && t.keeps(c.args):
		return t.queryUnpreparedOrKept(ctx, query, c.args)
	}
	return t.conn.ParentQuery(ctx, query, c.args)
}
