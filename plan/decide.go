package plan

import (
	"sort"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Decide plans one cycle. It changes none of its arguments.
func Decide(s *cluster.Snapshot, allowed *policy.Policy, m Memory) (Plan, Memory) {
	return newDecision(s, allowed, m).decide()
}

func (d *decision) decide() (Plan, Memory) {
	d.noticeFailures()
	d.learnRunTimes()
	d.openRoom()
	d.collectDemands()
	d.wholeGangs(func() {
		d.placePending()
		d.growGroups()
	})
	d.openGates()
	d.cleanUpMachines()
	d.judgeNodes()
	d.climbLadder()
	d.judgeGroups()
	return d.finish()
}

// decision is one cycle in the making.
type decision struct {
	s       *cluster.Snapshot
	allowed *policy.Policy
	m       Memory
	now     time.Time
	check   *scheduling.Checker

	groups map[cluster.GroupID]*groupState

	waiting     []*cluster.Pod // pods that no node holds, oldest first
	keys        []string       // by waiting: "namespace/name"
	podVerdicts []Verdict      // by waiting
	demands     []*demand      // of waiting, in the order in which they are placed
	gangs       []*gang        // of which some of them are, in the order in which they are served

	witness witness // nil where nobody asks

	there, coming *scheduling.Row // nodes that are there and those that are coming, once a pod looked for a place

	opened   map[scheduling.Handle]cluster.GroupID // machines that are coming or being added
	has      *totals                               // what the cluster has without what this cycle adds, once somebody has asked
	cost     *Cost
	ceilings *Ceilings

	tried      []scheduling.Handle // machines that the last estimate opened
	ask        *AskExpander        // what to ask before pods that are left can be helped
	complaints []reason.Reason     // of expanders that could not do what they are there for
	grows      []SetCapacity
	gates      []OpenGate
	ladder     []Action // Uncordon, Evict, DeleteNode, Cordon in the order of nodes
	leaving    map[cluster.GroupID][]Leaving
	counted    map[string]string
	verdicts   map[reason.Kind][]Verdict
	next       time.Time

	rescues   map[string]string        // ladder nodes that a pending pod takes back, with the pod
	spared    map[string]reason.Reason // ladder nodes that headroom takes back
	nodes     map[string]*nodeState    // by name, in managed groups
	budgets   map[string]int32         // disruptions still allowed, by "namespace/name" of the budget, as this cycle consumes them
	inFlight  int                      // nodes on the ladder that have yet to become ready for their machine's deletion; once it is requested, or waits for its group's turn only, a node is none of them
	drains    int                      // of these, nodes that pods still have to leave
	unhealthy []reason.Reason          // why nothing may be removed at all, nil when all is well
}

// witness hears how places are found, in the order in which it happens. What is tried and taken back is not told.
type witness interface {
	Opens(machine string, g cluster.GroupID) // that is coming or being added
	Closes(machine string)                   // that is not added after all; no pod is on it
	Places(p *cluster.Pod, node string)
}

// groupState is a group within one cycle.
type groupState struct {
	*cluster.Group
	coming   int            // machines that are expected and have no Ready node yet
	adding   int            // machines that this cycle adds
	wanted   bool           // a pending pod asked for it and was refused for its size
	leaving  int            // machines that still count as capacity and are on the ladder, stepping on it or being cleaned up
	deleting int            // machines that the cloud is deleting
	blocked  *reason.Reason // why it may not grow now, nil when it may

	template *scheduling.Template // what machines are opened like, once one was
	opened   int                  // machines that were opened, to name them
	serves   []string             // pending pods that it grows for, "namespace/name"

	because  []reason.Reason // why it grows, pods before the operator's settings
	raised   int             // of the machines that this cycle adds, those that its floor asks for
	short    []reason.Reason // what the operator's settings ask of it beyond what it may add, with the limits
	headroom *headroom       // nil when it keeps none

	passedOver *reason.Reason // by which expander, nil when by none
}

func newDecision(s *cluster.Snapshot, allowed *policy.Policy, m Memory) *decision {
	d := &decision{
		s: s, allowed: allowed, m: m.clone().spend(s, allowed), now: s.Time,
		check:    scheduling.NewChecker(s, scheduling.Expendable(allowed.Growth.PriorityCutoff)),
		opened:   map[scheduling.Handle]cluster.GroupID{},
		groups:   make(map[cluster.GroupID]*groupState, len(s.Groups)),
		leaving:  map[cluster.GroupID][]Leaving{},
		counted:  map[string]string{},
		verdicts: map[reason.Kind][]Verdict{},
		rescues:  map[string]string{},
		spared:   map[string]reason.Reason{},
		nodes:    make(map[string]*nodeState, len(s.Nodes)),
		budgets:  make(map[string]int32, len(s.Objects.Budgets)),
	}
	for _, g := range s.Groups {
		d.groups[g.ID] = &groupState{Group: g, deleting: g.Deleting()}
	}
	for _, b := range s.Objects.Budgets {
		d.budgets[b.Namespace+"/"+b.Name] = b.Status.DisruptionsAllowed
	}
	return d
}

// judge records a verdict.
func (d *decision) judge(about reason.Ref, outcome Outcome, because ...reason.Reason) {
	d.verdicts[about.Kind] = append(d.verdicts[about.Kind], Verdict{about, outcome, because})
}

// wake asks for a cycle at t, when a timer runs out.
func (d *decision) wake(t time.Time) {
	if t.After(d.now) && (d.next.IsZero() || t.Before(d.next)) {
		d.next = t
	}
}

// starting says whether a node is not yet what it will be: it is not Ready as [policy.Growth.Starting] has it, or its devices have not
// been announced. A kubelet that fell silent announces nothing.
func (d *decision) starting(n *cluster.Node) bool {
	return len(n.Awaits) > 0 && !cluster.Silent(n.Object) || d.allowed.Growth.Starting(n.Object, d.now)
}

func (d *decision) finish() (Plan, Memory) {
	d.wake(d.allowed.Next(d.s.Groups, d.now))
	p := Plan{Time: d.now, Counted: d.counted, Next: d.next, Cost: d.cost, Verdicts: d.podVerdicts}
	for _, g := range d.grows {
		p.Actions = append(p.Actions, g)
	}
	if d.ask != nil {
		p.Actions = append(p.Actions, *d.ask)
	}
	for _, g := range d.gates {
		p.Actions = append(p.Actions, g)
	}
	p.Actions = append(p.Actions, d.ladder...)
	for _, g := range d.s.Groups {
		if machines := d.leaving[g.ID]; len(machines) > 0 {
			sort.Slice(machines, func(i, j int) bool { return machines[i].ID < machines[j].ID })
			p.Actions = append(p.Actions, DeleteInstances{g.ID, machines})
		}
	}
	for _, kind := range []reason.Kind{reason.KindInstance, reason.KindNode, reason.KindGroup} {
		vs := d.verdicts[kind]
		sort.SliceStable(vs, func(i, j int) bool { return vs[i].Subject.Name < vs[j].Subject.Name })
		p.Verdicts = append(p.Verdicts, vs...)
	}
	return p, d.m
}
