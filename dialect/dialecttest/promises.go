package dialecttest

import (
	"errors"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// promises holds that a dialect implements what its other answers say it has: an
// optional interface that it has lost (a method renamed, say) would switch a safety
// off without a word.
func (o Options) promises(t *testing.T) {
	d := o.Dialect
	tab, traits := counter(posts(), layouts["dedicated"]), d.Traits()
	must := func(when bool, ok bool, want, why string) {
		t.Helper()
		if when && !ok {
			t.Errorf("%s is missing: %s", want, why)
		}
	}
	fold := d.Fold(tab, rewrite.Scope{})
	_, names := d.(dialect.SlotNamer)
	must(len(fold) == 0, names, "dialect.SlotNamer", "Fold writes nothing, so slots have to be named")
	_, conserves := d.(rewrite.ConservingDialect)
	must(len(fold) > 1, conserves, "rewrite.ConservingDialect", "Fold deletes slots apart from what it adds")
	_, triggers := d.(dialect.TriggerKeeper)
	must(traits.SlotTriggers, triggers, "dialect.TriggerKeeper", "triggers delete slots")
	_, snapshot := d.(rewrite.SnapshotDialect)
	_, teller := d.(dialect.SnapshotTeller)
	must(snapshot, teller, "dialect.SnapshotTeller", "transactions have snapshots")
	_, leaser := d.(dialect.Leaser)
	_, fencer := d.(dialect.Fencer)
	_, observer := d.(dialect.Observer)
	_, brief := d.(dialect.BriefLocker)
	_, rights := d.(dialect.RightsReader)
	_, holding := d.(rewrite.HoldingDialect)
	_, widener := d.(dialect.Widener)
	for want, ok := range map[string]bool{
		"dialect.Leaser": leaser, "dialect.Fencer": fencer, "dialect.Observer": observer, "dialect.BriefLocker": brief,
		"dialect.RightsReader": rights, "rewrite.HoldingDialect": holding, "dialect.Widener": widener,
	} {
		must(!traits.OneWriter, ok, want, "a server has several sessions that write, and accounts")
	}
	if o.Open != nil {
		o.driverPromises(t)
	}
	if drain := d.Drain(); len(drain.Begin) == 0 || len(drain.Commit) == 0 || len(drain.Rollback) == 0 {
		t.Errorf("Drain has no way to begin or end: %+v", drain)
	}
}

// driverPromises are those of a dialect that knows its driver.
func (o Options) driverPromises(t *testing.T) {
	d := o.Dialect
	c, ok := d.(dialect.ErrorClassifier)
	if !ok {
		t.Fatal("dialect.ErrorClassifier is missing: no error would be known")
	}
	moves := d.RollUp(counter(posts(), layouts["dedicated"]), dialect.RollUpPart{})
	if _, ok := d.(dialect.FoldErrorClassifier); !ok && len(moves.Unmoved.SQL) == 0 {
		t.Error("dialect.FoldErrorClassifier is missing: a move that base rows do not take fails by itself")
	}
	if _, ok := d.(dialect.ReadOnlyReader); !ok {
		t.Error("dialect.ReadOnlyReader is missing: totals could not be read in a READ ONLY transaction")
	}
	if c.Classify(errors.New("an error of a program's own")) != 0 {
		t.Error("an unknown error has a class")
	}
}
