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
	return configWith(proposals, "auto_migrate: true")
}

// WithSlots is Config with slots on every engine.
func WithSlots(proposals []*Proposal) (string, Lines) {
	return configWith(proposals, "auto_migrate: true", "defaults: {slots: "+strconv.Itoa(config.DefaultSlots)+"}")
}

func configWith(proposals []*Proposal, lines ...string) (string, Lines) {
	w := &writer{at: Lines{}, alone: true}
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
}

func (w *writer) line(s string) {
	w.b.WriteString(s)
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
	var on, off, guesses []*Proposal
	for _, p := range proposals {
		switch {
		case p.Guess:
			guesses = append(guesses, p)
		case p.Off != "":
			off = append(off, p)
		default:
			on = append(on, p)
		}
	}
	if len(on) == 0 {
		w.line("tables: {}")
	} else {
		w.line("tables:")
	}
	for i, p := range on {
		if i > 0 && !w.alone {
			w.line("")
		}
		if !w.alone {
			w.reasons("  ", p)
		}
		w.table("  ", p)
	}
	if w.alone {
		return
	}
	empty := ""
	if len(on) == 0 {
		empty = ", and delete the {} above"
	}
	if len(off) > 0 {
		w.line("")
		w.comment("  ", "Not proposed, with the reason. To try one anyway, uncomment its lines"+empty+".")
		for _, p := range off {
			w.line("  #")
			w.reasons("  ", p)
			w.comment("  ", "not proposed: "+p.Off)
			w.table("  #   ", p)
		}
	}
	if len(guesses) > 0 {
		w.line("")
		w.comment(
			"  ",
			"Guesses from the names and types of columns: no statement that was seen writes them. Where one is incremented by many",
		)
		w.comment("  ", "sessions at once, uncomment its lines"+empty+"; slotsql explain shows how a statement runs.")
		for _, p := range guesses {
			w.line("  #")
			w.notes("  ", p)
			if p.Off != "" {
				w.comment("  ", "not as it is: "+p.Off)
			}
			w.table("  #   ", p)
		}
	}
}

// table writes the entry of a table. In the indent of a comment all counters
// are written as comments, to try.
func (w *writer) table(indent string, p *Proposal) {
	commented := strings.Contains(indent, "#")
	w.line(indent + scalar(p.Table) + ":")
	w.at[w.n] = Place{Proposal: p}
	if p.Key != nil {
		var key []string
		for _, k := range p.Key {
			key = append(key, scalar(k))
		}
		w.line(indent + "  key: [" + strings.Join(key, ", ") + "]")
		w.at[w.n] = Place{Proposal: p}
	}
	w.slots(indent, p)
	w.line(indent + "  counters:")
	w.at[w.n] = Place{Proposal: p}
	for _, c := range p.Counters {
		if c.Off != "" && !commented {
			continue
		}
		line := indent + "    " + scalar(c.Column) + ":"
		if notes := slices.Clone(c.Notes); !w.alone {
			if c.Off != "" && c.Off != p.Off {
				notes = append([]string{c.Off}, notes...)
			}
			if c.Runs > 0 {
				notes = append([]string{plural(c.Runs, "run")}, notes...)
			}
			if len(notes) > 0 {
				line += " # " + oneLine(strings.Join(notes, "; "))
			}
		}
		w.line(line)
		w.at[w.n] = Place{Proposal: p, Column: c.Column}
	}
	if !commented && !w.alone {
		for _, c := range p.Counters {
			if c.Off != "" {
				w.comment(indent+"    ", scalar(c.Column)+": not proposed: "+strings.Join(append([]string{c.Off}, c.Notes...), "; "))
			}
		}
	}
	if len(p.Companions) > 0 {
		w.line(indent + "  companions:")
		w.at[w.n] = Place{Proposal: p}
		for _, c := range p.Companions {
			w.line(indent + "    " + scalar(c.Column) + ": " + c.Merge)
			w.at[w.n] = Place{Proposal: p, Column: c.Column}
		}
	}
	if len(p.Views) > 0 {
		var views []string
		for _, v := range p.Views {
			views = append(views, scalar(v))
		}
		w.line(indent + "  views: [" + strings.Join(views, ", ") + "]")
		w.at[w.n] = Place{Proposal: p, Views: true}
	}
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
	w.line(line)
	w.at[w.n] = Place{Proposal: p}
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
		case u.Kind != "":
			w.comment(indent, "    "+u.Kind)
		case u.Reason != "" && adds && p.Slotless != "":
			w.comment(indent, "    runs one by one: "+u.Reason)
		case u.Reason != "" && adds:
			w.comment(indent, "    runs on the base row: "+u.Reason)
		case u.Reason != "":
			w.comment(indent, "    "+u.Reason)
		}
	}
}

// often says how often a statement was run, or where it stands.
func (s *Statement) often() string {
	var parts []string
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
