package rollup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// LeaseName is the name of the lease that the worker has while it works.
const LeaseName = leaseName

// PassName returns the name by which the database keeps a table's last pass that has left
// nothing behind. Names of tables may be longer than those of leases.
func PassName(t *schema.Table) string {
	sum := sha256.Sum256([]byte(t.Schema + "\x00" + t.Name))
	return dialect.PassPrefix + hex.EncodeToString(sum[:16])
}

// note tells the database when a pass began that has left nothing behind, for each table, so that
// any process can know how old an increment in a slot may be. Of a table where the pass has left
// something, it takes back what it has told before. It writes as often as the lease is renewed
// or less, and who has the lease is the only one to write.
func (w *Worker) note(ctx context.Context, begun time.Time, report Report) error {
	p, ok := w.catalog.Dialect.(dialect.PassNoter)
	if !ok || w.fencer() == nil || time.Since(w.noted) < w.Options.Interval/2 {
		return nil
	}
	clean, left := map[string]time.Duration{}, []string(nil)
	for _, t := range report.Tables {
		if t.left() {
			left = append(left, t.name)
		} else {
			clean[t.name] = time.Since(begun)
		}
	}
	return w.write(ctx, p, clean, left)
}

// noteUnknown takes back what a roll-up that has ended has told.
func (w *Worker) noteUnknown(ctx context.Context) error {
	p, ok := w.catalog.Dialect.(dialect.PassNoter)
	if !ok || w.fencer() == nil {
		return nil
	}
	var names []string
	for _, t := range w.tables {
		names = append(names, PassName(t))
	}
	return w.write(ctx, p, nil, names)
}

// write writes what is known of passes, and that nothing is of others.
func (w *Worker) write(ctx context.Context, p dialect.PassNoter, clean map[string]time.Duration, unknown []string) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchPatience)
	defer cancel()
	if len(clean) > 0 {
		err = p.NotePasses(ctx, w.Conn.Session(), clean)
	}
	if err == nil && len(unknown) > 0 {
		err = dialect.ForgetPasses(ctx, w.Conn.Session(), unknown)
	}
	if err != nil {
		if w.Conn.Engine.Retryable(err) {
			return nil // the next pass writes it
		}
		w.state.lose()
		return err
	}
	w.noted = time.Now()
	return nil
}
