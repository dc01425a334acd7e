package main

import (
	"database/sql"
	"errors"
	"testing"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/slotsql/slotsql/examples/internal/shop/shoptest"
)

func TestMain(m *testing.M) { shoptest.Main(m, open) }

func TestShop(t *testing.T) { shoptest.Run(t, open) }

// TestReadme runs the commands of the page about all examples.
func TestReadme(t *testing.T) { shoptest.Commands(t, "../README.md", "Lamps: 80 views") }

// TestOneColumn: saving what has been loaded sets the counters to what they were then, unless the
// column is named.
func TestOneColumn(t *testing.T) {
	shoptest.OneColumn(t, func(db *sql.DB, _ string, between func()) error {
		g, err := gorm.Open(&sqlite.Dialector{Conn: db}, &gorm.Config{})
		if err != nil {
			return err
		}
		var p Page
		err = g.First(&p, 1).Error
		between()
		p.Title = "new"
		return errors.Join(err, g.Select("title").Save(&p).Error)
	})
}
