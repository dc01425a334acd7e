package slotsql

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/internal/verify"
)

// VerifyOptions are the options of Verify. Zero fields have defaults.
type VerifyOptions struct {
	// Tables are the names of the counter tables to audit. The default is all configured
	// tables, whatever their mode.
	Tables []string
	// Fix corrects what Verify finds, where there is a right value.
	Fix bool
	// Patience is how long Verify keeps trying to lock rows that other sessions have
	// locked. The default is one minute.
	Patience time.Duration
	// Progress, if set, is called with the number of rows after each one that has been
	// checked under lock.
	Progress func(rows int)
}

// VerifyReport is what Verify found in one table: Table is its name, Findings what is
// wrong or worth knowing, Recounted the counters that were compared with their recount,
// Notes what was not checked, and Took how long the audit took. Wrong returns the number
// of findings of something wrong that is not fixed.
type VerifyReport = verify.Report

// Finding is something that is wrong, or worth knowing:
//
//   - Kind is one of the Finding constants.
//   - Key is the row's key by column, as text; nil if the table has none, or if values of
//     its type cannot be read. Counter is the counter concerned.
//   - Is and Should are the total and what it should be: exactly for FindingDrift, at least
//     for FindingMin.
//   - Slots is how many slot rows a FindingOrphan or FindingSlot is about.
//   - Problem describes a FindingFit, which Migrate corrects.
//   - Fixed reports whether Verify has corrected it.
//   - Info reports whether nothing is wrong: slot rows have numbers that this configuration
//     does not use, because its "slots" was reduced or is higher in another process. Totals
//     count them. One finding stands for all of a table: Rows is the number of their base
//     rows, and Key the key of one.
type Finding = verify.Finding

// The kinds of findings.
const (
	FindingOrphan = verify.FindingOrphan // slot rows whose base row does not exist
	FindingSlot   = verify.FindingSlot   // slot rows with a number that no increment uses
	FindingMin    = verify.FindingMin    // a total below its counter's min
	FindingDrift  = verify.FindingDrift  // a total that differs from the result of the counter's recount
	FindingFit    = verify.FindingFit    // the slot table no longer fits its table: see the finding's Problem
)

// Verify audits tables while increments and queries go on. It finds slot rows without a
// base row, slot rows with numbers out of range, totals below the counter's min, and
// totals that differ from the counter's recount. It also reports slot tables that no
// longer fit their table (FindingFit).
//
// What looks wrong in one snapshot is checked again with the row and all its slots locked
// as in a drain, so that increments in flight are not reported. Without Fix, that
// transaction is rolled back. With Fix, it corrects a drift, and deletes slot rows or
// folds them into their base row.
//
// Problems of a recount are returned as a *ConfigError, with the line.
func Verify(ctx context.Context, c *Connector, o VerifyOptions) ([]VerifyReport, error) {
	return verify.Run(ctx, c.shared, verify.Options(o))
}
