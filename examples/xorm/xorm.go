// Command xorm is the shop with xorm.
package main

import (
	"context"

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

type (
	// Pages is the first of the application's models.
	Pages struct {
		ID    int64  `xorm:"'id' pk"`
		Title string `xorm:"varchar(80)"`
		Views int64  `xorm:"notnull default 0"`
		Likes int64  `xorm:"notnull default 0"`
	}
	Likes struct {
		PageID int64 `xorm:"'page_id' pk"`
		UserID int64 `xorm:"'user_id' pk"`
	}
	Products struct {
		ID      int64  `xorm:"'id' pk"`
		Name    string `xorm:"varchar(80)"`
		Stock   int64  `xorm:"notnull default 0"`
		Tickets int64  `xorm:"notnull default 0"`
	}
	Orders struct {
		ID        int64 `xorm:"'id' pk autoincr"`
		ProductID int64 `xorm:"'product_id'"`
		Quantity  int64
	}
)

type xormShop struct{ *xorm.Engine }

func main() { shop.Main(open) }

// open opens the shop.
func open(driver, dsn string) (shop.Shop, error) {
	e, err := xorm.NewEngine(driver, dsn)
	return xormShop{e}, err
}

func (s xormShop) Create(ctx context.Context) error {
	if err := s.Context(ctx).Sync(new(Pages), new(Likes), new(Products), new(Orders)); err != nil {
		return err
	}
	pages := []Pages{{ID: 1, Title: "Lamps"}, {ID: 2, Title: "About us"}}
	_, err := s.Context(ctx).Insert(pages, &Products{ID: 1, Name: "Desk lamp", Stock: 10})
	return err
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
		if err != nil {
			return err
		}
		if n == 0 {
			return shop.ErrSoldOut
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

func (s xormShop) Top(ctx context.Context) ([]shop.Page, error) {
	var rows []Pages
	err := s.Context(ctx).Desc("views").Find(&rows)
	pages := make([]shop.Page, len(rows))
	for i, p := range rows {
		pages[i] = shop.Page(p)
	}
	return pages, err
}

func (s xormShop) Stock(ctx context.Context, product int64) (int64, error) {
	var p Products
	_, err := s.Context(ctx).ID(product).Get(&p)
	return p.Stock, err
}
