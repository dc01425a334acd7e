package slotsql

import (
	"context"

	"github.com/slotsql/slotsql/internal/verify"
)

// VerifyOptions are the options of Verify. Zero fields have defaults.
type VerifyOptions = verify.Options

// VerifyReport is what Verify found in one table.
type VerifyReport = verify.Report

// Finding is something that is wrong, or worth knowing. Its Kind is one of the constants
// below.
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
// totals that differ from the counter's recount.
//
// What looks wrong in one snapshot is checked again with the row and all its slots locked
// as in a drain, so that increments in flight are not reported. Without Fix, that
// transaction is rolled back. With Fix, it corrects a drift, and deletes slot rows or
// folds them into their base row.
//
// Problems of a recount are returned as a *ConfigError, with the line.
func Verify(ctx context.Context, c *Connector, o VerifyOptions) ([]VerifyReport, error) {
	return verify.Run(ctx, c.shared, o)
}
