package slotsql

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/rollup"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// folder is the worker that folds rows which are no longer hot, while there may be some. A configured roll-up takes its place.
type folder struct {
	works  atomic.Bool // it has been started, and has not ended
	worker *worker     // the last one
	first  *time.Timer // for a first look
	once   sync.Once
}

// firstLook is how long after the first connection the folder looks for slots that a process has left which no longer runs, and
// up to as long again: many processes may start at once.
const firstLook = 3 * time.Second

// lookForSlots has the folder look once, soon after the first connection.
func (c *Connector) lookForSlots() {
	c.folder.once.Do(func() {
		c.starting.Lock()
		defer c.starting.Unlock()
		if !c.closed && c.folds() {
			c.folder.first = time.AfterFunc(firstLook+rand.N(firstLook), func() { c.startFolding() })
		}
	})
}

// folds reports whether there are tables for the folder, and no roll-up is configured.
func (c *Connector) folds() bool {
	return c.shared.Config.RollupInterval() == 0 && slices.ContainsFunc(c.shared.Tables, func(t config.TableConfig) bool {
		return t.Slots > 0 && !schema.AlwaysAwake(t.Placement, t.Layout)
	})
}

// startFolding starts the folder unless it works already, and reports whether it works.
func (c *Connector) startFolding() bool {
	f := &c.folder
	if f.works.Load() {
		return true
	}
	if !c.folds() {
		return false
	}
	if !f.works.CompareAndSwap(false, true) {
		return true
	}
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.closed {
		return false
	}
	sleep := &c.shared.Folding.Sleep
	f.worker = work(func(ctx context.Context) {
		for {
			rollup.FoldCooled(ctx, c.shared.Catalog, rollup.Cooled{Sleep: sleep, Hot: c.shared.HotRows})
			f.works.Store(false)
			// What has woken a table meanwhile has found a folder at work.
			asked := len(sleep.Asked()) > 0
			if ctx.Err() != nil || !sleep.Stirred() && !asked || !f.works.CompareAndSwap(false, true) {
				return
			}
		}
	})
	return true
}

// stop ends the folder, after the batch that it is in.
func (f *folder) stop() {
	if f.first != nil {
		f.first.Stop()
	}
	f.worker.stop()
}
