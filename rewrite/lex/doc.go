// Package lex reads SQL without parsing it. It divides SQL into tokens and statements, by the
// lexical rules of a dialect, and answers the questions that tokens can answer:
//
//   - which of some names may occur in a statement (nameindex.go, name.go);
//   - which position each placeholder has (placeholder.go);
//   - what a statement does to the session's transaction (txevent.go);
//   - what statements that differ in literals only have in common (shape.go);
//   - whether a query may be run once more (repeat.go);
//   - which hint a statement begins with (hint.go);
//   - where its clauses begin, to print it for people (clauses.go).
//
// It knows no dialect by name, no grammar, no table and no plan. Its answers err on the safe side:
// a name that it does not find cannot be meant, and an event that it does not report does not
// happen. It never fails: SQL that it does not understand is a Bad token.
package lex
