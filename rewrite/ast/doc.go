// Package ast holds the neutral statement: what the parser of every dialect is translated into.
//
// A Statement has what a planner needs to classify SQL, and to splice into it: names, nesting, and the
// byte range of each part (Span). It cannot be printed: slotsql never writes a tree back, it edits the
// application's own SQL. A translator that meets something that it cannot represent says so (Opaque)
// instead of leaving it out.
//
//   - what a statement is made of: statement.go
//   - visiting everything in it, at every depth: Visitor (walk.go)
//   - what the form of an expression alone says: expr.go
//
// The package knows no dialect, no table and no plan. What a name refers to, and whether it is a
// counter, is decided by those who read the tree.
package ast
