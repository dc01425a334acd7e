package link_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/internal/link"
)

// hangingEngine is an engine whose server does not answer until its context ends.
type hangingEngine struct {
	fake.Engine
	asked chan struct{}
}

func (e hangingEngine) ForServer(ctx context.Context, _ dialect.Session) (dialect.Dialect, error) {
	close(e.asked)
	<-ctx.Done()
	return nil, ctx.Err()
}

// While the first connection waits for its server, others wait no longer than their callers.
func TestLearnServerWaits(t *testing.T) {
	e := hangingEngine{fake.Probing, make(chan struct{})}
	db := link.NewDatabase(e)
	first, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- db.LearnServer(first, driver.Conn(nil)) }()
	<-e.asked
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := db.LearnServer(gone, driver.Conn(nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("the second connection got %v", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the first connection got %v", err)
	}
}
