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

// note tells the database which tables a pass has left nothing of, so that any process can
// know how old an increment in a slot may be. It writes as often as the lease is renewed or
// less, and who has the lease is the only one to write.
func (w *Worker) note(ctx context.Context, begun time.Time, report Report) error {
	p, ok := w.catalog.Dialect.(dialect.PassNoter)
	if !ok || w.fencer() == nil || time.Since(w.noted) < w.Options.Interval/2 {
		return nil
	}
	clean := map[string]time.Duration{}
	for _, t := range report.Tables {
		if t.Skipped == 0 {
			clean[t.name] = time.Since(begun)
		}
	}
	if len(clean) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchPatience)
	defer cancel()
	if err := p.NotePasses(ctx, w.Conn.Session(), clean); err != nil {
		if w.Conn.Engine.Retryable(err) {
			return nil // the next pass notes it
		}
		w.state.lose()
		return err
	}
	w.noted = time.Now()
	return nil
}
