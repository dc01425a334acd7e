package mysql

import (
	"github.com/slotsql/slotsql/rewrite/schema"
)

// fold moves the slots of keys, or of all rows where there are none, as a drain does
// that has locked the base rows.
func (s session) fold(t *schema.Table, keys ...[]any) {
	s.t.Helper()
	s.foldBetween(func() {}, t, keys...)
}

// foldBetween is fold with something that happens before each statement that looks at
// slot rows and each that changes them.
func (s session) foldBetween(between func(), t *schema.Table, keys ...[]any) {
	s.t.Helper()
	d := served(s.t)
	between()
	found := s.query(d.FindSlots(t, keys, true))
	var rows [][]any
	for _, r := range found {
		if r[len(r)-1] != nil {
			rows = append(rows, r[1:])
		}
	}
	if len(rows) == 0 {
		return
	}
	between()
	held := s.query(d.HoldSlots(t, rows))
	between()
	s.run(d.MoveSlots(t, rows), d.RemoveSlots(t, rows, held))
}

func (s session) query(q string) [][]any {
	s.t.Helper()
	rows, err := s.Query(s.t.Context(), q)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, q)
	}
	return rows
}
