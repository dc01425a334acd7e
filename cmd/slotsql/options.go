package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/schemafile"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/sqlfile"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/survey"
	"github.com/slotsql/slotsql/dialect"
	internalconfig "github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/mysql"
	"github.com/slotsql/slotsql/postgres"
	"github.com/slotsql/slotsql/sqlite"
)

// engine is what a --driver stands for.
type engine struct {
	driver  string // the wrapped driver's name
	parent  string // the plain driver's
	dialect dialect.Dialect
	survey  survey.Source
	form    string // an example of a DSN
	file    bool   // the DSN names a file, which the driver would create
	// parse returns an error if the driver cannot read the DSN.
	parse func(dsn string) error
	// rejects reports whether the server's error for a statement that is prepared means that it could never run; nil where preparing
	// asks no server.
	rejects func(error) bool
	// delimited reports whether the engine's own client ends a routine at its first semicolon.
	delimited bool
	// password returns the password that the parent driver finds with a DSN; nil
	// where there is none.
	password func(dsn string) string
}

var engines = map[string]engine{
	"mysql": {
		driver: mysql.DriverName, parent: "mysql", dialect: mysql.Dialect(), survey: survey.MySQL{},
		form: "user:password@tcp(localhost:3306)/app", parse: parseMySQL, rejects: rejectedByMySQL, password: mysqlPassword, delimited: true,
	},
	"postgres": {
		driver: postgres.DriverName, parent: "pgx", dialect: postgres.Dialect(), survey: survey.Postgres{},
		form: "postgres://user:password@localhost:5432/app", parse: parsePostgres, rejects: rejectedByPostgres, password: pgxPassword,
	},
	"sqlite": {
		driver: sqlite.DriverName, parent: "sqlite", dialect: sqlite.Dialect(), survey: survey.SQLite{},
		form: "app.db", file: true, parse: func(string) error { return nil },
	},
}

var engineNames = []string{"mysql", "postgres", "sqlite"}

// options are the flags that commands share.
type options struct {
	driver, dsn, schema, config string
	dsnFile                     string
	redis                       string // bench
	page                        string // of a process
	json                        bool
	logFormat                   string // rollup: text or json
	stderr                      io.Writer
}

// logger logs to standard error, in JSON if what the command prints is.
func (o *options) logger() *slog.Logger {
	if o.json || o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(o.stderr, nil))
	}
	return slog.New(slog.NewTextHandler(o.stderr, nil))
}

// database adds the flags of a command that needs a database or, with schema,
// can do without.
func (o *options) database(cmd *cobra.Command, schema bool) {
	f := cmd.Flags()
	f.StringVar(&o.driver, "driver", "", "mysql, postgres or sqlite")
	o.dataSource(cmd, "data source name, as the driver accepts it (default $"+environmentDSN+")")
	f.StringVar(&o.config, "config", "", "configuration `file` (default $SLOTSQL_CONFIG, else slotsql.yaml)")
	if schema {
		f.StringVar(&o.schema, "schema", "", "`file` of CREATE TABLE statements instead of a database")
	}
	_ = cmd.RegisterFlagCompletionFunc("driver", cobra.FixedCompletions(engineNames, cobra.ShellCompDirectiveNoFileComp))
}

func (o *options) output(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
}

func (o *options) engine() (engine, error) {
	if o.driver == "" {
		return engine{}, errors.New("--driver is missing: mysql, postgres or sqlite")
	}
	e, ok := engines[o.driver]
	if !ok {
		return engine{}, fmt.Errorf("--driver must be mysql, postgres or sqlite, got %q%s", o.driver, similarEngine(o.driver))
	}
	return e, nil
}

func (o *options) load() (*internalconfig.Config, error) {
	if o.config == "" {
		return internalconfig.FindConfig()
	}
	return internalconfig.Load(o.config)
}

// errNoDSN is the error when no database is named.
var errNoDSN = errors.New("--dsn is missing: name the database, with --dsn, --dsn-file or " + environmentDSN)

// errNoTables is the error when neither a database nor a schema file is named.
var errNoTables = errors.New("--dsn or --schema is missing: name a database or a file of CREATE TABLE statements")

// target checks the flags that say what to work on before anything is opened.
func (o *options) target(cmd *cobra.Command) (engine, *internalconfig.Config, error) {
	e, err := o.engine()
	if err != nil {
		return e, nil, err
	}
	offline := cmd.Flags().Lookup("schema") != nil
	switch {
	case o.dsn == "" && o.schema == "" && offline:
		return e, nil, errNoTables
	case o.dsn == "" && !offline:
		return e, nil, errNoDSN
	case o.dsn != "" && o.schema != "":
		return e, nil, errors.New("--dsn and --schema are both given: leave one out")
	}
	config, err := o.load()
	return e, config, err
}

// configured returns an error if a table named on the command line is not in the configuration, before the database is asked.
func configured(config *internalconfig.Config, names []string) error {
	var known []string
	for _, t := range config.Tables() {
		known = append(known, t.Table)
	}
	for _, name := range names {
		if !slices.ContainsFunc(known, func(table string) bool { return strings.EqualFold(table, name) }) {
			return fmt.Errorf("%q is not a configured counter table: the configuration has %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

func (o *options) connector(e engine, config *internalconfig.Config) (*slotsql.Connector, error) {
	if e.file {
		if err := fileExists(o.dsn); err != nil {
			return nil, err
		}
	}
	return slotsql.OpenConnector(e.driver, o.dsn, slotsql.WithConfig(slotsql.ConfigOf(config)), slotsql.WithLogger(o.logger()))
}

// fileExists keeps a mistyped name from becoming a new, empty database.
func fileExists(dsn string) error {
	name, query, _ := strings.Cut(dsn, "?")
	name, isURI := strings.CutPrefix(name, "file:")
	values, _ := url.ParseQuery(query)
	if strings.HasPrefix(name, ":memory:") || values.Get("mode") == "memory" || values.Get("vfs") != "" || name == "" {
		return nil
	}
	if isURI {
		name = "/" + strings.TrimLeft(name, "/")
		if !strings.HasPrefix(dsn, "file:/") {
			name = name[1:]
		}
		if unescaped, err := url.PathUnescape(name); err == nil {
			name = unescaped
		}
	}
	if _, err := os.Stat(name); err != nil {
		return dsnError{err}
	}
	return nil
}

// schemaFile reads the schema file. Its name stands before the line of an error.
func (o *options) schemaFile(e engine) (*schemafile.File, error) {
	b, err := os.ReadFile(o.schema)
	if err != nil {
		return nil, err
	}
	f, err := schemafile.Parse(e.dialect, string(b))
	var at *sqlfile.Error
	if errors.As(err, &at) {
		return nil, fmt.Errorf("%s:%d: %s: %w", o.schema, at.Line, at.Statement, at.Err)
	}
	return f, err
}

// trimName takes the library's own name off an error's text.
func trimName(s string) string {
	return strings.TrimPrefix(s, "slotsql: ")
}
