package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Speed is how a statement compares with the same one of the plain driver.
type Speed string

// The speeds, the best one first.
const (
	SpeedFast    Speed = "fast"     // executions that overlap wait less for each other
	SpeedAsPlain Speed = "as plain" // sent as written, or nearly so
	SpeedSlower  Speed = "slower"   // slots cost it something
	SpeedRefused Speed = "refused"
)

var speeds = []Speed{SpeedFast, SpeedAsPlain, SpeedSlower, SpeedRefused}

// Verdict is what people are told of a plan. Each part is half a sentence, and "" where there is nothing to say.
type Verdict struct {
	Speed   Speed
	What    string // what is fast or slow about the statement
	Because string
	Instead string // what would be faster
	// Asleep and Awake are what happens while the tables have no slots, and while they have some. Without Asleep, Awake is what
	// always happens.
	Asleep, Awake string
	// Groups tells which executions share a statement on the base row, or why none do.
	Groups string
}

// String returns the verdict's sentence: "Slower: ..., because ...; instead: ...".
func (v Verdict) String() string {
	s := strings.ToUpper(string(v.Speed[:1])) + string(v.Speed[1:]) + ": " + v.What
	if v.Because != "" {
		s += ", because "
		if strings.HasPrefix(v.Because, "cannot ") { // as planning says of itself
			s += "slotsql "
		}
		s += v.Because
	}
	if v.Instead != "" {
		s += "; instead: " + v.Instead
	}
	return s + "."
}

// Verdict judges the plan of a statement. Unslotted is why increments of its counters go to no slot, for tables that the planner takes
// to be ordinary ones; "" where that is not known.
func (p *Plan) Verdict(unslotted string) Verdict {
	v := Verdict{Speed: SpeedAsPlain, Awake: "runs as written"}
	switch p.Class {
	case Refused:
		return Verdict{Speed: SpeedRefused, What: p.Reason}
	case Multi:
		return p.verdictOfParts()
	case Additive, Upsert:
		p.judgeIncrement(&v)
	case AdditiveBase:
		p.judgeBase(&v, unslotted)
	case Read:
		p.judgeRead(&v)
	case Drain:
		p.judgeDrain(&v)
	default:
		p.judgePassThrough(&v, unslotted)
	}
	switch g := p.Group; {
	case g == nil && p.GroupReason != "" && !strings.HasSuffix(v.Because, p.GroupReason):
		v.Groups = "none: " + p.GroupReason
	case p.Increment != nil && v.Asleep == "":
		if p.Increment.Coalesced != nil {
			v.Groups = "outside transactions, overlapping executions share a statement in a slot"
		}
	case g == nil:
	case g.Lease.Block > 0:
		v.Groups = "draws that find the block empty lease the next one together"
	default:
		v.Groups = "outside transactions, " + g.shares()
	}
	return v
}

// shares says what overlapping executions have in common.
func (g *Group) shares() string {
	switch {
	case g.Lease.Block > 0:
		return fmt.Sprintf("numbers come from blocks of %d that the process leases", g.Lease.Block)
	case g.CompareAndSet != nil:
		return "of overlapping executions that expect the same version one is sent, and the others lose"
	case g.Unchanged != nil:
		return "of overlapping executions that set the same values one is sent for all"
	case g.Touch():
		return "of overlapping executions one is sent for all"
	case g.draws():
		return "overlapping draws share a statement, each with a number of its own"
	}
	return "overlapping executions share a statement"
}

// Reported is the class that people are told: those who draw numbers together do not look for them among drains.
func (p *Plan) Reported() Class {
	if (p.Class == Drain || p.Class == AdditiveBase) && p.Group != nil && p.Group.draws() && p.denies() == "" {
		return Draw
	}
	return p.Class
}

// draws reports whether an execution learns the number that the counter then has.
func (g *Group) draws() bool {
	for _, share := range g.Returns {
		if share > 0 {
			return true
		}
	}
	return g.InsertID > 0
}

func (p *Plan) judgeIncrement(v *Verdict) {
	in := p.Increment
	c := in.Table.Counter
	v.Speed = SpeedFast
	_, onBase := in.OnBase()
	switch adaptive := c.Options.Placement == schema.PlacementAdaptive; {
	case c.Layout == schema.LayoutJournal:
		v.What, v.Awake = "nothing waits for its row", "inserts into the journal, which a roll-up moves to the base rows"
	case !adaptive || !onBase && p.Drain.Proof == nil:
		v.What, v.Awake = "it counts in a slot, and does not wait for its row", "adds to a slot of its row"
	default:
		v.What, v.Asleep, v.Awake = "a hot row counts in slots", "runs as written, on the base row", "adds to a slot if its row is hot; else as while asleep"
		if p.Group != nil {
			v.What = p.Group.shares() + ", and " + v.What
		}
	}
	if in.Upsert {
		v.Awake = "adds to a slot if its row is there and hot; else runs as written"
	}
}

// judgeBase judges an addition that no slot takes.
func (p *Plan) judgeBase(v *Verdict, unslotted string) {
	v.Because = p.Reason
	switch p.Reason {
	case runsAlone, runsGrouped, comparesRow, touchesRow, drawsTickets:
		if v.Because = unslotted; p.Reason == runsAlone && p.GroupReason != "" {
			v.Because = p.GroupReason
		}
	}
	v.Awake = "runs as written, on the base table; totals include what it adds"
	switch {
	case p.Group == nil:
		v.What = "it runs as written"
		v.Instead = adviceFor(p.Reason)
		return
	case p.Group.Lease.Block > 0:
		v.Speed, v.What, v.Because = SpeedFast, p.Group.shares(), ""
		v.Awake = "takes the next number of a block, also in a transaction"
		return
	case p.Group.Touch(), p.Group.CompareAndSet != nil:
		v.Speed, v.What, v.Because, v.Awake = SpeedFast, p.Group.shares(), "", "runs as written"
		return
	}
	v.Speed = SpeedFast
	v.What = p.Group.shares() + "; in a transaction it runs as plain"
	v.Instead = adviceFor(p.Reason)
}

func (p *Plan) judgePassThrough(v *Verdict, unslotted string) {
	switch tables := tableNames(p.Touched); {
	case p.Reason != "":
		v.What = p.Reason
	case p.GroupReason != "" && unslotted != "":
		v.What, v.Because = "it runs as written", unslotted
	case len(tables) > 0 && lex.HintOf(p.SQL) == lex.HintBase:
		v.What = "it reads base values, as its comment asks"
	case len(tables) > 0:
		v.What = "slots of " + listed(tables) + " do not concern it"
		if slices.ContainsFunc(p.Touched, func(t *schema.Table) bool { return t.Counter.Options.Reads == schema.ReadsBase }) {
			v.What += ", or reads: base leaves them out"
		}
	case unslotted != "":
		v.What, v.Because = "it runs as written", unslotted
	default:
		v.What = "it names no configured table"
	}
	v.Awake = ""
}

func (p *Plan) judgeRead(v *Verdict) {
	v.Awake = "reads each counter as base value plus slots"
	if p.Read.FoldFirst && p.Read.Observed != nil {
		v.Awake = "folds the slots first; in a transaction reads each counter with them"
	}
	switch {
	case !p.sleeps():
		v.Speed, v.What, v.Because = SpeedSlower, "it "+v.Awake, "there are always slots"
		v.Instead = "configure placement: adaptive and layout: dedicated"
	case p.Read.Observed == nil:
		v.Speed, v.What = SpeedSlower, "it "+v.Awake
		v.Because = "there is no way to ask within it whether there are slots"
	default:
		v.What = "it runs as written " + p.whileIn("asleep") + ", as nearly always"
		v.Asleep = asksBeside
	}
}

func (p *Plan) judgeDrain(v *Verdict) {
	whose := "the row's slots"
	switch d := p.Drain.Tables; {
	case p.DrainScope() != ScopeKey:
		whose = "all slots of " + listed(p.Tables)
	case len(d) > 1 || d[0].Most > 1:
		whose = "its rows' slots"
	}
	v.Speed, v.Because, v.Instead = SpeedSlower, oneLine(p.Reason), adviceFor(p.Reason)
	v.Awake = "folds " + whose + " under lock, and then runs as written"
	if strings.HasPrefix(v.Because, Rejected) {
		v.Because = "slotsql cannot parse it (" + strings.TrimPrefix(strings.TrimPrefix(v.Because, Rejected), ": ") + ")"
	}
	v.What = whose + " are folded first"
	if p.sleeps() {
		v.What = p.whileIn("awake") + ", " + v.What
		switch {
		case p.Drain.Proof != nil:
			v.Asleep = "runs as written if its row has no slots, all in one round trip"
		case p.Read.Observed != nil:
			v.Asleep = asksBeside
		default:
			v.Asleep = "runs as written, once it is certain that there are no slots"
		}
	}
	if b := p.Bounded; b != nil {
		v.Awake = "as written if the base row alone allows it; else folds its slots first"
		if v.Instead = ""; b.Own != nil {
			v.What, v.Because = "near its limit, "+whose+" are folded first", "it clamps a counter"
			v.Awake = "as written if the base row is far from the limit; else folds first"
		}
	}
	if denied := p.denies(); denied != "" {
		v.Speed, v.What, v.Asleep, v.Awake = SpeedRefused, "it drains, and table "+denied+" has on_drain: error", "", ""
		return
	}
	p.judgeGroupedDrain(v)
}

// judgeGroupedDrain judges a statement that others share while it may have to drain.
func (p *Plan) judgeGroupedDrain(v *Verdict) {
	if p.Group == nil {
		if p.Reason == readsCounter {
			v.Instead = "" // what is compared is not a limit
		}
		return
	}
	v.Speed, v.Because = SpeedFast, ""
	v.What = p.Group.shares()
	switch {
	case p.Group.Lease.Block > 0:
		v.Instead = ""
	case p.Bounded != nil && p.Bounded.Portion != nil:
		v.What += ", and a hot row gives portions from slots"
	default:
		v.What += "; in a transaction it runs as plain while its row has no slots"
		if p.Group.draws() {
			v.Instead = "declare tickets, if it draws numbers and may leave some out"
		}
	}
}

// denies returns the table whose configuration refuses the drain, or "".
func (p *Plan) denies() string {
	for i := range p.Drain.Tables {
		if t := p.Drain.Tables[i].Table; p.Class == Drain && t.Counter.Options.OnDrain == schema.OnDrainError {
			return t.Name
		}
	}
	return ""
}

// sleeps reports whether the tables concerned have slots of hot rows only, and so none at most times.
func (p *Plan) sleeps() bool {
	for _, t := range p.Touched {
		if schema.AlwaysAwake(t.Counter.Options.Placement, t.Counter.Layout) {
			return false
		}
	}
	return true
}

// verdictOfParts judges several statements by the slowest of them.
func (p *Plan) verdictOfParts() Verdict {
	worst, at, of := -1, 0, Verdict{}
	for i, part := range p.Parts {
		v := part.Plan.Verdict("")
		if part.Plan.Class == PassThrough && len(part.Plan.Touched) == 0 {
			continue // BEGIN, for instance
		}
		for rank, s := range speeds {
			if s == v.Speed && rank > worst {
				worst, at, of = rank, i, v
			}
		}
	}
	if worst < 0 {
		return Verdict{Speed: SpeedAsPlain, What: "none of the statements concerns slots"}
	}
	of.What = fmt.Sprintf("statement %d of %d: %s", at+1, len(p.Parts), of.What)
	of.Asleep, of.Awake, of.Groups = "", "", ""
	return of
}

// Reasons for which there is advice.
const (
	alsoSets       = "the statement also sets ordinary columns"
	notOneRow      = "WHERE does not fix one row by a unique key"
	setsCounter    = "the statement sets counter "
	readsCounter   = "the statement reads a counter"
	returnsCounter = "RETURNING returns a counter"
	locksRows      = "the query locks rows of a counter table"
	mayReplace     = "the statement may replace rows"
	unknownDelta   = "the delta is not a literal or a placeholder"
	noFasterMerge  = "there is no faster plan for MERGE"
)

// adviceFor returns what is faster than a statement that has a reason not to be, or "".
func adviceFor(reason string) string {
	for _, a := range advice {
		if strings.HasPrefix(reason, a.reason) {
			return a.instead
		}
	}
	return ""
}

var advice = []struct{ reason, instead string }{
	{alsoSets, "declare those columns as companions"},
	{notOneRow, "name the row by a unique key"},
	{setsCounter, "add the difference"},
	{readsCounter, "declare the counter's min or max, if its limit is what is compared"},
	{returnsCounter, "leave the counter out of RETURNING"},
	{locksRows, "leave FOR UPDATE out, and put the condition into the UPDATE"},
	{mayReplace, "an upsert"},
	{unknownDelta, "read the amount first, and pass it as an argument"},
	{noFasterMerge, "an upsert"},
}

const asksBeside = "runs as written; one more column reports whether there are slots"

// whileIn returns "while posts is asleep".
func (p *Plan) whileIn(state string) string {
	if len(p.Tables) == 1 {
		return "while " + p.Tables[0] + " is " + state
	}
	return "while " + listed(p.Tables) + " are " + state
}

// listed joins the names of tables.
func listed(names []string) string {
	if len(names) > 2 {
		return fmt.Sprintf("%s and %d more tables", names[0], len(names)-1)
	}
	return strings.Join(names, " and ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
