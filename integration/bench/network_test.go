package bench

import (
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/network"
	"github.com/slotsql/slotsql/integration/twin"
)

// overSlowNetwork opens both sides again, over the network of a database that is
// a round trip away: what a transaction locks stays locked for every round trip
// until its commit.
func overSlowNetwork(b *testing.B, p *twin.Pair, roundTrip time.Duration) *twin.Pair {
	b.Helper()
	text, err := os.ReadFile(p.ConfigPath)
	if err != nil {
		b.Fatal(err)
	}
	config, err := slotsql.Parse(text, p.ConfigPath)
	if err != nil {
		b.Fatal(err)
	}
	slow := *p
	if slow.Plain, err = openSlow(p.Dialect, p.PlainDSN, nil, roundTrip); err != nil {
		b.Fatal(err)
	}
	if slow.Wrapped, err = openSlow(p.Dialect, p.WrappedDSN, config, roundTrip); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		for _, db := range []*sql.DB{slow.Plain, slow.Wrapped} {
			if err := db.Close(); err != nil {
				b.Error(err)
			}
		}
	})
	return &slow
}

func openSlow(dialect, dsn string, config *slotsql.Config, roundTrip time.Duration) (*sql.DB, error) {
	parent, d, err := network.Connector(dialect, dsn, roundTrip)
	if err != nil {
		return nil, err
	}
	if config == nil {
		return sql.OpenDB(parent), nil
	}
	return slotsql.OpenDB(parent, d, config)
}
