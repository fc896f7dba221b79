// Package azuresim is a small Azure on the wire: Resource Manager for scale sets
// of both modes, virtual machines, availability sets, network interfaces, disks,
// roles, locks and template deployments, the token authority, and the instance
// metadata service, over an in-memory store.
//
// It speaks plain net/http and declares its own wire types, so that a client
// built on the real Azure SDK is tested against an independent reading of the
// protocol. Every state is computed from timestamps when somebody looks: the
// simulator never sleeps, starts no goroutine but for a script in a machine, see
// [Server.Run], and an idle one costs nothing. A world with its own clock turns it
// to [Server.NextChange] and looks again.
//
// What it is strict about is what hurts autoscalers in production: entity tags
// and 412, absolute capacity writes that choose their own victims, deletes that
// name instances, failures that arrive on the operation and not on the request,
// throttling, partial answers, and answers that are lost after the write was
// applied. Texts and codes are those of the Azure documentation and of answers
// that Azure users have published.
package azuresim

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is one Azure: subscriptions, their scale sets, machines and
// principals. It is an [http.Handler] for Resource Manager and the token
// authority; [Server.Metadata] is the third service.
//
// The zero value is ready for use. The exported fields are set before the first
// request and not changed afterwards; everything else is safe for concurrent
// use.
type Server struct {
	// Now is the clock; nil means time.Now. It may stand still or jump forward,
	// and must not go back.
	Now func() time.Time

	// Seed decides boot and delete times and every generated id. The same seed
	// and the same requests at the same times give the same answers, byte for
	// byte.
	Seed uint64

	// PageSize is the number of items in one page of a list; 0 means 200.
	PageSize int

	// Boot is the time from the creation of an instance until it is up: its
	// provisioning state is Succeeded, its kubelet could start. The zero value
	// is Lognormal(150 s, 0.25).
	Boot Distribution

	// Delete is the time from the acceptance of a delete until the instance has
	// left the list, and of a deallocation until the machine is off. The zero
	// value is Lognormal(45 s, 0.25).
	Delete Distribution

	// RetryAfter is what operations ask a poller to wait; 0 means 10 s.
	RetryAfter time.Duration

	// Quota limits vCPUs per subscription and location: by family name
	// ("standardDSv5Family"), "cores" for all regular machines, and
	// "lowPriorityCores" for all spot machines; and the number of machines,
	// deallocated ones too, by "virtualMachines". A name that is absent is
	// unlimited.
	Quota map[string]int

	// SpotCapacity is the number of spot machines Azure has room for, by size and
	// zone. A place that is absent has room for all.
	SpotCapacity map[SpotPlace]int

	// SubnetAddresses is the number of addresses a subnet has for machines, by
	// resource id in lower case. A subnet that is absent has enough; none has to
	// be created.
	SubnetAddresses map[string]int

	// Loopback gives machines private addresses of 127.0.0.0/8, from which a test can send, in the place of 10.0.0.0/8.
	Loopback bool

	// DetachLag is how long a disk names the machine it was detached from in
	// managedBy, and cannot be attached to another; 0: not at all.
	DetachLag time.Duration

	// DeleteWindow is how long after the delete of instances was accepted their
	// scale set refuses another with 409; 0: as long as the delete runs.
	DeleteWindow time.Duration

	// Throttle makes the token buckets of the compute provider, and those of
	// machines' metadata services, refuse requests with 429. The former are counted,
	// and reported in headers, either way.
	Throttle bool

	// AnyToken makes Resource Manager accept every bearer token: an expired one
	// of ours as its principal, a foreign one as somebody who may do everything.
	// It is for worlds whose subject is not identity, and for those whose clock
	// runs faster than the one the client's token cache goes by.
	AnyToken bool

	// TenantID is the directory that the subscriptions trust: machines' own
	// identities are of it, and Resource Manager refuses tokens of others. "": every
	// subscription's machines have a tenant of their own, and all are trusted.
	TenantID string

	// CloudName is what the cloud calls itself where it describes its endpoints; ""
	// means AzureCloud.
	CloudName string

	// Audiences are what tokens for Resource Manager must be issued for. None: its
	// own address, and the audiences of the clouds that Microsoft runs.
	Audiences []string

	// ADFS makes the cloud name Active Directory Federation Services as its token
	// authority. Both kinds of authority answer either way.
	ADFS bool

	// UpperCaseGroups makes Resource Manager write the names of resource groups in
	// the ids it answers with in capitals, as some of Azure's services do.
	UpperCaseGroups bool

	// Attestation signs machines' attested documents; nil: keys of its own, see
	// [Server.Attestor].
	Attestation *Attestor

	// EventWarmUp is how long a machine's first call for scheduled events takes to
	// enable them: until then its document is empty. Azure takes minutes.
	EventWarmUp time.Duration

	// Beliefs are what this Azure does otherwise than is believed.
	Beliefs Beliefs

	// Console is what the machine with a vmId wrote to its serial console, for boot diagnostics of machines that really boot; false: it is not known
	// there. It is called with the server locked and must not call back. nil: of every machine the same.
	Console func(vmID string) (string, bool)

	// AwaitReports has a new machine be provisioned when [Server.Report] tells that it is, in the place of Boot, and fail when it does not within 20
	// minutes: for machines that really boot. It is false for those that do not.
	AwaitReports bool

	// Run has the agent in a machine, which a resource id names, run a script as root, for run commands. It is called in a goroutine of its own, and
	// may call back. An error with an ExitCode is the script's, and the output counts; any other says that it did not run. nil: no machine has
	// an agent that answers.
	Run func(ctx context.Context, machine string, script []string) (stdout, stderr string, err error)

	// RoleDelay is the time from the creation of a role assignment until it acts, at Resource Manager and at Key Vault. Azure takes up to ten minutes.
	RoleDelay time.Duration

	// DirectoryDelay is how long a role assignment to a new identity is refused that does not say what kind of principal it is; 0: 30 s, negative: not
	// at all.
	DirectoryDelay time.Duration

	// Sleep passes so much time of the server's clock while a fault delays an
	// answer, or less when the context ends. Nil: a server on time.Now waits; one
	// on a clock of its own does not, and its delayed answers come at once.
	Sleep func(ctx context.Context, d time.Duration)

	// Observe is told of every request as it is logged and, of a write, which
	// machines there were when it arrived. It is called with the server locked and
	// must not call back. nil: nobody is told.
	Observe func(Request, []MachineState)

	scripts sync.WaitGroup // that run in machines

	mu        sync.Mutex
	store     store
	fullZones []string // see FillZones

	// What keeps account, and is never looked at by a read of Resource Manager.
	faults   faults
	pending  agenda
	past     []past // by change
	changes  int    // see remember
	verified verifiedToken
	pools    pools
	kept     still // what was made of the store since it last could have changed
	acts     []ActState
	buckets  buckets
	nonces   map[string]string // that machines last asked for an attested document with, by vmId
	journal  requestLog
}

// now is the server's clock, in UTC and without a monotonic reading.
func (s *Server) now() time.Time {
	if s.Now == nil {
		return time.Now().UTC().Round(0)
	}
	return s.Now().UTC().Round(0)
}

// ServeHTTP answers Resource Manager and token authority requests. A request
// whose fault says that the connection breaks panics with
// [http.ErrAbortHandler], as net/http wants it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, certificatesPath) {
		s.Certificates().ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	q := &request{server: s, store: &s.store, now: now, http: r, base: baseURL(r), query: r.URL.Query()}
	q.readBody()
	if !isReadMethod(r.Method) {
		if s.Observe != nil {
			q.lived = slices.Clone(s.still(now).list(&s.store, now))
		}
		s.remember(now)
	}
	a := q.answer()
	q.deliver(w, a)
}

// sweep does what is due, and forgets what nobody can ask for any more: machines
// that are gone, with what goes with them, and operations that ended more than a
// day ago. It comes before every look; forgetting changes no answer.
func (s *Server) sweep(now time.Time) {
	if !s.kept.holds(s.changes, now) {
		for len(s.pending) > 0 && !s.pending[0].at.After(now) {
			next := s.pending[0]
			s.store.deployments.begin(s, next.at) // their next resources
			s.pending = s.pending[1:]
			s.remember(next.at)
			next.do(next.at)
		}
		s.store.deployments.begin(s, now)
		if s.store.hasGone(now) { // what leaves the store may still be asked for
			s.remember(now)
		}
		s.store.discard(s.compute().disks, now)
	}
	s.buckets.sweep(now)
}

// NextChange is the earliest time after now at which something changes without
// a request: a machine is up or fails, has gone, or an operation ends. It
// reports false when nothing is under way.
func (s *Server) NextChange() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	next := s.still(now).until
	return next, !next.IsZero()
}

// byID orders resources by id, ignoring case.
func byID[T interface{ id() string }](a, b T) int {
	return cmp.Compare(strings.ToLower(a.id()), strings.ToLower(b.id()))
}
