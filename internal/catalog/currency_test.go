package catalog

import (
	"testing"

	"github.com/slotsql/slotsql/internal/link"
)

// Each case is what happens to a session's facts, and what holds then.
func TestCurrency(t *testing.T) {
	const (
		old = 1 << iota
		private
		temporary
		altered
		common
	)
	type events []func(*Currency)
	read := (*Currency).Read
	readInTx := (*Currency).ReadInTx
	role := (*Currency).ChangeRole
	move := func(c *Currency) { c.MoveNamespace(false) }
	moveInTx := func(c *Currency) { c.MoveNamespace(true) }
	create := func(c *Currency) { c.ChangeTables(false) }
	createTemp := func(c *Currency) { c.ChangeTables(true) }
	commit := func(c *Currency) { c.Commit() }
	alter := func(c *Currency) { c.ChangeTables(false); c.Alter() }
	alterOthers := func(c *Currency) { c.ChangeTables(false); c.AlterOthers() }
	settle := func(ended, role, want bool) func(*Currency) {
		return func(c *Currency) {
			c.rare.Put(link.RoleUnknown, role)
			if got, _ := c.Settle(ended); got != want {
				t.Errorf("Settle(%v), role %v, is %v", ended, role, got)
			}
		}
	}
	settleOthers := func(c *Currency) {
		if altered, others := c.Settle(true); altered || !others {
			t.Errorf("Settle is %v, %v", altered, others)
		}
	}
	for name, c := range map[string]struct {
		events
		want int
	}{
		"just opened":            {nil, common},
		"read":                   {events{read}, common},
		"an end changes nothing": {events{settle(true, false, false)}, common},

		"another role":           {events{role}, old | private},
		"and read":               {events{role, read}, private},
		"a role outlives its tx": {events{role, read, settle(true, true, false)}, private},

		"another namespace":               {events{move}, old},
		"settled at once":                 {events{move, read, settle(true, false, false)}, common},
		"another namespace, in a tx":      {events{moveInTx, read}, common},
		"that may have ended":             {events{moveInTx, read, settle(false, false, false)}, old},
		"and may end again":               {events{moveInTx, settle(false, false, false), read, settle(true, false, false)}, old},
		"once":                            {events{moveInTx, settle(true, false, false), read, settle(true, false, false)}, common},
		"read as the tx sees them":        {events{readInTx, settle(true, false, false)}, old},
		"a table changed":                 {events{alter}, old | private | altered},
		"and committed":                   {events{alter, commit}, old},
		"with a role of unknown rights":   {events{alter, func(c *Currency) { c.rare.Set(link.RoleUnknown); c.Commit() }}, old | private},
		"a change in a tx that ends":      {events{alter, read, settle(true, false, true)}, old},
		"that may end":                    {events{alter, read, settle(false, false, true)}, old | private | altered},
		"another table changed in a tx":   {events{alterOthers, read}, private | altered},
		"and its end":                     {events{alterOthers, read, settleOthers}, old},
		"with one of these":               {events{alterOthers, alter, alterOthers, settle(true, false, true)}, old},
		"a new name is for one session":   {events{create, read}, private},
		"until the end":                   {events{create, read, settle(true, false, false)}, old},
		"a temporary table":               {events{createTemp, read}, private | temporary},
		"may end with its tx":             {events{createTemp, read, settle(true, false, false)}, old | private | temporary},
		"or outlive it":                   {events{createTemp, read, settle(true, false, false), read}, private | temporary},
		"and later ones":                  {events{createTemp, settle(true, false, false), read, settle(true, false, false)}, private | temporary},
		"and what changes others":         {events{createTemp, alter, commit, read}, private | temporary},
		"also where a role comes with it": {events{createTemp, commit, role, read, settle(true, true, false)}, private | temporary},
	} {
		t.Run(name, func(t *testing.T) {
			cur := &Currency{rare: new(link.Rare)}
			for _, event := range c.events {
				event(cur)
			}
			for _, p := range []struct {
				name string
				got  bool
				bit  int
			}{
				{"Old", cur.Old(), old},
				{"Private", cur.Private(), private},
				{"HasTemporary", cur.HasTemporary(), temporary},
				{"Altered", cur.Altered(), altered},
				{"Common", cur.Common(), common},
			} {
				if p.got != (c.want&p.bit != 0) {
					t.Errorf("%s is %v", p.name, p.got)
				}
			}
		})
	}
}
