// Command ent is the shop with ent. Its client is generated from package schema.
package main

//go:generate go run -mod=mod entgo.io/ent/cmd/ent generate --target ./client ./schema

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/slotsql/slotsql/examples/ent/client"
	"github.com/slotsql/slotsql/examples/ent/client/page"
	"github.com/slotsql/slotsql/examples/ent/client/product"
	"github.com/slotsql/slotsql/examples/internal/shop"
)

type entShop struct{ *client.Client }

func main() { shop.Main(open) }

// open opens the shop: ent takes the database with the name of its dialect.
func open(driver, dsn string) (shop.Shop, *sql.DB, error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, nil, err
	}
	name := map[string]string{"mysql": "mysql", "postgres": "postgres", "sqlite": "sqlite3"}[shop.Engine(driver)]
	return entShop{client.NewClient(client.Driver(entsql.OpenDB(name, db)))}, db, nil
}

func (s entShop) Create(ctx context.Context) error { return s.Schema.Create(ctx) }

// View updates by a predicate, which is one statement. UpdateOneID would read the row in the same
// transaction, to return it.
func (s entShop) View(ctx context.Context, id int64) error {
	return s.Page.Update().Where(page.ID(id)).AddViews(1).Exec(ctx)
}

// inTx runs f in a transaction.
func (s entShop) inTx(ctx context.Context, f func(tx *client.Tx) error) error {
	tx, err := s.Tx(ctx)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (s entShop) Like(ctx context.Context, id, user int64) error {
	return s.inTx(ctx, func(tx *client.Tx) error {
		if err := tx.Like.Create().SetPageID(id).SetUserID(user).Exec(ctx); err != nil {
			return err
		}
		return tx.Page.Update().Where(page.ID(id)).AddLikes(1).Exec(ctx)
	})
}

func (s entShop) Order(ctx context.Context, id, quantity int64) error {
	return s.inTx(ctx, func(tx *client.Tx) error {
		n, err := tx.Product.Update().Where(product.ID(id), product.StockGTE(quantity)).AddStock(-quantity).Save(ctx)
		if err != nil || n == 0 {
			return cmp.Or(err, shop.ErrSoldOut)
		}
		return tx.Order.Create().SetProductID(id).SetQuantity(quantity).Exec(ctx)
	})
}

// Ticket increments and reads back in one transaction: that is what UpdateOneID does.
func (s entShop) Ticket(ctx context.Context, id int64) (int64, error) {
	p, err := s.Product.UpdateOneID(id).AddTickets(1).Save(ctx)
	if err != nil {
		return 0, err
	}
	return p.Tickets, nil
}

func (s entShop) Rename(ctx context.Context, id int64, title string) error {
	return s.Page.Update().Where(page.ID(id)).SetTitle(title).Exec(ctx)
}

func (s entShop) Top(ctx context.Context) (pages []shop.Page, err error) {
	return pages, s.Page.Query().Order(page.ByViews(entsql.OrderDesc())).
		Select(page.FieldID, page.FieldTitle, page.FieldViews, page.FieldLikes).Scan(ctx, &pages)
}
