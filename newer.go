package slotsql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// newer has a transaction that is held to its snapshot meet the slot rows that
// have come since: the drain then fails as the plain statement would have. The base
// rows are locked.
func (r *run) newer(ctx context.Context, d *rewrite.DrainTable) error {
	c := r.conn
	teller, ok := c.shared.dialect.(dialect.SnapshotTeller)
	if !ok || d.Snapshot == nil {
		return nil
	}
	args, err := r.bind(d.Snapshot.Args)
	if err != nil {
		return err
	}
	rows, err := c.parentQuery(ctx, d.Snapshot.SQL, args)
	if err != nil {
		return err
	}
	all, err := collect(rows)
	if err != nil || len(all) == 0 {
		return err
	}
	ask := []any{textOf(all[0][0])}
	keyed := len(all[0]) > 1
	if keyed {
		for i := range all {
			all[i] = all[i][1:]
		}
		ask = append(ask, jsonTexts(all))
	}
	found, err := c.shared.witness.query(ctx, c.shared, teller.Newer(d.Table, keyed), ask...)
	if err != nil {
		return fmt.Errorf("slotsql: looking for slot rows that are newer than the transaction's snapshot: %w", settled(err))
	}
	if len(found) == 0 {
		return nil
	}
	res, err := c.parentExec(ctx, teller.Meet(d.Table), namedValues([]any{jsonTexts(found)}))
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil || n == 0 {
		return err
	}
	// A row that the transaction does not see has been there, and a roll-up has
	// deleted it since the other session has told of it.
	return c.session.Exec(ctx, teller.Unserializable())
}

// jsonTexts writes a list of lists of texts.
func jsonTexts(rows [][]any) string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		for _, v := range row {
			out[i] = append(out[i], textOf(v))
		}
	}
	b, _ := json.Marshal(out) // texts always can be written
	return string(b)
}

func textOf(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// A witness is a connection of slotsql's own for questions that no session of the
// application can be asked. It is made when one comes up, and kept.
type witness struct {
	mu   sync.Mutex
	conn *conn
}

func (w *witness) query(ctx context.Context, s *shared, q string, args ...any) ([][]any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for fresh := false; ; {
		if w.conn == nil {
			if s.connect == nil {
				return nil, errors.New("there is no connection to ask")
			}
			raw, err := s.connect(ctx)
			if err != nil {
				return nil, err
			}
			w.conn, fresh = wrapConn(s, raw), true
		}
		rows, err := w.ask(ctx, s, q, args)
		if err == nil {
			return rows, nil
		}
		w.drop()
		if fresh || ctx.Err() != nil {
			return nil, err
		}
	}
}

// ask waits for locks only as long as OneState says: whoever it waits for, such as
// an ALTER TABLE of the slot table, may wait for the transaction that it asks for.
func (w *witness) ask(ctx context.Context, s *shared, q string, args []any) ([][]any, error) {
	begin, end := s.dialect.OneState()
	if err := w.conn.session.execAll(ctx, begin); err != nil {
		return nil, err
	}
	rows, err := w.conn.session.Query(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	return rows, w.conn.session.execAll(ctx, end)
}

// drop closes the connection.
func (w *witness) drop() {
	if w.conn != nil {
		_ = w.conn.parent.Close()
		w.conn = nil
	}
}

func (w *witness) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop()
}
