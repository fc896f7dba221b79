package kubesim

import (
	"net/http"
	"sync"
)

// apiServer answers the requests of clients: it owns what stands between them and the store.
type apiServer struct {
	lock    sync.Locker // the cluster's
	store   *store
	budgets *budgets

	faults  faults
	rights  rights
	metrics metrics
	log     []Request // oldest first
}

// answer answers a request that was understood as q, or was not for a reason. The caller holds the lock.
func (s *apiServer) answer(r *http.Request, q *call, err error) answer {
	if a, ok := s.discovery(r.URL.Path); ok {
		return a
	}
	if a, ok := s.metrics.measured(r, s.store.now); ok {
		return a
	}
	if a, ok := s.rights.reviewed(r); ok {
		return a
	}
	if err == nil && !s.store.serves(q.kind) {
		err = errNoSuchPath
	}
	if err == nil {
		err = s.rights.refuses(q)
	}
	if err != nil {
		return failure(err)
	}
	fault := s.faults.strike(q)
	if fault != nil && !fault.AfterEffect {
		return s.record(q, nil, fault.answer())
	}
	before := s.target(q)
	a, err := s.dispatch(q)
	if err != nil {
		a = failure(err)
	}
	if fault != nil {
		a = fault.answer()
	}
	return s.record(q, before, a)
}

func (s *apiServer) dispatch(q *call) (answer, error) {
	switch q.subresource {
	case "":
	case "status":
		if !q.kind.status || q.verb == "create" || q.verb == "delete" {
			return answer{}, errNoSuchPath
		}
	case "eviction":
		if q.kind.resource != "pods" || q.verb != "create" {
			return answer{}, errNoSuchPath
		}
		return s.serveEviction(q)
	case "binding":
		if q.kind.resource != "pods" || q.verb != "create" {
			return answer{}, errNoSuchPath
		}
		return s.serveBinding(q)
	default:
		return answer{}, errNoSuchPath
	}
	switch q.verb {
	case "get":
		return s.serveGet(q)
	case "list":
		return s.serveList(q)
	case "watch":
		return s.serveWatch(q)
	case "create":
		return s.serveCreate(q)
	case "update":
		return s.serveUpdate(q)
	case "patch":
		return s.servePatch(q)
	case "delete":
		return s.serveDelete(q)
	default:
		return s.serveDeleteCollection(q)
	}
}
