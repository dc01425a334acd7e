package mysql

import "testing"

// A statement is changed where the server reads the limit, once, and otherwise left as it is.
func TestYielding(t *testing.T) {
	t.Parallel()
	maria, my := &Dialect{MariaDB: true}, &Dialect{MySQL: true}
	const set, hint = "SET STATEMENT lock_wait_timeout = 0", " /*+ SET_VAR(lock_wait_timeout=1)"
	for _, c := range []struct {
		d         *Dialect
		sql, want string
	}{
		{maria, "UPDATE t SET n = 5", set + " FOR UPDATE t SET n = 5"},
		{maria, "/* c */ select 1 for update", set + " FOR /* c */ select 1 for update"},
		{maria, "WITH c AS (SELECT 1) SELECT * FROM c", set + " FOR WITH c AS (SELECT 1) SELECT * FROM c"},
		{maria, lifted + "DELETE FROM t", set + ", sql_safe_updates = 0, sql_select_limit = 18446744073709551615, sql_big_selects = 1 FOR DELETE FROM t"},
		{maria, "SAVEPOINT a", "SAVEPOINT a"},
		{maria, "SET @a = 1", "SET @a = 1"},
		{maria, "", ""},
		{my, "UPDATE t SET n = 5", "UPDATE" + hint + " */ t SET n = 5"},
		{my, "# c\ninsert into t values (1)", "# c\ninsert" + hint + " */ into t values (1)"},
		{my, "SELECT/*+ NO_ICP(t) */ 1", "SELECT" + hint + " NO_ICP(t) */ 1"},
		{my, "WITH c AS (SELECT 1) SELECT * FROM c", "WITH c AS (SELECT 1) SELECT * FROM c"},
		{my, "/*! UPDATE t SET n = 5 */", "/*! UPDATE t SET n = 5 */"},
		{&Dialect{}, "UPDATE t SET n = 5", "UPDATE t SET n = 5"},
	} {
		got, within := c.d.Yielding(c.sql)
		if got != c.want || (within < 0) != (got == c.sql) {
			t.Errorf("%q is\n%q within %s, want\n%q", c.sql, got, within, c.want)
		}
		if twice, _ := c.d.Yielding(got); twice != got {
			t.Errorf("%q is changed once more:\n%q", got, twice)
		}
	}
}
