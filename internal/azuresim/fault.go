package azuresim

import (
	"fmt"
	"slices"
	"time"
)

// Fault is something that goes wrong. It strikes requests or, for machine
// faults, machines that are being created or deleted. Of several that could
// strike, the one injected first does; a request suffers one fault.
//
// Which requests a fault with a Chance strikes depends on the seed, on the
// order of injection and on the requests it has matched, and on nothing else.
type Fault struct {
	Name string // to list it and to clear it by; "": numbered, "fault-3"

	// What it strikes. In Kind, ScaleSet and Resource letter case does not
	// count, and * stands for any text.
	Kind      string // the kind of request, as [Server.Counters] names it: "GET *"; "": any
	ScaleSet  string // the name of the set that the request, or the polled operation, is about; "": any or none
	Resource  string // the path of the request, or the id of the machine: "*/virtualMachines/3"; "": any
	Principal string // the caller's client id; "": any. A machine fault has no caller

	// When it strikes.
	From   time.Time // not before; zero: at once
	Until  time.Time // not at this time or later; zero: for ever
	Skip   int       // the first so many that match are spared
	Chance float64   // the share of those that match which it strikes, 0 to 1; 0: all
	Times  int       // it strikes so often; 0: until cleared

	// The request is answered with an error and changes nothing.
	Status     int           // 429, 500, 403, ...; 0: it is not
	Code       string        // "": the usual one of Status and Style
	Message    string        // "": the usual one of Code
	Target     string        // the error's
	Details    []Detail      // the error's
	RetryAfter time.Duration // 0: no header
	Bare       bool          // the error comes without its envelope, as from the compute provider
	Style      string        // of a 429: "arm" or "compute", with their codes, envelopes and headers; "": neither's headers
	Applied    bool          // the request takes effect all the same

	// The answer does not arrive as it should. Only Truncate leaves a status.
	LoseRequest bool          // the connection breaks before the request is acted upon
	LoseAnswer  bool          // the connection breaks after it was applied
	Hang        bool          // where the connection would break it stays open and silent until the client gives up; alone, as LoseAnswer
	Delay       time.Duration // the answer comes so much later, by the server's clock; see [Server.Sleep]
	Truncate    bool          // half of the answer arrives, and looks complete
	Page        bool          // a page for people comes in the place of the answer, as from a proxy, with Status or 200; the request changes nothing
	Header      []Header      // set on the answer; an empty Value removes the header

	// A write is not what it seems. These strike writes alone.
	Duplicate bool          // it is carried out twice, as by a proxy that repeats it; the answer is the second one's
	Late      time.Duration // it is accepted and carried out so much later, behind those that overtake it
	Polling   string        // how the operation that it begins is to be followed: "Operation-Location", "Location" (headers), or "body" (its provisioningState)
	Operation string        // the operation that it begins: "Endless", "Canceled", "Failed" (with Code, Message, Details, after After) or "NotFound"

	// A read does not tell the truth. A false capacity and a missing
	// entity tag strike only reads that show a scale set; what cuts lists strikes only lists; staleness strikes any read of Resource
	// Manager.
	NullCapacity  bool          // sku.capacity is null
	FalseCapacity *int          // sku.capacity is this
	NoETag        bool          // a scale set comes without its entity tag
	Omit          int           // so many of a list's last items are missing; negative: all of them
	Hide          []string      // items with these names or instance ids are missing in lists
	Pages         int           // a list ends after so many pages, whatever was to come
	PageSize      int           // items in a page
	Circle        bool          // each page of a list links to itself
	Stale         time.Duration // the answer is as it was so long ago, but not from before the fault began
	Frozen        bool          // the answer is as it was when the fault began
	Skew          time.Duration // Azure's clock is ahead by this, as tokens and the Date header go; negative: behind

	// A machine's attested document is not what was asked for, or a certificate is not small.
	StaleNonce           bool          // it bears the nonce of the last one, as from a cache
	DocumentOf           string        // it is about this machine, by name or resource id
	DocumentSubscription string        // it names this subscription
	DocumentAge          time.Duration // it is so old
	Oversize             int           // so many bytes come after a certificate

	// Machine faults. They strike machines that are being created or, when Kind
	// is a delete, deleted; Times counts machines. The request is accepted.
	MachineError string        // the instance ends Failed with this code, and so does its operation
	After        time.Duration // MachineError shows after so long; 0: 5 s, and 20 min for a code that ends in TimedOut
	NeverBoots   bool          // stays Creating; a machine being deleted stays Deleting
	NeverJoins   bool          // boots, and is flagged for whoever simulates kubelets
	Console      string        // a new machine's serial console says this
	Extension    string        // a new machine's extension fails with this message
	Takes        time.Duration // the creation, or the deletion, takes so long
	Survives     bool          // its deletion succeeds, says Azure, and it is still there
	ReuseID      bool          // a new machine gets the lowest free instance id
	ComputerName string        // a new machine has this name, whoever else has it
	Address      string        // a new machine has this private address, as one of another network may have it too
}

// Detail is one entry of an error's details.
type Detail struct {
	Code, Message, Target string
}

// Header is a header of an answer.
type Header struct {
	Name, Value string
}

// FaultState is a fault that has been injected, and what became of it.
type FaultState struct {
	Fault
	Injected time.Time
	Matched  int // requests or machines that it could have struck
	Struck   int
}

// injected is a fault in force.
type injected struct {
	FaultState
	serial int // counts injections; seeds the fault's chance
	origin int // changes remembered when it was injected; see [Server.remember]
}

// faults are those in force or still to come, in the order of their injection.
type faults struct {
	list  []*injected
	count int // of injections so far
}

// Inject adds a fault, in the place of one of the same name. One that says
// nothing strikes nothing; one that [Fault.Check] calls a contradiction is a
// mistake of the caller, and Inject panics.
func (s *Server) Inject(f Fault) {
	if !f.strikesMachines() && !f.strikesRequests() {
		return
	}
	if err := f.Check(); err != nil {
		panic("azuresim: inject fault " + f.Name + ": " + err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.inject(f, s.changes, s.now())
}

func (fs *faults) inject(f Fault, origin int, now time.Time) {
	fs.count++
	if f.Name == "" {
		f.Name = fmt.Sprintf("fault-%d", fs.count)
	}
	fs.clear(f.Name)
	fs.list = append(fs.list, &injected{
		FaultState: FaultState{Fault: f, Injected: now}, serial: fs.count, origin: origin,
	})
}

// ClearFaults ends all faults. What they did stays done.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.list, s.past = nil, nil
}

// ClearFault ends one fault by its name, and reports whether there was one.
func (s *Server) ClearFault(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults.clear(name)
}

func (fs *faults) clear(name string) bool {
	before := len(fs.list)
	fs.list = slices.DeleteFunc(fs.list, func(f *injected) bool { return f.Name == name })
	return len(fs.list) < before
}

// Faults are those in force or still to come, in the order of their injection.
func (s *Server) Faults() []FaultState {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]FaultState, len(s.faults.list))
	for n, f := range s.faults.list {
		all[n] = f.FaultState
	}
	return all
}
