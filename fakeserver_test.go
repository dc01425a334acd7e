package slotsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"sync"
)

// fakeServer is a database of which only the life of transactions is real: it
// keeps which texts have been run and have not been undone.
type fakeServer struct {
	mu        sync.Mutex
	committed []string // texts that write, in order
	log       []string // every call: "exec TEXT", "prepare TEXT", ...
	conns     []*fakeSession
	affected  func(text string) int64
	// fault is asked before every text is run, with the number of texts run
	// since the last arm.
	fault func(step int, text string) *misfortune
	step  int
	args  [][]driver.NamedValue // of each text run
}

// misfortune is what goes wrong with one text.
type misfortune struct {
	err   error
	after bool // the text is run all the same
	kill  bool // the connection is gone
	hang  bool // until the context is done, whose error is returned
	// undone: the server has rolled back the transaction
	undone bool
}

// fakeSession is the server's end of a connection.
type fakeSession struct {
	server  *fakeServer
	dead    bool
	closed  bool
	open    bool // in a transaction
	pending []string
	marks   []int // of pending, one for each savepoint
	outer   bool  // the outermost savepoint is the transaction
}

func (s *fakeServer) arm(f func(step int, text string) *misfortune) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.step, s.log, s.args = f, 0, nil, nil
}

func (s *fakeServer) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
}

// count returns how often a text has been run for good.
func (s *fakeServer) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, t := range s.committed {
		if t == text {
			n++
		}
	}
	return n
}

// leftOpen returns how many connections are in a transaction and can be used.
func (s *fakeServer) leftOpen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.conns {
		if c.open && !c.closed && !c.dead {
			n++
		}
	}
	return n
}

func (c *fakeSession) drop() {
	c.dead, c.open, c.pending, c.marks, c.outer = true, false, nil, nil, false
}

var errNoSavepoint = errors.New("no such savepoint")

// run runs one text.
func (c *fakeSession) run(ctx context.Context, text string, args []driver.NamedValue) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	text = strings.TrimSpace(text)
	s := c.server
	s.mu.Lock()
	if c.dead || c.closed {
		s.mu.Unlock()
		return 0, driver.ErrBadConn
	}
	var f *misfortune
	s.log = append(s.log, "run "+text)
	s.args = append(s.args, args)
	if s.fault != nil {
		f = s.fault(s.step, text)
	}
	s.step++
	if f != nil && f.hang {
		s.mu.Unlock()
		<-ctx.Done()
		s.mu.Lock()
		f.err = ctx.Err()
	}
	defer s.mu.Unlock()
	if f == nil || f.after {
		if err := c.apply(text); err != nil {
			return 0, err
		}
	}
	if f != nil {
		if f.kill {
			c.drop()
		}
		if f.undone {
			c.open, c.pending, c.marks, c.outer = false, nil, nil, false
		}
		return 0, f.err
	}
	if s.affected != nil {
		return s.affected(text), nil
	}
	return 1, nil
}

func (c *fakeSession) apply(text string) error {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "BEGIN", "START":
		c.open, c.marks, c.outer = true, nil, false
	case "SAVEPOINT":
		c.outer = c.outer || !c.open
		c.open, c.marks = true, append(c.marks, len(c.pending))
	case "ROLLBACK":
		if !strings.HasPrefix(rest, "TO ") {
			c.open, c.pending = false, nil
			break
		}
		if !c.open || len(c.marks) == 0 {
			return errNoSavepoint
		}
		c.pending = c.pending[:c.marks[len(c.marks)-1]]
	case "COMMIT", "RELEASE":
		if word == "RELEASE" {
			if !c.open || len(c.marks) == 0 {
				return errNoSavepoint
			}
			if c.marks = c.marks[:len(c.marks)-1]; len(c.marks) > 0 || !c.outer {
				break
			}
		}
		c.server.committed = append(c.server.committed, c.pending...)
		c.open, c.pending, c.marks, c.outer = false, nil, nil, false
	case "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH":
		if c.open {
			c.pending = append(c.pending, text)
		} else {
			c.server.committed = append(c.server.committed, text)
		}
	}
	return nil
}

// ran returns the texts run since the last arm.
func (s *fakeServer) ran() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, l := range s.log {
		if t, ok := strings.CutPrefix(l, "run "); ok {
			out = append(out, t)
		}
	}
	return out
}

func (s *fakeServer) logged(line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.log, line)
}

func (s *fakeServer) countPrefix(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, t := range s.committed {
		if strings.HasPrefix(t, prefix) {
			n++
		}
	}
	return n
}
