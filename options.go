package slotsql

import (
	"context"
	"errors"
	"log/slog"

	"github.com/slotsql/slotsql/internal/config"
)

// An Option changes how a driver or connector is wrapped.
type Option func(*options) error

type options struct {
	config *config.Config
	logger *slog.Logger
	groups GroupTracer
	alike  bool
}

// WithConfig passes the configuration in code, a Config that the program builds or has
// loaded. It takes precedence over SLOTSQL_CONFIG and slotsql.yaml.
func WithConfig(c *Config) Option {
	return func(o *options) error {
		if c == nil {
			return errors.New("slotsql: WithConfig needs a configuration, got nil")
		}
		return o.resolve(c)
	}
}

// WithLogger sets the logger for warnings, such as those about statements that drain a
// table with on_drain: warn, or about views that the configuration does not name. The
// default is slog's default logger at the time of the warning.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) error {
		if l == nil {
			return errors.New("slotsql: WithLogger needs a logger, got nil")
		}
		o.logger = l
		return nil
	}
}

// GroupTracer is called before several executions share what is sent to the database: one
// statement, or a few if the group has to be split. ctx is the context of the execution
// whose connection is used, without its cancellation; others are the contexts of the
// other executions. What is sent gets the returned context, and end is called when the
// database has answered. A GroupTracer must be quick, since all executions wait for it.
type GroupTracer = func(ctx context.Context, others []context.Context) (traced context.Context, end func())

// WithGroupTracer sets a function that is called around what the executions of a group
// share, so that a trace can show where they went: each execution has its own span, but
// the database sees only one statement. The module otelslotsql has such a function for
// OpenTelemetry. Without a tracer there is no cost.
func WithGroupTracer(t GroupTracer) Option {
	return func(o *options) error {
		if t == nil {
			return errors.New("slotsql: WithGroupTracer needs a tracer, got nil")
		}
		o.groups = t
		return nil
	}
}

// WithoutHooks declares that the parent connector runs nothing in a session when it opens or resets one
// that may differ from one session to the next, such as SET search_path, USE, or CREATE TEMPORARY TABLE.
// It spares a connector of a type that slotsql does not know a question to the database for each
// connection that is taken from the pool. Where it is not true, sessions count for one another.
func WithoutHooks() Option {
	return func(o *options) error {
		o.alike = true
		return nil
	}
}

// resolve takes a configuration, or none.
func (o *options) resolve(c *Config) (err error) {
	if c != nil {
		o.config, err = c.Resolve()
	}
	return err
}

func buildOptions(cfg *Config, inherited *config.Config, opts []Option) (*options, error) {
	o := &options{config: inherited}
	if err := o.resolve(cfg); err != nil {
		return nil, err
	}
	for _, opt := range opts {
		if err := opt(o); err != nil {
			return nil, err
		}
	}
	return o, nil
}
