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
