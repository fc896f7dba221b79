package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/doctor"
	"sluice.dev/sluice/internal/imds"
	"sluice.dev/sluice/policy"
)

// ErrNoCluster says that nothing names an API server.
var ErrNoCluster = errors.New("no API server is named: give --kubeconfig, set KUBECONFIG to a file that exists, or run as a pod with a service account")

// Examination is how sluice doctor looks at an installation.
type Examination struct {
	Unnamed error         // why Options.Kube is nil
	As      string        // the account whose rights in Kubernetes are asked about, by impersonation; "" for the caller's own
	Within  time.Duration // bounds the whole; above zero

	// Join has facts gathered of how machines become nodes, and the boot logs read of some that did not: of the machine of the name Joins, or of any.
	Join  bool
	Joins string

	WithoutAzure bool // nobody asks Azure: its configuration cannot be used

	// Learned is called whenever more is known, by one goroutine at a time, and at the end with all.
	Learned func(facts doctor.Facts, known func(check string) bool)
}

// How long single questions are waited for, beside the bound of the whole.
const (
	placeWithin  = 12 * time.Second // instance metadata: one try without an answer
	answerWithin = time.Second      // what was given up says so
)

// Examine gathers what sluice doctor judges, Azure and Kubernetes side by side. It writes nothing, and what cannot be learned is a fact of its own. Of
// the options it reads how to connect, the policy, the namespace and name of the lease, and the log.
func Examine(ctx context.Context, o Options, x Examination) {
	ctx, cancel := context.WithTimeout(ctx, x.Within)
	defer cancel()
	l := &lesson{tell: x.Learned, known: map[string]bool{}}
	l.learn(func(f *doctor.Facts) {
		f.Azure.Notes, f.Kube.Config, f.Kube.Absent = o.Azure.Notes, x.Unnamed, errors.Is(x.Unnamed, ErrNoCluster)
	})
	if x.Unnamed == nil {
		l.learn(nil, "configuration") // else what metadata says belongs to it
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var groups []*cluster.Group
		var objects *cluster.Objects
		var lessons cluster.Lessons
		var both sync.WaitGroup
		var provider *azure.Provider
		if !x.WithoutAzure {
			both.Go(func() { groups, provider = examineAzure(ctx, o.Azure, l) })
		}
		both.Go(func() { objects, lessons = examineKube(ctx, o, x, l) })
		both.Wait()
		var joining *doctor.Joining
		if x.Join {
			joining = examineJoins(ctx, o, x, provider, objects, known(groups, o.Policy, lessons))
		}
		l.learn(func(f *doctor.Facts) {
			f.Groups, f.Joining = groups, joining
			if o.Policy != nil && groups != nil {
				f.Strangers = o.Policy.Strangers(groups)
			}
			if objects != nil && groups != nil {
				f.Snapshot = cluster.New(time.Now(), *objects, known(groups, o.Policy, lessons))
			}
		}, doctor.Checks...)
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	last := time.NewTimer(answerWithin)
	defer last.Stop()
	select {
	case <-done:
	case <-last.C:
		l.end(fmt.Sprintf("not everything was answered within %s", x.Within))
	}
}

// known are the groups with what their nodes have taught a running sluice, and with the taints that the policy calls passing. Limits stay their own.
func known(groups []*cluster.Group, allowed *policy.Policy, lessons cluster.Lessons) []*cluster.Group {
	all := make([]*cluster.Group, len(groups))
	for i, g := range groups {
		own := *g
		if allowed != nil {
			own = *allowed.Bound(g, time.Now())
		}
		own.Min, own.Max, own.Learned = g.Min, g.Max, lessons[g.ID]
		all[i] = &own
	}
	return all
}

// lesson is what has been learned so far.
type lesson struct {
	tell func(doctor.Facts, func(string) bool)

	mu    sync.Mutex
	facts doctor.Facts
	known map[string]bool // checks whose facts are complete
	ended bool
}

// learn takes facts in, and says which checks they make complete.
func (l *lesson) learn(take func(*doctor.Facts), complete ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	if take != nil {
		take(&l.facts)
	}
	for _, check := range complete {
		l.known[check] = true
	}
	if len(complete) > 0 {
		l.tell(l.facts, func(check string) bool { return l.known[check] })
	}
}

// end says of all other checks why their facts are not known. What comes later is not taken in.
func (l *lesson) end(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.facts.Unknown = map[string]string{}
	for _, check := range doctor.Checks {
		if !l.known[check] {
			l.facts.Unknown[check] = why
		}
	}
	l.tell(l.facts, func(string) bool { return true })
}

// examineAzure has no groups and no provider when none was asked for. The provider serves until ctx ends.
func examineAzure(ctx context.Context, o azure.Options, l *lesson) ([]*cluster.Group, *azure.Provider) {
	o.ReadOnly, o.Whole = true, true
	life, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(placeWithin, cancel)
	provider, err := azure.New(life, o)
	late.Stop()
	if err != nil {
		cancel()
		l.learn(func(f *doctor.Facts) {
			if machine := new(imds.Error); errors.As(err, &machine) {
				f.Azure.Metadata = failure(machine, machine.Message)
			} else {
				f.Azure.Unplaced = err
			}
		}, "configuration", "metadata", "endpoints", "identity", "rights")
		return nil, nil
	}
	l.learn(func(f *doctor.Facts) { f.Azure.Place = doctor.Place(provider.Place()) }, "configuration", "metadata")

	var groups []*cluster.Group
	var listed error
	var in azure.Inspection
	var both sync.WaitGroup
	both.Go(func() { groups, listed = provider.Groups(life) })
	both.Go(func() {
		in = provider.Inspect(life)
		var complete []string
		if in.Manager == nil { // else the groups may have been answered
			complete = []string{"endpoints", "identity"}
		}
		l.learn(func(f *doctor.Facts) { inspected(&f.Azure, in) }, complete...)
	})
	both.Wait()
	if groups == nil {
		groups = []*cluster.Group{}
	}
	l.learn(func(f *doctor.Facts) {
		f.Azure.Needed, f.Azure.List, f.Azure.Roles = provider.Needs(), failed(listed), map[string]string{}
		for _, action := range f.Azure.Needed {
			f.Azure.Roles[action] = azure.RoleFor(action)
		}
		grouped(&f.Azure, provider, groups)
	}, "endpoints", "identity", "rights")
	return groups, provider
}

// inspected takes in what Azure says when it is asked on purpose.
func inspected(facts *doctor.Azure, in azure.Inspection) {
	facts.Identity, facts.ClientID, facts.Token = in.Identity, in.ClientID, failed(in.Token)
	if in.Authority != "" {
		facts.Reached = append(facts.Reached, doctor.Reached{Name: doctor.Authority, Host: in.Authority, Err: failed(in.Signer)})
		if facts.Token != nil && in.Signer != nil {
			facts.Token.Kind = failed(in.Signer).Kind
		}
	}
	facts.Reached = append(facts.Reached, doctor.Reached{Name: doctor.Manager, Host: in.ResourceManager, Err: failed(in.Manager)})
	facts.Skew, facts.SkewKnown = in.Skew, in.SkewKnown
	facts.RightsError, facts.Discovered = failed(in.RightsError), in.Discovered
	for _, r := range in.Rights {
		facts.Rights = append(facts.Rights, doctor.Permission{Actions: r.Actions, NotActions: r.NotActions})
	}
}

// grouped takes in what reading the groups brought to light.
func grouped(facts *doctor.Azure, provider *azure.Provider, groups []*cluster.Group) {
	facts.Unread = map[cluster.GroupID]doctor.FailureKind{}
	answered := false // by Resource Manager itself
	for id, e := range provider.Unread() {
		kind := failed(e).Kind
		facts.Unread[id] = kind
		answered = answered || !kind.Distant()
	}
	for _, g := range groups {
		answered = answered || facts.Unread[g.ID] == ""
	}
	for i, r := range facts.Reached {
		if r.Name == doctor.Manager && answered {
			facts.Reached[i].Err = nil
		}
	}
	for _, left := range provider.LeftOut() {
		facts.LeftOut = append(facts.LeftOut, doctor.LeftOut{Name: left.Name, Why: left.Why})
	}
	for _, n := range provider.Notices() {
		facts.Notices = append(facts.Notices, doctor.Notice{Group: string(n.Group), Sentence: n.Sentence})
	}
	for _, sentence := range provider.Remains() {
		facts.Notices = append(facts.Notices, doctor.Notice{Sentence: sentence})
	}
	unpriced := map[string]bool{}
	for _, g := range groups {
		if g.Size != "" && g.PriceUSDPerHour == 0 && !unpriced[g.Size] {
			unpriced[g.Size] = true
			facts.Unpriced = append(facts.Unpriced, g.Size)
		}
	}
}
