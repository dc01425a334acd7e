// Command bun is the shop with bun.
package main

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mysqldialect"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"

	"github.com/slotsql/slotsql/examples/internal/shop"
)

type bunShop struct {
	*bun.DB
	engine string
}

func main() { shop.Main(open) }

// open opens the shop: bun takes the database, whichever driver opened it.
func open(driver, dsn string) (shop.Shop, *sql.DB, error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, nil, err
	}
	engine := shop.Engine(driver)
	dialect := map[string]schema.Dialect{"mysql": mysqldialect.New(), "postgres": pgdialect.New(), "sqlite": sqlitedialect.New()}[engine]
	return bunShop{bun.NewDB(db, dialect), engine}, db, nil
}

func (s bunShop) Create(ctx context.Context) error {
	for _, model := range []any{(*Page)(nil), (*Like)(nil), (*Product)(nil), (*Order)(nil)} {
		if _, err := s.NewCreateTable().Model(model).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s bunShop) View(ctx context.Context, page int64) error {
	_, err := s.NewUpdate().Model((*Page)(nil)).Set("views = views + ?", 1).Where("id = ?", page).Exec(ctx)
	return err
}

func (s bunShop) Like(ctx context.Context, page, user int64) error {
	return s.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewInsert().Model(&Like{PageID: page, UserID: user}).Exec(ctx); err != nil {
			return err
		}
		_, err := tx.NewUpdate().Model((*Page)(nil)).Set("likes = likes + 1").Where("id = ?", page).Exec(ctx)
		return err
	})
}

func (s bunShop) Order(ctx context.Context, product, quantity int64) error {
	return s.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewUpdate().Model((*Product)(nil)).Set("stock = stock - ?", quantity).
			Where("id = ? AND stock >= ?", product, quantity).Exec(ctx)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return cmp.Or(err, shop.ErrSoldOut)
		}
		_, err = tx.NewInsert().Model(&Order{ProductID: product, Quantity: quantity}).Exec(ctx)
		return err
	})
}

func (s bunShop) Ticket(ctx context.Context, product int64) (n int64, err error) {
	update := s.NewUpdate().Model((*Product)(nil)).Where("id = ?", product)
	if s.engine == "mysql" {
		return shop.Drawn(update.Set("tickets = LAST_INSERT_ID(tickets + 1)").Exec(ctx))
	}
	_, err = update.Set("tickets = tickets + 1").Returning("tickets").Exec(ctx, &n)
	return n, err
}

func (s bunShop) Rename(ctx context.Context, page int64, title string) error {
	p := Page{ID: page}
	if err := s.NewSelect().Model(&p).WherePK().Scan(ctx); err != nil {
		return err
	}
	p.Title = title
	_, err := s.NewUpdate().Model(&p).WherePK().Exec(ctx) // sets all columns, the counters, too
	return err
}

func (s bunShop) Top(ctx context.Context) (pages []shop.Page, err error) {
	return pages, s.NewSelect().Model((*Page)(nil)).Order("views DESC").Scan(ctx, &pages)
}
