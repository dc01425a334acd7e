// Package propose finds the counters of an application: columns that its
// statements add to, in a form that slots take. It parses with the dialect and
// judges with the planner: a candidate is configured, the statements are
// planned, and what becomes of them decides. It reads no database.
package propose

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slotsql/slotsql/cmd/slotsql/internal/workload"
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/digest"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Table is a base table and what a proposal needs of it besides.
type Table struct {
	*schema.Table
	Visible bool     // found without its schema
	Indexed []string // columns that an index holds
}

// Statement is a statement of the application, all of one shape taken together.
type Statement struct {
	SQL   string `json:"-"`
	Shape string `json:"statement"`
	// Runs is how often it was run; 0 where that is not known. Line is where it
	// is first in the file.
	Runs int64         `json:"runs,omitempty"`
	Line int           `json:"line,omitempty"`
	Time time.Duration `json:"time_ns,omitempty"`
	Lock time.Duration `json:"lock_ns,omitempty"`
	// By is the trigger or routine that runs it inside the database, as dialect.Routine's By names it; "" for the application.
	By string `json:"by,omitempty"`
}

// weight is what a statement counts in a comparison.
func (s *Statement) weight() int64 { return max(1, s.Runs) }

// Use is a statement that concerns a table, and what becomes of it.
type Use struct {
	Statement
	Class   string `json:"class"`
	Verdict string `json:"verdict,omitempty"` // of slotsql explain, with what is proposed
	Reason  string `json:"reason,omitempty"`
	// Kind is what a drained statement is taken for, where that is plain from
	// its form: a full-row save, an optimistic lock, a ticket number, a bound.
	Kind string `json:"kind,omitempty"`
}

// Counter is a column that statements add to, or one whose name says so.
type Counter struct {
	Column string   `json:"column"`
	Runs   int64    `json:"runs,omitempty"`
	Notes  []string `json:"notes,omitempty"`
	// Off says why it is not proposed; "" when it is.
	Off string `json:"not_proposed,omitempty"`

	unfit bool // the database does not take it for a counter
}

// Companion is a column that increments set along with counters.
type Companion struct {
	Column string `json:"column"`
	Merge  string `json:"merge"`
}

// Proposal is what is said of one table.
type Proposal struct {
	Table      string      `json:"table"`        // as the configuration names it
	Key        []string    `json:"key,omitzero"` // empty for a table of one row; absent for the primary key
	Counters   []Counter   `json:"counters"`
	Companions []Companion `json:"companions,omitempty"`
	Views      []string    `json:"views,omitempty"`
	Adds       []Use       `json:"adds,omitempty"`
	Slow       []Use       `json:"slow,omitempty"`
	Notes      []string    `json:"notes,omitempty"`
	// Off says why no counter of the table is proposed; "" when one is.
	Off string `json:"not_proposed,omitempty"`
	// Slotless says why slots: 0 is proposed; "" when the table is to have slots. Unslotted says
	// why slots cannot hold the counters; "" when they can.
	Slotless  string `json:"slotless,omitempty"`
	Unslotted string `json:"unslotted,omitempty"`
	// Guess reports whether the names and types of the columns are the only reason.
	Guess bool `json:"guess,omitempty"`

	table Table
	unfit bool // the database does not take it for a counter table
}

func (p *Proposal) companions(merges []schema.Companion) {
	for _, co := range merges {
		p.Companions = append(p.Companions, Companion{Column: co.Column, Merge: string(co.Merge)})
	}
}

// offs are the reasons against the counters.
func (p *Proposal) offs() string {
	var all []string
	for _, c := range p.Counters {
		if len(p.Counters) > 1 {
			all = append(all, c.Column+": "+c.Off)
		} else {
			all = append(all, c.Off)
		}
	}
	return strings.Join(all, "; ")
}

// Judge notes what becomes of a statement that concerns the table with what is proposed. It is known only
// once all is proposed, and is what explain and check say.
func (p *Proposal) Judge(u Use, fast bool) {
	same := func(o Use) bool {
		if o.Shape == u.Shape && !fast {
			u.Kind = o.Kind
		}
		return o.Shape == u.Shape
	}
	adds, slow := slices.IndexFunc(p.Adds, same), slices.IndexFunc(p.Slow, same)
	switch class := rewrite.Class(u.Class); {
	case !fast && (class == rewrite.Drain || class == rewrite.Refused):
		if p.Adds = slices.DeleteFunc(p.Adds, same); slow >= 0 {
			p.Slow[slow] = u
		} else {
			p.Slow = append(p.Slow, u)
		}
	case adds >= 0:
		p.Adds[adds] = u
	case fast || class == rewrite.AdditiveBase || class == rewrite.Additive || class == rewrite.Upsert:
		p.Slow = slices.DeleteFunc(p.Slow, same)
		p.Adds = append(p.Adds, u)
	}
}

// Name is the table's stored name.
func (p *Proposal) Name() string { return p.table.Name }

// Proposed reports whether the column is among the counters that are proposed.
func (p *Proposal) Proposed(column string) bool {
	return p.Off == "" && !p.Guess && slices.ContainsFunc(p.Counters, func(c Counter) bool { return c.Column == column && c.Off == "" })
}

// Drop takes a counter, or with "" the whole table, out of what is proposed.
func (p *Proposal) Drop(column, why string) {
	if n := len(p.Companions); column != "" {
		p.Companions = slices.DeleteFunc(p.Companions, func(c Companion) bool { return c.Column == column })
		if len(p.Companions) < n {
			return
		}
	}
	left := 0
	for i := range p.Counters {
		if c := &p.Counters[i]; c.Column == column && c.Off == "" {
			c.Off = why
		}
		if p.Counters[i].Off == "" {
			left++
		}
	}
	if column == "" || left == 0 && p.Off == "" {
		p.Off = why
	}
}

// Refuse notes that the database does not take a column for a counter or companion, or with "" what is not
// proposed of the table: it is not written as configuration, not even as a comment. It reports whether that is new.
func (p *Proposal) Refuse(column, why string) (changed bool) {
	proposed := p.Off == "" && !p.Guess
	n := len(p.Companions)
	p.Companions = slices.DeleteFunc(p.Companions, func(c Companion) bool { return c.Column == column })
	changed = len(p.Companions) < n
	left := false
	for i := range p.Counters {
		c := &p.Counters[i]
		if !c.unfit && (c.Column == column || column == "" && c.Off != "") {
			c.unfit, c.Off, changed = true, cmp.Or(c.Off, why), true
		}
		left = left || !c.unfit
	}
	if !proposed && !p.unfit && (column == "" || !left) {
		p.unfit, p.Off, changed = true, cmp.Or(p.Off, why), true
	}
	return changed
}

// Collection holds statements by what is the same for all that differ in values
// only.
type Collection map[string]*Statement

// Add takes a statement. What defines or maintains tables is left out: it is
// not what an application is busy with.
func (into Collection) Add(d rewrite.Dialect, st workload.Statement) {
	if maintenance.MatchString(st.SQL) {
		return
	}
	sql := workload.Adapt(d, st.SQL)
	key := digest.Key(d.LexRules(), sql)
	s := into[key]
	if s == nil {
		s = &Statement{SQL: sql, Shape: digest.Text(d.LexRules(), sql), Line: st.Line}
		into[key] = s
	}
	s.By = cmp.Or(s.By, st.By)
	s.Runs += st.Runs
	s.Time += st.Time
	s.Lock += st.Lock
}

var maintenance = regexp.MustCompile(`(?i)^\s*(?:CREATE|ALTER|DROP|RENAME|COMMENT|GRANT|REVOKE|ANALYZE|VACUUM|OPTIMIZE|REINDEX|SHOW)\b`)

// Merge takes the statements of another collection. Of one that both have the
// runs of the first count: both tell of the same ones.
func (into Collection) Merge(other Collection) {
	for key, s := range other {
		if had := into[key]; had == nil {
			into[key] = s
		} else if had.Line = s.Line; had.Runs == 0 {
			had.Runs, had.Time, had.Lock = s.Runs, s.Time, s.Lock
		}
	}
}

// Sorted returns the statements, those of most runs first.
func (collected Collection) Sorted() []*Statement {
	out := make([]*Statement, 0, len(collected))
	for _, s := range collected {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *Statement) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Shape, b.Shape))
	})
	return out
}

// Propose looks the statements over, and the names of columns where they say
// nothing. It returns the tables worth a word, those with most to gain first. What is
// known of a table's transactions decides where slots: 0 is enough.
func Propose(d dialect.Dialect, tables []Table, statements []*Statement, known func(Table) Transactions) []*Proposal {
	tables = slices.DeleteFunc(slices.Clone(tables), func(t Table) bool { return isOurs(t, tables) })
	f := &finder{d: d, tables: tables}
	for _, s := range statements {
		f.read(s)
	}
	var out, guesses []*Proposal
	for _, t := range tables {
		j := &judge{d: d, tables: tables, table: t, found: f.found[t.Table]}
		if j.found != nil && len(j.found.columns) > 0 {
			p := j.propose()
			transactions := known(t)
			transactions.Inside = transactions.Inside || slices.ContainsFunc(j.found.increments, (*change).inside)
			j.slotless(p, transactions)
			p.Counters = append(p.Counters, j.siblings()...)
			out = append(out, p)
		} else if g := j.guess(); g != nil {
			guesses = append(guesses, g)
		}
	}
	slices.SortStableFunc(out, func(a, b *Proposal) int { return cmp.Compare(runs(b), runs(a)) })
	return append(out, guesses...)
}

func runs(p *Proposal) (n int64) {
	for _, u := range p.Adds {
		n += u.Runs
	}
	return n
}

// isOurs reports whether slotsql has made the table.
func isOurs(t Table, tables []Table) bool {
	if t.Name == dialect.LeaseTable {
		return true
	}
	if t.Column("slot") == nil && t.Column("slotsql_slot") == nil {
		return false
	}
	return slices.ContainsFunc(tables, func(base Table) bool { return t.Name == base.Name+"_slots" && t.Schema == base.Schema })
}
