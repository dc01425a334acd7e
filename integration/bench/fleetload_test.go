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
	"mix":   func(*side) operation { return countsOnTheSide },
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

// countsOnTheSide is a transaction of an application that counts on the side: 6 to 20 statements, half of them reads, some of the table
// that it counts in, and one increment of the row that all transactions count in, anywhere among them.
func countsOnTheSide(ctx context.Context, s *side) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	n := 6 + rand.IntN(15)
	at := rand.IntN(n)
	for i := range n {
		user := 1 + rand.IntN(fleetRows)
		var name string
		var views int64
		switch {
		case i == at:
			_, err = tx.ExecContext(ctx, s.q("UPDATE pages SET views = views + 1 WHERE id = ?"), 1)
		case i%4 == 0:
			err = tx.QueryRowContext(ctx, s.q("SELECT name FROM users WHERE id = ?"), user).Scan(&name)
		case i%4 == 1:
			_, err = tx.ExecContext(ctx, s.q("INSERT INTO visits (page_id) VALUES (?)"), user)
		case i%4 == 2:
			err = tx.QueryRowContext(ctx, s.q("SELECT views FROM pages WHERE id = ?"), user).Scan(&views)
		default:
			_, err = tx.ExecContext(ctx, s.q("UPDATE users SET name = ? WHERE id = ?"), "somebody", user)
		}
		if err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.counted.Add(1)
	return nil
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
