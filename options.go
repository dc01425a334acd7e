package slotsql

import (
	"errors"
	"log/slog"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/session"
)

// An Option changes how a driver or connector is wrapped.
type Option func(*options) error

type options struct {
	config *config.Config
	logger *slog.Logger
	groups GroupTracer
}

// WithConfig gives the configuration in code; it wins over SLOTSQL_CONFIG and
// slotsql.yaml.
func WithConfig(c *Config) Option {
	return func(o *options) error {
		if c == nil {
			return errors.New("slotsql: WithConfig needs a configuration, got nil")
		}
		o.config = c
		return nil
	}
}

// WithLogger sets the logger for warnings, such as those about statements that
// drain a table with on_drain: warn and about views that the configuration does
// not name. The default is slog's default logger at the time of the warning.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) error {
		if l == nil {
			return errors.New("slotsql: WithLogger needs a logger, got nil")
		}
		o.logger = l
		return nil
	}
}

// GroupTracer is called when several executions are about to share what is sent to the
// database: one statement, or a few where the group has to be split. The context is that of
// the execution whose connection is used, without its cancellation; others are the contexts
// of the other ones. What is sent gets the context returned; end is called when the database
// has answered. It must be quick, as all of them wait for it.
type GroupTracer = session.GroupTracer

// WithGroupTracer has a function called around what the executions of a group share, so
// that a trace can show where they went: each of them has a span of its own, and the database
// sees one statement. The module otelslotsql has a function for OpenTelemetry. Without a
// tracer this costs nothing.
func WithGroupTracer(t GroupTracer) Option {
	return func(o *options) error {
		if t == nil {
			return errors.New("slotsql: WithGroupTracer needs a tracer, got nil")
		}
		o.groups = t
		return nil
	}
}

func buildOptions(cfg *config.Config, opts []Option) (*options, error) {
	o := &options{config: cfg}
	for _, opt := range opts {
		if err := opt(o); err != nil {
			return nil, err
		}
	}
	return o, nil
}
