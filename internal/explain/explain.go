package explain

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Explanation describes how slotsql runs a statement. String formats it for people, Detailed also with the SQL that is sent. Later
// versions may add keys to its JSON.
type Explanation struct {
	Statement string `json:"statement"`

	// Verdict is one sentence: how fast the statement is, why, and what would be faster. Speed, Because and Instead are its parts.
	Verdict string `json:"verdict"`
	Speed   string `json:"speed"` // fast, as plain, slower or refused
	Because string `json:"because,omitempty"`
	Instead string `json:"instead,omitempty"`
	// Asleep and Awake are what happens while the tables have no slots, and while they have some. Without Asleep, Awake is what
	// always happens.
	Asleep string `json:"asleep,omitempty"`
	Awake  string `json:"awake,omitempty"`
	// Groups tells which executions share a statement on the base row, or why none do.
	Groups string `json:"groups,omitempty"`

	// Class is pass-through, additive, additive-base, upsert, read, draw, drain,
	// multi or refused; see docs/contributing/life-of-a-statement.md.
	Class string `json:"class"`
	// Reason is why the statement is not faster, or why it is refused; empty when it is as
	// fast as can be.
	Reason string   `json:"reason,omitempty"`
	Tables []string `json:"tables,omitempty"` // the counter tables concerned
	// Scope is what a statement that may drain drains: "rows of a unique key" or "all rows".
	Scope string `json:"scope,omitempty"`

	// Denied reports whether the statement drains, and on_drain: error refuses
	// it for that.
	Denied bool `json:"denied,omitempty"`

	// Cold tells when the statement runs as written, on the base row, instead of
	// Increment; empty where it never does.
	Cold string `json:"cold,omitempty"`
	// Bounded tells when a guarded statement on a counter with min or max runs as it is
	// written, before any drain.
	Bounded string `json:"bounded,omitempty"`
	// Group runs on the base row for executions outside of transactions that overlap:
	// "sum 1" is what all of them add to a counter, "bound 1" what they demand of one.
	// In a table with slots an increment does so while its row is cold.
	Group *ExplainedStatement `json:"group,omitempty"`
	// NotGrouped is why overlapping executions of an increment do not share a statement
	// on the base row.
	NotGrouped string `json:"not_grouped,omitempty"`
	// Increment is the slotted upsert that runs instead of the statement.
	Increment *ExplainedStatement `json:"increment,omitempty"`
	// Again runs in its place on a connection that has written the same slot
	// row before; when that is gone, Increment runs after all.
	Again *ExplainedStatement `json:"again,omitempty"`
	// AgainLocked does so in a transaction, where locks last, on PostgreSQL.
	AgainLocked *ExplainedStatement `json:"again_locked,omitempty"`
	// Requires is what bound arguments must be for that, or for an
	// additive-base statement to run as it is.
	Requires []string `json:"requires,omitempty"`
	// Rewritten is the statement's SQL where it is not sent as it is.
	Rewritten *ExplainedStatement `json:"rewritten,omitempty"`
	// Observed is sent first where it is not empty: it gives the result if there are no slots, as its last column reports.
	Observed string `json:"observed,omitempty"`
	// FoldFirst reports whether slots are then folded, outside transactions, because the query computes many totals. Rewritten runs
	// where that leaves some.
	FoldFirst bool `json:"fold_first,omitempty"`
	// Fallback tells what runs when the increment affects no row, or Requires
	// does not hold.
	Fallback string `json:"fallback,omitempty"`
	// Proof runs in one round trip instead of a drain if the row has no slots, and touches nothing if it has some. Confirm is
	// a query that runs behind the statement as written: if it confirms that the row has no slots, Proof is not needed.
	Proof   []ExplainedStatement `json:"proof,omitempty"`
	Confirm *ExplainedStatement  `json:"confirm,omitempty"`
	// Drains are what is locked and folded before the statement of a drain, or of
	// a fallback that drains; Before and After is slot-table DDL around it.
	Drains []ExplainedDrain     `json:"drains,omitempty"`
	Before []ExplainedStatement `json:"before,omitempty"`
	After  []ExplainedStatement `json:"after,omitempty"`

	// Shadow is what would become of the statement if the tables that it names
	// which have mode shadow had mode on.
	Shadow *Explanation `json:"shadow,omitempty"`

	// Parts are the statements of a call of several.
	Parts []*Explanation `json:"parts,omitempty"`
	// Notes are what else is worth knowing.
	Notes []string `json:"notes,omitempty"`
}

// ExplainedStatement is a statement of slotsql's with where its arguments come
// from: "arg 1" is the first one of the explained statement, "slot" the
// session's slot number. Without Args it takes those of the explained
// statement, or none.
type ExplainedStatement struct {
	SQL  string   `json:"sql"`
	Args []string `json:"args,omitempty"`
}

// ExplainedDrain is how one table is drained: the rows of the unique key that
// the statement fixes, or all.
type ExplainedDrain struct {
	Table string `json:"table"`
	Scope string `json:"scope"` // as Explanation.Scope
	// Unless tells when all rows are drained in spite of Scope, and Missing what happens to
	// further rows with slots that the statement finds.
	Unless  string               `json:"unless,omitempty"`
	Missing string               `json:"missing,omitempty"`
	Lock    []ExplainedStatement `json:"lock,omitempty"`
	// Fold has the statements that move slots; where they are written for the slot
	// rows that there are, Folding says so.
	Fold    []ExplainedStatement `json:"fold"`
	Folding string               `json:"folding,omitempty"`
}

// Explain says what a wrapped database makes of a statement: one opened by Open
// or OpenDB, or by sql.Open under the name of a wrapped driver. It plans with
// what the database says of its tables, and runs nothing of the statement.
func Explain(ctx context.Context, db *sql.DB, query string) (*Explanation, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var out *Explanation
	err = c.Raw(func(dc any) error {
		cn := unwrapConn(dc)
		if cn == nil {
			return errors.New("slotsql: Explain needs a wrapped database, such as Open returns")
		}
		out, err = explainModes(cn.Shared.Config, query, func(shadow bool) (*Explanation, error) {
			by := cn
			if shadow {
				by = session.WrapConn(cn.Shared.Shadow.Planner(), cn.Parent)
				if err := by.Shared.LearnServer(ctx, cn.Parent); err != nil {
					return nil, err
				}
			}
			p, err := by.Plan(ctx, query)
			if err != nil {
				return nil, err
			}
			e := explanation(p.Plan, query, catalog.WhyUnslotted(by.Schema, query))
			if p.Increment != nil {
				e.noteTrial(by.Shared.Trial(p.Increment.Table))
			}
			if by.Schema != nil {
				e.Notes = append(e.Notes, by.Schema.Notes(query)...)
			}
			return e, nil
		})
		return err
	})
	return out, err
}

// noteTrial notes the result of the last trial of slots in this process.
func (e *Explanation) noteTrial(t session.TrialStats) {
	if !t.At.IsZero() {
		e.Notes = append(e.Notes, fmt.Sprintf("slots were last tried in this process at %s, and %s", t.At.Format(time.RFC3339), t))
	}
}

// unwrapConn finds slotsql's connection under those of other wrappers.
func unwrapConn(dc any) *session.Conn {
	for range 16 {
		switch v := dc.(type) {
		case *session.Conn:
			return v
		case interface{ Unwrap() driver.Conn }:
			dc = v.Unwrap()
		case interface{ Raw() driver.Conn }:
			dc = v.Raw()
		default:
			return nil
		}
	}
	return nil
}

//nolint:funlen // one case for each part of a plan
func explanation(p *rewrite.Plan, query, unslotted string) *Explanation {
	p = p.Whole()
	e := &Explanation{Statement: query, Class: string(p.Reported()), Reason: p.Reason, Tables: p.Tables, Scope: p.DrainScope()}
	e.judge(p.Verdict(unslotted))
	if p.Class == rewrite.Refused {
		return e
	}
	if o := p.Read.Observed; o != nil {
		e.Observed, e.FoldFirst = o.SQL.Of(p.Values), p.Read.FoldFirst
	}
	if p.SQL != query || len(p.Read.Args) > 0 {
		e.Rewritten = &ExplainedStatement{p.SQL, explainArgs(p.Read.Args)}
	}
	if p.Bounded != nil {
		e.Bounded = "where the base row alone satisfies the guards: runs the statement as written, without a drain"
		if p.Bounded.Own != nil {
			e.Bounded = "where the base row alone is far from the limit of each clamp: runs the statement with that as a condition, without a drain"
		}
		if p.Bounded.Portion != nil {
			e.Bounded += "; in a transaction, on a hot row: takes from a slot that holds enough"
		}
	}
	if p.Group != nil {
		t := explainStatement(p.Group.Bound)
		e.Group = &t
	}
	e.NotGrouped = p.GroupReason
	e.proof(p)
	e.tickets(p)
	require := p.Base.Require
	if in := p.Increment; in != nil {
		if on := in.Table.Counter; on.Options.Placement == schema.PlacementAdaptive && on.Layout != schema.LayoutJournal {
			const cold = "while nothing has waited for its row (placement: adaptive): runs the statement as written"
			switch _, onBase := in.OnBase(); {
			case onBase:
				e.Cold = cold
			case in.Latest && p.Drain.Proof != nil:
				e.Cold = cold + ", if the row has no slots"
			}
		}
		t := explainStatement(in.Bound)
		e.Increment = &t
		if in.Add != nil {
			again := explainStatement(*in.Add)
			e.Again = &again
		}
		if in.AddLocked != nil {
			again := explainStatement(*in.AddLocked)
			e.AgainLocked = &again
		}
		if len(require) == 0 {
			require = in.Deltas
		}
		for _, a := range in.NotNumber {
			e.Requires = append(e.Requires, explainArg(a)+" is not a number")
		}
		e.Fallback = "when no row is affected: drains, then runs the statement"
		switch {
		case in.Upsert && in.Companions:
			e.Fallback = "when no row is affected, or an argument does not fit: drains, then runs the statement"
		case in.Upsert && len(p.Base.Require) > 0:
			e.Fallback = "when no row is affected: runs the statement; when an argument does not fit: drains, then runs the statement"
		case in.Upsert:
			e.Fallback = "when no row is affected: runs the statement"
		case len(require)+len(in.NotNumber) > 0:
			e.Fallback = "when no row is affected, or an argument does not fit: drains, then runs the statement"
		}
	} else if len(require) > 0 {
		e.Fallback = "when an argument does not fit: drains, then runs the statement"
	}
	for _, d := range require {
		e.Requires = append(e.Requires, explainDelta(d))
	}
	for _, d := range p.Drain.Tables {
		x := ExplainedDrain{Table: d.Table.Name, Scope: d.Scope(), Lock: explainStatements(d.Lock), Fold: explainStatements(d.Fold)}
		if d.Folding == rewrite.FoldByName {
			x.Folding = "looks the slot rows up, and moves each by its key and number"
		}
		if session.MayInsert(d) {
			x.Missing = "the statement runs under a savepoint; if it finds a row with slots, it runs again after another drain"
		}
		if d.New != nil && len(d.New.Inserted) > 0 {
			x.Unless = "all rows, when an argument may be converted when it is stored"
		}
		e.Drains = append(e.Drains, x)
		if on := d.Table.Counter.Options.OnDrain; p.Class == rewrite.Drain && on == schema.OnDrainError {
			e.Denied = true
			e.Notes = append(e.Notes, fmt.Sprintf("table %s has on_drain: error, so the statement is refused", d.Table.Name))
		}
	}
	e.Before, e.After = explainStatements(p.Drain.Before), explainStatements(p.Drain.After)
	for _, part := range p.Parts {
		e.Parts = append(e.Parts, explanation(part.Plan, part.SQL, ""))
	}
	return e
}

func (e *Explanation) judge(v rewrite.Verdict) {
	e.Verdict, e.Speed, e.Because, e.Instead = v.String(), string(v.Speed), v.Because, v.Instead
	e.Asleep, e.Awake, e.Groups = v.Asleep, v.Awake, v.Groups
}

// proof says how a drain is avoided where the row has no slots.
func (e *Explanation) proof(p *rewrite.Plan) {
	proof := p.Drain.Proof
	if proof == nil || p.Class != rewrite.Drain {
		return
	}
	for _, b := range []*rewrite.Bound{proof.Lock, proof.Refuted, &proof.Bound} {
		if b != nil {
			e.Proof = append(e.Proof, explainStatement(*b))
		}
	}
	if b := cmp.Or(proof.Confirm, proof.ConfirmRead); b != nil { // one at most
		confirm := explainStatement(*b)
		e.Confirm = &confirm
	}
}

func explainStatement(b rewrite.Bound) ExplainedStatement {
	return ExplainedStatement{b.SQL.Of(nil), explainArgs(b.Args)}
}

func explainStatements(list []rewrite.Bound) []ExplainedStatement {
	var out []ExplainedStatement
	for _, b := range list {
		out = append(out, explainStatement(b))
	}
	return out
}

func explainArgs(list []rewrite.Arg) []string {
	var out []string
	for _, a := range list {
		out = append(out, explainArg(a))
	}
	return out
}

func explainArg(a rewrite.Arg) string {
	s := fmt.Sprintf("arg %d", a.Index+1)
	switch {
	case a.Slot:
		s = "slot"
	case a.Total > 0:
		s = fmt.Sprintf("sum %d", a.Total)
		if a.First {
			s += " of a new row"
		}
	case a.Bound > 0:
		s = fmt.Sprintf("bound %d", a.Bound)
	case a.Name != "":
		s = "arg " + a.Name
	case a.Index < 0:
		s = a.Number
	}
	if a.Negate {
		s = "-" + s
	}
	if a.Plus != nil {
		s += " + " + explainArg(*a.Plus)
	}
	return s
}

func explainDelta(d rewrite.DeltaArg) string {
	name := explainArg(d.Arg)
	s := name + " is a whole number"
	if d.Scale > 0 {
		s = name + fmt.Sprintf(" is a number with up to %d decimals", d.Scale)
	}
	if d.NonNegative {
		return s + fmt.Sprintf(" from 0 to %d", d.Max)
	}
	return s + fmt.Sprintf(" from -%d to %d", d.Max, d.Max)
}
