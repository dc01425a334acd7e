//go:build nomodernc

package glebarez

import (
	"fmt"

	"github.com/slotsql/slotsql/integration/twin"
)

func init() {
	twin.Over("sqlite", twin.Parent{Plain: "sqlite", Wrapped: "glebarez-slotsql", Dialect: dialect, Code: code})
}

func code(err error) string {
	if c, _, ok := fault(err); ok {
		return fmt.Sprintf("SQLite %d", c)
	}
	return ""
}
