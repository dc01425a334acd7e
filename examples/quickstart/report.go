package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

const width = 78

// report prints for a terminal of 80 columns, without control characters.
type report struct {
	out     io.Writer
	options options
	engine  engine
	plans   []string
}

func (r *report) printf(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }

func (r *report) intro() {
	r.prose(fmt.Sprintf("One row of %s that %d clients count and draw numbers from, then a page-view application of %v around it: first "+
		"with the driver %q, then with %q. Nothing else differs.", r.engine.title, r.options.clients, r.options.duration, r.engine.plain, r.engine.wrapped))
}

// speed prints the two runs side by side. The ratio is slotsql to plain.
func (r *report) speed(plain, wrapped *outcome) {
	for _, row := range []struct {
		kind kind
		what string
	}{
		{view, "views counted (UPDATE)"},
		{visit, "visits (transaction)"},
		{read, "page reads (SELECT)"},
		{top, "top-10 lists (ORDER BY views)"},
	} {
		r.row(
			row.what+" /s",
			humanize.CommafWithDigits(plain.perSecond(row.kind), 0),
			humanize.CommafWithDigits(wrapped.perSecond(row.kind), 0),
			wrapped.perSecond(row.kind)/plain.perSecond(row.kind),
		)
		for _, q := range []struct {
			name string
			q    float64
		}{{"p50", .5}, {"p95", .95}, {"p99", .99}, {"max", 1}} {
			a, b := plain.quantile(row.kind, q.q), wrapped.quantile(row.kind, q.q)
			if row.kind == view || q.name == "p99" {
				r.row("  "+q.name, short(a), short(b), b.Seconds()/a.Seconds())
			}
		}
	}
	r.printf("")
	for _, o := range []*outcome{plain, wrapped} {
		if o.failed > 0 {
			r.printf("%s: %d requests failed and are not counted, the first with: %v\n", o.driver, o.failed, o.failure)
		}
	}
	r.prose("Ratios above 1 are better for /s, below 1 for latencies. The gain grows with the number of clients, with the time " +
		"that a commit takes or a transaction holds the row (disk, network), and with the server's cores.")
}

// hotRow prints what one statement does on one row, before anything else.
func (r *report) hotRow(plain, wrapped *outcome) {
	r.printf("%-34s %13s %16s %9s", "one hot row", plain.driver, wrapped.driver, "gain")
	for _, row := range []struct {
		what string
		a, b int64
	}{
		{"increments (UPDATE) /s", plain.counted, wrapped.counted},
		{"numbers drawn (UPDATE, number) /s", plain.drawn, wrapped.drawn},
	} {
		r.row(row.what, humanize.Comma(row.a), humanize.Comma(row.b), float64(row.b)/float64(max(row.a, 1)))
	}
	r.printf("")
	r.printf("%-34s %13s %16s %9s", "the whole application", plain.driver, wrapped.driver, "ratio")
}

func (r *report) row(what, plain, wrapped string, ratio float64) {
	r.printf("%-34s %13s %16s %8.2fx", what, plain, wrapped, ratio)
}

func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2f s ", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.0f µs", d.Seconds()*1e6)
}

// totals holds what the application reads against what it was told.
func (r *report) totals(runs ...*outcome) (exact bool) {
	exact = true
	r.printf("%-34s %13s %16s", "exact totals (with warm-up)", "acknowledged", "read back")
	for _, o := range runs {
		for _, c := range []struct {
			what       string
			want, have int64
		}{
			{"views", o.acknowledged[view], o.hot.Views},
			{"visits", o.acknowledged[visit], o.hot.Visits},
			{"rows in the log", o.acknowledged[visit], o.logged},
			{"last number drawn", o.numbers, o.last},
		} {
			verdict := "ok"
			if c.want != c.have {
				exact, verdict = false, "WRONG"
			}
			r.printf("%-34s %13s %16s %9s", "  "+o.driver+": "+c.what, humanize.Comma(c.want), humanize.Comma(c.have), verdict)
		}
	}
	r.printf("")
	return exact
}

func (r *report) storage(o *outcome) {
	if o.slots == 0 {
		r.prose(fmt.Sprintf("The page's own row holds all %s views: increments that overlap share one statement on it.", humanize.Comma(o.base)))
		return
	}
	r.prose(
		fmt.Sprintf(
			"Of the %s views through %s the page's own row holds %s and %d rows of %s hold %s.",
			humanize.Comma(o.hot.Views),
			o.driver,
			humanize.Comma(o.base),
			o.slots,
			slots,
			humanize.Comma(o.inSlots),
		),
	)
}

// explain asks slotsql what it made of three of the application's statements.
func (r *report) explain() error {
	for _, query := range []string{countView, drawOrder, selectTop} {
		text, err := explain(context.Background(), db, query)
		if err != nil {
			return err
		}
		r.plans = append(r.plans, text)
	}
	return nil
}

func (r *report) became() {
	if len(r.plans) == 0 {
		return
	}
	r.printf("What became of three of its statements:")
	for _, p := range r.plans {
		r.printf("")
		for line := range strings.Lines(p) {
			r.wrap("  ", "      ", strings.TrimRight(line, "\n"))
		}
	}
}

func (r *report) prose(text string) {
	r.wrap("", "", text)
	r.printf("")
}

// wrap prints words in lines that fit the terminal; a word that does not fit one is
// cut.
func (r *report) wrap(first, next, text string) {
	first += text[:len(text)-len(strings.TrimLeft(text, " "))]
	line, indent := first, first
	for _, word := range strings.Fields(text) {
		for len(next)+len(word) > width {
			r.printf("%s", line)
			line, indent = next+word[:width-len(next)], next
			word = word[width-len(next):]
		}
		if len(line) > len(indent) && len(line)+1+len(word) > width {
			r.printf("%s", line)
			line, indent = next, next
		}
		if len(line) > len(indent) {
			line += " "
		}
		line += word
	}
	r.printf("%s", line)
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// showProgress counts the seconds on one line until the function returned is called.
func showProgress(w io.Writer, what string, d time.Duration) (stop func()) {
	if w == nil {
		return func() {}
	}
	start, done, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			fmt.Fprintf(w, "\r%-16s %.0f of %v", what, min(time.Since(start), d).Seconds(), d)
			select {
			case <-tick.C:
			case <-done:
				fmt.Fprintf(w, "\r%*s\r", width, "")
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
