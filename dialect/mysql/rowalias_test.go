package mysql

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// Row aliases are read where MySQL has them, and every name that could mean
// something else makes the statement opaque.
func TestRowAlias(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"INSERT INTO t (a, n) VALUES (1, 2) AS new ON DUPLICATE KEY UPDATE n = t.n + new.n", "n"},
		{"INSERT INTO t VALUES (1, 2), (2, 3) as `new` on duplicate key update n = `new`.n + t.n", "n"},
		{"INSERT INTO t (a, n) VALUES (1, 2) AS new (x, y) ON DUPLICATE KEY UPDATE n = n + new.y", "n"},
		{"INSERT INTO t (a, n) VALUES (1, (2)) AS NEW ON DUPLICATE KEY UPDATE n = t.n + (new.n * 1)", "n"},
		{"INSERT INTO t SET a = 1, n = 2 AS new ON DUPLICATE KEY UPDATE n = t.n + new.n", "n"},
		{"INSERT INTO t (a, n) VALUES (1, 2) AS new ON DUPLICATE KEY UPDATE n = n + new.n", "opaque"},
		{"INSERT INTO t (a, n) VALUES (1, 2) AS new (a, n) ON DUPLICATE KEY UPDATE n = n + new.n", "opaque"},
		{"INSERT INTO t (a, n) VALUES (1, 2) AS new (x, y) ON DUPLICATE KEY UPDATE n = n + new.n", "opaque"},
		{"INSERT INTO t VALUES (1, 2) AS new (x, y) ON DUPLICATE KEY UPDATE n = n + new.y", "opaque"},
		{"INSERT INTO t (a, n) VALUES (1, 2) AS t ON DUPLICATE KEY UPDATE n = t.n + t.n", "opaque"},
		{"INSERT INTO t (a, n) VALUES (1, 2) AS new ON DUPLICATE KEY UPDATE n = t.n + (SELECT new.n)", "opaque"},
		{"INSERT INTO t (a, n) SELECT a, n FROM u AS new ON DUPLICATE KEY UPDATE n = t.n + new.n", ""},
		{"INSERT INTO t (a, n) VALUES (1, 2) ON DUPLICATE KEY UPDATE n = t.n + 1", ""},
	} {
		for _, d := range []*Dialect{{}, {NoRowAlias: true}} {
			st, err := d.Parse(c.sql)
			alias := strings.Contains(strings.ToLower(c.sql), ") as ") || strings.Contains(c.sql, "2 AS")
			switch {
			case d.NoRowAlias && alias:
				if err == nil {
					t.Errorf("%s: taken without row aliases", c.sql)
				}
				continue
			case err != nil:
				t.Errorf("%s: %v", c.sql, err)
				continue
			}
			got := ""
			if st.Opaque != "" {
				got = "opaque"
			} else {
				st.Conflict.Set[0].Value.Walk(func(e *ast.Expr) bool {
					if e.Kind == ast.Excluded {
						got += e.Name[0].Name
					}
					return true
				})
			}
			if got != c.want {
				t.Errorf("%s: %q, want %q (%s)", c.sql, got, c.want, st.Opaque)
			}
		}
	}
}

func TestVersionsThatKeepReplaced(t *testing.T) {
	for version, want := range map[string]bool{
		"9.6.0": true, "9.7.4-2": true, "10.0.1": true, "9.5.0": false, "8.4.7": false, "10.11.6-MariaDB-0+deb12u1": false, "8.0.11-TiDB-v8.5.0": false,
	} {
		d := &Dialect{KeepsReplaced: keepsReplaced(version)}
		if d.KeepsReplaced != want || d.Traits().ReplaceCascades == want {
			t.Errorf("%q: %v", version, !want)
		}
	}
}

func TestRowAliasVersions(t *testing.T) {
	for version, want := range map[string]bool{
		"8.0.36-0ubuntu1": true, "8.0.19": true, "8.4.0": true, "9.1.0": true, "8.0.18": false, "5.7.44-log": false,
		"10.11.6-MariaDB-0+deb12u1": false, "11.8.2-MariaDB": false, "8.0.11-TiDB-v8.5.0": false, "": false,
	} {
		if hasRowAlias(version) != want {
			t.Errorf("%q: %v", version, !want)
		}
	}
}
