// Package glebarez registers glebarez/go-sqlite as the parent driver, for the tests here and for those of other
// packages. Like modernc.org/sqlite it registers the name "sqlite": a program has one of the two.
package glebarez

import (
	"errors"

	"github.com/glebarez/go-sqlite"

	"github.com/slotsql/slotsql"
	slotdialect "github.com/slotsql/slotsql/dialect/sqlite"
)

var dialect = slotdialect.Over{Dialect: slotdialect.New(), Fault: fault}

func init() { slotsql.Register("glebarez-slotsql", &sqlite.Driver{}, dialect, nil) }

func fault(err error) (code int, message string, ok bool) {
	var e *sqlite.Error
	if ok = errors.As(err, &e); ok {
		code, message = e.Code(), e.Error()
	}
	return code, message, ok
}
