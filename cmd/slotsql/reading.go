package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/slotsql/slotsql/cmd/slotsql/internal/workload"
)

// readStatements reads the statements of a file, - for standard input, and
// shows a progress bar on a terminal.
func readStatements(cmd *cobra.Command, e engine, file string, f func(workload.Statement) error) (workload.Form, error) {
	in, size := cmd.InOrStdin(), int64(-1)
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return workload.Form{}, err
		}
		defer opened.Close()
		if info, err := opened.Stat(); err == nil {
			size = info.Size()
		}
		in = opened
	}
	bar := barOf(cmd.ErrOrStderr(), "reading "+fileName(file), size, progressbar.OptionShowBytes(true))
	defer bar.finish()
	form, err := workload.Read(&countedReader{cmd.Context(), in, bar}, e.dialect.LexRules(), f)
	if err != nil {
		err = fmt.Errorf("%s: %w", fileName(file), err)
	}
	return form, err
}

func fileName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// countedReader reads until the context ends.
type countedReader struct {
	ctx context.Context
	r   io.Reader
	bar bar
}

func (c *countedReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.bar.add(n)
	return n, err
}

// bar is a progress bar, or none where the output is no terminal.
type bar struct{ *progressbar.ProgressBar }

func barOf(w io.Writer, what string, size int64, more ...progressbar.Option) bar {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return bar{}
	}
	return bar{progressbar.NewOptions64(size, append([]progressbar.Option{progressbar.OptionSetWriter(f), progressbar.OptionSetWidth(30),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription(what)}, more...)...)}
}

func (b bar) add(n int) {
	if b.ProgressBar != nil {
		_ = b.Add(n)
	}
}

func (b bar) finish() {
	if b.ProgressBar != nil {
		_ = b.Finish()
	}
}
