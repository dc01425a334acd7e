// Command xorm is the shop with xorm.
package main

import (
	"cmp"
	"context"
	"database/sql"

	"xorm.io/xorm"
	"xorm.io/xorm/dialects"

	"github.com/slotsql/slotsql/examples/internal/shop"
)

// xorm knows dialects by the driver's name.
func init() {
	dialects.RegisterDriver("mysql-slotsql", dialects.QueryDriver("mysql"))
	dialects.RegisterDriver("postgres-slotsql", dialects.QueryDriver("pgx"))
	dialects.RegisterDriver("sqlite3-slotsql", dialects.QueryDriver("sqlite3"))
}

type xormShop struct{ *xorm.Engine }

func main() { shop.Main(open) }

// open opens the shop.
func open(driver, dsn string) (shop.Shop, *sql.DB, error) {
	e, err := xorm.NewEngine(driver, dsn)
	if err != nil {
		return nil, nil, err
	}
	return xormShop{e}, e.DB().DB, nil
}

func (s xormShop) Create(ctx context.Context) error {
	return s.Context(ctx).Sync(new(Pages), new(Likes), new(Products), new(Orders))
}

func (s xormShop) View(ctx context.Context, page int64) error {
	_, err := s.Context(ctx).ID(page).Incr("views").Update(new(Pages))
	return err
}

// inTx runs f in a transaction.
func (s xormShop) inTx(ctx context.Context, f func(tx *xorm.Session) error) error {
	_, err := s.Transaction(func(tx *xorm.Session) (any, error) { return nil, f(tx.Context(ctx)) })
	return err
}

func (s xormShop) Like(ctx context.Context, page, user int64) error {
	return s.inTx(ctx, func(tx *xorm.Session) error {
		if _, err := tx.Insert(&Likes{PageID: page, UserID: user}); err != nil {
			return err
		}
		_, err := tx.ID(page).Incr("likes").Update(new(Pages))
		return err
	})
}

func (s xormShop) Order(ctx context.Context, product, quantity int64) error {
	return s.inTx(ctx, func(tx *xorm.Session) error {
		n, err := tx.ID(product).Where("stock >= ?", quantity).Decr("stock", quantity).Update(new(Products))
		if err != nil || n == 0 {
			return cmp.Or(err, shop.ErrSoldOut)
		}
		_, err = tx.Insert(&Orders{ProductID: product, Quantity: quantity})
		return err
	})
}

// Ticket reads the number that it has drawn in the same transaction: xorm has no RETURNING.
func (s xormShop) Ticket(ctx context.Context, product int64) (int64, error) {
	var p Products
	err := s.inTx(ctx, func(tx *xorm.Session) error {
		if _, err := tx.ID(product).Incr("tickets").Update(new(Products)); err != nil {
			return err
		}
		_, err := tx.ID(product).Get(&p)
		return err
	})
	return p.Tickets, err
}

func (s xormShop) Rename(ctx context.Context, page int64, title string) error {
	var p Pages
	if _, err := s.Context(ctx).ID(page).Get(&p); err != nil {
		return err
	}
	p.Title = title
	_, err := s.Context(ctx).ID(page).Update(&p) // sets all columns that are not zero; Cols("title") would set one
	return err
}

func (s xormShop) Top(ctx context.Context) (pages []shop.Page, err error) {
	return pages, s.Context(ctx).Table(new(Pages)).Desc("views").Find(&pages)
}
