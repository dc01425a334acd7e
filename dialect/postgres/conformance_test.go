package postgres

import (
	"testing"

	"github.com/slotsql/slotsql/dialect/dialecttest"
)

func TestConformance(t *testing.T) {
	dialecttest.Run(t, dialecttest.Options{Dialect: New(), Shapes: shapes})
}
