package workload

import "testing"

// Placeholders of every style become the dialect's own; what is none stays.
func TestAdapt(t *testing.T) {
	for _, c := range []struct{ dialect, sql, want string }{
		{"mysql", "UPDATE a SET n=n+? WHERE id=?", "UPDATE a SET n=n+? WHERE id=?"},
		{"mysql", "UPDATE a SET n = n + :n WHERE id = :id", "UPDATE a SET n = n + ? WHERE id = ?"},
		{"mysql", "UPDATE a SET n = n + $1 WHERE id = $2", "UPDATE a SET n = n + ? WHERE id = ?"},
		{"mysql", "UPDATE a SET n = n + %s WHERE id = %(id)s AND b = '%s'", "UPDATE a SET n = n + ? WHERE id = ? AND b = '%s'"},
		{"mysql", "UPDATE a SET n = n + #{n} WHERE id = #{item.id,jdbcType=BIGINT}", "UPDATE a SET n = n + ? WHERE id = ?"},
		{"mysql", "UPDATE a SET n = n + {n} WHERE id = {}", "UPDATE a SET n = n + ? WHERE id = ?"},
		{"mysql", "UPDATE a SET n = n + @v # :x\n WHERE id = 1", "UPDATE a SET n = n + @v # :x\n WHERE id = 1"},
		{"postgres", "UPDATE a SET n = n + ? WHERE id=?", "UPDATE a SET n = n + $1 WHERE id=$2"},
		{"postgres", "UPDATE a SET n=n+? WHERE id = ?", "UPDATE a SET n=n+$1 WHERE id = $2"},
		{"postgres", "UPDATE a SET n = n + :n, m = m + :n WHERE id = :id::bigint AND b = ':x'", "UPDATE a SET n = n + $1, m = m + $1 WHERE id = $2::bigint AND b = ':x'"},
		{"postgres", "UPDATE a SET n = n + %s WHERE id = %d", "UPDATE a SET n = n + $1 WHERE id = $2"},
		{"postgres", "UPDATE a SET n = n + @n WHERE id = @id", "UPDATE a SET n = n + $1 WHERE id = $2"},
		{"postgres", "UPDATE a SET n = n + :1 WHERE id = :2", "UPDATE a SET n = n + $1 WHERE id = $2"},
		{"postgres", "UPDATE a SET n = n + ?1 WHERE id = ?2 -- ?3", "UPDATE a SET n = n + $1 WHERE id = $2 -- ?3"},
		{"postgres", "UPDATE a SET n = n + ${n} WHERE id = ${id}", "UPDATE a SET n = n + $1 WHERE id = $2"},
		{"postgres", "SELECT a::int FROM b WHERE c ? 'key' AND d = $1", "SELECT a::int FROM b WHERE c ? 'key' AND d = $1"},
		{"postgres", "this is no SQL ?", "this is no SQL ?"},
		{"sqlite", "UPDATE a SET n = n + :n WHERE id = @id", "UPDATE a SET n = n + :n WHERE id = @id"},
		{"sqlite", "UPDATE a SET n = n + %s WHERE id = %s", "UPDATE a SET n = n + ?1 WHERE id = ?2"},
	} {
		got := Adapt(dialects[c.dialect], c.sql)
		if got != c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c.dialect, c.sql, got, c.want)
		}
		if again := Adapt(dialects[c.dialect], got); again != got {
			t.Errorf("%s: %s changes again: %s", c.dialect, got, again)
		}
	}
}

// Rule: whatever a statement holds, it is adapted or left.
func FuzzAdapt(f *testing.F) {
	for _, s := range []string{"UPDATE a SET b = b + :n", "SELECT 'x", "/* %s */ $$ $1 `a` [b] #{c}"} {
		f.Add(s, "mysql")
		f.Add(s, "postgres")
		f.Add(s, "sqlite")
	}
	f.Fuzz(func(_ *testing.T, sql, dialect string) {
		if d := dialects[dialect]; d != nil {
			Adapt(d, sql)
		}
	})
}
