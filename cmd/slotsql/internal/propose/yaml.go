package propose

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/slotsql/slotsql/internal/config"
)

// Lines says which line of a written file stands for which counter; the column
// is "" for the table's own line.
type Lines map[int]Place

// Place is a counter or companion of a proposal, its views, or with no column
// all of it.
type Place struct {
	Proposal *Proposal
	Column   string
	Views    bool
}

// Config writes the configuration alone, for holding it against a database.
func Config(proposals []*Proposal) (string, Lines) {
	return configWith(&writer{}, proposals, "auto_migrate: true")
}

// WithSlots is Config with slots on every engine.
func WithSlots(proposals []*Proposal) (string, Lines) {
	return configWith(&writer{}, proposals, "auto_migrate: true", "defaults: {slots: "+strconv.Itoa(config.DefaultSlots)+"}")
}

// Uncommented is the configuration that is left when every line that is written as a comment is
// made one of the configuration.
func Uncommented(proposals []*Proposal) (string, Lines) {
	return configWith(&writer{all: true}, proposals, "auto_migrate: true")
}

func configWith(w *writer, proposals []*Proposal, lines ...string) (string, Lines) {
	w.at, w.alone = Lines{}, true
	w.line("version: 1")
	for _, l := range lines {
		w.line(l)
	}
	w.tables(proposals)
	return w.b.String(), w.at
}

// Header is what stands above a proposal.
type Header struct {
	Database string   // of which the proposal is, without passwords
	Sources  []string // what it was made of, and what was not available
	Summary  []string // what becomes of the statements with it
}

// maxUses is how many statements are shown of each kind for a table.
const maxUses = 8

// Write writes the proposal with its reasons as comments.
func Write(out io.Writer, h Header, proposals []*Proposal) error {
	w := &writer{at: Lines{}}
	w.comment("", "Proposed by slotsql init for "+h.Database+".")
	for _, s := range h.Sources {
		w.comment("", s)
	}
	for _, s := range h.Summary {
		w.comment("", s)
	}
	w.line("version: 1")
	w.line("")
	w.comment("", "Creates missing slot tables at the first connect. Without it run slotsql migrate.")
	w.line("auto_migrate: true")
	w.line("")
	w.tables(proposals)
	_, err := io.WriteString(out, w.b.String())
	return err
}

type writer struct {
	b     strings.Builder
	n     int
	at    Lines
	alone bool // without reasons and comments
	all   bool // with what is not proposed
	// off is "#" where lines are those of a configuration, but comments for now. Without it they
	// are indented as they have to be.
	off string
}

func (w *writer) line(s string) {
	w.b.WriteString(w.off + s)
	w.b.WriteByte('\n')
	w.n++
}

// comment writes a comment; what it holds cannot end it.
func (w *writer) comment(indent, text string) { w.line(indent + "# " + oneLine(text)) }

var breaks = regexp.MustCompile(`[\x00-\x1f\x7f-\x9f\x{2028}\x{2029}\x{feff}]+`)

func oneLine(s string) string {
	return strings.TrimRight(breaks.ReplaceAllString(strings.ToValidUTF8(s, "?"), " "), " ")
}

func (w *writer) tables(proposals []*Proposal) {
	var on, off, guesses, unfit []*Proposal
	for _, p := range proposals {
		switch {
		case p.unfit:
			unfit = append(unfit, p)
		case w.all || p.Off == "" && !p.Guess:
			on = append(on, p)
		case p.Guess:
			guesses = append(guesses, p)
		default:
			off = append(off, p)
		}
	}
	if len(on) == 0 && (w.alone || len(off)+len(guesses) == 0) {
		w.line("tables: {}")
	} else {
		w.line("tables:")
	}
	for i, p := range on {
		if i > 0 && !w.alone {
			w.line("")
		}
		w.proposal(p)
	}
	if w.alone {
		return
	}
	w.list(off, "Not proposed, with the reason. To try one anyway, remove the # before its lines.")
	w.list(guesses, "Guesses from the names, types and defaults of columns: no statement that was seen writes them. Where many sessions",
		"increment one at once, remove the # before its lines; slotsql explain shows how a statement runs.")
	if len(unfit) > 0 {
		w.line("")
		w.comment("  ", "Not possible, with the reason.")
	}
	for _, p := range unfit {
		w.line("  #")
		w.reasons("  ", p)
		w.comment("  ", oneLine(scalar(p.Table)+": "+p.Off))
	}
}

// list writes tables as a configuration that is a comment for now.
func (w *writer) list(proposals []*Proposal, title ...string) {
	if len(proposals) == 0 {
		return
	}
	w.line("")
	for _, line := range title {
		w.comment("  ", line)
	}
	w.off = "#"
	for _, p := range proposals {
		w.line("")
		w.proposal(p)
	}
	w.off = ""
}

// proposal writes a table with its reasons.
func (w *writer) proposal(p *Proposal) {
	if !w.alone {
		w.reasons("  ", p)
		if p.Off != "" {
			w.comment("  ", "not proposed: "+p.Off)
		}
	}
	w.table("  ", p)
}

// table writes the entry of a table.
func (w *writer) table(indent string, p *Proposal) {
	w.place(indent+scalar(p.Table)+":", Place{Proposal: p})
	if p.Key != nil {
		var key []string
		for _, k := range p.Key {
			key = append(key, scalar(k))
		}
		w.place(indent+"  key: ["+strings.Join(key, ", ")+"]", Place{Proposal: p})
	}
	w.slots(indent, p)
	w.place(indent+"  counters:", Place{Proposal: p})
	for _, c := range p.Counters {
		w.counter(indent+"    ", p, &c)
	}
	if len(p.Companions) > 0 {
		w.place(indent+"  companions:", Place{Proposal: p})
		for _, c := range p.Companions {
			w.place(indent+"    "+scalar(c.Column)+": "+c.Merge, Place{Proposal: p, Column: c.Column})
		}
	}
	if len(p.Views) > 0 {
		var views []string
		for _, v := range p.Views {
			views = append(views, scalar(v))
		}
		w.place(indent+"  views: ["+strings.Join(views, ", ")+"]", Place{Proposal: p, Views: true})
	}
}

// place writes a line that stands for something.
func (w *writer) place(line string, what Place) {
	w.line(line)
	w.at[w.n] = what
}

// counter writes a counter. One that is not proposed is a comment for now, unless all of its table is.
func (w *writer) counter(indent string, p *Proposal, c *Counter) {
	if w.alone {
		if !c.unfit && (w.all || c.Off == "") {
			w.place(indent+scalar(c.Column)+":", Place{Proposal: p, Column: c.Column})
		}
		return
	}
	notes := slices.Clone(c.Notes)
	if c.Off != "" && c.Off != p.Off {
		notes = append([]string{"not proposed: " + c.Off}, notes...)
	}
	if c.Runs > 0 {
		notes = append([]string{plural(c.Runs, "run")}, notes...)
	}
	line := scalar(c.Column) + ":"
	if c.unfit {
		line = "# " + line
	}
	if len(notes) > 0 {
		line += " # " + oneLine(strings.Join(notes, "; "))
	}
	off := w.off
	if c.Off != "" && !c.unfit {
		w.off = "#"
	}
	w.place(indent+line, Place{Proposal: p, Column: c.Column})
	w.off = off
}

// slots writes how many slots a table has, where that is none.
func (w *writer) slots(indent string, p *Proposal) {
	if p.Slotless == "" {
		return
	}
	line := indent + "  slots: 0"
	if !w.alone {
		line += " # " + oneLine(p.Slotless)
	}
	w.place(line, Place{Proposal: p})
}

// reasons writes what speaks for a table, and what will be slow.
func (w *writer) reasons(indent string, p *Proposal) {
	var total time.Duration
	for _, u := range p.Adds {
		total += u.Time
	}
	if n := runs(p); n > 0 && total > 0 {
		w.comment(indent, fmt.Sprintf("%s of statements that add, %s in the server:", plural(n, "run"), brief(total)))
	} else if len(p.Adds) > 0 {
		w.comment(indent, "Statements that add:")
	}
	w.uses(indent, p, p.Adds, true)
	if len(p.Slow) > 0 {
		w.comment(indent, "Slow: slots are folded first (drained), then these run:")
		w.uses(indent, p, p.Slow, false)
	}
	w.notes(indent, p)
}

func (w *writer) notes(indent string, p *Proposal) {
	for _, n := range p.Notes {
		w.comment(indent, "note: "+n)
	}
}

func (w *writer) uses(indent string, p *Proposal, uses []Use, adds bool) {
	for i, u := range uses {
		if i == maxUses {
			w.comment(indent, fmt.Sprintf("  and %s (slotsql check --sql lists them)", plural(int64(len(uses)-i), "further statement")))
			return
		}
		w.comment(indent, "  "+u.often()+u.Shape)
		switch {
		case u.By != "" && !adds:
			w.comment(indent, "    not drained inside the database, where it works on base values: name the routine in routines: of the table")
		case u.Kind != "":
			w.comment(indent, "    "+u.Kind)
		case u.Reason != "" && u.Verdict != "":
			w.comment(indent, "    "+u.Verdict)
		case u.Reason != "" && adds:
			w.comment(indent, "    runs on the base row: "+u.Reason)
		case u.Reason != "":
			w.comment(indent, "    "+u.Reason)
		}
	}
}

// often says how often a statement was run, or where it is.
func (s *Statement) often() string {
	var parts []string
	if s.By != "" {
		parts = append(parts, s.By)
	}
	if s.Runs > 0 {
		parts = append(parts, plural(s.Runs, "run"))
	}
	if s.Time > 0 {
		parts = append(parts, brief(s.Time))
	}
	if s.Lock > 0 {
		parts = append(parts, brief(s.Lock)+" waiting for locks")
	}
	if s.Line > 0 {
		parts = append(parts, "line "+strconv.Itoa(s.Line))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + ": "
}

func plural(n int64, what string) string {
	s := humanize.Comma(n) + " " + what
	if n != 1 {
		s += "s"
	}
	return s
}

func brief(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}

// configTable writes a table's name as the configuration takes it.
func configTable(t Table) string {
	if t.Visible {
		return ConfigName(t.Name)
	}
	return ConfigName(t.Schema) + "." + ConfigName(t.Name)
}

// ConfigName quotes a name of a table, schema or view where the configuration
// would read more into it.
func ConfigName(name string) string {
	if strings.ContainsAny(name, ".\"`") || name != strings.TrimSpace(name) {
		return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	return name
}

var (
	plain    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?$`)
	reserved = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}
)

// scalar writes a name so that YAML reads it back as it is.
func scalar(s string) string {
	if plain.MatchString(s) && !slices.Contains(reserved, strings.ToLower(s)) {
		return s
	}
	if breaks.MatchString(s) || !strings.ContainsFunc(s, func(r rune) bool { return r != '\'' }) {
		return strconv.Quote(s)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
