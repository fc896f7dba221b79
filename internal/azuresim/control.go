package azuresim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Control is the interface for whoever runs a test: it tells what happened,
// injects and clears faults, and does what others do. It is no part of Azure, has
// no authentication, and belongs on a loopback address; names other than
// localhost are refused, so that no web page can reach it by one of its own.
//
//	GET    /requests?last=100&kind=PATCH*   the log, oldest first
//	GET    /counters                        requests by kind
//	GET    /scalesets /machines /operations /faults /acts
//	POST   /faults                          one fault, as in a world file
//	DELETE /faults  /faults/{name}
//	POST   /acts                            one act, as in a world file
//
// Bodies are JSON or YAML; times in them may be durations from now. Errors are
// {"error": "..."} with status 400 or 404.
func (s *Server) Control() http.Handler {
	mux := http.NewServeMux()
	list := func(path string, of func(*http.Request) (any, error)) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			v, err := of(r)
			if err != nil {
				controlError(w, http.StatusBadRequest, err)
				return
			}
			controlAnswer(w, encode(reflect.ValueOf(v)))
		})
	}
	list("/requests", func(r *http.Request) (any, error) { return latest(s.Requests(), r.URL.Query()) })
	list("/scalesets", func(*http.Request) (any, error) { return s.ScaleSets(), nil })
	list("/machines", func(*http.Request) (any, error) { return s.Machines(), nil })
	list("/operations", func(*http.Request) (any, error) { return s.Operations(), nil })
	list("/faults", func(*http.Request) (any, error) { return s.Faults(), nil })
	list("/acts", func(*http.Request) (any, error) { return s.Acts(), nil })
	list("/counters", func(*http.Request) (any, error) { return s.Counters(), nil })
	mux.HandleFunc("POST /acts", func(w http.ResponseWriter, r *http.Request) { controlAct(s, w, r, "") })
	mux.HandleFunc("POST /faults", func(w http.ResponseWriter, r *http.Request) { controlAct(s, w, r, "inject") })
	mux.HandleFunc("DELETE /faults", func(w http.ResponseWriter, _ *http.Request) {
		s.ClearFaults()
		controlAnswer(w, map[string]any{})
	})
	mux.HandleFunc("DELETE /faults/{name}", func(w http.ResponseWriter, r *http.Request) {
		if !s.ClearFault(r.PathValue("name")) {
			controlError(w, http.StatusNotFound, fmt.Errorf("there is no fault %q in force", r.PathValue("name")))
			return
		}
		controlAnswer(w, map[string]any{})
	})
	return localOnly(mux)
}

// localOnly refuses requests to a host name that is not this machine's.
func localOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			controlError(w, http.StatusForbidden, fmt.Errorf("host %q is not this machine: use localhost or 127.0.0.1", r.Host))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// latest are the requests that a query asks for.
func latest(all []Request, query url.Values) ([]Request, error) {
	last, kind := 100, query.Get("kind")
	if text := query.Get("last"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("last: %q is not a positive whole number", text)
		}
		last = n
	}
	found := []Request{}
	for _, q := range all {
		if like(kind, q.Kind) {
			found = append(found, q)
		}
	}
	return found[max(0, len(found)-last):], nil
}

// controlAct does the act in a body, or injects the fault in it.
func controlAct(s *Server, w http.ResponseWriter, r *http.Request, do string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		controlError(w, http.StatusBadRequest, err)
		return
	}
	a := Act{Do: do}
	var into any = &a
	if do == "inject" {
		into = &a.Fault
	}
	if err = (decoder{s.now()}).decode(body, into); err == nil {
		err = s.Perform(a)
	}
	if err != nil {
		controlError(w, http.StatusBadRequest, err)
		return
	}
	controlAnswer(w, encode(reflect.ValueOf(a)))
}

func controlAnswer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // a caller that hung up has nobody left to tell
}

func controlError(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()}) // as above
}

// ScaleSetState is a scale set as an observer outside Azure's interfaces sees it.
type ScaleSetState struct {
	ID                string
	Name              string
	Location          string
	Size              string
	Capacity          int // instances that are not being deleted
	Mode              string
	Priority          string
	ProvisioningState string
	ETag              string
	Tags              map[string]string
}

// ScaleSets is a snapshot of all scale sets, sorted by id.
func (s *Server) ScaleSets() []ScaleSetState {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	all := make([]ScaleSetState, 0, len(s.store.sets))
	for _, ss := range s.store.sets {
		all = append(all, ScaleSetState{
			ID: ss.id(), Name: ss.name, Location: ss.location, Size: ss.size(), Capacity: len(ss.live(now)),
			Mode:              ss.text("properties", "orchestrationMode"),
			Priority:          ss.text("properties", "virtualMachineProfile", "priority"),
			ProvisioningState: ss.provisioningState(now), ETag: ss.etagText(), Tags: ss.tags(),
		})
	}
	return all
}

// OperationState is a long-running operation as an observer sees it.
type OperationState struct {
	ID       string
	ScaleSet string // "": about none
	Started  time.Time
	Ends     time.Time // as things stand; zero: never
	Status   string    // InProgress, Succeeded, Failed, Canceled
	Error    string    // the codes of its error and of its details
}

// Operations is a snapshot of all operations of the last day, oldest first.
func (s *Server) Operations() []OperationState {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	all := make([]OperationState, 0, len(s.store.operations.byID))
	for _, o := range s.store.operations.byID {
		state := OperationState{ID: o.id, Started: o.start, Ends: o.end(), Status: "InProgress"}
		if o.set != nil {
			state.ScaleSet = o.set.name
		}
		if o.ended(now) {
			state.Status = "Succeeded"
		}
		if e := o.failure(now); e != nil {
			codes := []string{e.Code}
			for _, d := range e.Details {
				codes = append(codes, d.Code)
			}
			state.Status, state.Error = o.failedStatus(), strings.Join(codes, " ")
		}
		all = append(all, state)
	}
	slices.SortFunc(all, func(a, b OperationState) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID))
	})
	return all
}
