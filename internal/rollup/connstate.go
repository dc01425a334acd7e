package rollup

// connState is whether a worker has a connection that it can use.
type connState byte

const (
	connNone connState = iota // there is none
	connReady
	connLost // there is one that must not be used again: what it was doing may be half done
)

// open notes that a connection is ready.
func (c *connState) open() { *c = connReady }

// lose notes that the connection, if there is one, must not be used again.
func (c *connState) lose() {
	if *c == connReady {
		*c = connLost
	}
}

// close notes that the connection has been closed.
func (c *connState) close() { *c = connNone }
