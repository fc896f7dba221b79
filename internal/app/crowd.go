package app

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// connections is how many a server holds at one time.
const connections = 128

// crowd bounds the connections of a server. One more than most is let in, and another is closed for it: who holds a connection and asks nothing goes
// first, the longest silent first of all. So kubelets get their answer of health however many readers there are, as they would not if newcomers waited.
type crowd struct {
	most int

	mu    sync.Mutex
	count uint64
	held  map[net.Conn]held
}

// held is a connection since something last happened on it.
type held struct {
	since uint64 // by the number of what happened
	busy  bool   // a request is being answered
}

// note is a [http.Server.ConnState].
func (c *crowd) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateClosed, http.StateHijacked:
		delete(c.held, conn)
		return
	case http.StateNew:
		if len(c.held) >= c.most {
			c.dismiss()
		}
	default:
		if _, is := c.held[conn]; !is {
			return // it was dismissed
		}
	}
	if c.held == nil {
		c.held = map[net.Conn]held{}
	}
	c.count++
	c.held[conn] = held{c.count, state == http.StateActive}
}

// dismiss closes one connection. crowd.mu is held.
func (c *crowd) dismiss() {
	var last net.Conn
	for conn, h := range c.held {
		if is := c.held[last]; last == nil || is.busy && !h.busy || is.busy == h.busy && h.since < is.since {
			last = conn
		}
	}
	delete(c.held, last)
	if secure, is := last.(*tls.Conn); is {
		last = secure.NetConn() // its own Close may wait for the other side
	}
	_ = last.Close()
}
