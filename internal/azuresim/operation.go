package azuresim

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// operation is one long-running operation. What it creates decides how it goes
// on; what it deletes or changes otherwise is decided when it begins.
type operation struct {
	id       string
	home     string    // where it is asked for: "Microsoft.Compute/locations/westeurope"
	resource string    // the path of the resource that it writes; "": it is an action or a delete
	set      *scaleSet // the one it, or its machine, is of; nil for none
	single   bool      // it is about one resource, whose error is its own
	start    time.Time
	creates  []*instance   // it ends when all are settled, or as soon as the failing ones have failed
	doomed   []*instance   // that were told of their deletion, or that nothing has an end of: it ends when they are gone, by whatever hand
	deletes  bool          // it removes instances; a scale set has one such operation at a time
	until    time.Time     // it does not end before this time; zero: start
	endless  bool          // it is never said to have ended
	errors   []errorDetail // what it fails with, whatever becomes of creates
	command  *command      // a script that runs in a machine: it ends when that has; nil: none
	becomes  *operation    // the operation of a write that was carried out late; nil: none, or not yet
	fate     fate          // what a fault makes of it
}

// operations are those that were begun, until they are forgotten.
type operations struct {
	byID    map[string]*operation
	started uint64 // numbers the generated ids
}

// begin records an operation on a scale set, which decides the set's state.
func (ops *operations) begin(seed uint64, ss *scaleSet, now time.Time, o operation) *operation {
	o.set = ss
	begun := ops.launch(seed, setKind, ss.location, now, o)
	ss.operations = append(ss.operations, begun)
	return begun
}

// beginOn records an operation on one machine. Those of a uniform scale set are
// operations on the set.
func (ops *operations) beginOn(seed uint64, i *instance, now time.Time, o operation) *operation {
	if i.uniform() {
		return ops.begin(seed, i.set, now, o)
	}
	o.set, o.single = i.set, true
	return ops.launch(seed, machineKind, i.location, now, o)
}

// launch records an operation on a resource of a type, in a location.
func (ops *operations) launch(seed uint64, kind, location string, now time.Time, o operation) *operation {
	ops.started++
	o.id, o.start = guid(seed, "operation", ops.started), now
	namespace, _, _ := strings.Cut(kind, "/")
	o.home = namespace + "/locations/" + location
	if ops.byID == nil {
		ops.byID = map[string]*operation{}
	}
	ops.byID[o.id] = &o
	return &o
}

// end is when the operation ends; zero: never, as things stand.
func (o *operation) end() time.Time {
	if o.endless {
		return time.Time{}
	}
	return o.done()
}

// removes reports whether the operation is still removing instances. One that is said to have no end is over when they are gone.
func (o *operation) removes(now time.Time) bool { return o.deletes && !reached(o.done(), now) }

// done is when what the operation does is over, whatever is said of it; zero: never, as things stand.
func (o *operation) done() time.Time {
	if o.becomes != nil {
		return o.becomes.end()
	}
	if !o.fate.at.IsZero() {
		return o.fate.at
	}
	if o.command != nil {
		return o.command.ended
	}
	end := o.start
	if o.until.After(end) {
		end = o.until
	}
	for _, i := range o.doomed {
		if i.deletion.goneAt.IsZero() {
			return time.Time{}
		}
		end = later(end, i.deletion.goneAt)
	}
	failing := false
	for _, i := range o.creates {
		if o.fails(i) {
			failing = true
			end = later(end, i.provisioning.failAt)
		}
	}
	if !failing {
		for _, i := range o.creates {
			if i.settledAt().IsZero() {
				return time.Time{}
			}
			end = later(end, i.settledAt())
		}
	}
	return end
}

// fails reports whether the creation of an instance fails before it is given up.
func (o *operation) fails(i *instance) bool {
	return !i.provisioning.failAt.IsZero() && (i.deletion.at.IsZero() || i.provisioning.failAt.Before(i.deletion.at))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (o *operation) ended(now time.Time) bool { return reached(o.end(), now) }

// forgotten reports whether Azure has dropped the operation's record.
func (o *operation) forgotten(now time.Time) bool {
	return o.ended(now) && now.Sub(o.end()) > 24*time.Hour
}

// failure is the operation's error, nil while it runs and when it succeeded.
func (o *operation) failure(now time.Time) *errorDetail {
	if !o.ended(now) {
		return nil
	}
	switch {
	case o.becomes != nil:
		return o.becomes.failure(now)
	case o.fate.failure != nil:
		return o.fate.failure
	}
	details := slices.Clone(o.errors)
	for _, i := range o.creates {
		if o.fails(i) {
			details = append(details, i.provisioning.failure)
		}
	}
	switch {
	case len(details) == 0:
		return nil
	case o.single:
		first := details[0]
		first.Target = ""
		return &first
	}
	return &errorDetail{
		Code:    "ResourceOperationFailure",
		Message: "The resource operation completed with terminal provisioning state 'Failed'.",
		Details: details,
	}
}

// operationBody is the body of an operation's status.
type operationBody struct {
	StartTime string       `json:"startTime"`
	EndTime   string       `json:"endTime,omitempty"`
	Status    string       `json:"status"`
	Name      string       `json:"name"`
	Error     *errorDetail `json:"error,omitempty"`

	Properties *operationResult `json:"properties,omitempty"`
}

// operationResult is what an action gives back.
type operationResult struct {
	Output any `json:"output"`
}

func (at route) operationPath(o *operation) string {
	return "/subscriptions/" + at.subscription + "/providers/" + o.home + "/operations/" + o.id
}

// async adds the headers that lead to an operation. Writes of a resource end
// with a read of it; actions and deletes have a Location of their own. A fault
// makes it one of the other forms that Azure's services use.
func (q *request) async(a answer, o *operation) answer {
	q.began = o
	q.fault.decide(o, q.now)
	status, location := q.link(q.route.operationPath(o), "p", o.id), q.link(q.route.operationPath(o), "p", o.id, "monitor", "true")
	if q.http.Method == http.MethodPut || q.http.Method == http.MethodPatch {
		o.resource = q.http.URL.Path
	}
	a = a.with("Retry-After", retryAfter(q.server.RetryAfter))
	switch q.fault.Polling {
	case "body":
		return a
	case "Location":
		return a.with("Location", location)
	case "Operation-Location":
		return a.with("Operation-Location", status)
	}
	a = a.with("Azure-AsyncOperation", status)
	if o.resource == "" {
		a = a.with("Location", location)
	}
	return a
}

// retryAfter is what an operation asks a poller to wait, as a header has it.
func retryAfter(given time.Duration) string {
	if given <= 0 {
		return "10"
	}
	return seconds(given)
}

// read is the answer to a read of another path by the same caller.
func (q *request) read(path string) answer {
	other := *q
	other.http = (&http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}, Header: http.Header{}}).WithContext(q.http.Context())
	other.fault, other.cause = Fault{}, nil
	var p *problem
	if other.route, p = match(other.http); p != nil {
		return p.answer()
	}
	return other.route.handle(&other)
}

// getOperation answers both forms: the status document, and the Location of an
// action, which is 202 until it ends.
func getOperation(q *request) answer {
	o := q.store.operations.byID[strings.ToLower(q.route.operation)]
	if o == nil || o.fate.unknown || !strings.Contains(strings.ToLower(q.http.URL.Path), strings.ToLower("/providers/"+o.home+"/")) {
		return fail(http.StatusNotFound, "NotFound", "The entity was not found.").answer()
	}
	ended, failure := o.ended(q.now), o.failure(q.now)
	if q.query.Get("monitor") == "true" {
		switch {
		case !ended:
			return answer{status: http.StatusAccepted}.
				with("Location", q.link(q.route.operationPath(o), "p", o.id, "monitor", "true")).
				with("Retry-After", retryAfter(q.server.RetryAfter))
		case failure != nil:
			return (&problem{status: http.StatusConflict, detail: *failure}).answer()
		}
		if o.resource != "" {
			return q.read(o.resource)
		}
		if o.command != nil {
			return answer{status: http.StatusOK, body: o.command.result()}
		}
		return answer{status: http.StatusNoContent}
	}
	body := operationBody{StartTime: timestamp(o.start), Status: "InProgress", Name: o.id}
	a := answer{status: http.StatusOK}
	if !ended {
		a = a.with("Retry-After", retryAfter(q.server.RetryAfter))
	} else {
		body.EndTime, body.Status, body.Error = timestamp(o.end()), "Succeeded", failure
		if failure != nil {
			body.Status = o.failedStatus()
		} else if o.command != nil {
			body.Properties = &operationResult{o.command.result()}
		}
	}
	a.body = body
	return a
}
