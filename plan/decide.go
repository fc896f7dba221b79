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
	d.growth.restLostSizes()
	d.growth.noticeFailures()
	d.growth.noticeStrays()
	d.room.learnRunTimes()
	d.room.openRoom()
	d.room.collect()
	d.claims.claimRequests()
	d.claims.claimBuffers()
	d.room.order()
	d.room.collectGangs()
	d.growth.wholeGangs(func() {
		d.room.placePending()
		d.growth.begin()
		d.claims.keepBuffers()
		d.growth.keepHeadroom()
		d.growth.tellTurns()
		d.growth.request()
	})
	d.room.rememberPlaces()
	d.room.rememberUnbound()
	d.room.noteAsking()
	d.claims.openGates()
	d.claims.answerClaims()
	d.removal.cleanUpMachines()
	d.removal.judgeNodes()
	d.removal.mark()
	d.removal.heedNotices()
	d.removal.climbLadder()
	d.removal.judgeGroups()
	return d.finish()
}

// view is what a cycle looks at, and what its phases leave: facts on nodes and groups, memory, verdicts and the next time.
type view struct {
	s       *cluster.Snapshot
	allowed *policy.Policy
	m       Memory
	fleet   *fleet.View // nil when nobody keeps a ledger of machines
	now     time.Time
	next    time.Time
	check   *scheduling.Checker

	facts  *nodeFacts
	groups map[cluster.GroupID]*groupState
	listed []*groupState   // the same in the snapshot's order
	lost   map[string]bool // machines without a node that were nodes, by UID, as the ledger has it

	verdicts map[reason.Kind][]Verdict
	besides  []judged                    // verdicts on nodes that are not watched, in the place of what they show
	usages   map[[3]string]reason.Reason // see [view.busy]

	budgets   budgets
	disrupted map[*policyv1.PodDisruptionBudget]int32 // disruptions that this cycle has consumed
	attached  map[string][]cluster.Attachment         // to nodes, by their names, nil until somebody asks
}

// placing finds places for pods that wait.
type placing struct {
	*view
	recall *recall
	groups map[cluster.GroupID]*placeGroup
	listed []*placeGroup // the same in the snapshot's order

	waiting     []*cluster.Pod // pods that no node holds, oldest first; then pretended ones
	driven      int            // pods behind those that wait in the cluster which a notice of the cloud drives off their nodes
	hopeful     bool           // the scheduler has made room for some of them
	podVerdicts []Verdict      // by waiting; their subjects are there from the start
	demands     []*demand      // of waiting, in the order in which they are placed
	later       []*demand      // of pretended pods that are placed when all demands have been
	gangs       []*gang        // of which some of them are, in the order in which they are served

	witness witness // nil where nobody asks

	there, coming *scheduling.Row // nodes that are there and those that are coming, once a pod looked for a place

	fitting map[string]reason.Reason // see [placing.fitsNode]
	blank   []reason.Reason          // see [placing.reasons]

	attach   map[cluster.GroupID]int // volumes that a node of the group can attach, as kubelets say, nil until somebody asks
	opened   byHandle                // the groups of machines that are coming or being added
	asked    byHandle                // of those of them that the cloud was asked for and has not answered about
	arrivals byHandle                // of nodes that are starting

	counted map[string]string
	rescues map[string]string        // ladder nodes that a pending pod takes back, with the pod
	asking  []waiting                // see [placing.noteAsking]
	booked  map[string]reason.Reason // nodes on which pods of requests and buffers have a place, with why they stay
	spared  map[string]reason.Reason // ladder nodes that headroom, requests and buffers take back
}

// growing chooses the machines to add.
type growing struct {
	*placing
	missed *misses
	groups map[cluster.GroupID]*growGroup
	listed []*growGroup // the same in the snapshot's order

	has        *totals // what the cluster has without what this cycle adds, once somebody has asked
	cost       *Cost
	ceilings   *Ceilings
	tried      []scheduling.Handle // machines that the last estimate opened
	ask        *AskExpander        // what to ask before pods that are left can be helped
	complaints []reason.Reason     // of expanders that could not do what they are there for
	grows      []SetCapacity
}

// claiming makes demands of requests and buffers, and answers them.
type claiming struct {
	*growing

	requests []*request // in the snapshot's order
	buffers  []*buffer  // in the snapshot's order
	answers  []Action   // to them
	gates    []OpenGate
}

// removing moves nodes towards their removal.
type removing struct {
	*growing
	groups map[cluster.GroupID]*removeGroup
	listed []*removeGroup // the same in the snapshot's order

	ladder    []Action // Mark, AnswerNotice, Uncordon, Evict, DeleteNode, Cordon in the order of nodes
	soft      []Action // SoftUntaint, then SoftTaint
	leaving   map[cluster.GroupID][]Leaving
	states    []*nodeState                 // by the snapshot's nodes; nil for those about which there is nothing more to say
	removable []*nodeState                 // nodes about which there is more to say than what they show, in the order of nodes
	soon      []*nodeState                 // of these, nodes that will go when their time or turn has come, those first that can be spared most
	refuge    *refuge                      // where the pods of leaving nodes may move to, nil until somebody asks
	kept      *totals                      // what the nodes have that stay, nil until somebody asks
	underuses map[underuse]reason.Reason   // see [removing.underuse]
	inFlight  int                          // nodes on the ladder that have yet to become ready for their machine's deletion; once it is requested, or waits for its group's turn, or their drain is overdue, a node is none of them
	drains    int                          // of these, nodes that pods still have to leave
	unhealthy []reason.Reason              // why nothing may be removed at all, nil when all is well
	gathers   map[cluster.GroupID]gathered // groups whose deletions wait for further machines
	use       uses                         // see [removing.inUse]
	detaching map[string]time.Time         // since when empty nodes wait for volumes
	dismissed map[string]time.Time         // when the daemons of empty nodes were told to end
}

// decision is one cycle in the making.
type decision struct {
	*view
	room    *placing
	growth  *growing
	claims  *claiming
	removal *removing
}

// witness hears how places are found, in the order in which it happens. What is tried and taken back is not told.
type witness interface {
	Opens(machine string, g cluster.GroupID) // that is coming or being added
	Closes(machine string)                   // that is not added after all; no pod is on it
	Places(p *cluster.Pod, node string)
}

func newDecision(p *Planner, s *cluster.Snapshot, allowed *policy.Policy, m Memory, check *scheduling.Checker) *decision {
	v := newView(s, allowed, m, check, &p.facts)
	room := newRoom(v, &p.recall)
	growth := newGrowth(room, &p.missed)
	return &decision{v, room, growth, newClaims(growth), newRemoval(growth)}
}

// newView is what a cycle begins with.
func newView(s *cluster.Snapshot, allowed *policy.Policy, m Memory, check *scheduling.Checker, known *nodeFacts) *view {
	v := &view{
		s: s, allowed: allowed, m: m.spend(s, allowed), now: s.Time, fleet: s.View(), check: check, facts: known,
		usages: map[[3]string]reason.Reason{}, budgets: budgets{all: s.Objects.Budgets},
		groups:   make(map[cluster.GroupID]*groupState, len(s.Groups)),
		verdicts: map[reason.Kind][]Verdict{},
	}
	pauses := s.Objects.Pauses()
	for i, g := range s.Groups {
		st := &groupState{
			Group: g, roll: callRoll(g), at: i, removal: allowed.Removal.Of(g.Options), servers: g.ControlPlane != "" && !allowed.Removal.ControlPlane,
			paused: v.pause(g, pauses), contract: v.contractFor(g),
		}
		v.groups[g.ID], v.listed = st, append(v.listed, st)
	}
	return v
}

// newRoom is the room in which nobody has a place yet.
func newRoom(v *view, last *recall) *placing {
	d := &placing{
		view: v, recall: last, groups: make(map[cluster.GroupID]*placeGroup, len(v.listed)),
		fitting: map[string]reason.Reason{}, counted: map[string]string{}, rescues: map[string]string{},
		spared: map[string]reason.Reason{}, booked: map[string]reason.Reason{},
	}
	for _, g := range v.listed {
		st := &placeGroup{groupState: g}
		d.groups[g.ID], d.listed = st, append(d.listed, st)
	}
	return d
}

// newGrowth is a cycle that adds nothing yet.
func newGrowth(room *placing, missed *misses) *growing {
	d := &growing{placing: room, missed: missed, groups: make(map[cluster.GroupID]*growGroup, len(room.listed))}
	for _, g := range room.listed {
		st := &growGroup{placeGroup: g}
		d.groups[g.ID], d.listed = st, append(d.listed, st)
	}
	return d
}

// newClaims is a cycle that has read no request and no buffer yet.
func newClaims(growth *growing) *claiming { return &claiming{growing: growth} }

// newRemoval is a cycle in which nothing leaves yet.
func newRemoval(growth *growing) *removing {
	d := &removing{
		growing: growth, groups: make(map[cluster.GroupID]*removeGroup, len(growth.listed)),
		underuses: map[underuse]reason.Reason{}, leaving: map[cluster.GroupID][]Leaving{},
	}
	for _, g := range growth.listed {
		st := &removeGroup{growGroup: g}
		d.groups[g.ID], d.listed = st, append(d.listed, st)
	}
	return d
}

// groupOf is the group of the node, nil when it is of none that is managed.
func (d *view) groupOf(v *sight) *groupState {
	if v.of < 0 {
		return nil
	}
	return d.listed[v.of]
}

// outgoing is the same with its machines that leave.
func (d *removing) outgoing(v *sight) *removeGroup {
	if v.of < 0 {
		return nil
	}
	return d.listed[v.of]
}

// watch visits the nodes that are not settled by what they show, in their order.
func (d *view) watch(visit func(at int, v *sight)) {
	for _, at := range d.facts.watched {
		visit(at, d.facts.sights[at])
	}
}

// judge records a verdict on a machine or a group.
func (d *view) judge(about reason.Ref, outcome Outcome, because ...reason.Reason) {
	d.verdicts[about.Kind] = append(d.verdicts[about.Kind], Verdict{about, outcome, because})
}

// judged is a verdict on a node, by its place among the snapshot's nodes.
type judged struct {
	at int
	Verdict
}

// judgeNode records a verdict on a node.
func (d *removing) judgeNode(st *nodeState, outcome Outcome, because ...reason.Reason) {
	v := Verdict{reason.Node(st.Name()), outcome, because}
	if d.states[st.at] == st {
		d.facts.said[st.at] = v
	} else {
		d.besides = append(d.besides, judged{st.at, v})
	}
}

// wake asks for a cycle at t, when a timer runs out.
func (d *view) wake(t time.Time) {
	if t.After(d.now) && (d.next.IsZero() || t.Before(d.next)) {
		d.next = t
	}
}

// starting says whether a node is not yet what it will be: it is not Ready as [policy.Growth.Starting] has it, or its devices have not
// been announced. A kubelet that fell silent announces nothing.
func (d *view) starting(n *cluster.Node) bool {
	return len(n.Awaits) > 0 && !cluster.Silent(n.Object) || d.allowed.Growth.Starting(n.Object, d.now)
}

func (d *decision) finish() (Plan, Memory) {
	d.wake(d.allowed.Next(d.s.Groups, d.now))
	p := Plan{Time: d.now, Counted: d.room.counted, Cost: d.growth.cost, Measure: d.removal.endUse(), Next: d.next}
	for _, g := range d.growth.grows {
		p.Actions = append(p.Actions, g)
	}
	if d.growth.ask != nil {
		p.Actions = append(p.Actions, *d.growth.ask)
	}
	for _, g := range d.claims.gates {
		p.Actions = append(p.Actions, g)
	}
	p.Actions = append(p.Actions, d.removal.ladder...)
	for _, g := range d.s.Groups {
		if machines := d.removal.leaving[g.ID]; len(machines) > 0 {
			sort.Slice(machines, func(i, j int) bool { return machines[i].ID < machines[j].ID })
			p.Actions = append(p.Actions, DeleteInstances{g.ID, machines})
		}
	}
	p.Actions = append(p.Actions, d.removal.soft...)
	p.Actions = append(p.Actions, d.claims.answers...)
	p.Actions = permitted(p.Actions, d.s.Objects.Lacks)
	p.Verdicts = d.allVerdicts()
	return p, d.m
}

// allVerdicts are the verdicts in the order in which a plan has them.
func (d *decision) allVerdicts() []Verdict {
	pods, machines, groups := d.room.podVerdicts[:len(d.s.Pending)+d.room.driven], d.verdicts[reason.KindInstance], d.verdicts[reason.KindGroup]
	all := append(slices.Grow(pods, len(machines)+len(d.s.Nodes)+len(groups)), inOrder(machines)...)
	nodes := len(all)
	all = append(all, d.facts.said...)
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
