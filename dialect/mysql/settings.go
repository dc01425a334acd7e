package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	parsermysql "github.com/pingcap/tidb/pkg/parser/mysql"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/lex"
)

var (
	_ dialect.NamespaceAware   = (*Dialect)(nil)
	_ dialect.StatementLimited = (*Dialect)(nil)
	_ dialect.DirtyReader      = (*Dialect)(nil)
)

// settings are those of a session that have the server read statements by other
// rules than the default ones, or keep slotsql's own statements from running as
// they are written. The zero value is the default of all of them.
type settings struct {
	lexRules     *lex.Rules // nil: the default one
	modes        []string   // of sql_mode, those that change how statements are read
	foreign      string     // the character set of statements, where it is not UTF-8
	dirty        bool       // tx_isolation is READ UNCOMMITTED
	serializable bool       // it is SERIALIZABLE
	limited      bool       // sql_safe_updates, sql_select_limit or max_join_size are in force
}

// lexicalModes are the parts of sql_mode that change what a statement means to a
// parser. The names that stand for several of them come with these.
var lexicalModes = []string{"ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "PIPES_AS_CONCAT", "IGNORE_SPACE", "HIGH_NOT_PRECEDENCE", "MSSQL"}

// Namespace is the current database, and what else decides what a statement
// means: the character set in which it comes and the lexical parts of sql_mode.
// It also names what limits slotsql's own statements.
func (d *Dialect) Namespace(ctx context.Context, s dialect.Session) (ns dialect.Namespace, err error) {
	isolation := "''"
	if d.Isolation != "" {
		isolation = "@@" + d.Isolation
	}
	rows, err := s.Query(ctx, "SELECT COALESCE(DATABASE(), ''), @@sql_mode, @@character_set_client, "+isolation+","+
		" CAST(@@sql_safe_updates OR NOT @@sql_big_selects OR @@sql_select_limit <> 18446744073709551615 AS CHAR),"+
		" CONCAT_WS(' ', CURRENT_USER(), @@sql_mode, "+isolation+", @@"+strings.Join(changeSettings, ", @@")+") LIMIT 1")
	if err != nil {
		return ns, fmt.Errorf("reading the current database and sql_mode: %w", err)
	}
	if len(rows) != 1 || len(rows[0]) != 6 {
		return ns, fmt.Errorf("reading the current database and sql_mode: got %d rows", len(rows))
	}
	var parts []string
	for _, m := range strings.Split(strings.ToUpper(dialect.String(rows[0][1])), ",") {
		if m == "ORACLE" {
			return ns, errOracle
		}
		if slices.Contains(lexicalModes, m) {
			parts = append(parts, "mode="+m)
		}
	}
	if charset := strings.ToLower(dialect.String(rows[0][2])); !strings.HasPrefix(charset, "utf8") {
		parts = append(parts, "charset="+charset)
	}
	if dialect.String(rows[0][4]) == "1" {
		parts = append(parts, "limited")
	}
	if dialect.String(rows[0][3]) == "READ-UNCOMMITTED" {
		parts = append(parts, "dirty")
	}
	if dialect.String(rows[0][3]) == "SERIALIZABLE" {
		parts = append(parts, "serializable")
	}
	ns.Names = strings.Join(append([]string{dialect.String(rows[0][0])}, parts...), "\x00")
	ns.Settings = dialect.String(rows[0][5])
	return ns, nil
}

// changeSettings are those on which a change of a row may depend besides sql_mode and the isolation level.
var changeSettings = []string{
	"autocommit", "completion_type", "foreign_key_checks", "unique_checks", "sql_log_bin", "time_zone", "lc_time_names", "default_week_format",
	"div_precision_increment", "sql_auto_is_null", "max_sort_length", "group_concat_max_len", "character_set_connection",
	"collation_connection",
	"character_set_results",
}

// InNamespace implements dialect.NamespaceAware.
func (d *Dialect) InNamespace(namespace string) dialect.Dialect { return d.In(namespace) }

// In is InNamespace for a dialect that embeds this one.
func (d *Dialect) In(namespace string) *Dialect {
	_, list, _ := strings.Cut(namespace, "\x00")
	if list == "" {
		return d
	}
	own := *d
	own.settings = settings{}
	lx := lexRules
	for _, part := range strings.Split(list, "\x00") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "mode":
			own.settings.modes = append(own.settings.modes, value)
			lx.DoubleString = lx.DoubleString && value != "ANSI_QUOTES"
			lx.Backslash = lx.Backslash && value != "NO_BACKSLASH_ESCAPES"
			lx.Bracket = lx.Bracket || value == "MSSQL"
		case "charset":
			own.settings.foreign = value
			lx.Foreign, lx.Wide = true, wideOf(value)
		case "dirty":
			own.settings.dirty = true
		case "serializable":
			own.settings.serializable = true
		case "limited":
			own.settings.limited = true
		}
	}
	own.settings.lexRules = &lx
	return &own
}

// parserMode is the sql_mode for the parser.
func (s *settings) parserMode() (mode parsermysql.SQLMode) {
	for _, m := range s.modes {
		one, err := parsermysql.GetSQLMode(m)
		if err == nil {
			mode |= one
		}
	}
	return mode
}

var errOracle = errors.New(
	"sql_mode ORACLE switches the server to another SQL language, which slotsql does not write: set another sql_mode before using a counter table",
)

// Sentinels for statements that the parser would read by other rules than the
// server.
var (
	ErrDialect = errors.New("sql_mode switches the server to another SQL dialect")
	ErrForeign = errors.New("the session's character set is not UTF-8, and the statement has characters beyond ASCII")
)

// readable says why a statement is not to be given to the parser.
func (s *settings) readable(sql string) error {
	if slices.Contains(s.modes, "MSSQL") {
		return ErrDialect
	}
	if s.foreign != "" {
		for i := range len(sql) {
			if sql[i] >= 0x80 {
				return ErrForeign
			}
		}
	}
	return nil
}

// lifted stands before a statement of slotsql's own in a session whose settings
// may keep it from running as it is written. They are lifted for that statement
// alone, and the session stays as the application has set it.
const lifted = "SET STATEMENT sql_safe_updates = 0, sql_select_limit = 18446744073709551615, sql_big_selects = 1 FOR "

// liftedHint does what lifted does, on MySQL.
const liftedHint = " /*+ SET_VAR(sql_safe_updates=0) SET_VAR(sql_select_limit=18446744073709551615) SET_VAR(sql_big_selects=1) */"

// unlimited writes slotsql's own statements so that the session's settings do
// not limit them.
func (d *Dialect) unlimited(list []string) []string {
	if !d.settings.limited {
		return list
	}
	out := make([]string, len(list))
	for i, q := range list {
		verb, rest, found := strings.Cut(q, " ")
		switch {
		case !found:
			out[i] = q
		case d.MariaDB:
			out[i] = lifted + q
		default:
			out[i] = verb + liftedHint + " " + rest
		}
	}
	return out
}

func (d *Dialect) unlimitedText(q string) string { return d.unlimited([]string{q})[0] }

// WithoutLimits implements dialect.StatementLimited: sql_select_limit goes for queries that
// have no LIMIT. MySQL limits the time of queries only, and takes 0 for the session's limit.
func (d *Dialect) WithoutLimits(sql string) string {
	query := strings.HasPrefix(sql, "SELECT ")
	if query && !strings.Contains(sql, " LIMIT ") {
		var lock bool
		sql, lock = strings.CutSuffix(sql, " FOR UPDATE")
		sql += " LIMIT 18446744073709551615"
		if lock {
			sql += " FOR UPDATE"
		}
	}
	switch {
	case !d.TimeLimit || strings.HasPrefix(sql, "SET "):
	case d.MariaDB:
		sql = "SET STATEMENT max_statement_time = 0 FOR " + sql
	case query:
		sql = "SELECT /*+ MAX_EXECUTION_TIME(4294967295) */ " + strings.TrimPrefix(sql, "SELECT ")
	}
	return sql
}

// Dirty implements dialect.DirtyReader.
func (d *Dialect) Dirty() bool { return d.settings.dirty }

// Serializable reports whether transactions of the session are SERIALIZABLE unless they are begun at another level.
func (d *Dialect) Serializable() bool { return d.settings.serializable }

// NextReadCommitted implements dialect.DirtyReader.
func (*Dialect) NextReadCommitted() string { return "SET TRANSACTION ISOLATION LEVEL READ COMMITTED" }
