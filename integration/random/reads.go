package random

import (
	"math/rand/v2"
	"slices"
)

// Reads makes up one schema, increments that bring its counters into slots,
// and queries of it without end. The same seed gives the same ones.
type Reads struct {
	Application
	g *generator
}

// NewReads makes the schema. Strings in its rows that compare as equal are
// equal, so that it does not matter which of them an engine shows for a group.
func NewReads(dialect string, seed uint64) *Reads {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x5ead5)), dialect: dialect, reads: true, layout: newLayout(seed)}
	g.schema()
	for _, t := range slices.Concat(g.tables, g.views) {
		for i := range t.columns {
			t.columns[i].loose = false
		}
	}
	g.app.Dialect = dialect
	switch dialect {
	case "mysql":
		g.app.Params = g.pick(
			"",
			"",
			"",
			"interpolateParams=true",
			"sql_mode=%27ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES%27",
			"sql_mode=%27STRICT_ALL_TABLES%27&clientFoundRows=true",
		)
	case "postgres":
		g.app.Params = g.pick(
			"",
			"jit=off",
			"jit=off",
			"jit=off&default_query_exec_mode=exec",
			"jit=off&default_query_exec_mode=simple_protocol",
			"jit=off&default_query_exec_mode=cache_describe",
		) // joins of tables that were never analysed, which the server takes for large ones, take six times as long to compile as to run
	}
	return &Reads{Application: g.app, g: g}
}

// Increments writes n statements that add to counters, of several sessions:
// each has slots of its own.
func (r *Reads) Increments(n int) []Step {
	steps := make([]Step, n)
	for i := range steps {
		r.g.reset()
		query := r.g.increment()
		steps[i] = r.g.finish(query)
		steps[i].Session = r.g.IntN(Sessions)
	}
	return steps
}

// Query writes a statement that reads.
func (r *Reads) Query() Step {
	g := r.g
	g.reset()
	query, ordered := g.query()
	if g.one(6) {
		query = g.decorate(query)
	}
	s := g.finish(query)
	s.Ordered = ordered
	s.Prepared = g.one(4)
	s.Session = g.IntN(Sessions)
	return s
}

func (g *generator) reset() {
	g.literal = g.one(3)
	g.depth, g.fresh, g.decimals, g.whole, g.ties = 0, 0, 0, 0, false
	g.values = nil
}
