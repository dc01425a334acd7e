// Command sqlc is the shop with sqlc, which generates a package from the same queries for each engine.
package main

//go:generate go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 generate

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/slotsql/slotsql/examples/internal/shop"
	"github.com/slotsql/slotsql/examples/sqlc/mysql"
	"github.com/slotsql/slotsql/examples/sqlc/postgres"
	"github.com/slotsql/slotsql/examples/sqlc/sqlite"
)

// queries are what sqlc generates for each engine: an application has one of these packages and needs no
// type parameters.
type queries[P, Q any] interface {
	View(ctx context.Context, id int64) error
	AddLike(ctx context.Context, page, user int64) error
	CountLike(ctx context.Context, page int64) error
	TakeStock(ctx context.Context, quantity, product, least int64) (int64, error)
	AddOrder(ctx context.Context, product, quantity int64) error
	Ticket(ctx context.Context, product int64) (int64, error)
	Rename(ctx context.Context, title string, id int64) error
	Top(ctx context.Context) ([]P, error)
	WithTx(tx *sql.Tx) Q
}

type page interface {
	mysql.Page | postgres.Page | sqlite.Page
}

type sqlcShop[P page, Q queries[P, Q]] struct {
	*sql.DB
	q      Q
	engine string
}

func main() { shop.Main(open) }

// open opens the shop: the packages take the database, whichever driver opened it.
func open(driver, dsn string) (shop.Shop, *sql.DB, error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, nil, err
	}
	switch engine := shop.Engine(driver); engine {
	case "mysql":
		return sqlcShop[mysql.Page, *mysql.Queries]{db, mysql.New(db), engine}, db, nil
	case "postgres":
		return sqlcShop[postgres.Page, *postgres.Queries]{db, postgres.New(db), engine}, db, nil
	default:
		return sqlcShop[sqlite.Page, *sqlite.Queries]{db, sqlite.New(db), engine}, db, nil
	}
}

func (s sqlcShop[P, Q]) Create(ctx context.Context) error {
	return shop.Exec(ctx, s.DB, shop.Tables(s.engine))
}

// inTx runs f in a transaction.
func (s sqlcShop[P, Q]) inTx(ctx context.Context, f func(q Q) error) error {
	tx, err := s.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(s.q.WithTx(tx)); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (s sqlcShop[P, Q]) View(ctx context.Context, page int64) error { return s.q.View(ctx, page) }

func (s sqlcShop[P, Q]) Like(ctx context.Context, page, user int64) error {
	return s.inTx(ctx, func(q Q) error {
		if err := q.AddLike(ctx, page, user); err != nil {
			return err
		}
		return q.CountLike(ctx, page)
	})
}

func (s sqlcShop[P, Q]) Order(ctx context.Context, product, quantity int64) error {
	return s.inTx(ctx, func(q Q) error {
		n, err := q.TakeStock(ctx, quantity, product, quantity)
		if err != nil || n == 0 {
			return cmp.Or(err, shop.ErrSoldOut)
		}
		return q.AddOrder(ctx, product, quantity)
	})
}

func (s sqlcShop[P, Q]) Ticket(ctx context.Context, product int64) (int64, error) {
	return s.q.Ticket(ctx, product)
}

func (s sqlcShop[P, Q]) Rename(ctx context.Context, page int64, title string) error {
	return s.q.Rename(ctx, title, page)
}

func (s sqlcShop[P, Q]) Top(ctx context.Context) ([]shop.Page, error) {
	rows, err := s.q.Top(ctx)
	pages := make([]shop.Page, len(rows))
	for i, p := range rows {
		pages[i] = shop.Page(p)
	}
	return pages, err
}
