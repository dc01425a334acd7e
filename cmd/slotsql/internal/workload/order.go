package workload

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/ast"
)

// Order follows the transactions of each connection, where a log tells them apart.
// It decides whether slots help an increment in a transaction: one that has locked
// its row before, or reads a counter of the table afterwards, drains the row, and
// waits as it does without slots.
//
// A transaction goes from BEGIN to COMMIT or ROLLBACK, and with autocommit off from one
// such end to the next. Any other statement is one in autocommit.
type Order struct {
	d      dialect.Dialect
	open   map[string][]step // by connection, of those in a transaction
	tables map[string]*Ordered
	manual map[string]bool // connections without autocommit
}

// Ordered counts the increments of one table.
type Ordered struct {
	Runs   int // increments that were followed
	Locked int // of which a query or a DELETE of the same transaction has locked rows of the table before
	Read   int // of the others: it has read the table afterwards
	Inside int // of all: in a transaction of its session
	Alone  int // of those: the only statement of their transaction
}

// step is what a statement does in its transaction.
type step struct {
	increments, locks, reads string // the table, in lower case
	sql                      string
}

// NewOrder returns one that has seen nothing.
func NewOrder(d dialect.Dialect) *Order {
	return &Order{d: d, open: map[string][]step{}, tables: map[string]*Ordered{}, manual: map[string]bool{}}
}

var (
	beginsTx   = regexp.MustCompile(`(?i)^\s*(?:BEGIN|START\s+TRANSACTION)\b`)
	autocommit = regexp.MustCompile(`(?i)^\s*SET\s+(?:@@)?(?:(?:SESSION|LOCAL)[\s.]+)?autocommit\s*:?=\s*(\w+)`)
	endsTx     = regexp.MustCompile(`(?i)^\s*(?:COMMIT|ROLLBACK|END|ABORT)(?:\s+(?:WORK|TRANSACTION))?\s*;?\s*$`)
	lockRead   = regexp.MustCompile(`(?is)^\s*SELECT\b.*\b(?:FOR\s+(?:NO\s+KEY\s+)?UPDATE|LOCK\s+IN\s+SHARE\s+MODE|FOR\s+(?:KEY\s+)?SHARE)\b`)
	addition   = regexp.MustCompile("(?i)([\\w$]+)[`\"]?\\s*=\\s*(?:[\\w$`\"]+\\.)*[`\"]?([\\w$]+)[`\"]?\\s*[+-]")
)

// Add takes the next statement of a log; one without a connection is not followed.
func (o *Order) Add(st Statement) {
	if st.Conn == "" {
		return
	}
	steps, open := o.open[st.Conn]
	switch m := autocommit.FindStringSubmatch(st.SQL); {
	case m != nil:
		o.end(steps, true)
		delete(o.open, st.Conn)
		o.manual[st.Conn] = m[1] == "0" || strings.EqualFold(m[1], "OFF") || strings.EqualFold(m[1], "FALSE")
	case beginsTx.MatchString(st.SQL):
		o.end(steps, true)
		o.open[st.Conn] = nil
	case endsTx.MatchString(st.SQL):
		o.end(steps, true)
		if len(steps) == 1 && steps[0].increments != "" {
			o.tables[steps[0].increments].Alone++
		}
		delete(o.open, st.Conn)
	case open:
		if len(steps) < 1000 {
			o.open[st.Conn] = append(steps, o.step(st.SQL))
		}
	default:
		if s := o.step(st.SQL); o.manual[st.Conn] {
			o.open[st.Conn] = []step{s}
		} else {
			o.end([]step{s}, false)
		}
	}
}

// Of returns what has been counted of a table, in any schema.
func (o *Order) Of(table string) Ordered {
	if of := o.tables[strings.ToLower(table)]; of != nil {
		return *of
	}
	return Ordered{}
}

// step says what a statement does to its table.
func (o *Order) step(sql string) step {
	s := step{sql: strings.ToLower(sql)}
	verb, _, _ := strings.Cut(strings.TrimSpace(s.sql), " ")
	switch verb {
	case "select", "with":
		if lockRead.MatchString(sql) {
			s.locks = s.sql
		} else {
			s.reads = s.sql
		}
	case "update", "insert", "delete":
		parsed, err := o.d.Parse(sql)
		if err != nil || parsed.Target == nil || len(parsed.Target.Name) == 0 {
			return s
		}
		table := strings.ToLower(parsed.Target.Name[len(parsed.Target.Name)-1].Name)
		switch {
		case slices.ContainsFunc(addition.FindAllStringSubmatch(sql, -1), func(m []string) bool { return strings.EqualFold(m[1], m[2]) }):
			s.increments = table
		case parsed.Kind != ast.KindInsert:
			s.locks = table
		}
	}
	return s
}

// end judges the increments of a transaction that is over.
func (o *Order) end(steps []step, inside bool) {
	for i, s := range steps {
		if s.increments == "" {
			continue
		}
		of := o.tables[s.increments]
		if of == nil {
			of = &Ordered{}
			o.tables[s.increments] = of
		}
		of.Runs++
		if inside {
			of.Inside++
		}
		switch {
		case slices.ContainsFunc(steps[:i], func(b step) bool { return names(b.locks, s.increments) }):
			of.Locked++
		case slices.ContainsFunc(steps[i+1:], func(a step) bool { return names(a.reads, s.increments) || names(a.locks, s.increments) }):
			of.Read++
		}
	}
}

// names reports whether a statement names a table, as a word of its own.
func names(sql, table string) bool {
	for at := 0; ; {
		i := strings.Index(sql[at:], table)
		if i < 0 {
			return false
		}
		begin, end := at+i, at+i+len(table)
		if (begin == 0 || !word(sql[begin-1])) && (end == len(sql) || !word(sql[end])) {
			return true
		}
		at = end
	}
}

func word(b byte) bool {
	return b == '_' || b == '$' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 0x80
}

// Notes says for each table what has been found; nothing where the log does not
// tell connections apart. Transactions that are open at the end of the log are
// judged as far as they are in it.
func (o *Order) Notes() []string {
	for conn, steps := range o.open {
		o.end(steps, true)
		delete(o.open, conn)
	}
	var tables []string
	for t := range o.tables {
		tables = append(tables, t)
	}
	slices.Sort(tables)
	var out []string
	for _, t := range tables {
		n := o.tables[t]
		if drained := n.Locked + n.Read; drained > 0 {
			out = append(out, fmt.Sprintf("of %d increments of %s, judged by the order of each connection's statements, %d came after their transaction had locked "+
				"rows of the table, and %d before it read the table: these %d drain their row and gain little", n.Runs, t, n.Locked, n.Read, drained))
		} else {
			out = append(out, fmt.Sprintf("judged by the order of each connection's statements, none of %d increments of %s came after a lock or before a read "+
				"of the table in the same transaction", n.Runs, t))
		}
		if n.Alone > 0 {
			out = append(out, fmt.Sprintf("%d of %d increments of %s are the only statement of their transaction: without it they take one round trip instead "+
				"of three, and those that overlap share one statement (GORM: SkipDefaultTransaction: true)", n.Alone, n.Runs, t))
		}
	}
	return out
}
