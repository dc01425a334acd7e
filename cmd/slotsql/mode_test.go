package main

import (
	"strings"
	"testing"
)

// check and explain say which tables are not on, and what would become of
// statements on those in shadow.
func TestModes(t *testing.T) {
	schema := write(
		t,
		"schema.sql",
		"CREATE TABLE posts (id INTEGER PRIMARY KEY, views BIGINT NOT NULL);\nCREATE TABLE pages (id INTEGER PRIMARY KEY, hits BIGINT NOT NULL);\n",
	)
	config := write(
		t,
		"slotsql.yaml",
		"version: 1\ndefaults: {slots: 64, placement: connection}\ntables:\n  posts: {counters: {views: }, mode: shadow}\n  pages: {counters: {hits: }, mode: off}\n  gone: {counters: {n: }, mode: off}\n",
	)
	statements := write(
		t,
		"statements.sql",
		"UPDATE posts SET views = views + 1 WHERE id = 1;\nUPDATE pages SET hits = hits + 1 WHERE id = 1;\n",
	)
	flags := []string{"--driver", "postgres", "--schema", schema, "--config", config}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"check", "--sql", statements}, []string{
			"posts: mode shadow: statements run as they are; with mode on:\nposts: key [id], 64 slots in posts_slots\n  views: slotted\npages: mode off, slots in pages_slots\ngone: mode off\n",
			"pass-through            1", "additive                1"}},
		{[]string{"check", "--json"}, []string{`"mode": "shadow"`, `"mode": "off"`}},
		{[]string{"explain", "UPDATE posts SET views = views + 1 WHERE id = 1"}, []string{
			"As plain: table posts has mode shadow: statements on it run as written, and are\ncounted.\nWith mode on, Fast: it counts in a slot"}},
		{[]string{"explain", "UPDATE pages SET hits = hits + 1 WHERE id = 1"}, []string{
			"As plain: table pages has mode off: statements on it run as written.\n"}},
		{[]string{"ddl"}, []string{`"posts_slots"`}},
	} {
		stdout, stderr, code := command(t, "", append(c.args, flags...)...)
		if code != 0 || stderr != "" {
			t.Errorf("%s: exit code %d, %s", c.args, code, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: %q is not in\n%s", c.args, want, stdout)
			}
		}
		if strings.Contains(stdout, "pages_slots") && c.args[0] == "ddl" {
			t.Errorf("ddl makes a slot table for one that is off:\n%s", stdout)
		}
	}
}
