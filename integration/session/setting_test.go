package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// settings are variables of a MySQL session that change what a statement means,
// how it is read, or what slotsql's own statements do.
var settings = []string{
	"completion_type=1",
	"completion_type=2",
	"completion_type='CHAIN'",
	"sql_mode=''",
	"sql_mode='TRADITIONAL,HIGH_NOT_PRECEDENCE,PAD_CHAR_TO_FULL_LENGTH'",
	"ISOLATION='READ-UNCOMMITTED'",
	"ISOLATION='READ-COMMITTED'",
	"ISOLATION='SERIALIZABLE'",
	"foreign_key_checks=0",
	"unique_checks=0",
	"big_tables=1",
	"sql_quote_show_create=0",
	"sql_auto_is_null=1",
	"max_error_count=0",
	"group_concat_max_len=4",
	"sql_notes=0",
	"div_precision_increment=0",
	"optimizer_switch='derived_merge=off,semijoin=off'",
	"join_cache_level=0",
	"in_predicate_conversion_threshold=2",
	"max_sort_length=8",
	"sql_mode='ANSI'",
	"sql_mode='ANSI_QUOTES,STRICT_TRANS_TABLES'",
	"sql_mode='NO_BACKSLASH_ESCAPES'",
	"sql_mode='ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
	"sql_mode='MSSQL'",
	"sql_mode='NO_UNSIGNED_SUBTRACTION'",
	"sql_safe_updates=1",
	"sql_select_limit=1",
	"sql_select_limit=0",
	"character_set_results=NULL",
	"character_set_results='latin1'",
	"collation_connection='utf8mb4_bin'",
	"time_zone='+05:00'",
	"lc_time_names='de_DE'",
}

// onlyMariaDB are settings that MySQL does not know.
var onlyMariaDB = []string{"join_cache_level=0", "in_predicate_conversion_threshold=2", "sql_mode='MSSQL'"}

// A session may be set up by its DSN, or as it goes along: every statement gives
// what it gives with the plain driver, and what was acknowledged is there for
// others.
func TestSessionSettings(t *testing.T) {
	version := server.MySQLVersion(t)
	for _, setting := range settings {
		if version.MySQL && slices.Contains(onlyMariaDB, setting) {
			continue
		}
		setting = strings.Replace(setting, "ISOLATION", version.Isolation(), 1)
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			params := strings.ReplaceAll(strings.ReplaceAll(setting, "+", "%2B"), "&", "%26")
			t.Run("dsn", func(t *testing.T) {
				t.Parallel()
				p := newPair(t, "mysql", params)
				one := pinned(t, p)
				settingScript(t, one, setting)
				sameOutside(t, p)
			})
			t.Run("text", func(t *testing.T) {
				t.Parallel()
				p := newPair(t, "mysql", "")
				one := pinned(t, p)
				one.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
				one.same(t, twin.Statement{SQL: "SET SESSION " + setting})
				settingScript(t, one, setting)
				sameOutside(t, p)
			})
		})
	}
}

func settingScript(t *testing.T, one both, setting string) {
	t.Helper()
	run := func(statements ...string) {
		for _, query := range statements {
			one.same(t, twin.Statement{SQL: query})
			one.same(t, twin.Statement{SQL: "SELECT views, likes FROM posts WHERE id = 1"})
			one.same(t, twin.Statement{SQL: totals})
		}
	}
	run(work...)
	one.same(t, twin.Statement{SQL: "ALTER TABLE posts ADD COLUMN more INT"}) // facts are read again
	run(
		"UPDATE posts SET views = views + 1 WHERE id = 1",
		"UPDATE posts SET views = views + 0 WHERE id = 1",
		"UPDATE posts SET views = views - 1 WHERE id = 1",
	)
	one.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + ? WHERE id = ?", Args: []any{2, 1}})
	one.same(t, twin.Statement{SQL: "SELECT views FROM posts WHERE id = ? FOR UPDATE", Args: []any{1}})
	one.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + ? WHERE id = ?", Args: []any{2, 1}, Prepared: true})
	one.same(t, twin.Statement{SQL: "BEGIN"})
	run(
		"UPDATE posts SET views = views + 1 WHERE id = 2",
		"UPDATE posts SET views = views * 3 WHERE id = 2",
		"UPDATE posts SET title = 'x' WHERE id = 1",
	)
	if setting == "completion_type=2" {
		one.same(t, twin.Statement{SQL: "COMMIT NO RELEASE"}) // another one would close the connection
		return
	}
	one.same(t, twin.Statement{SQL: "COMMIT"})
	one.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
	one.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 10 WHERE id = 1"})
	one.same(t, twin.Statement{SQL: "COMMIT"})
	one.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 100 WHERE id = 1"})
}

// sameOutside compares what other sessions see.
func sameOutside(t *testing.T, p *twin.Pair) {
	t.Helper()
	ds, err := p.FinalTables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range ds {
		t.Error(d)
	}
}
