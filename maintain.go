package slotsql

import (
	"context"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/explain"
	"github.com/slotsql/slotsql/internal/rollup"
	"github.com/slotsql/slotsql/internal/upkeep"
	"github.com/slotsql/slotsql/internal/verify"
)

// Check holds the configuration of a connector of OpenConnector or
// WrapConnector against its database and changes nothing. All problems come at
// once, as a *ConfigError, beside the tables that have none.
func Check(ctx context.Context, c *Connector) ([]upkeep.TableStatus, error) {
	return upkeep.Check(ctx, c.every.Catalog)
}

// Migrate creates the slot tables that are missing of tables with mode on, passive or
// shadow, and the table of leases,
// whatever auto_migrate says, and returns their names. A slot table that is to be a
// journal's from now on is widened, and one that lacks columns of counters gets
// them, which is said behind its name (docs/operations.md says when processes may
// count in them). So does one whose table has changed under it: types of columns,
// the table that its foreign key refers to, triggers and columns without use are put
// right. It may be run again and by several processes at
// once. Problems of the configuration and of slot tables that are there come as
// a *ConfigError; with problems of the former kind nothing is created.
//
// The foreign key of a slot table takes a lock on the base table for a moment,
// see docs/operations.md. A statement that does not get it soon gives up, so that
// nobody waits long behind it, and is tried again for a minute. WithoutForeignKeys leaves it out.
func Migrate(ctx context.Context, c *Connector, opts ...upkeep.SetupOption) (created []string, err error) {
	return upkeep.Migrate(ctx, c.every.Catalog, opts...)
}

// DDL returns the statements that create the slot tables of tables with mode on, passive or shadow,
// and the table of leases, whether they are
// there or not. Run by other means than Migrate they belong into one
// transaction where the engine has transactional DDL.
// Comments in them say which locks they take on base tables.
func DDL(ctx context.Context, c *Connector, opts ...upkeep.SetupOption) ([]string, error) {
	return upkeep.DDL(ctx, c.every.Catalog, opts...)
}

// SchemaDDL is DDL without a database: from a schema file as for
// ExplainSchema.
func SchemaDDL(d dialect.Dialect, cfg *config.Config, schema string, opts ...upkeep.SetupOption) ([]string, error) {
	return upkeep.SchemaDDL(d, cfg, schema, opts...)
}

// MigrateDown drops what Migrate has created for the tables of a connector of
// OpenConnector or WrapConnector: the slot tables, with their triggers, and the
// table of leases. It returns the tables that it has dropped.
//
// It refuses, and has dropped nothing, when a slot table holds anything: see
// Drain. Each table is looked at once more while nobody else can write it, so
// that no increment is dropped. Applications that still count in slots get an
// error from then on.
func MigrateDown(ctx context.Context, c *Connector) (dropped []string, err error) {
	return upkeep.MigrateDown(ctx, c.every.Catalog)
}

// Drain folds all slots of tables of a connector of OpenConnector or
// WrapConnector into their base rows. Afterwards the base values are the totals,
// and the plain driver alone is exact, unless applications go on to count in slots.
// The report says whether any has done so within Watch; one that counts less
// often, or is started later, is not noticed.
//
// Slots are moved by a roll-up first, while increments go on. What has come up
// meanwhile is folded in one transaction, which looks before its commit whether
// the slot table is empty; increments wait for it. A table that cannot be locked is
// tried again. An error leaves each table drained or as exact as it was.
func Drain(ctx context.Context, c *Connector, o upkeep.DrainOptions) ([]upkeep.DrainReport, error) {
	return upkeep.Drain(ctx, c.every, o)
}

// Verify audits tables of a connector of OpenConnector or WrapConnector while
// increments and queries go on: slot rows without a base row, slot rows with
// numbers out of range, totals below the counter's min, and totals that are not
// what the counter's recount gives.
//
// What looks wrong in one snapshot is looked at again with the row and all its
// slots locked as a drain locks them, so that nothing is reported that is only
// under way; without Fix that is rolled back. With Fix a drift is corrected in
// the same transaction, and slot rows are deleted, or folded into their base row.
//
// Problems of a recount come as a *ConfigError, with the line.
func Verify(ctx context.Context, c *Connector, o verify.Options) ([]verify.Report, error) {
	return verify.Run(ctx, c.shared, o)
}

// RollUp goes over the tables of a connector of OpenConnector or WrapConnector
// once, and moves what their slots hold into the base rows, while increments and
// queries go on: totals are the same at every moment. Slots that others have
// locked are left out. Interrupted at any point, by ctx or by force, it leaves
// nothing half done.
//
// When another worker has the lease nothing is done, and the report says so.
func RollUp(ctx context.Context, c *Connector, o rollup.Options) (rollup.Report, error) {
	return rollup.Once(ctx, c.every.Catalog, o)
}

// RunRollUp rolls up at intervals until ctx is done, and then returns nil. Of
// several that run on one database, in one process or in many, one works, and the
// others stand by. An error ends it only if it comes before the first pass: a
// database that cannot be reached later is tried again.
func RunRollUp(ctx context.Context, c *Connector, o rollup.Options) error {
	return rollup.Run(ctx, c.every.Catalog, c.every.Made.Journal, o)
}

// NewExplainer is ExplainConnector for many statements. Close ends its
// connection. The context is for all that it reads of the database, also later.
func NewExplainer(ctx context.Context, c *Connector) (*explain.Explainer, error) {
	return explain.NewExplainerOf(ctx, c.shared, c.every.Catalog)
}

// ExplainConnector is Explain for a connector of OpenConnector or
// WrapConnector. It only reads, and slot tables need not be there yet.
func ExplainConnector(ctx context.Context, c *Connector, query string) (*explain.Explanation, error) {
	e, err := NewExplainer(ctx, c)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return e.Explain(query)
}

// TableStatus is what Check found of one configured table.
type TableStatus = upkeep.TableStatus

// CounterStatus is one counter of a table: increments of one that is not
// slotted go to the base row as ever, for the reason given.
type CounterStatus = upkeep.CounterStatus

// ViewStatus is one view over a configured table, and whether the
// configuration names it. Statements that name the view are drained for.
type ViewStatus = catalog.ViewStatus

// CheckSchema is Check without a database: it holds the configuration against a
// schema file as for ExplainSchema. It knows nothing of slot tables, and of
// views no more than their texts say.
func CheckSchema(d dialect.Dialect, config *Config, schema string) ([]TableStatus, error) {
	return upkeep.CheckSchema(d, config, schema)
}

// A SetupOption changes what Migrate, DDL and SchemaDDL create.
type SetupOption = upkeep.SetupOption

// WithoutForeignKeys leaves out the foreign keys of slot tables, as
// foreign_keys: false does for a table, so that no lock on a base table is
// needed. Slot tables that are there stay as they are.
func WithoutForeignKeys() SetupOption {
	return upkeep.WithoutForeignKeys()
}

// DrainOptions says what Drain drains.
type DrainOptions = upkeep.DrainOptions

// DrainReport says what Drain has done with one table. Numbers are of slot rows.
type DrainReport = upkeep.DrainReport

// VerifyOptions says what Verify looks at.
type VerifyOptions = verify.Options

// VerifyReport says what Verify has found in one table.
type VerifyReport = verify.Report

// Finding is something that is wrong, or worth to know.
type Finding = verify.Finding

// FindingOrphan: slot rows whose base row is not there
const FindingOrphan = verify.FindingOrphan

// FindingSlot: slot rows with a number that no increment uses
const FindingSlot = verify.FindingSlot

// FindingMin: a total below its counter's min
const FindingMin = verify.FindingMin

// FindingDrift: a total that is not what the counter's recount gives
const FindingDrift = verify.FindingDrift

// FindingFit: the slot table does not fit its table any more, see Problem
const FindingFit = verify.FindingFit

// RollUpOptions says how slots are rolled up. What is zero is taken from the
// configuration, or is a default.
type RollUpOptions = rollup.Options

// RollUpReport says what a pass has done.
type RollUpReport = rollup.Report

// RollUpTable is what a pass has done with one table. Numbers are of slot rows,
// if nothing else is said.
type RollUpTable = rollup.Table
