// Command sqlx is the shop with sqlx.
package main

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/jmoiron/sqlx"

	"github.com/slotsql/slotsql/examples/internal/shop"
)

// sqlx knows placeholders by the driver's name.
func init() {
	sqlx.BindDriver("mysql-slotsql", sqlx.QUESTION)
	sqlx.BindDriver("postgres-slotsql", sqlx.DOLLAR)
	sqlx.BindDriver("sqlite3-slotsql", sqlx.QUESTION)
	sqlx.BindDriver("sqlite", sqlx.QUESTION) // modernc.org/sqlite's own, without slotsql
}

type sqlxShop struct{ *sqlx.DB }

func main() { shop.Main(open) }

// open opens the shop.
func open(driver, dsn string) (shop.Shop, *sql.DB, error) {
	db, err := sqlx.Open(driver, dsn)
	if err != nil {
		return nil, nil, err
	}
	return sqlxShop{db}, db.DB, nil
}

func (s sqlxShop) Create(ctx context.Context) error {
	return shop.Exec(ctx, s.DB.DB, shop.Tables(shop.Engine(s.DriverName())))
}

func (s sqlxShop) View(ctx context.Context, page int64) error {
	_, err := s.NamedExecContext(ctx, "UPDATE pages SET views = views + 1 WHERE id = :id", map[string]any{"id": page})
	return err
}

func (s sqlxShop) Like(ctx context.Context, page, user int64) error {
	tx, err := s.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // does nothing after Commit
	if _, err := tx.ExecContext(ctx, tx.Rebind("INSERT INTO likes (page_id, user_id) VALUES (?, ?)"), page, user); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, tx.Rebind("UPDATE pages SET likes = likes + 1 WHERE id = ?"), page); err != nil {
		return err
	}
	return tx.Commit()
}

func (s sqlxShop) Order(ctx context.Context, product, quantity int64) error {
	tx, err := s.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // does nothing after Commit
	args := map[string]any{"product": product, "n": quantity}
	res, err := tx.NamedExecContext(ctx, "UPDATE products SET stock = stock - :n WHERE id = :product AND stock >= :n", args)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return cmp.Or(err, shop.ErrSoldOut)
	}
	if _, err := tx.NamedExecContext(ctx, "INSERT INTO orders (product_id, quantity) VALUES (:product, :n)", args); err != nil {
		return err
	}
	return tx.Commit()
}

func (s sqlxShop) Ticket(ctx context.Context, product int64) (n int64, err error) {
	if shop.Engine(s.DriverName()) == "mysql" {
		return shop.Drawn(s.ExecContext(ctx, "UPDATE products SET tickets = LAST_INSERT_ID(tickets + 1) WHERE id = ?", product))
	}
	return n, s.GetContext(ctx, &n, s.Rebind("UPDATE products SET tickets = tickets + 1 WHERE id = ? RETURNING tickets"), product)
}

func (s sqlxShop) Rename(ctx context.Context, page int64, title string) error {
	_, err := s.ExecContext(ctx, s.Rebind("UPDATE pages SET title = ? WHERE id = ?"), title, page)
	return err
}

func (s sqlxShop) Top(ctx context.Context) (pages []shop.Page, err error) {
	return pages, s.SelectContext(ctx, &pages, "SELECT id, title, views, likes FROM pages ORDER BY views DESC")
}
