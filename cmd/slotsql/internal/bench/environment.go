package bench

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Environment is where a benchmark ran. It has no user names and passwords.
type Environment struct {
	Engine     string      `json:"engine"`  // name and version
	Address    string      `json:"address"` // of the server, or the file's name
	SameHost   bool        `json:"same_host"`
	Settings   []Setting   `json:"settings"` // of the server: what a commit costs
	Redis      string      `json:"redis,omitempty"`
	Cores      int         `json:"cores"` // of the machine that the clients run on
	Platform   string      `json:"platform"`
	Go         string      `json:"go"`
	Slotsql    string      `json:"slotsql"`
	RoundTrips []RoundTrip `json:"round_trips"`
}

// Setting is a setting of a server.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// RoundTrip is a delay that was asked for, and what a round trip takes with
// it: the median of a few empty queries.
type RoundTrip struct {
	Added    Duration `json:"added_ms"`
	Measured Duration `json:"measured_ms"`
}

func (b *run) environment(ctx context.Context) (Environment, error) {
	e := Environment{
		Address: b.Engine.address(b.DSN), Cores: runtime.NumCPU(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Slotsql: "(devel)", Settings: []Setting{}, RoundTrips: []RoundTrip{},
	}
	e.SameHost = !b.Engine.network || local(e.Address)
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		e.Slotsql = info.Main.Version
	}
	if err := b.admin.QueryRowContext(ctx, b.Engine.version).Scan(&e.Engine); err != nil {
		return e, err
	}
	for _, s := range b.Engine.settings {
		if slices.ContainsFunc(e.Settings, func(known Setting) bool { return known.Name == s.name }) {
			continue
		}
		var value string
		if err := b.admin.QueryRowContext(ctx, s.query).Scan(&value); err == nil { // not every version has it
			e.Settings = append(e.Settings, Setting{s.name, value})
		}
	}
	if b.Redis != "" {
		var err error
		if e.Redis, err = b.redisVersion(ctx); err != nil {
			return e, err
		}
	}
	if b.Engine.network {
		for _, added := range unique(roundTrips(b.Plan)) {
			measured, err := b.roundTrip(ctx, added)
			if err != nil {
				return e, err
			}
			e.RoundTrips = append(e.RoundTrips, RoundTrip{added, measured})
		}
	}
	return e, nil
}

func roundTrips(p Plan) (list []Duration) {
	for _, point := range p.Points() {
		list = append(list, point.RoundTrip)
	}
	return list
}

// roundTrip measures an empty query.
func (b *run) roundTrip(ctx context.Context, added Duration) (Duration, error) {
	c, err := b.Engine.open(b.DSN, dialer(added))
	if err != nil {
		return 0, err
	}
	db := pool(c, 1)
	defer db.Close()
	var took []float64
	for range 12 {
		var one int
		start := time.Now()
		if err := db.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
			return 0, err
		}
		took = append(took, float64(time.Since(start)))
	}
	return Duration(median(took[1:])).rounded(), nil // the first has connected
}

func (d Duration) rounded() Duration { return Duration(time.Duration(d).Round(10 * time.Microsecond)) }

// local reports whether an address is of this machine.
func local(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return !strings.Contains(address, ":")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (b *run) redisVersion(ctx context.Context) (string, error) {
	o, err := redisOptions(b.Redis, 1)
	if err != nil {
		return "", err
	}
	db := redis.NewClient(o)
	defer db.Close()
	if err := db.Ping(ctx).Err(); err != nil {
		return "", fmt.Errorf("redis: %w", err)
	}
	version := "Redis"
	if info, err := db.Info(ctx, "server").Result(); err == nil {
		for line := range strings.Lines(info) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), "redis_version:"); ok {
				version += " " + v
			}
		}
	}
	for _, name := range []string{"appendonly", "appendfsync"} {
		if v, err := db.ConfigGet(ctx, name).Result(); err == nil && v[name] != "" {
			version += ", " + name + " " + v[name]
		}
	}
	return version, nil
}
