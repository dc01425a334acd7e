package faults

import (
	"math"
	"net"
	"sync"
	"testing"
	"time"
)

// A proxy is between the application and its server, on TCP, and breaks connections.
type proxy struct {
	address string
	over    chan struct{}

	mu              sync.Mutex
	listener        net.Listener
	network, target string // of the server
	links           map[*link]bool
}

// A link is a client's connection, carried to the server.
type link struct {
	client, server net.Conn
	ended          chan struct{}
	end            sync.Once

	mu     sync.Mutex
	left   int  // bytes that still pass, in both directions
	stalls bool // and then none do; otherwise the connection is reset
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: l.Addr().String(), over: make(chan struct{}), listener: l, links: map[*link]bool{}}
	var serving sync.WaitGroup
	serving.Go(p.serve)
	t.Cleanup(func() {
		close(p.over)
		p.mu.Lock()
		_ = p.listener.Close()
		p.mu.Unlock()
		p.reset(false)
		serving.Wait()
	})
	return p
}

// to sends later connections to a server.
func (p *proxy) to(network, address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.network, p.target = network, address
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := p.dial()
		if err != nil {
			_ = client.Close()
			if !p.refuse() {
				return
			}
			continue
		}
		l := &link{client: client, server: server, ended: make(chan struct{}), left: math.MaxInt}
		p.mu.Lock()
		p.links[l] = true
		p.mu.Unlock()
		go l.carry(server, client)
		go func() {
			l.carry(client, server)
			p.mu.Lock()
			delete(p.links, l)
			p.mu.Unlock()
		}()
	}
}

func (p *proxy) dial() (net.Conn, error) {
	p.mu.Lock()
	network, target := p.network, p.target
	p.mu.Unlock()
	return net.Dial(network, target)
}

// refuse refuses connections until the server takes them, and reports whether that is so before the proxy is over.
func (p *proxy) refuse() bool {
	_ = p.listener.Close()
	for {
		select {
		case <-p.over:
			return false
		case <-time.After(5 * time.Millisecond):
		}
		if c, err := p.dial(); err == nil {
			_ = c.Close()
			break
		}
	}
	l, err := net.Listen("tcp", p.address)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener = l
	return err == nil
}

// strike breaks one of the connections, after some bytes more: in a request, in its answer, or between two.
// It reports whether there was one.
func (p *proxy) strike(after int, stalls bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.mu.Lock()
		fresh := l.left == math.MaxInt
		if fresh {
			l.left, l.stalls = after, stalls
		}
		l.mu.Unlock()
		if fresh {
			return true
		}
	}
	return false
}

// reset ends all connections, or those that stall.
func (p *proxy) reset(stalled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.mu.Lock()
		if !stalled || l.stalls {
			l.close()
		}
		l.mu.Unlock()
	}
}

func (l *link) carry(to, from net.Conn) {
	defer l.close()
	for b := make([]byte, 32<<10); ; {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		pass, stalls := l.pass(n)
		if _, err := to.Write(b[:pass]); err != nil {
			return
		}
		if pass < n {
			if stalls {
				<-l.ended
			}
			return
		}
	}
}

// pass returns how many of n bytes go on.
func (l *link) pass(n int) (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == math.MaxInt {
		return n, false
	}
	n = min(n, l.left)
	l.left -= n
	return n, l.stalls
}

func (l *link) close() {
	l.end.Do(func() {
		close(l.ended)
		for _, c := range []net.Conn{l.client, l.server} {
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // a reset, and no orderly end
			}
			_ = c.Close()
		}
	})
}
