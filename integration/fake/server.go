package fake

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"sync"
)

// Server is a database of which only the life of transactions is real: it
// keeps which statements have been run and have not been undone.
type Server struct {
	Mu        sync.Mutex
	Committed []string // statements that write, in order
	Log       []string // every call: "exec TEXT", "prepare TEXT", ...
	Conns     []*Session
	Affected  func(sql string) int64
	// fault is asked before every statement, with the number of statements run
	// since the last arm.
	fault func(step int, sql string) *Misfortune
	step  int
	Args  [][]driver.NamedValue // of each statement run
}

// Misfortune is what goes wrong with one statement.
type Misfortune struct {
	Err   error
	After bool // the statement is run all the same
	Kill  bool // the connection is gone
	Hang  bool // until the context is done, whose error is returned
	// undone: the server has rolled back the transaction
	Undone bool
}

// Session is the server's end of a connection.
type Session struct {
	server  *Server
	dead    bool
	closed  bool
	Open    bool // in a transaction
	Pending []string
	marks   []int // of pending, one for each savepoint
	outer   bool  // the outermost savepoint is the transaction
}

// Arm has f choose the failure of each step, nil for none.
func (s *Server) Arm(f func(step int, sql string) *Misfortune) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.fault, s.step, s.Log, s.Args = f, 0, nil, nil
}

func (s *Server) note(what string) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Log = append(s.Log, what)
}

// Count returns how often a statement has been run for good.
func (s *Server) Count(sql string) int {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	n := 0
	for _, t := range s.Committed {
		if t == sql {
			n++
		}
	}
	return n
}

// LeftOpen returns how many connections are in a transaction and can be used.
func (s *Server) LeftOpen() int {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	n := 0
	for _, c := range s.Conns {
		if c.Open && !c.closed && !c.dead {
			n++
		}
	}
	return n
}

// Drop ends the session, as a lost connection does.
func (c *Session) Drop() {
	c.dead, c.Open, c.Pending, c.marks, c.outer = true, false, nil, nil, false
}

var errNoSavepoint = errors.New("no such savepoint")

// run runs one statement.
func (c *Session) run(ctx context.Context, sql string, args []driver.NamedValue) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	sql = strings.TrimSpace(sql)
	s := c.server
	s.Mu.Lock()
	if c.dead || c.closed {
		s.Mu.Unlock()
		return 0, driver.ErrBadConn
	}
	var f *Misfortune
	s.Log = append(s.Log, "run "+sql)
	s.Args = append(s.Args, args)
	if s.fault != nil {
		f = s.fault(s.step, sql)
	}
	s.step++
	if f != nil && f.Hang {
		s.Mu.Unlock()
		<-ctx.Done()
		s.Mu.Lock()
		f.Err = ctx.Err()
	}
	defer s.Mu.Unlock()
	if f == nil || f.After {
		if err := c.apply(sql); err != nil {
			return 0, err
		}
	}
	if f != nil {
		if f.Kill {
			c.Drop()
		}
		if f.Undone {
			c.Open, c.Pending, c.marks, c.outer = false, nil, nil, false
		}
		return 0, f.Err
	}
	if s.Affected != nil {
		return s.Affected(sql), nil
	}
	return 1, nil
}

func (c *Session) apply(sql string) error {
	word, rest, _ := strings.Cut(sql, " ")
	switch word {
	case "BEGIN", "START":
		c.Open, c.marks, c.outer = true, nil, false
	case "SAVEPOINT":
		c.outer = c.outer || !c.Open
		c.Open, c.marks = true, append(c.marks, len(c.Pending))
	case "ROLLBACK":
		if !strings.HasPrefix(rest, "TO ") {
			c.Open, c.Pending = false, nil
			break
		}
		if !c.Open || len(c.marks) == 0 {
			return errNoSavepoint
		}
		c.Pending = c.Pending[:c.marks[len(c.marks)-1]]
	case "COMMIT", "RELEASE":
		if word == "RELEASE" {
			if !c.Open || len(c.marks) == 0 {
				return errNoSavepoint
			}
			if c.marks = c.marks[:len(c.marks)-1]; len(c.marks) > 0 || !c.outer {
				break
			}
		}
		c.server.Committed = append(c.server.Committed, c.Pending...)
		c.Open, c.Pending, c.marks, c.outer = false, nil, nil, false
	case "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH":
		if c.Open {
			c.Pending = append(c.Pending, sql)
		} else {
			c.server.Committed = append(c.server.Committed, sql)
		}
	}
	return nil
}

// Ran returns the statements run since the last arm.
func (s *Server) Ran() []string {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	var out []string
	for _, l := range s.Log {
		if t, ok := strings.CutPrefix(l, "run "); ok {
			out = append(out, t)
		}
	}
	return out
}

// Logged reports whether the log has the line.
func (s *Server) Logged(line string) bool {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return slices.Contains(s.Log, line)
}

// CountPrefix returns how many lines of the log begin with prefix.
func (s *Server) CountPrefix(prefix string) int {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	n := 0
	for _, t := range s.Committed {
		if strings.HasPrefix(t, prefix) {
			n++
		}
	}
	return n
}
