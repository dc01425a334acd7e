// Package history runs short concurrent histories against a database and checks
// each of them against a model: every row count and every value that a client
// saw, and the rows that are left, must be explained by an order of events that
// the isolation level allows.
//
// The model is of the plain database; no rule in it is made for slots, except
// where docs/divergences.md lists a difference. The same checker must therefore
// accept the plain driver's histories, which the tests hold it to.
package history

import (
	"fmt"
	"sort"
	"strings"
)

// Keys is the number of rows, Clients that of sessions, of one history.
const (
	Keys    = 3
	Clients = 8
)

// Kind is what a statement does.
type Kind int

const (
	Increment  Kind = iota // views = views + n
	Touch                  // views = views + n and companions: seen = tag, high and low merged with it
	Mark                   // seen = tag, no counter: where it is no companion, it is a touched column
	Wide                   // views = views + n, title = ...
	Upsert                 // INSERT of n, or views = views + n where the row is there
	Set                    // views = n
	Clamp                  // views = GREATEST(views - n, 0)
	Double                 // views = views * 2
	Take                   // views = views - n WHERE views >= n
	Rename                 // title = ..., no counter
	Delete                 // the row
	Insert                 // the row with views n, unless it is there
	Read                   // views of one row
	ReadAll                // views of all rows
	Lock                   // views of one row, FOR UPDATE
	Savepoint              //
	RollbackTo             // the savepoint
	Evict                  // deletes a neighbour of the row
	Fresh                  // an upsert of a key that no other transaction uses
	File                   // adds a row to the second table, for the row
	Files                  // counts those of the row
	Swap                   // version = version + 1 WHERE version = n
	Call                   // views + n, by the function that slotsql stores in the database
)

var kindNames = [...]string{
	"inc",
	"touch",
	"mark",
	"wide",
	"upsert",
	"set",
	"clamp",
	"double",
	"take",
	"rename",
	"delete",
	"insert",
	"read",
	"readall",
	"lock",
	"savepoint",
	"rollback to",
	"evict",
	"fresh",
	"file",
	"files",
	"swap",
	"call",
}

func (k Kind) String() string { return kindNames[k] }

// judges reports whether the statement finds its row by a condition on the counter: it renames or deletes
// the row if views is at least n. To find it, it looks at every row.
func (o *Op) judges() bool { return (o.Kind == Rename || o.Kind == Delete) && o.Form >= 3 }

// setsSeen reports whether the statement sets seen of a row that is there in the end.
// An upsert that spells it without does so only where it inserts.
func (o *Op) setsSeen() bool {
	switch o.Kind {
	case Touch:
		return o.Form < 4
	case Upsert:
		return o.Form < 3
	}
	return o.Kind == Mark || o.Kind == Insert
}

// saves reports whether the statement sets other columns too, as a program does that
// writes back a whole row.
func (o *Op) saves() bool { return o.Kind == Set && o.Form >= 3 }

// merges reports whether the statement sets high and low of a row that is there.
func (o *Op) merges() bool { return o.Kind == Touch && o.Form%2 == 0 }

// separate reports whether the statement changes no counter and nothing that rides in
// slots, so that increments may pass it.
func (h *History) separate(o *Op) bool {
	return o.Kind == Swap || o.Kind == Rename && !o.judges() || o.Kind == Mark && !h.Companions
}

func (k Kind) reads() bool { return k == Read || k == ReadAll || k == Lock }

// additive reports whether the statement adds to a row that is there.
func (k Kind) additive() bool {
	return k == Increment || k == Touch || k == Wide || k == Upsert || k == Call
}

// Row is one row of the table, or its absence.
//
// Seen is not part of it: what a transaction may see of it is judged apart, see
// checkSeen. It is small, since the search keeps many.
type Row struct {
	There     bool
	High, Low int8
	Version   int8
	Views     int32
}

func (r Row) String() string {
	if !r.There {
		return "-"
	}
	return fmt.Sprintf("%d(%d..%d) version %d", r.Views, r.Low, r.High, r.Version)
}

// Op is one statement and what came back. Times are ticks of one clock that all
// clients share.
type Op struct {
	Kind     Kind
	Key      int
	N        int32
	Mark     int8  // what high and low are merged with
	Tag      int64 // the value of seen, different for every write of it
	Form     int   // which spelling
	Other    int   // the key of a row beside the model, see beside
	Pause    int   // how often the client lets others run first
	Kill     int   // killBefore or killDuring, where the session is killed
	Start    int64
	End      int64
	Affected int64
	Got      [Keys]Row   // of Read and Lock at its key
	Saw      [Keys]int64 // seen of these rows
	Many     [Keys]bool  // more than one row came back for the key
	Count    int         // of Files
	Class    string      // of the error; the transaction is rolled back then
	Err      error
}

func (o *Op) String() string {
	s := o.Kind.String()
	switch o.Kind {
	case Savepoint, RollbackTo, ReadAll:
	case Evict:
		s += fmt.Sprintf(" %d", o.Other)
	case Fresh:
		s += fmt.Sprintf(" %d %+d", o.Other, o.N)
	case File, Files, Read, Lock, Delete, Rename, Double:
		s += fmt.Sprintf(" %d", o.Key)
		if o.judges() {
			s += fmt.Sprintf(" if views >= %d", o.N)
		}
	case Mark:
		s += fmt.Sprintf(" %d seen=%d", o.Key, o.Tag)
	case Swap:
		s += fmt.Sprintf(" %d if version = %d", o.Key, o.N)
	default:
		s += fmt.Sprintf(" %d %+d", o.Key, o.N)
	}
	if o.setsSeen() && o.Kind != Mark {
		s += fmt.Sprintf(" seen=%d", o.Tag)
	}
	if o.merges() {
		s += fmt.Sprintf(" mark=%d", o.Mark)
	}
	switch {
	case o.Class != "":
		return s + " => " + o.Err.Error()
	case o.Kind == Savepoint, o.Kind == RollbackTo:
		return s
	case o.Kind == Files:
		return s + fmt.Sprintf(" => %d files", o.Count)
	case o.Kind == ReadAll:
		return s + fmt.Sprintf(" => %v seen %v", o.Got, o.Saw)
	case o.Kind.reads():
		return s + fmt.Sprintf(" => %v seen %d", o.Got[o.Key], o.Saw[o.Key])
	}
	return s + fmt.Sprintf(" => %d", o.Affected)
}

// Outcome is how a transaction ended.
type Outcome int

const (
	Committed Outcome = iota
	RolledBack
	Failed // an error ended it; nothing of it is left
)

// Tx is a transaction, or a statement in autocommit.
type Tx struct {
	Auto       bool
	Pool       bool // sent to the sql.DB, not to the client's own connection
	Plain      bool // sent by a client that does not know of slotsql
	Begin      string
	Ops        []*Op
	Start, End int64 // of the statement that ends it; of an autocommit statement its own
	Outcome    Outcome
	Class      string // of the error that ended it
}

// Riders is what slots do beside counting.
type Riders struct {
	// Bounded reports whether the counters have bounds, so that what keeps to them may pass
	// what others add and take.
	Bounded bool
	// Companions reports whether seen, high and low ride in slots. Where they do not
	// they are columns as any others.
	Companions bool
}

// History is what the clients of one history did.
type History struct {
	Dialect, Level string
	// Wrapped reports whether increments may pass each other before they are
	// committed, which is what slots are for.
	Wrapped  bool
	RolledUp bool
	Riders
	// Several reports whether an increment writes several slot rows.
	Several bool
	// Apart reports whether a row of the model is changed by one client's transactions
	// alone, and otherwise at most by single statements.
	Apart   bool
	Table   Table
	Seed    uint64
	Number  int
	Initial [Keys]Row
	Final   [Keys]Row
	Seen    [Keys]int64   // of the rows that are there in the end
	First   [Keys]int64   // seen in the beginning
	Others  map[int]int32 // views of the rows beside the model, by key, in the end
	Clients [Clients][]*Tx
}

// String is the timeline.
func (h *History) String() string {
	type line struct {
		at  int64
		sql string
	}
	var lines []line
	for c, txs := range h.Clients {
		for n, t := range txs {
			name := fmt.Sprintf("client %d tx %d", c, n)
			if t.Plain {
				name += " plain"
			}
			for _, o := range t.Ops {
				lines = append(lines, line{o.Start, fmt.Sprintf("%5d-%-5d %s: %s", o.Start, o.End, name, o)})
			}
			if t.Auto {
				continue
			}
			end := [...]string{"commit", "rollback", "failed " + t.Class}[t.Outcome]
			lines = append(lines, line{t.Start, fmt.Sprintf("%5d-%-5d %s: %s (%s)", t.Start, t.End, name, end, t.Begin)})
		}
	}
	sort.Slice(lines, func(i, j int) bool { return lines[i].at < lines[j].at })
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"%s %s %s wrapped=%v seed %d history %d\ninitial %v seen %v\n",
		h.Dialect,
		h.Level,
		h.Table,
		h.Wrapped,
		h.Seed,
		h.Number,
		h.Initial,
		h.First,
	)
	for _, l := range lines {
		b.WriteString(l.sql + "\n")
	}
	fmt.Fprintf(&b, "final %v seen %v\n", h.Final, h.Seen)
	return b.String()
}
