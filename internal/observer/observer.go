// Package observer judges sluice from outside. It reads what the simulators have logged, what Azure and Kubernetes were asked and what
// lived at that moment, and nothing else: no plan, no journal, no read that sluice made. It shares no code with package guard or with
// anything else of sluice, so that a mistake of theirs is not its mistake too.
//
// Each property of the safety contract that can be seen from outside is a law of a few lines, in laws_azure.go and laws_kube.go; progress.go
// has what must come to pass once nothing goes wrong any more. docs/safety.md has the contract.
package observer

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
)

// Rules are what the operator has told sluice, as far as it can be judged by them.
type Rules struct {
	DryRun bool
	// Limits are the least and the most machines of a scale set at this hour.
	Limits func(scaleSet string) (least, most int)
	// Forced says whether the operator has such a machine deleted even where its set falls below its min; nil means none.
	Forced func(m azuresim.MachineState) bool
	// Sets are the scale sets that sluice manages and whose machines join, and Machine is what a machine of one has, and the taints that its node bears.
	Sets    func() []string
	Machine func(scaleSet string) (corev1.ResourceList, []corev1.Taint)
	// Gone says that a node was of a group that nothing is left of, so that nobody can know whether its machine is gone; nil means none was.
	Gone func(node string) bool
	// Stops says when something that Azure has announced stops a node's machine; false when nothing is.
	Stops func(node string) (time.Time, bool)
	// Silent says for how long the API server has told nobody anything, and Leads when the lease of the process ends; zero: it is renewed.
	Silent func() time.Duration
	Leads  func() time.Time
	// Agent begins what agents call themselves to the API server; their node's name follows after a slash.
	Agent string
	// Reckless says that sluice tries what it has not planned: nobody asks whether it comes to rest.
	Reckless bool
	// Several says that more than one process acts. Idle says that the one whose turn it is must change nothing: it only looks, or was told that its
	// cluster is another one.
	Several, Idle bool
	// Guest says that the one whose turn it is acts for a while besides the one that stays.
	Guest bool
	// Budget is how many of so many nodes of a scale set may be emptied of pods within Window; nil means that nobody asks.
	Budget func(nodes int) int
	Window func() time.Duration
	// Own says that the operator has told which cluster the scale sets belong to.
	Own func() bool
	// Defaults says that no flag widens what may be evicted.
	Defaults bool
	// ControlPlane says whether a flag lets control-plane nodes be removed, one at a time; nil means no.
	ControlPlane func() bool
	// Jobs says whether a flag lets pods of Jobs be evicted, and DaemonWork whether one calls a daemon's pod work; nil means none.
	Jobs       func() bool
	DaemonWork func(p *corev1.Pod) bool
	// Acts is told of each write that may have started, deleted or switched off machines; nil means that nobody asks.
	Acts func(guest bool, at time.Time, named []azuresim.MachineState, accepted bool)
	// Cutoff is the priority below which the operator calls pods expendable; nil means that none are.
	Cutoff func() int32
}

// Violation is a promise that was broken.
type Violation struct {
	At       time.Time
	Property string // of the safety contract
	What     string // one sentence without the property
}

// Observer follows one world. Its methods are called by one goroutine, but for what Azure tells it.
type Observer struct {
	azure *azuresim.Server
	kube  *kubesim.Cluster
	now   func() time.Time
	rules *Rules

	mu      sync.Mutex // of what Azure tells: reads come from several goroutines
	broken  []Violation
	read    int                    // entries of the cluster's log
	sets    map[string]*set        // by lower-case name
	waits   map[string]wait        // until when a kind of request about a set was told to wait
	failing map[string][]time.Time // when a write failed, by what it was
	sizes   map[string]int         // how many nodes a node's scale set had when it was cordoned, by UID
	emptied map[string]emptied     // nodes from which pods were evicted, by UID
	storms  map[string]storm       // evictions of an owner's pods from a node, by the node, its way out and the owner
	judged  map[string]int         // writes, by what they were
	wrote   wrote
	crowd   *crowd    // of machines that are nodes
	calms   []*calm   // what nothing strikes
	began   time.Time // when a process began last
	turn    int       // how often Turn was called
}

// wrote is the last write to Azure or to a node or pod.
type wrote struct {
	at      time.Time
	granted time.Time // of the last one that was not refused
	what    string
}

// set is what the log has told of one scale set.
type set struct {
	begun   bool                 // a list of its machines began since the last write to it and since a process began
	listed  time.Time            // such a list was answered to its last page; zero: none was
	shown   bool                 // one was since the present process began, to a process that stays
	told    *int                 // its capacity, by the last answer that told one
	since   time.Time            // when the list began that is being read, zero when a page of it was false
	shows   time.Time            // when the last list began that was not: machines made later may be in none
	removed map[string]time.Time // machines whose removal was accepted since a process began, by vmId
	parted  map[string]time.Time // those of all processes
	parking map[string]time.Time // of these, those that are to be switched off
	started map[string]time.Time // machines that were started, by vmId
	wrote   azuresim.Request     // the last write to it
	turn    int                  // in which it was written
	joined  bool                 // a machine of it was a node once
	known   bool                 // and since the present process began, which has listed the machines
	bought  int                  // machines that growths have asked for beyond those that lived, less those whose removal was accepted
	own     int                  // of these, those that the present process has asked for and has no reason to give up
	asked   time.Time            // when it asked for them last
	doubt   int                  // machines beside them that the last growth asked for, when its answer does not tell whether it took effect
	top     int                  // the capacity that this growth asked for
}

type wait struct{ until time.Time }

// New begins to follow a world that nobody has asked anything yet. Rules may change until the first write.
func New(azure *azuresim.Server, kube *kubesim.Cluster, now func() time.Time, rules *Rules) *Observer {
	o := &Observer{
		azure: azure, kube: kube, now: now, rules: rules,
		sets: map[string]*set{}, waits: map[string]wait{}, failing: map[string][]time.Time{}, emptied: map[string]emptied{}, storms: map[string]storm{}, sizes: map[string]int{}, judged: map[string]int{},
		crowd: newCrowd(),
	}
	azure.Observe = o.asked
	return o
}

// Began tells that another process of sluice has begun: what an earlier one had read is no evidence for it (S-02).
func (o *Observer) Began() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.began = o.now()
	for _, s := range o.sets {
		s.begun, s.listed, s.shown, s.known, s.own = false, time.Time{}, false, false, 0
		clear(s.removed)
	}
	clear(o.waits)
}

// isNode says whether a node is the machine for certain.
func (o *Observer) isNode(m azuresim.MachineState) bool {
	return slices.ContainsFunc(kubesim.All[*corev1.Node](o.kube, ""), func(n *corev1.Node) bool { return n.Status.NodeInfo.SystemUUID == m.VMID })
}

// Forgot tells that the process that began has no word of the one before it: of machines that no list has for it nobody can know.
func (o *Observer) Forgot() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.sets {
		s.shows = time.Time{}
	}
}

// Turn judges what was asked of Kubernetes since it was last called. Call it after every cycle.
func (o *Observer) Turn() {
	o.mu.Lock()
	o.turn++
	o.mu.Unlock()
	lived := o.azure.Machines()
	if len(o.kube.Log()) > o.read || o.waitsForNodes() {
		o.follow(lived)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.crowd.look(o, lived)
	o.goesOn(lived)
}

// Violations are the promises broken so far, in order.
func (o *Observer) Violations() []Violation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.broken
}

// Contained is how often what strikes many machines came about, and what became of machines, by kind.
func (o *Observer) Contained() map[string]int { return o.crowd.counted }

// Judged are the numbers of writes that were judged, by what they were.
func (o *Observer) Judged() map[string]int { return o.judged }

// asked judges one request to Azure. The server is locked meanwhile.
func (o *Observer) asked(r azuresim.Request, lived []azuresim.MachineState) {
	if r.Kind == "" || strings.HasSuffix(r.Kind, " token") || strings.Contains(r.Kind, "metadata") {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.heedsWaits(r)
	s := o.set(r.ScaleSet)
	for name, n := range r.Told {
		o.set(name).told = &n
	}
	if r.Held < answered { // else nobody has waited for it
		for _, name := range r.Lists {
			o.set(name).hears(r, o.rules.Guest)
		}
	}
	if does[r.Kind] == grows && (r.Repeated || r.Status == http.StatusPreconditionFailed) {
		s.own = 0 // it may be that the process loses against a write of its own of which it had no answer
	}
	if isRead(r) || r.Repeated {
		return
	}
	o.followLocked(lived)
	w := o.write(r, lived)
	o.judged[r.Kind]++
	o.wrote.at, o.wrote.what = r.Time, r.Kind+" "+r.ScaleSet
	if w.accepted() {
		o.wrote.granted = r.Time
	}
	if w.removes && w.accepted() {
		o.crowd.look(o, lived)
	}
	for _, law := range slices.Concat(azureLaws, manyLaws) {
		if what := law.broken(w); what != "" {
			o.breaks(law.property, "%s", what)
		}
	}
	o.crowd.takes(w)
	what := r.Kind + " " + r.ScaleSet + fmt.Sprint(r.InstanceIDs, deref(r.Capacity))
	if w.does == "" {
		what = r.Method + " " + r.Path
	}
	o.repeated(what, r.Status)
	s.wrote, s.turn = r, o.turn
	s.counts(w)
	if r.Status < 400 || r.Status >= 499 { // a refusal changed nothing; of an error, or a connection that broke, nobody can know
		s.begun, s.listed = false, time.Time{}
	}
	if o.rules.Acts != nil && (w.removes || w.does == starts) && (w.accepted() || r.Status >= 499) {
		o.rules.Acts(o.rules.Guest, r.Time, w.named, w.removes && w.accepted())
	}
	for _, m := range w.named {
		if w.does == starts && (r.Status < 400 || r.Status >= 499) {
			s.started[m.VMID] = r.Time
		}
		if w.removes && r.Status < 300 {
			s.removed[m.VMID], s.parted[m.VMID] = r.Time, r.Time
			if w.does == parks {
				s.parking[m.VMID] = r.Time
			}
		}
	}
}

// hears takes a page of a list of the set's machines. What a list tells is evidence once its last page has come, if none of it is from before a write.
func (s *set) hears(page azuresim.Request, guest bool) {
	if page.First {
		s.begun, s.since = true, page.Time
	}
	if page.False {
		s.since = time.Time{}
	}
	if page.Last && s.begun {
		s.listed, s.shown = page.Time.Add(page.Held), s.shown || !guest
		if s.since.After(s.shows) {
			s.shows = s.since
		}
		if page.False && s.told != nil && page.Time.Sub(s.asked) >= denied {
			s.own = min(s.own, *s.told)
		}
	}
}

// denied is how long after a growth the process has reason to believe a capacity and a list that do not show it.
const denied = 5 * time.Minute

// Honest is when the last list of a scale set's machines began of which no page was a fault's; zero when a later one has begun that is not over, or was.
func (o *Observer) Honest(scaleSet string) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.set(scaleSet).since
}

// Break has somebody beside the observer tell of a promise that was broken.
func (o *Observer) Break(property, what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.breaks(property, "%s", what)
}

// heard says whether such a list had come to its end by then.
func (s *set) heard(by time.Time) bool { return !s.listed.IsZero() && !by.Before(s.listed) }

// counts keeps what sluice has asked for of a set.
func (s *set) counts(w *write) {
	if n, ok := w.asks(); ok {
		if more := max(0, n-w.live); w.accepted() || w.Status >= 499 {
			if w.live >= s.top { // what nobody knew of took effect, or somebody else's write in its place
				s.bought += s.doubt
			}
			s.doubt, s.top = 0, 0
			if !w.accepted() {
				s.doubt, s.top = more, n
			} else if s.bought += more; !w.o.rules.Guest { // of what a guest has asked for, the one that stays knows nothing
				s.own, s.asked = s.own+more, w.Time
			}
		}
	}
	if w.removes && w.accepted() {
		n := 0
		for _, m := range w.named {
			if _, again := s.parted[m.VMID]; !again { // one that outlives its removal counts once
				n++
			}
		}
		s.bought, s.own = max(0, s.bought-n), max(0, s.own-n)
	}
}

// waitsForNodes says whether there is a set of which no machine has been a node yet.
func (o *Observer) waitsForNodes() bool {
	for _, s := range o.sets {
		if !s.known {
			return true
		}
	}
	return false
}

// joins notes of which sets a machine has been a node.
func (o *Observer) joins(lived []azuresim.MachineState) {
	var unknown []azuresim.MachineState
	for _, m := range lived {
		if m.ScaleSet != "" && !o.set(m.ScaleSet).known {
			unknown = append(unknown, m)
		}
	}
	if len(unknown) == 0 {
		return
	}
	nodes := map[string]bool{}
	for _, n := range kubesim.All[*corev1.Node](o.kube, "") {
		nodes[n.Status.NodeInfo.SystemUUID] = true
	}
	for _, m := range unknown {
		if nodes[m.VMID] {
			s := o.set(m.ScaleSet)
			s.joined, s.known = true, s.shown // whose machine a node is, a list tells
		}
	}
}

// foreign counts the machines of a set that may be another cluster's where none of it was a node: they are more than the so many that were asked for.
func (o *Observer) foreign(name string, lived []azuresim.MachineState, joined bool, asked int) int {
	if joined || o.rules.Own != nil && o.rules.Own() {
		return 0
	}
	n := 0
	for _, m := range lived {
		if strings.EqualFold(m.ScaleSet, name) && m.ProvisioningState != "Deleting" {
			n++
		}
	}
	return max(0, n-asked)
}

// unparted are the machines but those whose removal was accepted before: they were asked for, and do not count among those any more.
func (s *set) unparted(all []azuresim.MachineState) []azuresim.MachineState {
	return slices.DeleteFunc(slices.Clone(all), func(m azuresim.MachineState) bool {
		_, parted := s.parted[m.VMID]
		return parted
	})
}

func (o *Observer) set(name string) *set {
	name = strings.ToLower(name)
	if o.sets[name] == nil {
		o.sets[name] = &set{removed: map[string]time.Time{}, parted: map[string]time.Time{}, parking: map[string]time.Time{}, started: map[string]time.Time{}}
	}
	return o.sets[name]
}

func isRead(r azuresim.Request) bool {
	return r.Method == "GET" || r.Method == "HEAD" || r.Kind == "POST deployments/exporttemplate" || strings.HasSuffix(r.Kind, "/retrievebootdiagnosticsdata")
}

func deref(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// heedsWaits holds what a throttled answer said against the next request of its kind (S-32).
func (o *Observer) heedsWaits(r azuresim.Request) {
	if o.rules.Several || r.Repeated {
		return // the log does not tell which process was told to wait; and nobody asks when a fault has something carried out late
	}
	kind := r.Kind + " " + strings.ToLower(r.ScaleSet)
	if w, ok := o.waits[kind]; ok && r.Time.Before(w.until) {
		o.breaks("S-32", "%s was asked of %s and Azure had said to wait until %s", r.Kind, r.ScaleSet, w.until.Format("15:04:05"))
		delete(o.waits, kind)
	}
	if r.Status == 429 && r.RetryAfter > 0 {
		o.waits[kind] = wait{r.Time.Add(r.RetryAfter)}
	}
}

// mostRepeats is how often the same write may fail within an hour.
const mostRepeats = 60

// repeated holds a write that fails over and over (S-31).
func (o *Observer) repeated(what string, status int) {
	if status < 300 {
		delete(o.failing, what)
		return
	}
	now, all := o.now(), o.failing[what]
	for len(all) > 0 && now.Sub(all[0]) > time.Hour {
		all = all[1:]
	}
	o.failing[what] = append(all, now)
	if len(all)+1 == mostRepeats {
		o.breaks("S-31", "%s failed %d times within an hour", what, mostRepeats)
	}
}

func (o *Observer) breaks(property, format string, args ...any) {
	o.broken = append(o.broken, Violation{At: o.now(), Property: property, What: fmt.Sprintf(format, args...)})
}

// How long the API server may be silent before nothing is removed, and what a request may take at least.
const (
	mostSilence = time.Minute
	leastAnswer = 5 * time.Second
)

// silent is for how long the API server had said nothing at that time: a cycle may last, and what was asked in it is judged at its end.
func (o *Observer) silent(at time.Time) time.Duration {
	if o.rules.Silent == nil {
		return 0
	}
	return o.rules.Silent() - o.now().Sub(at)
}

// leadsNoMore says whether a request of the one process that leads could take effect when its lease has ended.
func (o *Observer) leadsNoMore(at time.Time) bool {
	if o.rules.Leads == nil || o.rules.Several {
		return false
	}
	ends := o.rules.Leads()
	return !ends.IsZero() && ends.Sub(at) < leastAnswer
}
