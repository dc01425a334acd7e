// Package catalog knows the counter tables of a database: it holds the
// configuration against the tables that are there, and keeps what it has learned
// current while other sessions change the schema.
//
// A Catalog belongs to a connector: the configured tables, and one Schema for each
// namespace that sessions have used. A Schema is the facts of one namespace, with
// the plans made from them; it implements rewrite.Catalog, and is replaced rather
// than changed when a fact turns out to be wrong. A View is a connection of the
// parent driver that reads facts as its session sees them.
//
// The package runs slotsql's own queries only. It plans no statement and runs none
// of the application's: that is for rewrite and package session. It changes the
// database in one case, a missing slot table under auto_migrate.
//
// Entry points: NewCatalog and OpenView; View.Refresh before a statement is planned;
// CheckTable, Catalog.CheckTables and the other checks for what is wrong with a
// table; Counter for what the configuration makes of a table without a database.
// docs/design/catalog.md says when facts are read, and by whom.
package catalog
