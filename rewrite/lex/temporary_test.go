package lex

import "testing"

func TestTemporary(t *testing.T) {
	for sql, want := range map[string]bool{
		"CREATE TEMP TABLE posts (id INT)":                         true,
		"create local temporary table posts (id int)":              true,
		"SELECT id INTO TEMP old FROM posts":                       true,
		"DROP TABLE pg_temp.posts":                                 true,
		"DROP TABLE pg_temp_3.posts":                               true,
		`CREATE TABLE "temp".posts (id INT)`:                       true,
		"DO $$ BEGIN CREATE TEMP TABLE posts (id INT); END $$":     true,
		"EXECUTE IMMEDIATE 'CREATE TEMPORARY TABLE posts (i INT)'": true,
		"ALTER TABLE users ADD COLUMN failedattempts INT":          false,
		"CREATE TABLE template (id INT)":                           false,
		"CREATE TABLE temp_users (id INT)":                         false,
		"CREATE TABLE posts (id INT) -- not a temp table":          false,
	} {
		if got := Temporary(&Rules{DollarString: true}, sql); got != want {
			t.Errorf("%v: %s", got, sql)
		}
	}
}

func TestHasWord(t *testing.T) {
	for sql, want := range map[string]bool{
		"CREATE VIEW busy AS SELECT id FROM posts":                   true,
		"create materialized view busy as select 1":                  true,
		"DO $$ BEGIN EXECUTE 'CREATE VIEW busy AS SELECT 1'; END $$": true,
		"ALTER TABLE channels ADD COLUMN lastviewedat BIGINT":        false,
		"ALTER TABLE posts ADD COLUMN views INT":                     false,
		"DROP INDEX idx_view_state":                                  false,
		"ALTER TABLE posts ADD COLUMN n INT -- for the view":         false,
	} {
		if got := HasWord(&Rules{DollarString: true}, sql, "view"); got != want {
			t.Errorf("%v: %s", got, sql)
		}
	}
}
