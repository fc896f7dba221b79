package plan

import (
	"slices"
	"sort"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Decide plans one cycle. It changes none of its arguments. Where cycle follows cycle a [Planner] does the same for less.
func Decide(s *cluster.Snapshot, allowed *policy.Policy, m Memory) (Plan, Memory) {
	return new(Planner).Decide(s, allowed, m)
}

func (d *decision) decide() (Plan, Memory) {
	d.restLostSizes()
	d.noticeFailures()
	d.noticeStrays()
	d.learnRunTimes()
	d.openRoom()
	d.collectDemands()
	d.wholeGangs(func() {
		d.placePending()
		d.growGroups()
	})
	d.rememberPlaces()
	d.rememberUnbound()
	d.noteAsking()
	d.openGates()
	d.answerClaims()
	d.cleanUpMachines()
	d.judgeNodes()
	d.mark()
	d.heedNotices()
	d.climbLadder()
	d.judgeGroups()
	return d.finish()
}

// decision is one cycle in the making.
type decision struct {
	planner *Planner
	s       *cluster.Snapshot
	allowed *policy.Policy
	m       Memory
	fleet   *fleet.View // nil when nobody keeps a ledger of machines
	now     time.Time
	check   *scheduling.Checker

	groups map[cluster.GroupID]*groupState
	listed []*groupState // the same in the snapshot's order

	lost map[string]bool // machines without a node that were nodes, by UID, as the ledger has it

	waiting     []*cluster.Pod // pods that no node holds, oldest first; then pretended ones
	driven      int            // pods behind those that wait in the cluster which a notice of the cloud drives off their nodes
	hopeful     bool           // the scheduler has made room for some of them
	podVerdicts []Verdict      // by waiting; their subjects are there from the start
	demands     []*demand      // of waiting, in the order in which they are placed
	gangs       []*gang        // of which some of them are, in the order in which they are served

	requests []*request // in the snapshot's order
	buffers  []*buffer  // in the snapshot's order
	answers  []Action   // to them

	witness witness // nil where nobody asks

	there, coming *scheduling.Row // nodes that are there and those that are coming, once a pod looked for a place

	usages    map[[3]string]reason.Reason // see [decision.busy]
	underuses map[underuse]reason.Reason  // see [decision.underuse]
	fitting   map[string]reason.Reason    // see [decision.fitsNode]
	blank     []reason.Reason             // see [decision.reasons]

	attach   map[cluster.GroupID]int // volumes that a node of the group can attach, as kubelets say, nil until somebody asks
	opened   byHandle                // the groups of machines that are coming or being added
	asked    byHandle                // of those of them that the cloud was asked for and has not answered about
	arrivals byHandle                // of nodes that are starting
	has      *totals                 // what the cluster has without what this cycle adds, once somebody has asked
	cost     *Cost
	ceilings *Ceilings

	tried      []scheduling.Handle // machines that the last estimate opened
	ask        *AskExpander        // what to ask before pods that are left can be helped
	complaints []reason.Reason     // of expanders that could not do what they are there for
	grows      []SetCapacity
	gates      []OpenGate
	ladder     []Action // Mark, AnswerNotice, Uncordon, Evict, DeleteNode, Cordon in the order of nodes
	soft       []Action // SoftUntaint, then SoftTaint
	leaving    map[cluster.GroupID][]Leaving
	counted    map[string]string
	verdicts   map[reason.Kind][]Verdict
	next       time.Time

	rescues   map[string]string                       // ladder nodes that a pending pod takes back, with the pod
	asking    []waiting                               // see [decision.noteAsking]
	booked    map[string]reason.Reason                // nodes on which pods of requests and buffers have a place, with why they stay
	spared    map[string]reason.Reason                // ladder nodes that headroom, requests and buffers take back
	besides   []judged                                // verdicts on nodes that are not watched, in the place of what they show
	states    []*nodeState                            // by the snapshot's nodes; nil for those about which there is nothing more to say
	removable []*nodeState                            // the others, in the order of nodes
	soon      []*nodeState                            // of these, nodes that will go when their time or turn has come, those first that can be spared most
	refuge    *refuge                                 // where the pods of leaving nodes may move to, nil until somebody asks
	kept      *totals                                 // what the nodes have that stay, nil until somebody asks
	disrupted map[*policyv1.PodDisruptionBudget]int32 // disruptions that this cycle has consumed
	budgets   budgets
	inFlight  int             // nodes on the ladder that have yet to become ready for their machine's deletion; once it is requested, or waits for its group's turn, or their drain is overdue, a node is none of them
	drains    int             // of these, nodes that pods still have to leave
	unhealthy []reason.Reason // why nothing may be removed at all, nil when all is well

	gathers map[cluster.GroupID]gathered // groups whose deletions wait for further machines

	use uses // see [decision.inUse]

	attached  map[string][]cluster.Attachment // to nodes, by their names, nil until somebody asks
	detaching map[string]time.Time            // since when empty nodes wait for volumes
	dismissed map[string]time.Time            // when the daemons of empty nodes were told to end
}

// witness hears how places are found, in the order in which it happens. What is tried and taken back is not told.
type witness interface {
	Opens(machine string, g cluster.GroupID) // that is coming or being added
	Closes(machine string)                   // that is not added after all; no pod is on it
	Places(p *cluster.Pod, node string)
}

func newDecision(p *Planner, s *cluster.Snapshot, allowed *policy.Policy, m Memory, check *scheduling.Checker) *decision {
	d := &decision{
		planner: p, s: s, allowed: allowed, m: m.spend(s, allowed), now: s.Time, fleet: s.View(), check: check,
		usages: map[[3]string]reason.Reason{}, underuses: map[underuse]reason.Reason{}, fitting: map[string]reason.Reason{},
		budgets:  budgets{all: s.Objects.Budgets},
		groups:   make(map[cluster.GroupID]*groupState, len(s.Groups)),
		listed:   make([]*groupState, len(s.Groups)),
		leaving:  map[cluster.GroupID][]Leaving{},
		counted:  map[string]string{},
		verdicts: map[reason.Kind][]Verdict{},
		rescues:  map[string]string{},
		spared:   map[string]reason.Reason{},
		booked:   map[string]reason.Reason{},
	}
	pauses := s.Objects.Pauses()
	for i, g := range s.Groups {
		st := &groupState{Group: g, roll: callRoll(g), at: i, removal: allowed.Removal.Of(g.Options), servers: g.ControlPlane != "" && !allowed.Removal.ControlPlane, paused: d.pause(g, pauses), contract: d.contractFor(g)}
		d.groups[g.ID], d.listed[i] = st, st
	}
	return d
}

// groupOf is the group of the node, nil when it is of none that is managed.
func (d *decision) groupOf(v *sight) *groupState {
	if v.of < 0 {
		return nil
	}
	return d.listed[v.of]
}

// watch visits the nodes that are not settled by what they show, in their order.
func (d *decision) watch(visit func(at int, v *sight)) {
	for _, at := range d.planner.watched {
		visit(at, d.planner.sights[at])
	}
}

// judge records a verdict on a machine or a group.
func (d *decision) judge(about reason.Ref, outcome Outcome, because ...reason.Reason) {
	d.verdicts[about.Kind] = append(d.verdicts[about.Kind], Verdict{about, outcome, because})
}

// judged is a verdict on a node, by its place among the snapshot's nodes.
type judged struct {
	at int
	Verdict
}

// judgeNode records a verdict on a node.
func (d *decision) judgeNode(st *nodeState, outcome Outcome, because ...reason.Reason) {
	v := Verdict{reason.Node(st.Name()), outcome, because}
	if d.states[st.at] == st {
		d.planner.said[st.at] = v
	} else {
		d.besides = append(d.besides, judged{st.at, v})
	}
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
	p := Plan{Time: d.now, Counted: d.counted, Cost: d.cost, Measure: d.endUse(), Next: d.next}
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
	p.Actions = append(p.Actions, d.soft...)
	p.Actions = append(p.Actions, d.answers...)
	p.Actions = permitted(p.Actions, d.s.Objects.Lacks)
	p.Verdicts = d.allVerdicts()
	return p, d.m
}

// allVerdicts are the verdicts in the order in which a plan has them.
func (d *decision) allVerdicts() []Verdict {
	pods, machines, groups := d.podVerdicts[:len(d.s.Pending)+d.driven], d.verdicts[reason.KindInstance], d.verdicts[reason.KindGroup]
	all := append(slices.Grow(pods, len(machines)+len(d.s.Nodes)+len(groups)), inOrder(machines)...)
	nodes := len(all)
	all = append(all, d.planner.said...)
	for _, v := range d.besides {
		all[nodes+v.at] = v.Verdict
	}
	all = append(all, inOrder(groups)...)
	return append(append(all, inOrder(d.verdicts[reason.KindRequest])...), inOrder(d.verdicts[reason.KindBuffer])...)
}

// inOrder sorts verdicts by name.
func inOrder(all []Verdict) []Verdict {
	byName := func(a, b Verdict) int { return strings.Compare(a.Subject.Name, b.Subject.Name) }
	if !slices.IsSortedFunc(all, byName) {
		slices.SortStableFunc(all, byName)
	}
	return all
}
