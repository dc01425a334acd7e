package bench

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/slotsql/slotsql/examples/forum/forum"
)

// fleetLoads are what a worker's connections do, by name.
var fleetLoads = map[string]func(s *side) operation{
	"one":   func(*side) operation { return increment },
	"hold":  func(*side) operation { return inTxOfItsOwn(time.Millisecond) },
	"own":   func(*side) operation { return incrementOf(func() int { return 1 + rand.IntN(fleetRows) }) },
	"zipf":  func(*side) operation { return incrementOf(zipf(10_000, 1.1)) },
	"forum": func(s *side) operation { return visits(s, 0) },
	"viral": func(s *side) operation { return visits(s, 1) },
	"tx":    func(*side) operation { return inTxOfItsOwn(0) }, // as GORM sends it by default
}

// inTxOfItsOwn is an increment of the row in a transaction that then holds it for a time.
func inTxOfItsOwn(holds time.Duration) operation {
	return func(ctx context.Context, s *side) error {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, s.q("UPDATE pages SET views = views + 1 WHERE id = ?"), 1); err != nil {
			return err
		}
		time.Sleep(holds)
		if err := tx.Commit(); err != nil {
			return err
		}
		s.counted.Add(1)
		return nil
	}
}

// incrementOf is an increment of the row that id returns.
func incrementOf(id func() int) operation {
	return func(ctx context.Context, s *side) error {
		_, err := s.db.ExecContext(ctx, s.q("UPDATE pages SET views = views + 1 WHERE id = ?"), id())
		if err == nil {
			s.counted.Add(1)
		}
		return err
	}
}

// zipf draws numbers from 1 to n by a Zipf distribution.
func zipf(n int, exponent float64) func() int {
	weights, sum := make([]float64, n), 0.0
	for i := range weights {
		sum += math.Pow(float64(i+1), -exponent)
		weights[i] = sum
	}
	return func() int {
		i, _ := slices.BinarySearch(weights, rand.Float64()*sum)
		return 1 + min(i, n-1)
	}
}

func visits(s *side, hot int) operation {
	f := forum.New(s.db, s.dialect)
	return func(ctx context.Context, _ *side) error { return f.Visit(ctx, forum.Crowd{Hot: hot}) }
}
