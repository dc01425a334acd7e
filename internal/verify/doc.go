// Package verify audits slots and totals while applications run: Run looks at all
// rows in one snapshot, and again, under lock, at those that look wrong. With Fix
// it corrects them. CheckRecounts checks the recount queries of a configuration.
//
// It reports only what is wrong under lock, so nothing in progress.
package verify
