package kubesim

import (
	"errors"
	"slices"
	"time"
)

// errBroken is what a client sees when a fault breaks its connection.
var errBroken = errors.New("connection reset by peer")

// Request is one mutating request that a client made.
type Request struct {
	Time        time.Time
	Verb        string // create update patch delete deletecollection
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	Code        int // of the answer; 0 if the connection broke
	Agent       string
	DryRun      bool
	// ResourceVersion is the cluster's after the request.
	ResourceVersion uint64
	// Before and After are the object the request names, nil where it does
	// not exist. They are the cluster's own and must not be modified.
	Before, After Object
}

// Log returns the mutating requests of all clients, oldest first.
func (c *Cluster) Log() []Request {
	c.lock()
	defer c.mu.Unlock()
	return slices.Clip(c.api.log)
}

// record notes a mutating call and passes its answer on.
func (s *apiServer) record(q *call, before object, a answer) answer {
	if q.mutates() {
		s.log = append(s.log, Request{
			Time: s.store.now(), Verb: q.verb, Resource: q.kind.resource, Subresource: q.subresource, Namespace: q.namespace, Name: q.name,
			Code: a.code, Agent: q.agent, DryRun: q.dryRun(), ResourceVersion: s.store.rv, Before: before, After: s.target(q),
		})
	}
	return a
}
