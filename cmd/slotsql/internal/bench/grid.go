package bench

import (
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// terminal is how many columns the printed report may have, and widestKey how many of them a
// column of points may take.
const terminal, widestKey = 80, 30

// grid is a table for a terminal. One that is too wide becomes several, one below the other, each
// of which begins with the same columns.
type grid struct {
	head   []string
	keys   int // columns at the beginning that every part has
	left   int // the key that is aligned to the left; -1 for none
	rows   [][]string
	breaks map[int]bool // rows that a line stands above
}

func (g *grid) add(row []string) { g.rows = append(g.rows, row) }

// separate has a line drawn above the next row.
func (g *grid) separate() {
	if g.breaks == nil {
		g.breaks = map[int]bool{}
	}
	g.breaks[len(g.rows)] = true
}

func (g *grid) render() string {
	var parts []string
	for from := g.keys; from < len(g.head); {
		to := from + 1
		for to < len(g.head) && g.width(from, to+1) <= terminal {
			to++
		}
		parts = append(parts, g.part(from, to))
		from = to
	}
	return strings.Join(parts, "\n\n")
}

// width returns the columns that a part takes.
func (g *grid) width(from, to int) (n int) {
	for c := range g.head {
		if c < g.keys || c >= from && c < to {
			n += g.column(c) + 2
		}
	}
	return n
}

func (g *grid) column(c int) int {
	widest := utf8.RuneCountInString(g.head[c])
	for _, row := range g.rows {
		widest = max(widest, utf8.RuneCountInString(row[c]))
	}
	if c < g.keys {
		widest = min(widest, widestKey)
	}
	return widest
}

// part renders the keys and a range of the other columns.
func (g *grid) part(from, to int) string {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options.DrawBorder, style.Options.SeparateColumns = false, false
	t.SetStyle(style)
	pick := func(row []string) (out table.Row) {
		for c, v := range row {
			if c < g.keys || c >= from && c < to {
				out = append(out, v)
			}
		}
		return out
	}
	var configs []table.ColumnConfig
	for c := range pick(g.head) {
		config := table.ColumnConfig{Number: c + 1, Align: text.AlignRight, AlignHeader: text.AlignRight}
		if c < g.keys {
			config.AutoMerge = c != g.left
			config.WidthMax, config.WidthMaxEnforcer = widestKey, text.WrapSoft
		}
		if c == g.left {
			config.Align, config.AlignHeader = text.AlignLeft, text.AlignLeft
		}
		configs = append(configs, config)
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(pick(g.head))
	for i, row := range g.rows {
		if g.breaks[i] {
			t.AppendSeparator()
		}
		t.AppendRow(pick(row))
	}
	lines := strings.Split(t.Render(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// wrap breaks prose into lines that fit the terminal; those after the first are indented. A word
// that does not fit a line is cut.
func wrap(prose, indent string) string {
	var out strings.Builder
	line := ""
	flush := func() {
		out.WriteString(strings.TrimRight(line, " ") + "\n")
		line = indent
	}
	for _, word := range strings.Fields(prose) {
		if utf8.RuneCountInString(line)+utf8.RuneCountInString(word) > terminal && strings.TrimSpace(line) != "" {
			flush()
		}
		for runes := []rune(word); len(runes) > terminal-len(indent); runes = []rune(word) {
			room := terminal - len(line)
			line, word = line+string(runes[:room]), string(runes[room:])
			flush()
		}
		line += word + " "
	}
	return out.String() + strings.TrimRight(line, " ")
}
