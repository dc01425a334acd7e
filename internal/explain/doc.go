// Package explain describes how statements run: their class, what is sent in their
// place, and the reason if they drain. Explain asks an open database, Explainer a
// connector or a schema file.
//
// It plans, and runs nothing.
package explain
