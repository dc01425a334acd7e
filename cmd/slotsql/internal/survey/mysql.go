package survey

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// MySQL reads from a MySQL or MariaDB database.
type MySQL struct{}

var _ Source = MySQL{}

// Database implements Source.
func (MySQL) Database(ctx context.Context, s dialect.Session) (string, error) {
	rows, err := s.Query(ctx, "SELECT CONCAT('database ', DATABASE())")
	if err != nil {
		return "", fmt.Errorf("mysql: reading the database's name: %w", err)
	}
	return dialect.String(rows[0][0]), nil // NULL without a database
}

// Tables implements Source: the tables of the session's database.
func (MySQL) Tables(ctx context.Context, s dialect.Session) ([]TableName, error) {
	rows, err := s.Query(ctx, "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES"+
		" WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY TABLE_NAME")
	if err != nil {
		return nil, fmt.Errorf("mysql: listing tables: %w", err)
	}
	var out []TableName
	for _, r := range rows {
		out = append(out, TableName{Schema: dialect.String(r[0]), Name: dialect.String(r[1]), Visible: true})
	}
	return out, nil
}

// Indexed implements Source.
func (MySQL) Indexed(ctx context.Context, s dialect.Session, t *schema.Table) ([]string, error) {
	rows, err := s.Query(ctx, "SELECT DISTINCT COLUMN_NAME FROM information_schema.STATISTICS"+
		" WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND COLUMN_NAME IS NOT NULL ORDER BY COLUMN_NAME", t.Schema, t.Name)
	if err != nil {
		return nil, fmt.Errorf("mysql: reading the indexes of %s: %w", t.Name, err)
	}
	var out []string
	for _, r := range rows {
		out = append(out, dialect.String(r[0]))
	}
	return out, nil
}

const (
	digests   = "events_statements_summary_by_digest"
	digestsOf = "performance_schema." + digests
)

// Statistics implements Source: the summary by digest. MySQL 8 keeps
// one statement of each digest as it was sent; where there is none, or it is cut
// off, the digest's own SQL is mended.
func (d MySQL) Statistics(ctx context.Context, s dialect.Session) (Statistics, error) {
	out, err := d.digests(ctx, s)
	if err == nil {
		err = d.prepared(ctx, s, &out)
	}
	return out, err
}

//nolint:funlen // the query, and what its columns are
func (d MySQL) digests(ctx context.Context, s dialect.Session) (Statistics, error) {
	out := Statistics{Source: digestsOf}
	on, err := s.Query(ctx, "SELECT @@performance_schema")
	if err != nil {
		return out, fmt.Errorf("mysql: looking for performance_schema: %w", err)
	}
	if len(on) == 0 || dialect.String(on[0][0]) != "1" {
		out.Missing = "performance_schema is off: set performance_schema=ON in the server's configuration, and restart it"
		return out, nil
	}
	columns, err := s.Query(
		ctx,
		"SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'performance_schema' AND TABLE_NAME = ?",
		digests,
	)
	if err != nil {
		return out, fmt.Errorf("mysql: looking for %s: %w", digestsOf, err)
	}
	sample := "NULL"
	for _, c := range columns {
		if strings.EqualFold(dialect.String(c[0]), "QUERY_SAMPLE_TEXT") {
			sample = "QUERY_SAMPLE_TEXT"
		}
	}
	rows, err := s.Query(
		ctx,
		"SELECT DIGEST_TEXT, COUNT_STAR, SUM_TIMER_WAIT, SUM_LOCK_TIME, "+sample+", CAST(FIRST_SEEN AS CHAR) FROM "+digestsOf+
			" WHERE SCHEMA_NAME = DATABASE() ORDER BY COUNT_STAR DESC, DIGEST_TEXT",
	)
	if err != nil { // this is not for the user: no error of ours
		out.Missing = "it cannot be read: " + err.Error()
		return out, nil
	}
	tables, err := d.Tables(ctx, s)
	if err != nil {
		return out, err
	}
	names := map[string]string{}
	for _, t := range tables {
		names[strings.ToUpper(t.Name)] = t.Name
	}
	for _, r := range rows {
		runs, _ := strconv.ParseInt(dialect.String(r[1]), 10, 64)
		statement := dialect.String(r[4])
		if statement == "" || strings.HasSuffix(statement, "...") {
			statement = undigest(dialect.String(r[0]), names)
		}
		if statement == "" {
			out.Hidden += runs
			continue
		}
		if seen := dialect.String(r[5]); out.Since == "" || seen != "" && seen < out.Since {
			out.Since, _, _ = strings.Cut(seen, ".")
		}
		out.Statements = append(
			out.Statements,
			RunStatement{SQL: statement, Runs: runs, Time: picoseconds(r[2]), Lock: picoseconds(r[3])},
		)
	}
	if len(out.Statements) == 0 && out.Hidden == 0 {
		out.Missing = "it has no statement of this database: enable the consumer statements_digest in performance_schema.setup_consumers, and wait for some load"
	}
	return out, nil
}

func picoseconds(v any) time.Duration {
	n, _ := strconv.ParseUint(dialect.String(v), 10, 64)
	return time.Duration(n / 1000)
}

// undigest makes a statement of a digest's text, which puts ? in the place of
// each value, (...) in that of a list of them, and blanks around every token.
// A name that is a keyword as well (user, status) it writes like the keyword;
// names has those of tables, by their upper case. It returns "" for a digest
// that was cut off.
func undigest(digest string, names map[string]string) string {
	if strings.HasSuffix(digest, "...") && !strings.HasSuffix(digest, "(...)") {
		return ""
	}
	tokens := strings.Fields(digest)
	var b strings.Builder
	columns, depth := 0, 0 // of the list that was read last
	for i, t := range tokens {
		switch {
		case t == "(":
			depth++
			if depth == 1 {
				columns = 1
			}
		case t == ")":
			depth--
		case t == "," && depth == 1:
			columns++
		}
		// A function of the parser's own has its bracket at its name.
		if i > 0 && !(t == "(" && builtin[strings.ToUpper(tokens[i-1])]) {
			b.WriteByte(' ')
		}
		if t != "(...)" {
			if name, ok := names[t]; ok {
				t = name
			} else if standard := withoutBrackets[t]; standard != "" && (i+1 == len(tokens) || tokens[i+1] != "(") {
				t = standard
			}
			b.WriteString(t)
			continue
		}
		values := 1
		if w := strings.ToUpper(tokens[max(0, i-1)]); w == "VALUES" || w == "VALUE" {
			values = max(1, columns)
		}
		b.WriteString("(?" + strings.Repeat(", ?", values-1) + ")")
	}
	return b.String()
}

// withoutBrackets are the standard's functions without brackets, which a digest
// names like the server's own with brackets.
var withoutBrackets = map[string]string{"NOW": "CURRENT_TIMESTAMP", "CURDATE": "CURRENT_DATE", "CURTIME": "CURRENT_TIME"}

// builtin are the functions that the server takes for columns where a blank
// comes before the bracket.
var builtin = map[string]bool{
	"ADDDATE":        true,
	"BIT_AND":        true,
	"BIT_OR":         true,
	"BIT_XOR":        true,
	"CAST":           true,
	"COUNT":          true,
	"CURDATE":        true,
	"CURTIME":        true,
	"DATE_ADD":       true,
	"DATE_SUB":       true,
	"EXTRACT":        true,
	"GROUP_CONCAT":   true,
	"JSON_ARRAYAGG":  true,
	"JSON_OBJECTAGG": true,
	"MAX":            true,
	"MID":            true,
	"MIN":            true,
	"NOW":            true,
	"POSITION":       true,
	"SESSION_USER":   true,
	"STD":            true,
	"STDDEV":         true,
	"STDDEV_POP":     true,
	"STDDEV_SAMP":    true,
	"SUBDATE":        true,
	"SUBSTR":         true,
	"SUBSTRING":      true,
	"SUM":            true,
	"SYSDATE":        true,
	"SYSTEM_USER":    true,
	"TRIM":           true,
	"VARIANCE":       true,
	"VAR_POP":        true,
	"VAR_SAMP":       true,
}
