package bench

import (
	"math"
	"math/rand/v2"
	"sort"
)

// keys picks counters: all alike, or number k with a probability in proportion
// to 1/k^s (Zipf's law; any exponent, where math/rand wants more than 1).
type keys struct {
	n          int
	cumulative []float64 // nil for all alike
}

func newKeys(n int, exponent float64) *keys {
	k := &keys{n: n}
	if exponent == 0 || n == 1 {
		return k
	}
	k.cumulative = make([]float64, n)
	sum := 0.0
	for i := range n {
		sum += math.Pow(float64(i+1), -exponent)
		k.cumulative[i] = sum
	}
	return k
}

func (k *keys) pick(rng *rand.Rand) int64 {
	if k.n == 1 {
		return 1
	}
	if k.cumulative == nil {
		return rng.Int64N(int64(k.n)) + 1
	}
	v := rng.Float64() * k.cumulative[k.n-1]
	return int64(min(sort.SearchFloat64s(k.cumulative, v), k.n-1)) + 1
}
