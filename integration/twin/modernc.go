//go:build !nomodernc

package twin

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"

	slotsqlite "github.com/slotsql/slotsql/sqlite"
)

func init() {
	codes = append(codes, codeOfModernc)
	Wrapping["sqlite"] = slotsqlite.Dialect()
}

func codeOfModernc(err error) string {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return fmt.Sprintf("SQLite %d", e.Code())
	}
	return ""
}
