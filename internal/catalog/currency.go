package catalog

import (
	"math"
	"time"

	"github.com/slotsql/slotsql/internal/link"
)

// Currency is how current a session's facts of tables are, and whether they are those of every session: bits of the session's
// link.Rare. In a session that has just been opened none is set.
//
// Whatever happens to the facts is one of its methods. None of them asks the database.
type Currency struct{ rare *link.Rare }

// Read notes that the facts have been read.
func (c Currency) Read() { c.rare.Clear(link.FactsOld) }

// ReadInTx notes that they have been read as the open transaction sees them.
func (c Currency) ReadInTx() {
	c.Read()
	c.rare.Set(link.NamespaceAdrift)
}

// ChangeRole notes that the session may have other rights.
func (c Currency) ChangeRole() { c.rare.Set(link.FactsOld | link.FactsOwn) }

// MoveNamespace notes that unqualified names may mean other tables; inTx: until the open
// transaction has ended.
func (c Currency) MoveNamespace(inTx bool) {
	c.rare.Set(link.FactsOld)
	c.rare.Put(link.NamespaceAdrift, inTx)
}

// ChangeTables notes that a statement may have made, changed or dropped a table, or a
// temporary one. Other sessions must not take over what this one sees.
func (c Currency) ChangeTables(temporary bool) {
	c.rare.Set(link.FactsOld | link.FactsOwn | link.OwnPending)
	if temporary {
		c.rare.Set(link.TempTables)
	}
}

// Alter notes that the statement was about a table that other sessions know.
func (c Currency) Alter() { c.rare.Set(link.SchemaAltered) }

// AlterOthers notes that the statement was about a table about which no facts are known. As long as the transaction is open, no
// other session sees the change.
func (c Currency) AlterOthers() { c.rare.Set(link.OthersAltered) }

// Commit notes that what a statement has changed is committed. What a session knows on account of a role whose rights are not known
// does not depend on transactions.
func (c Currency) Commit() {
	c.rare.Clear(link.SchemaAltered | link.OthersAltered | link.OwnPending)
	if !c.rare.Any(link.RoleUnknown) {
		c.rare.Clear(link.FactsOwn)
	}
}

// Settled reports whether the end of a transaction leaves the facts as they are.
func (c Currency) Settled() bool {
	return !c.rare.Any(link.SchemaAltered|link.OthersAltered|link.OwnPending|link.NamespaceAdrift) &&
		(!c.rare.Any(link.FactsOwn) || c.rare.Any(link.TempTables|link.RoleUnknown))
}

// Settle notes that a transaction may have ended, or has (ended). It reports whether that
// may have given all sessions another schema: altered, in what they know, or others.
func (c Currency) Settle(ended bool) (altered, others bool) {
	if c.Settled() {
		return false, false
	}
	altered = c.rare.Any(link.SchemaAltered)
	others = !altered && c.rare.Any(link.OthersAltered)
	c.rare.Set(link.FactsOld)
	if ended {
		c.rare.Clear(link.NamespaceAdrift)
		c.Commit()
	}
	return altered, others
}

// Old reports whether the facts have to be read again before they are used.
func (c Currency) Old() bool { return c.rare.Any(link.FactsOld) }

// Private reports whether the facts are the session's own.
func (c Currency) Private() bool { return c.rare.Any(link.FactsOwn | link.TempTables) }

// HasTemporary reports whether the session may have temporary tables.
func (c Currency) HasTemporary() bool { return c.rare.Any(link.TempTables) }

// Altered reports whether the open transaction may have changed the schema.
func (c Currency) Altered() bool { return c.rare.Any(link.SchemaAltered | link.OthersAltered) }

// ownFacts are the bits of a session that, when it reads the facts, may not read what every session would.
const ownFacts = link.FactsOwn | link.TempTables | link.SchemaAltered | link.OthersAltered

// Common reports whether the facts are those that every session has.
func (c Currency) Common() bool { return !c.rare.Any(link.FactsOld | ownFacts) }

// seen is when a session's facts were last found to hold for any statement.
type seen struct {
	schema *Schema       // that they are; nil: they did not hold
	news   int64         // Noticed.News then
	until  time.Duration // when they are to be read again in any case, by clock
}

// Ready reports whether the session's facts hold for any statement, and no look at the tables is due: since See nothing has been
// noticed.
func (v *View) Ready() bool {
	if v.Schema == nil || v.Schema != v.seen.schema || v.seen.news != v.Catalog.Noticed.News.Load() {
		return false
	}
	now, looked := time.Since(started), time.Duration(v.Catalog.Watch.looked.Load())
	return now < v.seen.until && looked > 0 && now-looked < lookAgain
}

// See notes whether a session's facts hold for any statement. News is Noticed.News as it was before they were examined.
func See(v *View, news int64) {
	v.seen = seen{}
	if sc := v.Schema; sc != nil && sc.Settled() {
		v.seen = seen{schema: sc, news: news, until: math.MaxInt64}
		if review := sc.fresh.review; !review.IsZero() {
			v.seen.until = review.Sub(started)
		}
	}
}

// AsConnected reports whether the session is as the connector opened it, outside a transaction,
// and without open rows. The same statement does the same in any two such sessions with the same
// facts.
func (v *View) AsConnected() bool {
	return !v.Rare.Any(link.FactsOld|ownFacts|link.ChangedSettings|link.RowsOpen|link.TxOpen) && v.DB.Sharing && v.InAutocommit()
}

// Number tells the facts from those of other namespaces, and from earlier ones of the same.
func (sc *Schema) Number() int64 { return sc.fresh.number }
