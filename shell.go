package slotsql

import (
	"context"
	"database/sql/driver"

	"github.com/ngrok/sqlmw"

	"github.com/slotsql/slotsql/internal/session"
)

var _ sqlmw.Interceptor = shell{}

// shell is slotsql as an interceptor of sqlmw: its ConnectorConnect hook makes
// the session that database/sql gets as its connection. It is the only hook that
// slotsql needs. The others see neither the connection nor its transaction, and
// the wrapper that sqlmw's own connector puts around each connection hides what
// the parent's connection, results and rows offer beyond the common interfaces.
// So the connector calls the hook itself, and no such wrapper is made. See
// docs/contributing/architecture.md.
type shell struct {
	sqlmw.NullInterceptor
	shared *session.Shared
}

// ConnectorConnect implements sqlmw.Interceptor.
func (s shell) ConnectorConnect(ctx context.Context, parent driver.Connector) (driver.Conn, error) {
	raw, err := parent.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c, err := session.NewConn(ctx, s.shared, raw)
	if err != nil {
		return nil, err
	}
	return c, nil
}
