package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/propose"
	internalconfig "github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// statementError is an error of the statement that is to be explained.
type statementError struct{ error }

func (e statementError) Unwrap() error { return e.error }

// parsed returns the statements of a call, nil for one that slotsql cannot parse and the server takes. What the database would not
// take is a statementError.
func (o *options) parsed(ctx context.Context, e engine, x *slotsql.Explainer, query string) (list []*ast.Statement, err error) {
	tokens, exec := lex.Scan(e.dialect.LexRules(), query)
	spans := lex.Split(query, tokens, exec)
	if len(spans) == 0 {
		return nil, statementError{errors.New("the statement is empty")}
	}
	taken := func(string) (bool, error) { return false, nil }
	if o.dsn != "" && e.rejects != nil {
		db, err := sql.Open(e.parent, o.dsn)
		if err != nil {
			return nil, err
		}
		defer db.Close()
		taken = func(part string) (bool, error) { return prepares(ctx, e, db, part) }
	}
	changed := false // what comes next may use what has been created
	for _, sp := range spans {
		part := query[sp.Start:sp.End]
		st, unparsed := e.dialect.Parse(part)
		list = append(list, st)
		if changed {
			continue
		}
		if unparsed == nil && (st.Kind == ast.KindDDL || st.Kind == ast.KindDrop || st.Kind == ast.KindCreateSelect) {
			changed = true
		}
		switch ok, err := taken(part); {
		case err != nil:
			return nil, statementError{err}
		case ok:
		case unparsed != nil:
			return nil, statementError{o.notParsed(e, unparsed)}
		default:
			if err := x.Unknown(st); err != nil {
				return nil, statementError{err}
			}
		}
	}
	return list, nil
}

func (o *options) notParsed(e engine, err error) error {
	if o.schema != "" && e.rejects != nil {
		return fmt.Errorf("the statement does not parse: %w (with --dsn the server decides that)", err)
	}
	return fmt.Errorf("the statement does not parse: %w", err)
}

// prepares reports whether the server takes a statement. It returns an error if the statement is not SQL, or names what does not exist.
// What else a server says of a statement without its arguments decides nothing.
func prepares(ctx context.Context, e engine, db *sql.DB, query string) (bool, error) {
	st, err := db.PrepareContext(ctx, query)
	switch {
	case err == nil:
		return true, st.Close()
	case e.rejects(err):
		return false, err
	}
	return false, nil
}

// rejectedByMySQL reports whether a statement does not parse, or names a table or column that does not exist.
func rejectedByMySQL(err error) bool {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Number {
	case 1054, 1064, 1109, 1146: // ER_BAD_FIELD_ERROR, ER_PARSE_ERROR, ER_UNKNOWN_TABLE, ER_NO_SUCH_TABLE
		return true
	}
	return false
}

func rejectedByPostgres(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case "42601", "42703", "42P01", "3F000": // syntax error, undefined column, table and schema
		return true
	}
	return false
}

// addTable says of statements on a single table that is not configured how to configure it, if that made them faster.
func addTable(e engine, x *slotsql.Explainer, config *internalconfig.Config, list []*ast.Statement, out *slotsql.Explanation) error {
	for _, t := range config.Tables() {
		if lex.ContainsFold(out.Statement, lex.Spelled(t.Table)) {
			return nil
		}
	}
	t, err := tableOf(x, list)
	if t == nil || err != nil {
		return err
	}
	out.Because = "table " + t.Name + " is not configured"
	out.Verdict = "As plain: " + out.Because
	proposals := propose.Propose(e.dialect, []propose.Table{{Table: t, Visible: true}}, []*propose.Statement{{SQL: out.Statement}},
		func(propose.Table) propose.Transactions { return propose.Transactions{} })
	for _, p := range proposals {
		switch {
		case p.Guess:
		case p.Off != "":
			out.Verdict += ", and would not gain: " + p.Off
		default:
			text, _ := propose.Config(proposals)
			_, out.Instead, _ = strings.Cut(text, "\ntables:\n")
			out.Instead = "tables:\n" + out.Instead
			out.Verdict += ": add its counters to slotsql.yaml:"
			return nil
		}
	}
	out.Verdict += "."
	return nil
}

// tableOf returns the table of a call of one statement, if it names a single one.
func tableOf(x *slotsql.Explainer, list []*ast.Statement) (found *schema.Table, err error) {
	if len(list) != 1 || list[0] == nil {
		return nil, nil
	}
	several := false
	(&ast.Visitor{Source: func(s *ast.Source) {
		if len(s.Name) == 0 || err != nil {
			return
		}
		var t *schema.Table
		t, err = x.Table(s.Name)
		several = several || found != nil && t != found
		found = t
	}}).Walk(list[0])
	if several || found != nil && found.IsView {
		return nil, err
	}
	return found, err
}
