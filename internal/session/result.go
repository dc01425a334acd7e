package session

import (
	"database/sql/driver"
)

// answer is what a call is answered with: a result for Exec, rows for Query.
type answer struct {
	result driver.Result
	rows   driver.Rows
}

var _ driver.Result = (*result)(nil)

// result reports the rows that the application's own statement would have
// affected; the rest is the parent's.
type result struct {
	driver.Result
	rows int64
}

// RowsAffected implements driver.Result.
func (r *result) RowsAffected() (int64, error) { return r.rows, nil }

// AllRowsAffected returns the one count of the statement. It is an extra method of
// go-sql-driver/mysql's results.
func (r *result) AllRowsAffected() []int64 { return []int64{r.rows} }

// AllLastInsertIds returns the one id of the statement; an extra method, too.
func (r *result) AllLastInsertIds() []int64 {
	id, _ := r.LastInsertId()
	return []int64{id}
}

var _ driver.Result = (*groupResult)(nil)

// groupResult is a member's own result of a group's statement.
type groupResult struct {
	result
	rows *bufferedRows // where it returns some
}

// insertID is the result of a statement that draws a number of its own.
type insertID int64

// LastInsertId implements driver.Result.
func (n insertID) LastInsertId() (int64, error) { return int64(n), nil }

// RowsAffected implements driver.Result.
func (n insertID) RowsAffected() (int64, error) { return 1, nil }
