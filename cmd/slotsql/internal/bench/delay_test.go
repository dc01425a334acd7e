package bench

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// What is written arrives a round trip later, in order, and does not wait for
// what was written before it to arrive.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := delayed(near, 10*time.Millisecond)
		start := time.Now()
		type arrival struct {
			at   time.Duration
			text string
		}
		var got []arrival
		done := make(chan struct{})
		go func() {
			defer close(done)
			b := make([]byte, 100)
			for {
				n, err := far.Read(b)
				if err != nil {
					return
				}
				got = append(got, arrival{time.Since(start), string(b[:n])})
			}
		}()
		b := []byte("one")
		write := func() {
			if n, err := c.Write(b); n != len(b) || err != nil {
				t.Errorf("wrote %d, %v", n, err)
			}
		}
		write()
		copy(b, "two") // the caller's own again
		write()
		time.Sleep(4 * time.Millisecond)
		copy(b, "end")
		write()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		<-done
		want := []arrival{{10 * time.Millisecond, "one"}, {10 * time.Millisecond, "two"}, {14 * time.Millisecond, "end"}}
		if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("%v, want %v", got, want)
		}
		if _, err := c.Write(b); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a write after Close: %v", err)
		}
		if err := c.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a second Close: %v", err)
		}
	})
}

// Answers come at once, and a Close ends a Read.
func TestDelayAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := delayed(near, time.Second)
		start := time.Now()
		go func() { _, _ = far.Write([]byte("hello")) }()
		b := make([]byte, 5)
		if _, err := io.ReadFull(c, b); err != nil || time.Since(start) != 0 || !bytes.Equal(b, []byte("hello")) {
			t.Errorf("%q after %v, %v", b, time.Since(start), err)
		}
		ended := make(chan error)
		go func() {
			_, err := c.Read(b)
			ended <- err
		}()
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("the read ended with %v", err)
		}
	})
}

// A connection that is gone is noticed by the next write.
func TestDelayBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := delayed(near, time.Millisecond)
		_ = far.Close()
		if _, err := c.Write([]byte("x")); err != nil {
			t.Errorf("nothing is known yet: %v", err)
		}
		time.Sleep(time.Second)
		if _, err := c.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%v", err)
		}
		_ = c.Close()
	})
}

func TestNoDelay(t *testing.T) {
	if dialer(0) != nil {
		t.Error("a dialer without a delay")
	}
}
