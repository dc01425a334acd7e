// Package rollup moves what slots hold into the base rows, in short transactions
// that skip locked rows, and deletes slot rows that stay empty. Once makes one
// pass, Run makes passes at intervals, and a Worker does either for a caller that
// has its own schedule. One worker per database works at a time, under a lease
// that guards each batch.
//
// Totals are the same before, during and after. It does not lock a table: package
// upkeep drains whole tables.
package rollup
