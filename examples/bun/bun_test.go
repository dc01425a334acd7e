package main

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/slotsql/slotsql/examples/internal/shop/shoptest"
)

func TestMain(m *testing.M) { shoptest.Main(m, open) }

func TestShop(t *testing.T) { shoptest.Run(t, open) }

// TestOneColumn: saving what has been loaded sets the counters to what they were then, unless the
// column is named.
func TestOneColumn(t *testing.T) {
	shoptest.OneColumn(t, func(db *sql.DB, _ string, between func()) error {
		b := bun.NewDB(db, sqlitedialect.New())
		p := Page{ID: 1}
		err := b.NewSelect().Model(&p).WherePK().Scan(t.Context())
		between()
		p.Title = "new"
		_, saved := b.NewUpdate().Model(&p).Column("title").WherePK().Exec(t.Context())
		return errors.Join(err, saved)
	})
}
