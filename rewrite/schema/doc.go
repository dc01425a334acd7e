// Package schema holds what is known of tables: their definitions in the database (Table, Column, Unique), and
// for counter tables what the configuration decides of counters, companions and slots (Counter).
//
//   - tables as the database has them: table.go
//   - which columns may be counted in slots, and which are keys: slottable.go
//   - counters and their slot tables: counter.go, option.go; where a slot is: address.go; bounds: bounds.go;
//     companions: companion.go; numbers from leased blocks: tickets.go
//
// These are facts, without methods that change a database: package catalog reads them, and a planner
// decides by them. The package knows no statement, no plan and no dialect.
package schema
