package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// meetNewerSlots makes a transaction that is held to its snapshot meet the slot rows that are
// newer: the drain then fails as the plain statement would have. The base rows are locked.
func (dr *drain) meetNewerSlots(ctx context.Context, d *rewrite.DrainTable) error {
	c := dr.conn
	if d.Look.Snapshot == nil {
		return nil
	}
	args, err := dr.run.bind(d.Look.Snapshot.Args, nil)
	if err != nil {
		return err
	}
	rows, err := c.ParentQuery(ctx, dr.run.sql(d.Look.Snapshot), args)
	if err != nil {
		return err
	}
	all, err := link.Collect(rows)
	if err != nil || len(all) == 0 {
		return err
	}
	_, err = dr.meetSlotsNewerThan(ctx, d, all)
	return err
}

// meetSlotsNewerThan is meetNewerSlots with the answer of the snapshot query. Made reports whether
// it has created slot rows, without a value, that a fold has to delete.
func (dr *drain) meetSlotsNewerThan(ctx context.Context, d *rewrite.DrainTable, all [][]any) (made bool, err error) {
	c := dr.conn
	teller, ok := c.Shared.Dialect.(dialect.SnapshotTeller)
	if !ok {
		return false, nil
	}
	ask := []any{link.TextOf(all[0][0])}
	keyed := len(all[0]) > 1
	if keyed {
		for i := range all {
			all[i] = all[i][1:]
		}
		ask = append(ask, jsonStrings(all))
	}
	every := meetEvery(d, teller, all, keyed)
	need := needed
	if every != "" {
		need = wanted
	}
	found, err := c.Shared.sides.witness.query(ctx, c.Shared, need, teller.Newer(d.Table, keyed), ask...)
	if errors.Is(err, errUnheard) {
		if every != "" {
			return true, c.Session().Exec(ctx, every, jsonStrings(all))
		}
		return false, c.Session().Exec(ctx, teller.Unserializable())
	}
	if err != nil {
		return false, fmt.Errorf("slotsql: looking for slot rows that are newer than the transaction's snapshot: %w", link.Settled(err))
	}
	if len(found) == 0 {
		return false, nil
	}
	res, err := c.ParentExec(ctx, teller.Meet(d.Table), link.NamedValues([]any{jsonStrings(found)}))
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	if err != nil || n == 0 {
		return false, err
	}
	return true, dr.checkDeletedNewer(ctx, d, teller, keyed, ask, found)
}

// checkDeletedNewer is for slot rows that the other session has found and the transaction could
// insert, so each of them has been deleted. If an earlier drain of this transaction has deleted
// them, they are not newer than its snapshot: otherwise deleting them would have failed. The other
// session still sees them, since that delete is not committed. If a roll-up has deleted them since
// the other session looked, it no longer sees them: the insert has waited for the commit.
func (dr *drain) checkDeletedNewer(
	ctx context.Context, d *rewrite.DrainTable, teller dialect.SnapshotTeller, keyed bool, ask []any, found [][]any,
) error {
	c := dr.conn
	still, err := c.Shared.sides.witness.query(ctx, c.Shared, needed, teller.Newer(d.Table, keyed), ask...)
	if err != nil && !errors.Is(err, errUnheard) {
		return fmt.Errorf("slotsql: looking again for slot rows that are newer than the transaction's snapshot: %w", link.Settled(err))
	}
	if err == nil && containsRows(still, found) {
		return nil
	}
	return c.Session().Exec(ctx, teller.Unserializable())
}

// containsRows reports whether all has each row of some.
func containsRows(all, some [][]any) bool {
	has := make(map[string]bool, len(all))
	for _, row := range all {
		has[jsonStrings([][]any{row})] = true
	}
	return !slices.ContainsFunc(some, func(row []any) bool { return !has[jsonStrings([][]any{row})] })
}

// meetEvery returns the statement by which a drain does without the other session, "" if it
// cannot. A transaction pooler may have given all its server connections to transactions that wait
// here. For a few keys it meets every slot that a process may have created, which is as exact, and
// slower. A drain of many keys waits for the other session, and then gets a retryable error, which
// frees its connection.
func meetEvery(d *rewrite.DrainTable, teller dialect.SnapshotTeller, keys [][]any, keyed bool) string {
	if !keyed || len(keys) > maxKeysMet {
		return ""
	}
	return teller.MeetEvery(d.Table, config.MaxSlots)
}

// maxKeysMet bounds the keys for which every slot is met: config.MaxSlots rows are inserted for
// each, and deleted again by the fold.
const maxKeysMet = 4

// jsonStrings writes a list of lists of strings.
func jsonStrings(rows [][]any) string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		for _, v := range row {
			out[i] = append(out[i], link.TextOf(v))
		}
	}
	b, _ := json.Marshal(out) // strings can always be encoded
	return string(b)
}
