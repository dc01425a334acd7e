package main

import (
	"testing"

	"github.com/slotsql/slotsql/examples/internal/shop/shoptest"
)

func TestMain(m *testing.M) { shoptest.Main(m, open) }

func TestShop(t *testing.T) { shoptest.Run(t, open) }
