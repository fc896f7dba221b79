package azuresim

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Fault is something that goes wrong. It matches requests (or, for machine
// faults, machines) until it has struck Times times. Of several that match, the
// one injected first strikes. A false capacity strikes only reads that show one,
// an omission only lists.
type Fault struct {
	Kind     string // the kind of request, as [Server.Counters] names it; "": any
	ScaleSet string // the name, ignoring case, of the set the request, or the polled operation, is about; "": any or none
	Times    int    // 0: until ClearFaults

	// The request is answered with an error and changes nothing.
	Status     int           // 429, 500, 403, ...; 0: it is not
	Code       string        // "": the usual one of Status
	Message    string        // "": the usual one of Code
	RetryAfter time.Duration // 0: no header
	Bare       bool          // the error comes without its envelope, as from the compute provider

	// The connection breaks.
	LoseRequest bool // before the request is acted upon
	LoseAnswer  bool // after it was applied
	Truncate    bool // half of the answer arrives, and looks complete

	// A read does not tell the truth.
	NullCapacity  bool // sku.capacity is null
	FalseCapacity *int // sku.capacity is this
	Omit          int  // so many of a list's last items are missing; negative: all of them

	// Machine faults. They strike machines that are being created or, when Kind
	// is a delete, deleted; Times counts machines. The request is accepted.
	MachineError string        // the instance ends Failed with this code, and so does its operation
	After        time.Duration // MachineError shows after so long; 0: 5 s, and 20 min for a code that ends in TimedOut
	NeverBoots   bool          // stays Creating; a machine being deleted stays Deleting
	NeverJoins   bool          // boots, and is flagged for whoever simulates kubelets
}

// Inject adds a fault.
func (s *Server) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// ClearFaults ends all faults. What they did stays done.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

func (f *Fault) strikesMachines() bool { return f.MachineError != "" || f.NeverBoots || f.NeverJoins }

// take is the request fault that strikes a request; the zero Fault when none
// does.
func (s *Server) take(kind, set string) Fault {
	return s.strike(func(f *Fault) bool { return !f.strikesMachines() && f.matches(kind, set) })
}

// takeMachine is the machine fault that strikes a machine.
func (s *Server) takeMachine(kind, set string, deleted bool) Fault {
	return s.strike(func(f *Fault) bool {
		return f.strikesMachines() && f.matches(kind, set) && (f.Kind != "" && isDelete(f.Kind)) == deleted
	})
}

func (s *Server) strike(match func(*Fault) bool) Fault {
	n := slices.IndexFunc(s.faults, match)
	if n < 0 {
		return Fault{}
	}
	struck := *s.faults[n]
	if f := s.faults[n]; f.Times == 1 {
		s.faults = slices.Delete(s.faults, n, n+1)
	} else if f.Times > 1 {
		f.Times--
	}
	return struck
}

func isDelete(kind string) bool {
	return strings.HasPrefix(kind, "DELETE ") || strings.HasSuffix(kind, "/delete")
}

func (f *Fault) matches(kind, set string) bool {
	if f.NullCapacity || f.FalseCapacity != nil {
		if kind == "LIST "+setsType { // about many: the fault picks its own among them
			return f.Kind == "" || strings.EqualFold(f.Kind, kind)
		}
		if kind != "GET "+setsType {
			return false
		}
	}
	if f.Omit != 0 && !strings.HasPrefix(kind, "LIST ") {
		return false
	}
	return (f.Kind == "" || strings.EqualFold(f.Kind, kind)) && (f.ScaleSet == "" || strings.EqualFold(f.ScaleSet, set))
}

// answer is what the fault answers in the place of the server, if it does.
func (f Fault) answer() (answer, bool) {
	if f.LoseRequest {
		return answer{status: 499}, true // for the log; nobody receives it
	}
	if f.Status == 0 {
		return answer{}, false
	}
	code, message := f.Code, f.Message
	if code == "" {
		code = usualCodes[f.Status]
	}
	if message == "" {
		message = usualMessage(code)
	}
	p := fail(f.Status, code, "%s", message)
	p.bare = f.Bare
	a := p.answer()
	if f.RetryAfter > 0 {
		a = a.with("Retry-After", seconds(f.RetryAfter))
	}
	return a, true
}

var usualCodes = map[int]string{
	http.StatusBadRequest:          "BadRequest",
	http.StatusUnauthorized:        "InvalidAuthenticationToken",
	http.StatusForbidden:           "AuthorizationFailed",
	http.StatusNotFound:            "ResourceNotFound",
	http.StatusRequestTimeout:      "RequestTimeout",
	http.StatusConflict:            "Conflict",
	http.StatusPreconditionFailed:  "PreconditionFailed",
	http.StatusTooManyRequests:     "TooManyRequests",
	http.StatusInternalServerError: "InternalServerError",
	http.StatusBadGateway:          "BadGateway",
	http.StatusServiceUnavailable:  "ServiceUnavailable",
	http.StatusGatewayTimeout:      "GatewayTimeout",
}

// usualMessage is what Azure says with a code.
func usualMessage(code string) string {
	switch code {
	case "TooManyRequests":
		return "The request is being throttled as the limit has been reached for operation type. Please retry after the time given in the Retry-After header."
	case "AllocationFailed", "OverconstrainedAllocationRequest":
		return "Allocation failed. VM(s) with the following constraints cannot be allocated, because the condition is too restrictive. Please remove some constraints and try again."
	case "ZonalAllocationFailed", "OverconstrainedZonalAllocationRequest":
		return "Allocation failed. We do not have sufficient capacity for the requested VM size in this zone. Read more about improving likelihood of allocation success at http://aka.ms/allocation-guidance"
	case "OSProvisioningTimedOut":
		return "OS Provisioning for VM did not finish in the allotted time. The VM may still finish provisioning successfully. Please check provisioning status later."
	case "VMStartTimedOut":
		return "The VM did not start in the allotted time. The VM may still start successfully. Please check the power state later."
	case "SubnetIsFull":
		return "Subnet does not have enough capacity for the IP addresses that were requested."
	case "SkuNotAvailable":
		return "The requested size for resource is currently not available in this location. Please try another size or deploy to a different location or zones."
	case "Conflict":
		return concurrentRequest().detail.Message
	}
	return "The operation ended with code '" + code + "'."
}

// strikeNewborn applies the machine fault, if any, that strikes a new instance.
func (s *Server) strikeNewborn(i *instance, kind string) {
	f := s.takeMachine(kind, i.set.name, false)
	i.neverJoins = f.NeverJoins
	switch {
	case f.MachineError != "":
		i.failAt, i.failure = i.created.Add(f.delay()), f.detail(i)
		if i.upAt.Before(i.failAt) {
			i.upAt = time.Time{}
		}
	case f.NeverBoots:
		i.upAt = time.Time{}
	}
}

// strikeDoomed applies the machine fault, if any, that strikes an instance whose
// deletion has begun.
func (s *Server) strikeDoomed(i *instance, kind string) {
	f := s.takeMachine(kind, i.set.name, true)
	switch {
	case f.MachineError != "":
		i.goneAt, i.deleteFailAt, i.deleteFailure = time.Time{}, i.deleteAt.Add(f.delay()), f.detail(i)
	case f.NeverBoots:
		i.goneAt = time.Time{}
	}
}

func (f Fault) delay() time.Duration {
	switch {
	case f.After > 0:
		return f.After
	case strings.HasSuffix(f.MachineError, "TimedOut"):
		return 20 * time.Minute
	}
	return 5 * time.Second
}

func (f Fault) detail(i *instance) errorDetail {
	message := f.Message
	if message == "" {
		message = usualMessage(f.MachineError)
	}
	return errorDetail{Code: f.MachineError, Message: message, Target: i.instanceID()}
}
