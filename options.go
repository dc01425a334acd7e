package slotsql

import (
	"errors"
	"log/slog"

	"github.com/slotsql/slotsql/internal/config"
)

// An Option changes how a driver or connector is wrapped.
type Option func(*options) error

type options struct {
	config *config.Config
	logger *slog.Logger
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

func buildOptions(cfg *config.Config, opts []Option) (*options, error) {
	o := &options{config: cfg}
	for _, opt := range opts {
		if err := opt(o); err != nil {
			return nil, err
		}
	}
	return o, nil
}
