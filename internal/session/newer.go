package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// newer has a transaction that is held to its snapshot meet the slot rows that
// have come since: the drain then fails as the plain statement would have. The base
// rows are locked.
func (r *Run) newer(ctx context.Context, d *rewrite.DrainTable) error {
	c := r.conn
	teller, ok := c.Shared.Dialect.(dialect.SnapshotTeller)
	if !ok || d.Snapshot == nil {
		return nil
	}
	args, err := r.bind(d.Snapshot.Args)
	if err != nil {
		return err
	}
	rows, err := c.ParentQuery(ctx, d.Snapshot.SQL, args)
	if err != nil {
		return err
	}
	all, err := link.Collect(rows)
	if err != nil || len(all) == 0 {
		return err
	}
	ask := []any{link.TextOf(all[0][0])}
	keyed := len(all[0]) > 1
	if keyed {
		for i := range all {
			all[i] = all[i][1:]
		}
		ask = append(ask, jsonTexts(all))
	}
	found, err := c.Shared.witness.query(ctx, c.Shared, teller.Newer(d.Table, keyed), ask...)
	if errors.Is(err, errUnheard) {
		return r.newerUnheard(ctx, d, teller, all, keyed)
	}
	if err != nil {
		return fmt.Errorf("slotsql: looking for slot rows that are newer than the transaction's snapshot: %w", link.Settled(err))
	}
	if len(found) == 0 {
		return nil
	}
	if len(r.ungranted) > 0 {
		return c.Session().Exec(ctx, teller.Unserializable())
	}
	res, err := c.ParentExec(ctx, teller.Meet(d.Table), link.NamedValues([]any{jsonTexts(found)}))
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil || n == 0 {
		return err
	}
	return r.deletedNewer(ctx, d, teller, keyed, ask, found)
}

// deletedNewer is for slot rows that the other session has found and the transaction
// could insert: each of them has been deleted. By an earlier drain of this very
// transaction, then they are not newer than its snapshot, since deleting them would
// have failed; or by a roll-up since the other session has looked. The other session
// still sees what this transaction has deleted and not committed, and it no longer
// sees what a roll-up has deleted: the insert has waited for that to be committed.
func (r *Run) deletedNewer(
	ctx context.Context, d *rewrite.DrainTable, teller dialect.SnapshotTeller, keyed bool, ask []any, found [][]any,
) error {
	c := r.conn
	still, err := c.Shared.witness.query(ctx, c.Shared, teller.Newer(d.Table, keyed), ask...)
	if err != nil && !errors.Is(err, errUnheard) {
		return fmt.Errorf("slotsql: looking again for slot rows that are newer than the transaction's snapshot: %w", link.Settled(err))
	}
	if err == nil && containsRows(still, found) {
		return nil
	}
	return c.Session().Exec(ctx, teller.Unserializable())
}

// containsRows reports whether all of some rows are among others.
func containsRows(all, some [][]any) bool {
	has := make(map[string]bool, len(all))
	for _, row := range all {
		has[jsonTexts([][]any{row})] = true
	}
	return !slices.ContainsFunc(some, func(row []any) bool { return !has[jsonTexts([][]any{row})] })
}

// newerUnheard does without the other session, which is not to be had in time: a
// transaction pooler may have given all its server connections to transactions
// that wait here. A few keys meet every slot that a process may have made, which is
// as exact, and slower. For many the transaction is told to try again, which gives
// its connection back.
func (r *Run) newerUnheard(ctx context.Context, d *rewrite.DrainTable, teller dialect.SnapshotTeller, keys [][]any, keyed bool) error {
	if every := teller.MeetEvery(d.Table, config.MaxSlots); every != "" && keyed && len(r.ungranted) == 0 && len(keys) <= maxKeysMet {
		return r.conn.Session().Exec(ctx, every, jsonTexts(keys))
	}
	return r.conn.Session().Exec(ctx, teller.Unserializable())
}

// maxKeysMet is how many keys meet every slot: so many rows of maxSlots slots each
// are inserted, and deleted again by the fold.
const maxKeysMet = 4

// jsonTexts writes a list of lists of texts.
func jsonTexts(rows [][]any) string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		for _, v := range row {
			out[i] = append(out[i], link.TextOf(v))
		}
	}
	b, _ := json.Marshal(out) // texts always can be written
	return string(b)
}

// A witness is a connection of slotsql's own for questions that no session of the
// application can be asked. It is made when one comes up, and kept. Who asks holds
// a connection, and perhaps the last that there is (of a transaction pooler, or up
// to the server's max_connections): so nobody waits long for an answer, and for a
// while after nobody has got one, hardly at all.
type witness struct {
	turn   chan struct{} // holds a token while nobody asks
	conn   *Conn
	unsure atomic.Int64 // until when an answer is not to be expected, in Unix nanoseconds
}

const (
	witnessPatience = 300 * time.Millisecond // for a connection
	answerPatience  = 5 * time.Second        // when it has one: the server answers, if only that a lock is held
	unsurePatience  = 20 * time.Millisecond
	unsureFor       = 10 * time.Second
)

// errUnheard is returned when the witness could not be asked in time, or not be
// reached.
var errUnheard = errors.New("slotsql: no side connection available")

func newWitness() *witness {
	w := &witness{turn: make(chan struct{}, 1)}
	w.turn <- struct{}{}
	return w
}

func (w *witness) query(ctx context.Context, s *Shared, q string, args ...any) ([][]any, error) {
	patience := witnessPatience
	if time.Now().UnixNano() < w.unsure.Load() {
		patience = unsurePatience
	}
	brief, cancel := context.WithCancel(ctx)
	defer cancel()
	reached := time.AfterFunc(patience, cancel) // stopped when the session has a connection
	defer reached.Stop()
	rows, err := w.asked(brief, s, reached, q, args)
	switch e := link.EngineOf(s.Dialect); {
	case err == nil:
		w.unsure.Store(0)
		return rows, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case brief.Err() == nil && e.LockTimeout(err):
		return nil, err
	}
	w.unsure.Store(time.Now().Add(unsureFor).UnixNano())
	return nil, errUnheard
}

func (w *witness) asked(ctx context.Context, s *Shared, reached *time.Timer, q string, args []any) ([][]any, error) {
	select {
	case <-w.turn:
		defer func() { w.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for fresh := false; ; {
		if w.conn == nil {
			if s.Connect == nil {
				return nil, errUnheard
			}
			raw, err := s.Connect(ctx)
			if err != nil {
				return nil, err
			}
			w.conn, fresh = WrapConn(s, raw), true
		}
		rows, err := w.ask(ctx, s, reached, q, args)
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
func (w *witness) ask(ctx context.Context, s *Shared, reached *time.Timer, q string, args []any) ([][]any, error) {
	begin, end := s.Dialect.OneState()
	if err := w.conn.Session().ExecAll(ctx, begin); err != nil {
		return nil, err
	}
	reached.Reset(answerPatience)
	rows, err := w.conn.Session().Query(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	return rows, w.conn.Session().ExecAll(ctx, end)
}

// drop closes the connection.
func (w *witness) drop() {
	if w.conn != nil {
		_ = w.conn.Parent.Close()
		w.conn = nil
	}
}

func (w *witness) close() {
	<-w.turn
	w.drop()
	w.turn <- struct{}{}
}
