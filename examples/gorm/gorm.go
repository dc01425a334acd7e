// Command gorm is the shop with GORM.
package main

import (
	"cmp"
	"context"
	"database/sql"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/slotsql/slotsql/examples/internal/shop"
)

type gormShop struct{ db *gorm.DB }

func main() { shop.Main(open) }

// open opens the shop. The driver's name is all that differs between plain and wrapped.
func open(driver, dsn string) (shop.Shop, *sql.DB, error) {
	dialector := map[string]gorm.Dialector{
		"mysql":    mysql.New(mysql.Config{DriverName: driver, DSN: dsn}),
		"postgres": postgres.New(postgres.Config{DriverName: driver, DSN: dsn}),
		"sqlite":   sqlite.New(sqlite.Config{DriverName: driver, DSN: dsn}),
	}[shop.Engine(driver)]
	// Without SkipDefaultTransaction GORM puts a transaction around each write, and what is in a
	// transaction cannot share a statement with others.
	db, err := gorm.Open(dialector, &gorm.Config{SkipDefaultTransaction: true, Logger: logger.Discard})
	if err != nil {
		return nil, nil, err
	}
	pool, err := db.DB()
	return gormShop{db}, pool, err
}

func (s gormShop) Create(ctx context.Context) error {
	return s.db.WithContext(ctx).AutoMigrate(&Page{}, &Like{}, &Product{}, &Order{})
}

func (s gormShop) View(ctx context.Context, page int64) error {
	return s.db.WithContext(ctx).Model(&Page{ID: page}).Update("views", gorm.Expr("views + ?", 1)).Error
}

func (s gormShop) Like(ctx context.Context, page, user int64) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&Like{PageID: page, UserID: user}).Error; err != nil {
			return err
		}
		return tx.Model(&Page{ID: page}).Update("likes", gorm.Expr("likes + ?", 1)).Error
	})
}

func (s gormShop) Order(ctx context.Context, product, quantity int64) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		res := tx.Model(&Product{ID: product}).Where("stock >= ?", quantity).Update("stock", gorm.Expr("stock - ?", quantity))
		if res.Error != nil || res.RowsAffected == 0 {
			return cmp.Or(res.Error, shop.ErrSoldOut)
		}
		return tx.Create(&Order{ProductID: product, Quantity: quantity}).Error
	})
}

func (s gormShop) Ticket(ctx context.Context, product int64) (int64, error) {
	p := Product{ID: product}
	if s.db.Name() == "mysql" {
		result := gorm.WithResult()
		err := gorm.G[Product](s.db, result).Exec(ctx, "UPDATE products SET tickets = LAST_INSERT_ID(tickets + 1) WHERE id = ?", product)
		if err != nil {
			return 0, err
		}
		return result.Result.LastInsertId()
	}
	one := clause.Returning{Columns: []clause.Column{{Name: "tickets"}}}
	err := s.db.WithContext(ctx).Model(&p).Clauses(one).Update("tickets", gorm.Expr("tickets + ?", 1)).Error
	return p.Tickets, err
}

func (s gormShop) Rename(ctx context.Context, page int64, title string) error {
	p := Page{ID: page}
	if err := s.db.WithContext(ctx).First(&p).Error; err != nil {
		return err
	}
	p.Title = title
	return s.db.WithContext(ctx).Save(&p).Error // sets all columns, the counters, too
}

func (s gormShop) Top(ctx context.Context) (pages []shop.Page, err error) {
	return pages, s.db.WithContext(ctx).Model(&Page{}).Order("views DESC").Find(&pages).Error
}
