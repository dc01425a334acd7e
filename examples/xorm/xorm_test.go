package main

import (
	"database/sql"
	"errors"
	"testing"

	"xorm.io/xorm"

	"github.com/slotsql/slotsql/examples/internal/shop/shoptest"
)

func TestMain(m *testing.M) { shoptest.Main(m, open) }

func TestShop(t *testing.T) { shoptest.Run(t, open) }

// TestOneColumn: saving what has been loaded sets the counters to what they were then, unless the
// column is named.
func TestOneColumn(t *testing.T) {
	shoptest.OneColumn(t, func(_ *sql.DB, dsn string, between func()) error {
		x, err := xorm.NewEngine("sqlite3-slotsql", dsn)
		if err != nil {
			return err
		}
		defer x.Close()
		var p Pages
		_, err = x.ID(1).Get(&p)
		between()
		p.Title = "new"
		_, saved := x.ID(1).Cols("title").Update(&p)
		return errors.Join(err, saved)
	})
}
