package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/status"
)

// look is one look at a database and, with --page, at a process.
type look struct {
	*slotsql.Inspection
	Process []slotsql.SleepStats `json:"process,omitempty"`
	Page    *status.Process      `json:"page,omitempty"` // whose it is
}

// pageTimeout is how long a process may take to answer.
const pageTimeout = 5 * time.Second

func (o *options) pageFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.page, "page", "", "`URL` of a process's status page: also show what the process knows of its tables")
}

func (o *options) look(ctx context.Context, i *slotsql.Inspector) (l look, err error) {
	if l.Inspection, err = i.Look(ctx); err == nil && o.page != "" {
		l.Page, l.Process, err = fetchProcess(ctx, o.page)
	}
	return l, err
}

// fetchProcess asks the status page of a process which it is, and for its tables.
func fetchProcess(ctx context.Context, page string) (p *status.Process, out []slotsql.SleepStats, err error) {
	u, err := url.Parse(page)
	if err != nil {
		return nil, nil, err
	}
	query := u.Query()
	query.Set("format", "json")
	u.RawQuery = query.Encode()
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("%s: %s", u.Redacted(), response.Status)
	}
	var r status.Report
	if err := json.NewDecoder(response.Body).Decode(&r); err != nil {
		return nil, nil, fmt.Errorf("%s is not the status page of a process: %w", u.Redacted(), err)
	}
	for _, c := range r.Connectors {
		for _, t := range c.Tables {
			out = append(out, t.Sleep)
		}
	}
	return &r.Process, out, nil
}

// printProcess prints what a process knows of its tables.
func printProcess(w io.Writer, l look) {
	t := newTable(table.Row{"in the process", "state", "since", "woken by", "slots tried", "observed", "folded first", "exact"}, 6)
	for _, s := range l.Process {
		since := ""
		if !s.Since.IsZero() {
			since = l.At.Sub(s.Since).Round(time.Second).String() + " ago"
		}
		t.AppendRow(table.Row{s.Table, stateText(s.Awake), since, s.WokenBy, s.Trial.String(), s.Observed, s.FoldedFirst, s.Exact})
	}
	p := l.Page
	fmt.Fprintf(w, "\nprocess %d on %s, slotsql %s, for %s\n", p.ID, p.Host, p.Version, l.At.Sub(p.Started).Round(time.Second))
	fmt.Fprintf(w, "\n%s\n", t.Render())
}
