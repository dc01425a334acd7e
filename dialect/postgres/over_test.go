package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/postgres"
)

var over = postgres.Over{Dialect: postgres.New(), Fault: func(err error) (f postgres.Fault, ok bool) { return f, errors.As(err, &f) }}

func TestConflict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault               postgres.Fault
		conflict, retryable bool
	}{
		{postgres.Fault{Code: "40P01"}, true, true},
		{postgres.Fault{Code: "40001"}, false, true},
		{postgres.Fault{Code: "55P03"}, false, true},
		{postgres.Fault{Code: "XX000", Routine: "MultiXactIdCreateFromMembers"}, true, true},
		{postgres.Fault{Code: "XX000", Routine: "heap_update"}, false, false},
		{postgres.Fault{}, false, false},
	} {
		if got := over.Classify(c.fault).Has(dialect.Conflict); got != c.conflict {
			t.Errorf("%+v is a conflict: %v", c.fault, got)
		}
		if got := over.Classify(c.fault).Has(dialect.Retryable); got != c.retryable {
			t.Errorf("%+v may be run once more: %v", c.fault, got)
		}
	}
}

// The severity decides where it can be read, and the code where it is in another language.
func TestNotApplied(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault postgres.Fault
		want  bool
	}{
		{postgres.Fault{Severity: "ERROR", Code: "53200"}, true},
		{postgres.Fault{Severity: "FATAL", Code: "22003"}, false},
		{postgres.Fault{Severity: "PANIC", Code: "22003"}, false},
		{postgres.Fault{Severity: "FEHLER", Code: "22003"}, true},
		{postgres.Fault{Severity: "FEHLER", Code: "23514"}, true},
		{postgres.Fault{Severity: "FEHLER", Code: "40P01"}, true},
		{postgres.Fault{Severity: "FEHLER", Code: "57014"}, true},
		{postgres.Fault{Severity: "FEHLER", Code: "P0001"}, true},
		{postgres.Fault{Severity: "FEHLER", Code: "SHOP1"}, true},
		{postgres.Fault{Severity: "FEHLER", Code: "42501", Routine: "aclcheck_error"}, true},
		{postgres.Fault{Severity: "FEHLER", Code: "XX000", Routine: "MultiXactIdCreateFromMembers"}, true},
		{postgres.Fault{Severity: "FEHLER", Code: "XX000", Routine: "heap_update"}, false},
		{postgres.Fault{Severity: "ВАЖНО", Code: "57P01"}, false},
		{postgres.Fault{Severity: "ВАЖНО", Code: "25P03"}, false},
		{postgres.Fault{Severity: "ВАЖНО", Code: "08P01"}, false},
		{postgres.Fault{Severity: "ПАНИКА", Code: "53100", Routine: "XLogWrite"}, false},
		{postgres.Fault{Severity: "ПАНИКА", Code: "42501", Routine: "XLogFileOpen"}, false},
		{postgres.Fault{Severity: "FEHLER", Code: "40003"}, false},
		{postgres.Fault{}, false},
	} {
		if got := over.Classify(c.fault).Has(dialect.NotApplied); got != c.want {
			t.Errorf("%+v is not applied: %v", c.fault, got)
		}
	}
	if over.Classify(errors.New("another")) != 0 {
		t.Error("an error of another type is not applied")
	}
}

// bareError is an error of a driver whose errors have no method SQLState, as those of lib/pq before 1.10.6.
type bareError string

func (e bareError) Error() string { return "pq: " + string(e) }

// failing is a session whose statements fail.
type failing struct{ err error }

func (s failing) Query(context.Context, string, ...any) ([][]any, error) { return nil, s.err }
func (s failing) Exec(context.Context, string, ...any) error             { return s.err }

// Whether a session is in a transaction is read from the server's error by Fault, and by nothing else.
func TestInTransaction(t *testing.T) {
	t.Parallel()
	by := postgres.Over{Dialect: postgres.New(), Fault: func(err error) (f postgres.Fault, ok bool) {
		var e bareError
		ok = errors.As(err, &e)
		return postgres.Fault{Code: string(e)}, ok
	}}
	for code, want := range map[string]bool{"25P01": false, "25P02": true} {
		if open, err := by.InTransaction(t.Context(), failing{bareError(code)}); open != want || err != nil {
			t.Errorf("after %s a transaction is open: %v, %v", code, open, err)
		}
	}
	if _, err := by.InTransaction(t.Context(), failing{bareError("53300")}); err != bareError("53300") {
		t.Errorf("another error is not reported as it is: %v", err)
	}
	if _, err := by.InTransaction(t.Context(), failing{errors.New("hidden")}); err == nil || !strings.Contains(err.Error(), "Fault") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}
