package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql/cmd/slotsql/internal/propose"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/survey"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/workload"
	"github.com/slotsql/slotsql/dialect"
	internalconfig "github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/upkeep"
	"github.com/slotsql/slotsql/rewrite"
)

// known is what init knows of a database, or of a schema file.
type known struct {
	o       *options
	engine  engine
	dialect dialect.Dialect
	name    string // of the database
	tables  []propose.Table
	stats   survey.Statistics
	sources []string // what the proposal is made of, for people
	order   *workload.Order
	stored  []workload.Statement // of triggers and routines
}

func (o *options) survey(cmd *cobra.Command, e engine) (*known, error) {
	s := &known{o: o, engine: e, dialect: e.dialect}
	if o.schema != "" {
		return s, s.readSchema()
	}
	if e.file {
		if err := fileExists(o.dsn); err != nil {
			return nil, err
		}
	}
	db, err := sql.Open(e.parent, o.dsn)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	conn, err := db.Conn(cmd.Context())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return s, s.readDatabase(cmd, dialect.PlainSession{Conn: conn})
}

func (s *known) readSchema() error {
	f, err := s.o.schemaFile(s.engine)
	if err != nil {
		return err
	}
	for _, t := range f.Tables {
		if !t.IsView && !t.Temporary {
			s.tables = append(s.tables, propose.Table{Table: t, Visible: true})
		}
	}
	s.name = filepath.Base(s.o.schema)
	s.sources = append(s.sources, fmt.Sprintf("Tables: %d, of %s.", len(s.tables), s.name))
	return nil
}

func (s *known) readDatabase(cmd *cobra.Command, ss dialect.PlainSession) error {
	ctx := cmd.Context()
	if d, ok := s.dialect.(dialect.ServerAware); ok {
		adjusted, err := d.ForServer(ctx, ss)
		if err != nil {
			return err
		}
		s.dialect = adjusted
	}
	if _, err := s.dialect.Namespace(ctx, ss); err != nil { // refuses sessions it cannot serve
		return err
	}
	d := s.engine.survey
	var err error
	// Not from the DSN, which may hold a password.
	if s.name, err = d.Database(ctx, ss); err != nil {
		return err
	}
	if s.name == "" {
		return errors.New("--dsn names no database: write user@tcp(host)/database")
	}
	names, err := d.Tables(ctx, ss)
	if err != nil {
		return err
	}
	bar := barOf(cmd.ErrOrStderr(), "reading tables", int64(len(names)))
	defer bar.finish()
	for _, name := range names {
		t, err := s.dialect.Table(ctx, ss, name.Schema, name.Name)
		if err != nil {
			return err
		}
		bar.add(1)
		if t == nil || t.IsView || t.Temporary {
			continue // gone since
		}
		t.Unrestricted()
		indexed, err := d.Indexed(ctx, ss, t)
		if err != nil {
			return err
		}
		s.tables = append(s.tables, propose.Table{Table: t, Visible: name.Visible, Indexed: indexed})
	}
	s.sources = append(s.sources, fmt.Sprintf("Tables: %d.", len(s.tables)))
	if s.stats, err = d.Statistics(ctx, ss); err != nil {
		return err
	}
	return s.readRoutines(ctx, ss)
}

// readRoutines reads what triggers and routines do to the tables.
func (s *known) readRoutines(ctx context.Context, ss dialect.PlainSession) error {
	var tables []string
	for _, t := range s.tables {
		tables = append(tables, t.Name)
	}
	routines, err := upkeep.Routines(ctx, ss, s.dialect, tables)
	for i := range routines {
		for _, st := range upkeep.RoutineStatements(s.dialect, &routines[i]) {
			s.stored = append(s.stored, workload.Statement{SQL: st.SQL, By: routines[i].By()})
		}
	}
	if len(s.stored) > 0 {
		s.sources = append(s.sources, fmt.Sprintf("Statements of triggers and routines: %d.", len(s.stored)))
	}
	return err
}

// statements collects what was run: first what the server remembers, then what
// the file holds.
//
//nolint:funlen // one case for each source of statements
func (s *known) statements(cmd *cobra.Command, file string) ([]*propose.Statement, error) {
	all := propose.Collection{}
	for _, st := range s.stored {
		all.Add(s.dialect, st)
	}
	var runs int64
	summed := 0 // different statements, of the server's own summary
	for _, st := range s.stats.Statements {
		if strings.Contains(st.SQL, "slotsql_") {
			continue // of wrapped clients
		}
		if st.Conn == "" {
			runs += st.Runs
			summed++
		} else if st.Runs == 0 {
			continue // in the summary, too
		}
		all.Add(s.dialect, workload.Statement{SQL: st.SQL, Runs: st.Runs, Time: st.Time, Lock: st.Lock})
	}
	switch st := s.stats; {
	case st.Missing != "":
		s.sources = append(s.sources, fmt.Sprintf("No statements from %s: %s.", st.Source, st.Missing))
	case st.Source != "":
		line := fmt.Sprintf("Statements of %s: %d, %s runs", st.Source, summed, humanize.Comma(runs))
		if st.Since != "" {
			line += " since " + st.Since
		}
		if st.Hidden > 0 {
			line += fmt.Sprintf("; %s more runs are not shown with their SQL", humanize.Comma(st.Hidden))
		}
		s.sources = append(s.sources, line+".")
	}
	for _, n := range s.stats.Notes {
		s.sources = append(s.sources, strings.ToUpper(n[:1])+n[1:]+".")
	}
	order := workload.NewOrder(s.dialect)
	s.order = order
	for _, st := range s.stats.Statements {
		order.Add(workload.Statement{SQL: st.SQL, Conn: st.Conn})
	}
	ordered := order.Notes()
	if file != "" {
		of := propose.Collection{}
		count := 0
		form, err := readStatements(cmd, s.engine, file, func(st workload.Statement) error {
			count++
			order.Add(st)
			of.Add(s.dialect, st)
			return nil
		})
		if err != nil {
			return nil, err
		}
		all.Merge(of)
		s.sources = append(
			s.sources,
			fmt.Sprintf(
				"Statements of %s: %s, %d different ones (%s).",
				filepath.Base(fileName(file)),
				humanize.Comma(int64(count)),
				len(of),
				form.Text,
			),
		)
	}
	if len(all) == 0 {
		s.sources = append(
			s.sources,
			"No statements are available: everything below is guessed from names and defaults of columns. Pass a file of SQL or a log with --sql.",
		)
	}
	if file != "" {
		ordered = order.Notes()
	}
	for _, n := range ordered {
		s.sources = append(s.sources, strings.ToUpper(n[:1])+n[1:]+".")
	}
	if len(all) > 0 && len(ordered) == 0 {
		s.sources = append(s.sources, singly)
	}
	return all.Sorted(), nil
}

// orderNotes says of a log what the order of its statements tells, or that it does
// not tell.
func orderNotes(order *workload.Order, form workload.Form) []string {
	if notes := order.Notes(); len(notes) > 0 || !form.Log {
		return notes
	}
	return []string{singly}
}

// singly is what is not known of statements whose transactions are not.
const singly = "Statements are judged one by one: whether a transaction locks a row before it increments it, or reads its counter afterwards, is not known. Such a transaction drains the row and gains little."

// transactions says what the logs tell of the transactions that increment a table.
func (s *known) transactions(t propose.Table) propose.Transactions {
	of := s.order.Of(t.Name)
	return propose.Transactions{
		Inside:  of.Inside > 0,
		Outside: of.Runs > of.Inside,
		Why:     fmt.Sprintf("none of the %s that a log has in order is in a transaction", number(of.Runs, "increment")),
	}
}

// hold holds the proposal against the database until it fits: what check finds
// fault with is taken out, with its reason. Each round takes something out, or
// is the one before the last, which names the views.
func (s *known) hold(cmd *cobra.Command, proposals []*propose.Proposal) error {
	unnamed := map[*propose.Proposal]bool{} // whose views cannot be named: they are in other schemas
	for {
		text, lines := propose.WithSlots(proposals)
		config, err := internalconfig.Parse([]byte(text), "proposal")
		var tables []upkeep.TableStatus
		if err == nil {
			tables, err = s.o.check(cmd, s.engine, config)
		}
		var problems *internalconfig.ConfigError
		if err != nil && !errors.As(err, &problems) {
			return err
		}
		repeat := false
		if problems != nil {
			for _, p := range problems.Problems {
				switch at, ok := lines[p.Line]; {
				case !ok:
					return fmt.Errorf("the proposal does not fit the database: %w", err)
				case at.Views:
					unnamed[at.Proposal], at.Proposal.Views = true, nil
				default:
					at.Proposal.Drop(at.Column, strings.TrimPrefix(p.Message, fmt.Sprintf("table %q: ", at.Proposal.Table)))
				}
				repeat = true
			}
		}
		for _, t := range tables {
			i := slices.IndexFunc(proposals, func(p *propose.Proposal) bool { return p.Table == t.Table && p.Off == "" && !p.Guess })
			if i < 0 {
				continue
			}
			p := proposals[i]
			for _, c := range t.Counters {
				if !c.Slotted && p.Slotless == "" && p.Proposed(c.Column) {
					p.Drop(c.Column, c.Reason)
					repeat = true
				}
			}
			if len(t.Views) > 0 && len(p.Views) == 0 && !unnamed[p] {
				for _, v := range t.Views {
					p.Views = append(p.Views, propose.ConfigName(v.View))
				}
				repeat = true
			}
		}
		if !repeat {
			return nil
		}
	}
}

// fit finds out which lines that are comments for now the database would not take.
func (s *known) fit(cmd *cobra.Command, proposals []*propose.Proposal) error {
	for {
		text, lines := propose.Uncommented(proposals)
		config, err := internalconfig.Parse([]byte(text), "proposal")
		if err == nil {
			_, err = s.o.check(cmd, s.engine, config)
		}
		var problems *internalconfig.ConfigError
		if !errors.As(err, &problems) {
			return err
		}
		changed := false
		for _, p := range problems.Problems {
			if at, ok := lines[p.Line]; ok {
				changed = at.Proposal.Refuse(at.Column, strings.TrimPrefix(p.Message, fmt.Sprintf("table %q: ", at.Proposal.Table))) || changed
			}
		}
		if !changed {
			return fmt.Errorf("the proposal does not fit the database: %w", err)
		}
	}
}

// explained says what becomes of the statements with the proposal, as check and
// explain do, and notes it there.
func (s *known) explained(cmd *cobra.Command, proposals []*propose.Proposal, statements []*propose.Statement) ([]classShare, error) {
	if len(statements) == 0 {
		return nil, nil
	}
	text, _ := propose.Config(proposals)
	config, err := internalconfig.Parse([]byte(text), "proposal")
	if err != nil {
		return nil, err
	}
	x, err := s.o.explainer(cmd, s.engine, config)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	classes := map[rewrite.Class]int{}
	total := 0
	for _, st := range statements {
		e, err := x.Explain(st.SQL)
		if err != nil {
			return nil, err
		}
		verdicts := judged(e)
		for _, v := range verdicts {
			if st.By != "" && st.Runs == 0 {
				break // it passes no driver
			}
			n := int(max(1, st.Runs))
			classes[v.class] += n
			total += n
		}
		for _, p := range proposals {
			if v, ok := worst(verdicts, p); ok && !p.Guess && p.Off == "" {
				p.Judge(propose.Use{Statement: *st, Class: string(v.class), Verdict: v.says, Reason: cmp.Or(v.reason, v.alone)}, v.fast)
			}
		}
	}
	var out []classShare
	for _, class := range classOrder {
		if n := classes[class]; n > 0 {
			out = append(out, classShare{string(class), n, float64(n) / float64(total)})
		}
	}
	return out, nil
}

// worst is the verdict on a statement that matters for a table: a drain, or else how it adds.
func worst(verdicts []verdict, p *propose.Proposal) (w verdict, found bool) {
	for _, class := range slices.Backward(classOrder) {
		for _, v := range verdicts {
			if v.class == class && (slices.Contains(v.tables, p.Name()) || class == rewrite.PassThrough && len(verdicts) == 1) {
				return v, true
			}
		}
	}
	return verdict{}, false
}

func summary(classes []classShare) []string {
	var parts []string
	for _, c := range classes {
		parts = append(parts, fmt.Sprintf("%s %.1f %%", c.Class, 100*c.Share))
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"With it the statements run as: " + strings.Join(parts, ", ") + "."}
}
