package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// redisCounter counts with INCR.
type redisCounter struct {
	*workload
	db *redis.Client
}

func newRedis(w *workload) Scenario { return &redisCounter{workload: w} }

// redisOptions reads host:port, or a redis://, rediss:// or unix:// URL. No
// command is sent twice: a retried INCR may count twice.
func redisOptions(address string, clients int) (*redis.Options, error) {
	o := &redis.Options{Addr: address}
	if strings.Contains(address, "://") {
		var err error
		if o, err = redis.ParseURL(address); err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
	}
	o.MaxRetries = -1
	o.PoolSize, o.MinIdleConns = clients, clients
	o.DialerRetries = 1
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}

func (s *redisCounter) key(n int64) string { return s.name + ":" + strconv.FormatInt(n, 10) }

// Setup implements Strategy.
func (s *redisCounter) Setup(ctx context.Context) error {
	o, err := redisOptions(s.Redis, s.point.Clients)
	if err != nil {
		return err
	}
	if dial := dialer(s.point.RoundTrip); dial != nil && o.TLSConfig == nil {
		o.Dialer = dial
	} else if dial != nil {
		return errors.New("a round trip cannot be added to a rediss:// connection")
	}
	s.db = redis.NewClient(o)
	n, err := s.db.Exists(ctx, s.key(1)).Result()
	if err == nil && n != 0 {
		err = fmt.Errorf("key %s already exists", s.key(1))
	}
	return err
}

// Increment implements Strategy.
func (s *redisCounter) Increment(ctx context.Context, c *Client) error {
	return s.db.Incr(ctx, s.key(c.Key())).Err()
}

func (s *redisCounter) Read(ctx context.Context, c *Client) error {
	err := s.db.Get(ctx, s.key(c.Key())).Err()
	if errors.Is(err, redis.Nil) {
		return nil // not counted yet
	}
	return err
}

// Total implements Strategy.
func (s *redisCounter) Total(ctx context.Context) (int64, error) {
	total := int64(0)
	err := s.each(func(keys []string) error {
		values, err := s.db.MGet(ctx, keys...).Result()
		for _, v := range values {
			text, ok := v.(string)
			if !ok {
				continue
			}
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return err
			}
			total += n
		}
		return err
	})
	return total, err
}

// each calls f with all keys, some at a time.
func (s *redisCounter) each(f func(keys []string) error) error {
	const batch = 500
	for i := 1; i <= s.Plan.Keys; i += batch {
		var keys []string
		for k := i; k < i+batch && k <= s.Plan.Keys; k++ {
			keys = append(keys, s.key(int64(k)))
		}
		if err := f(keys); err != nil {
			return err
		}
	}
	return nil
}

// Teardown implements Strategy.
func (s *redisCounter) Teardown(ctx context.Context) error {
	if s.db == nil {
		return nil
	}
	err := s.each(func(keys []string) error { return s.db.Del(ctx, keys...).Err() })
	return errors.Join(err, s.db.Close())
}

// quiet keeps the client's messages, which may hold anything, off standard
// error. What matters comes as an error.
type quiet struct{}

// quieten does so once: the logger is the whole process's, and clients may be using it.
var quieten = sync.OnceFunc(func() { redis.SetLogger(quiet{}) })

// Printf implements the logger of the Redis client.
func (quiet) Printf(context.Context, string, ...any) {}
