// Package config reads slotsql.yaml: Load, Parse and FindConfig return a Config
// that is validated as a whole, with the line of each problem, and that never
// changes. It does not know the database; package catalog compares the two.
package config
