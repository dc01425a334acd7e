// Package random makes up small applications: a schema with counter tables,
// rows, and statements as programs and ORMs write them. The same seed gives
// the same application. It knows nothing of slotsql and runs nothing.
package random

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// An Application is what one seed gives.
type Application struct {
	Dialect string
	Schema  []string // DDL and rows
	Config  string   // of slotsql
	Params  string   // of the data source
	Steps   []Step
	Grants  []string // of Role, whose session is the one of Restricted
}

// Kind says what a Step is.
type Kind int

// The kinds of step. Transactions may also be begun and ended by a Statement.
const (
	Statement Kind = iota
	Begin          // database/sql's BeginTx
	Commit
	Rollback
	Tables // compare all tables
	Change // another client's, with the plain driver, of a definition
)

// Step is one thing that a program does on one of its sessions.
type Step struct {
	Kind     Kind
	Session  int
	SQL      string
	Args     []any
	Prepared bool
	// Ordered: the statement gives its rows in one order only. Otherwise rows are
	// a multiset.
	Ordered bool
}

func (s Step) String() string {
	switch s.Kind {
	case Begin:
		return fmt.Sprintf("session %d: BeginTx", s.Session)
	case Commit:
		return fmt.Sprintf("session %d: Commit", s.Session)
	case Rollback:
		return fmt.Sprintf("session %d: Rollback", s.Session)
	case Tables:
		return "compare all tables"
	case Change:
		return "another client: " + s.SQL
	}
	out := fmt.Sprintf("session %d: %s", s.Session, s.SQL)
	if len(s.Args) > 0 {
		out += fmt.Sprintf("  %#v", s.Args)
	}
	if s.Prepared {
		out += "  (prepared)"
	}
	return out
}

// Sessions is how many sessions the steps are spread over.
const Sessions = 3

// New makes an application of about n steps.
func New(dialect string, seed uint64, n int) *Application {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x510751)), dialect: dialect, layout: newLayout(seed)}
	g.schema()
	if dialect == "mysql" {
		g.app.Params = g.pick("", "", "interpolateParams=true", "clientFoundRows=true", "interpolateParams=true&clientFoundRows=true")
	}
	if dialect == "postgres" && g.one(2) { // only without prepared statements can a program see a table change
		g.app.Params = g.pick("default_query_exec_mode=exec", "default_query_exec_mode=simple_protocol")
	}
	g.app.Dialect = dialect
	for len(g.app.Steps) < n {
		g.unit()
		if len(g.app.Steps)/40 != g.compared {
			g.compared = len(g.app.Steps) / 40
			g.app.Steps = append(g.app.Steps, Step{Kind: Tables})
		}
	}
	g.app.Steps = append(g.app.Steps, Step{Kind: Tables})
	return &g.app
}

// unit is one statement in autocommit, or one transaction.
func (g *generator) unit() {
	session := g.IntN(Sessions)
	switch {
	case (!g.pg() || g.app.Params != "") && g.one(16):
		g.reset()
		for _, s := range g.alters() {
			s.Session = session
			g.app.Steps = append(g.app.Steps, s)
		}
		return
	case g.app.Grants != nil && !g.renamed() && g.one(12):
		g.reset()
		s := g.finish(g.refusable())
		s.Session = Restricted
		g.app.Steps = append(g.app.Steps, s)
		return
	}
	if g.one(16) {
		g.app.Steps = append(g.app.Steps, g.countedFirst()...)
		return
	}
	add := func(s Step) {
		s.Session = session
		g.app.Steps = append(g.app.Steps, s)
	}
	if !g.one(8) {
		add(g.statement())
		return
	}
	text := g.one(3)
	if text {
		begin := g.pick("BEGIN", "begin", "/* tx */ BEGIN", "START TRANSACTION", "start transaction")
		if g.dialect == "sqlite" {
			begin = g.pick("BEGIN", "begin immediate", "/* tx */ BEGIN", "SAVEPOINT outermost")
		}
		add(Step{SQL: begin})
	} else {
		add(Step{Kind: Begin})
	}
	savepoint := false
	for range 2 + g.IntN(5) {
		switch {
		case g.one(5) && !savepoint:
			add(Step{SQL: g.pick("SAVEPOINT a", "savepoint a")})
			savepoint = true
		case savepoint && g.one(3):
			add(Step{SQL: g.pick("ROLLBACK TO SAVEPOINT a", "ROLLBACK TO a")})
			savepoint = g.one(2)
		case savepoint && g.one(4):
			add(Step{SQL: "RELEASE SAVEPOINT a"})
			savepoint = false
		default:
			add(g.statement())
		}
	}
	commit := !g.one(3)
	switch {
	case text && commit:
		add(Step{SQL: g.pick("COMMIT", "commit", "COMMIT")})
	case text:
		add(Step{SQL: "ROLLBACK"})
	case commit:
		add(Step{Kind: Commit})
	default:
		add(Step{Kind: Rollback})
	}
}

// generator holds the state of New.
type generator struct {
	*rand.Rand
	dialect  string
	app      Application
	tables   []*table
	views    []*table
	large    *table // of many rows, for lists; nil but for reads
	compared int
	values   []any // arguments that marks in a statement stand for
	literal  bool  // write values into the statement
	depth    int
	fresh    int  // of aliases
	ties     bool // rows that are told apart may compare as equal
	decimals int  // how many references to decimals were written
	made     int  // and to expressions of queries
	whole    int  // when not 0: none are written
	reads    bool // made for reading only
	layout   *layout
	pageRows int // of the last page
	keys     int // how many new ones there are
	next     any // the key of the next row, and its column
	nextOf   *column
	changes  []change
	created  map[string]string // DDL by table

	restricted bool // made for Role
}

// ThisDatabase stands in statements for the name of the database, which on MySQL is
// a different one on each side.
const ThisDatabase = "this_database"

func (g *generator) one(in int) bool { return g.IntN(in) == 0 }

func (g *generator) pick(s ...string) string { return s[g.IntN(len(s))] }

func (g *generator) my() bool   { return g.dialect == "mysql" }
func (g *generator) pg() bool   { return g.dialect == "postgres" }
func (g *generator) lite() bool { return g.dialect == "sqlite" }

func either[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// A mark stands for an argument until the statement is complete, so that it does
// not matter in which order the parts of a statement are made.
const markStart, markEnd = "\x01", "\x02"

// value writes a value: a literal or an argument.
func (g *generator) value(v any) string {
	if g.literal {
		return g.constant(v)
	}
	g.values = append(g.values, v)
	return fmt.Sprintf("%s%d%s", markStart, len(g.values)-1, markEnd)
}

// constant writes a value as a literal.
func (g *generator) constant(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	return fmt.Sprint(v)
}

// finish numbers the arguments of a statement.
func (g *generator) finish(query string) Step {
	s := Step{}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(query, markStart)
		b.WriteString(before)
		if !found {
			break
		}
		number, after, _ := strings.Cut(rest, markEnd)
		var i int
		_, _ = fmt.Sscan(number, &i)
		s.Args = append(s.Args, g.values[i])
		if g.pg() {
			fmt.Fprintf(&b, "$%d", len(s.Args))
		} else {
			b.WriteByte('?')
		}
		query = after
	}
	s.SQL = b.String()
	g.values = nil
	return s
}

// statement makes one statement.
func (g *generator) statement() Step {
	g.reset()
	var query string
	ordered := false
	switch n := g.IntN(130); {
	case n < 3:
		query = g.malformed()
	case n < 6:
		query = g.chance()
	case n < 8:
		query = g.newKey()
	case n < 38:
		query = g.increment()
	case n < 52:
		query = g.update()
	case n < 61:
		query = g.upsert()
	case n < 68:
		query = g.insert()
	case n < 71:
		query = g.remove()
	case n < 81:
		query = g.byCounter()
	case n < 82:
		query = g.several()
		g.values = nil
	case n >= 126:
		query = touch(g)
	case n >= 122:
		query = compareAndSet(g)
	case n >= 118:
		query, ordered = g.locking()
	case n >= 110:
		query = g.byTwo()
	default:
		query, ordered = g.query()
		if g.one(8) {
			query = g.decorate(query)
		}
	}
	s := g.finish(query)
	s.Ordered = ordered
	s.Prepared = g.one(4) && !strings.Contains(s.SQL, ";")
	return s
}
