package history

import (
	"context"
	"fmt"
)

// rows reads rows, as the columns of Table.read.
func (r *runner) rows(
	ctx context.Context,
	db querier,
	table Table,
	query string,
	args ...any,
) (got [Keys]Row, saw [Keys]int64, many [Keys]bool, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return got, saw, many, err
	}
	defer rows.Close()
	for rows.Next() {
		var key int
		row := Row{There: true}
		var seen int64
		columns := []any{&key, &row.Views, &seen, &row.High, &row.Low, &row.Version}
		second := &row.Views
		if table == Pairs {
			second = new(int32)
			columns = append(columns, second)
		}
		if err := rows.Scan(columns...); err != nil {
			return got, saw, many, err
		}
		if *second != row.Views {
			return got, saw, many, fmt.Errorf(
				"key %d: views is %d and likes is %d, and no statement sets one without the other",
				key-r.id(0),
				row.Views,
				*second,
			)
		}
		row.Views *= r.Layout.sign()
		k, ok := r.keyOf(key)
		if !ok {
			continue
		}
		many[k] = got[k].There
		got[k], saw[k] = row, seen
	}
	if err := rows.Err(); err != nil {
		return got, saw, many, err
	}
	return got, saw, many, rows.Close()
}

// others reads the rows beside the model.
func (r *runner) others(ctx context.Context, db querier, table Table) (map[int]int32, error) {
	rows, err := db.QueryContext(ctx, "SELECT id, views FROM "+string(table)+" WHERE id > 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[int]int32{}
	for rows.Next() {
		var other int
		var views int32
		if err := rows.Scan(&other, &views); err != nil {
			return nil, err
		}
		if _, model := r.keyOf(other); !model {
			out[other] = views * r.Layout.sign()
		}
	}
	return out, rows.Err()
}

// count reads one number.
func (r *runner) count(ctx context.Context, db querier, query string, args ...any) (n int, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&n); err != nil {
			return 0, err
		}
	}
	return n, rows.Err()
}
