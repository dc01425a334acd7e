package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/slotsql/slotsql"
)

// What top sends to a terminal: another screen without a cursor, and back.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

func topCommand(o *options) *cobra.Command {
	var every time.Duration
	var looks int
	cmd := &cobra.Command{
		Use:     "top",
		Example: "  slotsql top --driver postgres --dsn postgres://localhost/app --every 5s",
		Short:   "Show slots, lag and waiting sessions, refreshed at intervals",
		Long: `Show the report of "slotsql status" in a terminal, refreshed at intervals, until
Ctrl-C. If the output is not a terminal, reports follow one another.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every <= 0 || looks < 0 {
				return errors.New("--every must be positive, and --looks must not be negative")
			}
			i, err := o.inspector(cmd)
			if err != nil {
				return err
			}
			defer i.Close()
			return o.top(cmd, i, every, looks)
		},
	}
	o.database(cmd, false)
	cmd.Flags().DurationVar(&every, "every", 2*time.Second, "`time` between two looks")
	cmd.Flags().IntVar(&looks, "looks", 0, "`number` of looks after which to end (default: until Ctrl-C)")
	o.pageFlag(cmd)
	return cmd
}

func (o *options) top(cmd *cobra.Command, i *slotsql.Inspector, every time.Duration, looks int) error {
	ctx, w := cmd.Context(), cmd.OutOrStdout()
	seen, err := o.look(ctx, i) // an error of the first look is an error of the command
	if err != nil {
		return err
	}
	screen := false
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		screen = true
		fmt.Fprint(w, enterScreen)
		defer fmt.Fprint(w, leaveScreen)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 1; ; n++ {
		var b bytes.Buffer
		fmt.Fprintf(&b, "slotsql top, %s, every %s\n\n", time.Now().Format(time.TimeOnly), every)
		if err != nil {
			fmt.Fprintln(&b, o.redact(trimName(err.Error())))
		} else {
			printStatus(&b, seen)
		}
		show(w, b.Bytes(), screen)
		if n == looks {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if seen, err = o.look(ctx, i); ctx.Err() != nil {
			return nil
		}
	}
}

// show writes one look: over the one before, on a screen.
func show(w io.Writer, look []byte, screen bool) {
	if !screen {
		fmt.Fprintf(w, "%s\n", look)
		return
	}
	out := bytes.ReplaceAll(look, []byte("\n"), []byte(clearLine+"\n"))
	fmt.Fprintf(w, "%s%s%s", home, out, clearBelow)
}
