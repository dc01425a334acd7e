package bench

import (
	"context"
	"errors"
)

// The scenarios of a plan with a budget: each counter begins with so many
// units, and an operation takes one, as long as there is one. A run whose
// budget is used up ends early.

// errSoldOut reports that the budget has no more units. The client stops.
var errSoldOut = errors.New("nothing is left of the budget")

// budgetForm is a scenario's form for a budget.
type budgetForm struct {
	ScenarioInfo // its name is the scenario's
	new          func(w *workload) Scenario
	loses        bool // units that are sold twice are expected of it
}

// withBudget returns the forms for a budget, by the names of their scenarios.
func withBudget() map[string]*budgetForm {
	m := map[string]*budgetForm{}
	for _, f := range []budgetForm{
		{
			ScenarioInfo: ScenarioInfo{naiveName, "naive", "read, compute, write: concurrent clients sell the same unit"},
			new:          func(w *workload) Scenario { return naiveBudget{naive{newTables(w)}} },
			loses:        true,
		},
		{
			ScenarioInfo: ScenarioInfo{
				"for-update",
				"SELECT FOR UPDATE",
				"lock the row, read it, write it back, commit (BEGIN IMMEDIATE on SQLite)",
			},
			new: func(w *workload) Scenario { return lockedBudget{forUpdate{naive{newTables(w)}}} },
		},
		{
			ScenarioInfo: ScenarioInfo{lockFreeName, "lock-free", "UPDATE ... SET budget = budget - 1 WHERE ... AND budget > 0, the plain driver"},
			new:          func(w *workload) Scenario { return atomicBudget{naive{newTables(w)}} },
		},
		{
			ScenarioInfo: ScenarioInfo{wrappedName, "slotsql", "the lock-free statement through slotsql, min: 0"},
			new:          func(w *workload) Scenario { return wrappedBudget{wrappedWith(w, "")} },
		},
	} {
		m[f.Name] = &f
	}
	return m
}

// form returns the scenario as the plan has it; nil where it has none.
func (p *Plan) form(k kind) *kind {
	if p.Budget == 0 {
		return &k
	}
	f := withBudget()[k.Name]
	if f == nil {
		return nil
	}
	k.ScenarioInfo, k.new, k.loses = f.ScenarioInfo, f.new, f.loses
	return &k
}

// baseline is the scenario that others are compared with: the plain statement
// that is exact.
func (p *Plan) baseline() string {
	if p.Budget == 0 {
		return naiveName
	}
	return lockFreeName
}

// counted says of an exact number what it is of.
func (p *Plan) counted() string {
	if p.Budget == 0 {
		return "increments acknowledged, as many counted."
	}
	return "units sold, as many gone from budgets."
}

// units is what all budgets begin with.
func (p *Plan) units() int64 { return p.Budget * int64(p.Keys) }

// budgetIsExact holds what is gone against what was sold.
func budgetIsExact(s *sample, gone int64, plan Plan) *InexactError {
	units := plan.units()
	e := &InexactError{Acknowledged: s.acknowledged, Total: gone}
	switch {
	case gone > units:
		e.what = "OVERSOLD: %s units were sold, %s are gone, more than there were"
	case gone != s.acknowledged:
		e.what = "%s units were sold, %s are gone from the budget"
	case s.soldOut && plan.Keys == 1 && gone < units:
		e.what = "refused while units were left: %s were sold, %s are gone"
	default:
		return nil
	}
	return e
}

// takeOne takes a unit by the guarded UPDATE.
func (t *tables) takeOne(ctx context.Context, c *Client) error {
	key := c.Key()
	return t.unit(ctx, false, key, func(q querier) error {
		err := t.affects(ctx, q, "UPDATE "+t.pages+" SET budget = budget - 1 WHERE id = ? AND budget > 0", key)
		if errors.Is(err, errNoRow) {
			return errSoldOut
		}
		return err
	})
}

// readAndTake reads the budget by a query, computes what is left, and writes it.
func (t *tables) readAndTake(ctx context.Context, q querier, key int64, lock string) error {
	var left int64
	if err := q.QueryRowContext(ctx, t.Engine.q("SELECT budget FROM "+t.pages+" WHERE id = ?"+lock), key).Scan(&left); err != nil {
		return err
	}
	if left <= 0 {
		return errSoldOut
	}
	// Whether the row changes does not matter: another client may have written this value.
	_, err := q.ExecContext(ctx, t.Engine.q("UPDATE "+t.pages+" SET budget = ? WHERE id = ?"), left-1, key)
	return err
}

// naiveBudget does not look at what others do between its query and its UPDATE.
type naiveBudget struct{ naive }

// Increment implements Scenario.
func (s naiveBudget) Increment(ctx context.Context, c *Client) error {
	key := c.Key()
	return s.unit(ctx, false, key, func(q querier) error { return s.readAndTake(ctx, q, key, "") })
}

// lockedBudget locks the row before it reads it.
type lockedBudget struct{ forUpdate }

// Increment implements Scenario.
func (s lockedBudget) Increment(ctx context.Context, c *Client) error {
	key := c.Key()
	return s.unit(ctx, true, key, func(q querier) error { return s.readAndTake(ctx, q, key, s.Engine.forUpdate) })
}

// atomicBudget takes a unit where there is one, in one statement.
type atomicBudget struct{ naive }

// Increment implements Scenario.
func (s atomicBudget) Increment(ctx context.Context, c *Client) error { return s.takeOne(ctx, c) }

// wrappedBudget is atomicBudget through slotsql.
type wrappedBudget struct{ *wrapped }

// Increment implements Scenario.
func (s wrappedBudget) Increment(ctx context.Context, c *Client) error { return s.takeOne(ctx, c) }
