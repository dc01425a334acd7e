package golden

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

const width = 120 // of SQL, in bytes

// Print writes a plan as the cases show it: everything that it does, SQL one
// clause a line, with the arguments that it binds behind an arrow. Of a drain
// of certain keys it shows the lock, which has the application's own predicate
// in it; a drain of all rows of a table has the same text for every statement,
// so it is only named, and so are the drain that an increment falls back to,
// and what a statement on PostgreSQL asks of its lock on the base row. allSteps
// shows them all.
func Print(rules *lex.Rules, sql string, p *rewrite.Plan, allSteps bool) string {
	b := printer{rules: rules, allSteps: allSteps}
	b.plan("", sql, p.Whole(), allSteps)
	return b.String()
}

type printer struct {
	strings.Builder
	rules    *lex.Rules
	allSteps bool
	printed  map[string]string // SQL of several clauses of this plan, by its key
}

// certain is the condition that an increment's lock on the base row is certain.
var certain = regexp.MustCompile(`\(SELECT CASE WHEN slotsql_b\.xmax = .*? AND slotsql_b\.tableoid = slotsql_q\.slotsql_r\)`)

// locked is the condition that a row is the one that the transaction has locked.
var locked = regexp.MustCompile(`CASE WHEN \S+\.xmax = .*? AS slotsql_m\) ELSE FALSE END`)

// upsert writes an increment's statement.
func (b *printer) upsert(indent, key string, x rewrite.Bound) {
	sql := x.SQL.Of(nil)
	if !b.allSteps {
		sql = certain.ReplaceAllLiteralString(sql, "(the lock is certain)")
	}
	b.sql(indent, key, sql, x.Args)
}

func (b *printer) bound(indent, key string, x rewrite.Bound) {
	b.sql(indent, key, x.SQL.Of(nil), x.Args)
}

// sql writes a statement: one of several clauses a clause a line, and once in a plan. No two statements are written alike: one whose
// lines do not give it back, because other white space is in their place, is written verbatim.
func (b *printer) sql(indent, key, sql string, list []rewrite.Arg) {
	margin := indent + "  "
	lines := lex.Clauses(b.rules, sql, "", width-len(margin))
	lines[0] = sql[:len(sql)-len(strings.TrimLeft(sql, " "))] + lines[0]
	same := ""
	for before, one := range b.printed {
		if one == sql {
			same = before
		}
	}
	switch {
	case same != "":
		b.line(indent, key, fmt.Sprintf("same SQL as %q", same)+arrow(list))
		return
	case len(lines) > 1 && joined(lines) == sql:
		b.WriteString(indent + key + ":\n" + margin + strings.Join(lines, "\n"+margin) + arrow(list) + "\n")
	default:
		b.line(indent, key, sql+arrow(list))
	}
	if b.printed[key] == "" && len(lines) > 1 {
		b.printed[key] = sql
	}
}

// joined puts one space, or none within parentheses, in the place of each line break and of the white space behind it.
func joined(lines []string) string {
	sql := lines[0]
	for _, line := range lines[1:] {
		line = strings.TrimLeft(line, " ")
		if !strings.HasSuffix(sql, "(") && !strings.HasPrefix(line, ")") {
			sql += " "
		}
		sql += line
	}
	return sql
}

func (b *printer) line(indent, key, value string) {
	if strings.Contains(value, "\n") {
		value = "|\n" + indent + "  " + strings.ReplaceAll(value, "\n", "\n"+indent+"  ")
	}
	b.WriteString(indent + key + ": " + value + "\n")
}

//nolint:funlen // one section of a golden file after another
func (b *printer) plan(indent, sql string, p *rewrite.Plan, allSteps bool) {
	b.printed = map[string]string{"statement": sql}
	class := string(p.Class)
	if len(p.Tables) > 0 {
		class += " " + strings.Join(p.Tables, ", ")
	}
	b.line(indent, "class", class)
	if p.Reason != "" {
		b.line(indent, "reason", strings.Join(strings.Fields(p.Reason), " "))
	}
	if p.SQL != sql {
		b.sql(indent, "text", p.SQL, p.Read.Args)
	}
	b.read(indent, sql, p)
	if inc := p.Increment; inc != nil {
		b.upsert(indent, "increment", inc.Bound)
		if inc.Add != nil {
			b.bound(indent, "again", *inc.Add)
		}
		if inc.AddLocked != nil {
			b.bound(indent, "again, in a transaction", *inc.AddLocked)
		}
		if inc.Asked != nil {
			b.bound(indent, "asked behind it, in a transaction", *inc.Asked)
			b.bound(indent, "stated once more", *inc.Stated)
		}
		if co := inc.Coalesced; co != nil {
			b.upsert(indent, "coalesced", co.Upsert)
			if co.Add != nil {
				b.bound(indent, "coalesced again", *co.Add)
			}
			b.line(indent, "shares", shares(co.Shares))
		}
		if len(inc.Deltas) > 0 {
			b.line(indent, "deltas", deltas(inc.Deltas))
		}
		if len(inc.NotNumber) > 0 {
			b.line(indent, "not numbers", args(inc.NotNumber))
		}
		for _, g := range inc.Inserted {
			b.line(indent, "given", given(g))
		}
		if inc.Upsert {
			b.line(indent, "else", "the original inserts the row")
		}
	}
	if p.Bounded != nil {
		if own := p.Bounded.Own; own != nil {
			b.bound(indent, "bounded", *own)
		} else {
			b.line(indent, "bounded", "runs as it is where the base row satisfies the guards")
		}
		if po := p.Bounded.Portion; po != nil {
			b.bound(indent, "portion", po.Take)
			if len(po.Base.Parts) > 0 {
				b.sql(indent+"  ", "if", value(po.Base), po.Base.Args)
			}
		}
	}
	b.group(indent, p, allSteps)
	if len(p.Base.Require) > 0 {
		b.line(indent, "runs as it is for", deltas(p.Base.Require))
	}
	b.proofs(indent, p.Drain.Proof)
	if read := p.Drain.LockingRead; read != nil {
		b.sql(indent, "in a transaction", read.SQL.Of(nil), nil)
	}
	for _, d := range p.Drain.Tables {
		b.drain(indent, p, d, allSteps)
	}
	for _, x := range p.Drain.Before {
		b.bound(indent, "before", x)
	}
	for _, x := range p.Drain.After {
		b.bound(indent, "after", x)
	}
	if e := effects(p.Effects); e != "" {
		b.line(indent, "session", e)
	}
	switch {
	case p.Effects&rewrite.TicketRecall != 0:
		b.line(indent, "tickets", "blocks are recalled")
	case p.Effects&rewrite.TicketLock != 0 && (p.Group == nil || p.Group.Lease.Block == 0):
		b.line(indent, "tickets", "their rows may be locked")
	}
	for i, part := range p.Parts {
		head := fmt.Sprintf("part %d", i+1)
		if part.Params > 0 {
			head += fmt.Sprintf(", arguments from %d on", part.ArgBase+1)
		}
		if part.TxBegin {
			head += ", begins a transaction"
		}
		if part.TxEnd {
			head += ", ends it"
		}
		b.WriteString(indent + head + "\n")
		b.printed = map[string]string{}
		b.sql(indent+"  ", "statement", part.SQL, nil)
		b.plan(indent+"  ", part.SQL, part.Plan, false)
	}
}

func (b *printer) drain(indent string, p *rewrite.Plan, d rewrite.DrainTable, allSteps bool) {
	scope := "all rows"
	if d.Keyed {
		scope = "these keys"
	}
	key := "drain"
	if p.Class != rewrite.Drain {
		key = "else drain"
	}
	b.line(indent, key, d.Table.Name+", "+scope)
	if !allSteps && (!d.Keyed || p.Class != rewrite.Drain) {
		return
	}
	if w := d.New; w != nil {
		for _, g := range w.Inserted {
			b.line(indent+"  ", "for", given(g)+"; else all rows")
		}
		if w.Probe != nil {
			b.bound(indent+"  ", "count first", *w.Probe)
		}
	}
	for i, x := range d.Lock {
		if i == 0 || allSteps {
			b.bound(indent+"  ", "lock", x)
		}
	}
	if d.Folding == rewrite.FoldByName && allSteps {
		b.line(indent+"  ", "fold", "slot rows by name")
	}
	for _, x := range d.Fold {
		if allSteps || len(d.Lock) == 0 {
			b.bound(indent+"  ", "fold", x)
		}
	}
}

func value(k rewrite.KeyValue) string {
	parts := make([]string, len(k.Parts))
	for i := range k.Parts {
		parts[i] = k.Parts[i].Of(nil)
	}
	return strings.Join(parts, "?")
}

func arrow(list []rewrite.Arg) string {
	if len(list) == 0 {
		return ""
	}
	return "  <- " + args(list)
}

func args(list []rewrite.Arg) string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = arg(a)
	}
	return strings.Join(out, ", ")
}

// portionNumbers names what an execution works out for its portion.
var portionNumbers = map[rewrite.PortionArg]string{
	rewrite.PortionDelta: "delta", rewrite.PortionNeed: "need", rewrite.PortionSize: "size", rewrite.PortionPlace: "server",
}

func arg(a rewrite.Arg) string {
	if a.Slot {
		return "slot"
	}
	if a.Portion != rewrite.NoPortion {
		if a.Column > 0 {
			return portionNumbers[a.Portion] + " " + strconv.Itoa(a.Column+1)
		}
		return portionNumbers[a.Portion]
	}
	if a.Total > 0 || a.Bound > 0 {
		return summed(a)
	}
	switch a.Many {
	case rewrite.ManyRows:
		return "rows"
	case rewrite.ManyCount:
		return "number of rows"
	}
	s := "#" + strconv.Itoa(a.Index+1)
	if a.Index < 0 {
		s = a.Number
	}
	if a.Name != "" {
		s = ":" + a.Name + " or " + s
	}
	if a.Negate {
		s = "-" + s
	}
	if a.Plus != nil {
		s += " + " + arg(*a.Plus)
	}
	switch {
	case a.Free && a.First:
		s += " of the first"
	case a.Free:
		s += " of any"
	}
	return s
}

// shares says what one execution adds to each total, in units of its last digit.
func shares(list []rewrite.Share) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strconv.FormatInt(s.Literal.Of(nil), 10)
		if s.Arg != nil {
			out[i] = arg(*s.Arg)
		}
		out[i] += fmt.Sprintf(" of at most %d", s.Max)
		if s.Scale > 0 {
			out[i] += fmt.Sprintf(" in units of 1e-%d", s.Scale)
		}
	}
	return strings.Join(out, ", ")
}

func deltas(list []rewrite.DeltaArg) string {
	out := make([]string, len(list))
	for i, d := range list {
		low := fmt.Sprintf("-%d", d.Max)
		if d.NonNegative {
			low = "0"
		}
		name := arg(d.Arg)
		out[i] = fmt.Sprintf("%s within %s..%d", name, low, d.Max)
		if d.Scale > 0 {
			out[i] += fmt.Sprintf(" to %d places", d.Scale)
		}
	}
	return strings.Join(out, ", ")
}

// given says what an argument must be for its column to take it.
func given(g rewrite.InsertedArg) string {
	s := arg(g.Arg) + " that fits:"
	if g.Integer {
		s += fmt.Sprintf(" %d..%d", g.Low, g.High)
	}
	if g.Length > 0 {
		s += fmt.Sprintf(" text of %d", g.Length)
	}
	if g.ASCII {
		s += " ASCII"
	}
	if g.Time {
		s += " time"
	}
	if g.Number {
		s += " number"
	}
	if g.JSON {
		s += " of JSON"
	}
	if g.Nullable {
		s += " or NULL"
	}
	return s
}

func effects(e rewrite.Effect) string {
	var out []string
	if e&rewrite.TxControl != 0 {
		out = append(out, "transaction")
	}
	if e&rewrite.Namespace != 0 {
		out = append(out, "namespace")
	}
	if e&rewrite.SchemaChange != 0 {
		out = append(out, "schema")
	}
	if len(out) == 0 {
		return ""
	}
	return "may change its " + strings.Join(out, ", ")
}
