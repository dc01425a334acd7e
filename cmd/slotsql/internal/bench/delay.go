package bench

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// dialer returns a function that dials through a delay of one round trip; nil
// for no delay.
func dialer(roundTrip Duration) dialFunc {
	if roundTrip == 0 {
		return nil
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return delayed(c, time.Duration(roundTrip)), nil
	}
}

// delayConn is a connection to a server that is a round trip away. What is
// written arrives a round trip later, in order, whatever is written meanwhile;
// what comes back comes at once. To a client that waits for answers this is
// what half of it each way would be, and it depends on half as many timers,
// which are late by up to a millisecond when the machine sleeps.
type delayConn struct {
	net.Conn
	delay time.Duration

	mu     sync.Mutex
	wake   *sync.Cond
	queue  []parcel
	closed bool
	err    error // of the connection; later writes report it
}

type parcel struct {
	due   time.Time
	bytes []byte
}

func delayed(c net.Conn, delay time.Duration) *delayConn {
	d := &delayConn{Conn: c, delay: delay}
	d.wake = sync.NewCond(&d.mu)
	go d.deliver()
	return d
}

// Write takes the bytes on their way.
func (c *delayConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.err != nil:
		return 0, c.err
	}
	c.queue = append(c.queue, parcel{time.Now().Add(c.delay), append([]byte(nil), b...)})
	c.wake.Signal()
	return len(b), nil
}

// Close lets what is on its way arrive: a server likes to be told goodbye.
// Reads end now.
func (c *delayConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closed = true
	c.wake.Signal()
	return c.Conn.SetReadDeadline(time.Now())
}

// Read turns the end of reads that Close has brought about into what it is.
func (c *delayConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil && os.IsTimeout(err) && c.isClosed() {
		err = net.ErrClosed
	}
	return n, err
}

func (c *delayConn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// deliver writes each parcel when it is due.
func (c *delayConn) deliver() {
	for {
		c.mu.Lock()
		for len(c.queue) == 0 && !c.closed {
			c.wake.Wait()
		}
		if len(c.queue) == 0 {
			c.mu.Unlock()
			_ = c.Conn.Close()
			return
		}
		p := c.queue[0]
		c.queue = c.queue[1:]
		c.mu.Unlock()
		time.Sleep(time.Until(p.due))
		if n, err := c.Conn.Write(p.bytes); err != nil || n < len(p.bytes) {
			if err == nil {
				err = io.ErrShortWrite
			}
			c.mu.Lock()
			c.err, c.queue = err, nil
			c.mu.Unlock()
		}
	}
}
