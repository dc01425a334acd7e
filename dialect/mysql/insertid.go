package mysql

import (
	"strconv"

	"github.com/slotsql/slotsql/dialect"
)

var _ dialect.InsertIDSetter = (*Dialect)(nil)

// SetInsertID implements dialect.InsertIDSetter.
func (*Dialect) SetInsertID(n int64) string {
	return "DO LAST_INSERT_ID(" + strconv.FormatInt(n, 10) + ")"
}
