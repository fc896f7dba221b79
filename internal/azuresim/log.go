package azuresim

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Request is one answered request, of any of the services.
type Request struct {
	Time            time.Time
	Method          string
	Path            string   // without the query, in the caller's case
	Kind            string   // as Counters counts it
	ScaleSet        string   // in the caller's case, or the pool of a machine outside scale sets or of those that a deployment makes; "" when it is about none
	Status          int      // 499: the request was lost before it was acted upon
	Code            string   // the error's, "" for none
	RequestID       string   // x-ms-request-id of the answer
	ClientRequestID string   // x-ms-client-request-id of the request
	Principal       string   // the caller's client id; "" when unknown
	Action          string   // the permission it needed; "": none, or not a path of Resource Manager
	Linked          []Linked // the permissions a write needed at other resources
	IfMatch         string
	Outdated        bool              // it was refused, for whatever, and IfMatch was not the scale set's entity tag
	Capacity        *int64            // what the body asked for or, of a deployment, the machines that its pool has once it and others under way are done; nil: nothing
	Told            map[string]int    // what a read told of capacities, by lower-case name of the scale set; none of an answer that is slow or lost
	Lists           []string          // the scale sets, by lower-case name, whose machines this page of a list is about; none when the answer is lost or cut
	First, Last     bool              // their list begins with this page, and ends with it
	False           bool              // a fault has the page leave machines out, or tell what was
	Held            time.Duration     // so long a fault holds the answer up
	InstanceIDs     []string          // what the body or the path named; of a deployment the machines of its pool
	Tags            map[string]string // of the interface or disk that a write is about, before it
	User            string            // the machine that uses this interface or disk then, by its resource id; "" for none
	Fields          []string          // what the body of a write would set: the paths of its values, such as "sku.capacity", sorted
	Repeated        bool              // nobody sent it now: a fault has it carried out late, or once more
	RetryAfter      time.Duration     // that the answer gave; 0: none
}

// keptRequests bounds the log; counters are not bounded by it.
const keptRequests = 10_000

// requestLog is what was answered.
type requestLog struct {
	kept     []Request // the latest, oldest first
	counts   map[string]int
	answered uint64 // numbers the generated request ids
}

func (l *requestLog) add(r Request) {
	if len(l.kept) >= 2*keptRequests {
		l.kept = append([]Request(nil), l.kept[keptRequests:]...)
	}
	l.kept = append(l.kept, r)
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	l.counts[r.Kind]++
}

// Requests are the latest requests, oldest first, at least the last ten thousand
// when there were as many.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.journal.kept)
}

// Counters are the numbers of requests answered since the start, by kind: the
// method, with LIST for the read of a collection, and the resource type with the
// action, such as
//
//	GET virtualMachineScaleSets
//	LIST virtualMachineScaleSets
//	LIST virtualMachineScaleSets/virtualMachines
//	PATCH virtualMachineScaleSets
//	POST virtualMachineScaleSets/delete
//	GET operations
//	POST token
//	GET metadata/instance
func (s *Server) Counters() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journal.counts == nil {
		return map[string]int{}
	}
	return maps.Clone(s.journal.counts)
}

func (q *request) record(a answer, id string) Request {
	r := Request{
		Time: q.now, Method: q.http.Method, Path: q.http.URL.Path, Kind: q.route.kind, ScaleSet: q.route.set,
		Status: a.status, Code: a.errorCode(), RequestID: id,
		ClientRequestID: q.http.Header.Get("X-Ms-Client-Request-Id"),
		Repeated:        q.repeated, Action: q.route.action, Linked: q.linked,
		IfMatch: q.http.Header.Get("If-Match"),
	}
	if r.IfMatch != "" && r.Status >= 400 && !q.fault.Applied {
		ss, p := q.store.scaleSetAt(q.route)
		r.Outdated = p == nil && q.checkETag(ss.etagText()) != nil
	}
	r.Capacity, r.InstanceIDs = asked(q.makes, q.route, q.body)
	r.Tags, r.User = q.tags, q.user
	r.Held = q.fault.Delay
	if f := q.fault; a.status < 300 && !f.Hang && !f.LoseRequest && !f.LoseAnswer && !f.Truncate {
		if r.Lists = q.lists(); r.Lists != nil {
			r.First, r.Last = q.query.Get("$skiptoken") == "", !a.goesOn()
			r.False = f.Omit != 0 || len(f.Hide) > 0 || f.Pages > 0 || f.Stale > 0 || f.Frozen
		}
	}
	switch f := q.fault; {
	case !isReadMethod(r.Method):
		r.Fields = fieldsOf(q.body)
	case (r.Kind == "GET virtualMachineScaleSets" || r.Kind == "LIST virtualMachineScaleSets") && f.Delay == 0 && !f.Hang && !f.LoseRequest && !f.LoseAnswer && !f.Truncate:
		if body, kept := a.body.(*encoded); kept {
			r.Told = body.capacities
		} else {
			r.Told = capacitiesIn(a.encode())
		}
	}
	if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err == nil {
		r.RetryAfter = time.Duration(seconds) * time.Second
	}
	if q.principal != nil {
		r.Principal = q.principal.clientID
	}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	return r
}

// lists are the scale sets and pools, by lower-case name, whose machines the request asks for: one by one, or the flexible ones and the pools of
// a resource group, since no list but its own tells of a uniform one's.
func (q *request) lists() (sets []string) {
	switch {
	case q.route.kind == "LIST "+vmsType, q.route.kind == "LIST "+machinesType && setFilter(q.query) != "":
		return []string{strings.ToLower(q.route.set)}
	case q.route.kind == "LIST "+machinesType:
		for _, ss := range q.store.sets {
			if ss.flexible() && strings.EqualFold(ss.subscription, q.route.subscription) && (q.route.group == "" || strings.EqualFold(ss.group, q.route.group)) {
				sets = append(sets, strings.ToLower(ss.name))
			}
		}
		sets = append(sets, q.server.pools.in(q.route, q.store.machines)...)
	}
	return sets
}

// capacitiesIn are those that the body of an answer tells, of one scale set or of a page of them; nil for none.
func capacitiesIn(body []byte) map[string]int {
	type one struct {
		Name string
		SKU  struct{ Capacity *int }
	}
	var answered struct {
		one
		Value []one
	}
	if json.Unmarshal(body, &answered) != nil {
		return nil
	}
	told := map[string]int{}
	for _, set := range append(answered.Value, answered.one) {
		if set.SKU.Capacity != nil {
			told[strings.ToLower(set.Name)] = *set.SKU.Capacity
		}
	}
	return told
}

// fieldsOf are the paths of the values of a JSON object, sorted; of a list, its own path.
func fieldsOf(body []byte) []string {
	var object map[string]any
	if json.Unmarshal(body, &object) != nil {
		return nil
	}
	var all []string
	var walk func(prefix string, of map[string]any)
	walk = func(prefix string, of map[string]any) {
		for name, value := range of {
			if deeper, is := value.(map[string]any); is {
				walk(prefix+name+".", deeper)
				continue
			}
			all = append(all, prefix+name)
		}
	}
	walk("", object)
	slices.Sort(all)
	return all
}

// asked is what a request asks for, whether or not it is granted.
func asked(makes *making, r route, sent []byte) (capacity *int64, instances []string) {
	if makes != nil {
		return new(int64(makes.capacity)), makes.machines
	}
	if r.instance != "" {
		return nil, []string{r.instance}
	}
	if _, resource, _ := strings.Cut(r.kind, " "); r.name != "" && strings.HasPrefix(resource, machinesType) {
		return nil, []string{r.name}
	}
	var body struct {
		SKU struct {
			Capacity *int64 `json:"capacity"`
		} `json:"sku"`
		InstanceIDs []string `json:"instanceIds"`
	}
	if r.set == "" || json.Unmarshal(sent, &body) != nil {
		return nil, nil
	}
	return body.SKU.Capacity, body.InstanceIDs
}
