package workload

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// lines reads a file line by line.
type lines struct {
	r    *bufio.Reader
	line int // number of the line that next returned
}

func newLines(r *bufio.Reader) *lines { return &lines{r: r} }

// next returns a line without its end. Of a very long one the rest is dropped.
func (l *lines) next() (string, error) {
	var b strings.Builder
	for {
		part, err := l.r.ReadSlice('\n')
		if b.Len() < maxSQL {
			b.Write(part)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) && b.Len() > 0 {
			err = nil
		}
		if err != nil {
			return "", err
		}
		l.line++
		return strings.TrimRight(b.String(), "\r\n"), nil
	}
}

// collector joins the lines of a statement, and hands it over when the next one
// begins.
type collector struct {
	f    func(Statement) error
	open bool
	st   Statement
	text strings.Builder
}

func (c *collector) begin(st Statement, first string) {
	c.open, c.st = true, st
	c.text.Reset()
	c.text.WriteString(first)
}

func (c *collector) add(line string) {
	if c.open && c.text.Len() < maxSQL {
		c.text.WriteByte('\n')
		c.text.WriteString(line)
	}
}

func (c *collector) end() error {
	if !c.open {
		return nil
	}
	c.open = false
	c.st.SQL = strings.TrimSpace(c.text.String())
	if c.st.SQL == "" {
		return nil
	}
	c.st.Runs = 1
	return c.f(c.st)
}
