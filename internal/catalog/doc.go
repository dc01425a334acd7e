// Package catalog knows the counter tables of a database: it checks the configuration against the
// tables that exist, and keeps what it has learned current while other sessions change the schema.
//
// A Catalog belongs to a connector: it has the configured tables, and one Schema for each namespace
// that sessions have used. A Schema is the facts of one namespace, with the plans made from them; it
// implements names.Catalog, and is replaced rather than changed if a fact turns out to be wrong. A
// View is a connection of the parent driver that reads facts as its session sees them.
//
// The life of a fact: loadSchema reads it from the database (schema_load.go), for all sessions of
// the namespace that connections open with (homefacts.go) or for one session only (facts.go). The
// watch notices what other clients change (watch.go), and Catalog.Concerns what the application's
// own DDL may change (concern.go). The facts are then out of date, and View.Refresh has them read
// again before the next statement that may need them. docs/design/catalog.md has the details.
//
// The package only runs slotsql's own queries. It plans no statement and runs none of the
// application's: that is for rewrite and package session. It changes the database in one case: it
// creates missing slot tables under auto_migrate.
//
// Entry points: NewCatalog and OpenView; View.Refresh before a statement is planned; CheckTable,
// Catalog.CheckTables and the other checks for what is wrong with a table; Counter for what the
// configuration makes of a table without a database.
package catalog
