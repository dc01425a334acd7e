package sqlite

import (
	"context"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// ReadTx is that of the transaction which is open, or of one of its own.
func (d *Dialect) ReadTx() dialect.DrainTx { return d.Drain() }

// HasSnapshot implements dialect.ReadOnlyReader.
func (*Dialect) HasSnapshot(context.Context, dialect.Session) (bool, error) { return true, nil }

// Shows implements dialect.ReadOnlyReader.
func (d *Dialect) Shows(t *schema.Table) []string { return []string{rewrite.FullSlots(d, t)} }
