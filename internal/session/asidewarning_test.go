package session

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/internal/config"
)

// That no other connection can be opened is logged once, with the reason. That the caller has given up is not.
func TestWarnAside(t *testing.T) {
	t.Parallel()
	s := New(fake.Probing, &config.Config{})
	var log bytes.Buffer
	s.Logger = slog.New(slog.NewTextHandler(&log, nil))
	var reason error
	s.Dial = func(context.Context) (driver.Conn, error) { return nil, reason }
	for _, reason = range []error{context.Canceled, fmt.Errorf("opening: %w", context.DeadlineExceeded)} {
		if _, err := s.openSide(t.Context()); err == nil || log.Len() > 0 {
			t.Errorf("%v: logged %q", err, log.String())
		}
	}
	for range 3 {
		reason = errors.New("too many connections")
		if _, err := s.openSide(t.Context()); !errors.Is(err, reason) {
			t.Errorf("got %v", err)
		}
	}
	if n := strings.Count(log.String(), "another connection could not be opened"); n != 1 || !strings.Contains(log.String(), "too many connections") {
		t.Errorf("logged %d times: %s", n, log.String())
	}
}
