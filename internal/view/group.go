package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Group is one node group.
type Group struct {
	ID    cluster.GroupID `json:"id"`
	Size  string          `json:"size,omitempty"` // of its machines, as the cloud names it
	Spot  bool            `json:"spot,omitempty"`
	Zones []string        `json:"zones,omitempty"`
	Min   int             `json:"min"`
	Max   int             `json:"max"`

	Outcome action.Outcome `json:"outcome"`
	Why     string         `json:"why"`               // the most telling reasons
	Said    reason.Words   `json:"-"`                 // Why, in pieces
	Until   time.Time      `json:"until,omitzero"`    // when that ends by itself
	Trouble bool           `json:"trouble,omitempty"` // it may not do what it should
	Bad     bool           `json:"bad,omitempty"`     // it, or machines of it, do not answer

	Count

	USD      *float64      `json:"usdPerHour"` // of its machines by list price, nil when that is unknown
	Price    float64       `json:"priceUSDPerHour,omitempty"`
	ReadAt   time.Time     `json:"readAt,omitzero"`
	Age      time.Duration `json:"ageNanoseconds"` // of that read in this cycle
	Complete bool          `json:"complete"`
	Problem  string        `json:"problem,omitempty"`

	Tiles []Tile `json:"tiles"` // by zone, then by name
}

// Count is how many machines of a group are in which state.
type Count struct {
	Nodes     int `json:"nodes"` // the sum of the next four
	Busy      int `json:"busy"`
	Idle      int `json:"idle"`
	Leaving   int `json:"leaving"`
	Silent    int `json:"silent"`
	Coming    int `json:"coming"`    // machines that are to become nodes, and nodes that start
	NotJoined int `json:"notJoined"` // machines that should be nodes by now
	Parked    int `json:"parked"`
}

// State is what a machine's tile shows.
type State string

// The states of a tile.
const (
	Busy    State = "busy"
	Idle    State = "idle"    // goes at its time
	Leaves  State = "leaves"  // cordoned, draining, or being deleted
	Coming  State = "coming"  // is to become a Ready node
	Parked  State = "parked"  // switched off, and started again before a new one is made
	Held    State = "held"    // a person keeps it
	Trouble State = "trouble" // a person is needed
	Silent  State = "silent"  // nobody hears of it; what ran there may still run
)

// States are all states, in the order in which they are shown.
var States = []State{Trouble, Silent, Busy, Held, Idle, Leaves, Coming, Parked}

// Tile is one machine.
type Tile struct {
	About reason.Ref  `json:"about"` // its node, or the machine where it is none
	Short string      `json:"short"` // the end of its name, which tells it from the others of its group
	Zone  string      `json:"zone,omitempty"`
	State State       `json:"state"`
	Code  reason.Code `json:"code,omitempty"` // of the verdict's first reason
	Since time.Time   `json:"since,omitzero"` // when the state began, for Silent and Trouble
	Until time.Time   `json:"until,omitzero"` // when it ends by itself
	Jobs  int         `json:"jobs,omitempty"` // pods of Jobs, and of daemons that work
	Load  Load        `json:"load"`
}

// Load is which share of a node its pods ask for: 0 to 1, and -1 where the node has none of it.
type Load struct {
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
	Pods   float64 `json:"pods"`
	GPU    float64 `json:"gpu"`
}

// empty is the load of what is no node.
var empty = Load{-1, -1, -1, -1}

// held are the codes by which a person keeps a node.
var held = map[reason.Code]bool{reason.NodeHeld: true, reason.NodeHeldByPerson: true, reason.NodeScaleDownOff: true, reason.NodeProtected: true}

// group is the view of a group with its machines.
func (l *looked) group(g *cluster.Group) Group {
	about := reason.Group(string(g.ID))
	v := l.verdicts[about]
	out := Group{
		ID: g.ID, Size: g.Size, Spot: g.Spot, Zones: g.Zones, Min: g.Min, Max: g.Max, Outcome: v.Outcome, Why: report.Phrases(v.Because[:min(2, len(v.Because))], about),
		Price: g.PriceUSDPerHour, ReadAt: g.Read.At, Complete: g.Read.Complete, Problem: g.Problem, Tiles: []Tile{},
	}
	out.Said = report.WordsOf(v.Because[:min(2, len(v.Because))], about)
	if !g.Read.At.IsZero() {
		out.Age = l.now.Sub(g.Read.At)
	}
	for _, r := range v.Because {
		out.Trouble = out.Trouble || troubles[r.Code].group
		out.Bad = out.Bad || troubles[r.Code].bad
		if at := r.EndsAt(l.now); !at.IsZero() && (out.Until.IsZero() || at.Before(out.Until)) {
			out.Until = at
		}
	}
	if usd, known := report.Cost(g); known {
		out.USD = &usd
	}
	nodes := l.nodesOf(g.ID)
	out.Tiles = make([]Tile, 0, max(len(nodes), len(g.Instances)))
	for _, n := range nodes {
		out.add(l.node(n, g))
	}
	for _, in := range g.Instances {
		if in.Node == "" {
			out.add(l.machine(in, g))
		}
	}
	slices.SortFunc(out.Tiles, func(a, b Tile) int {
		return cmp.Or(strings.Compare(a.Zone, b.Zone), strings.Compare(a.About.Name, b.About.Name))
	})
	shorten(out.Tiles)
	return out
}

// add counts a machine.
func (g *Group) add(t Tile) {
	g.Tiles = append(g.Tiles, t)
	node := t.About.Kind == reason.KindNode
	switch t.State {
	case Parked:
		g.Parked++
		return
	case Coming:
		g.Coming++
	case Idle:
		g.Idle++
	case Leaves:
		g.Leaving++
	case Silent:
		g.Silent++
	case Trouble:
		if !node {
			g.NotJoined++
			return
		}
		g.Busy++
	default:
		g.Busy++
	}
	if t.State != Coming {
		g.Nodes++
	}
}

// nodesOf are the nodes of a group.
func (l *looked) nodesOf(id cluster.GroupID) (all []*cluster.Node) {
	if l.nodes == nil {
		l.nodes = map[cluster.GroupID][]*cluster.Node{}
		for _, n := range l.entry.Seen.Nodes {
			l.nodes[n.Group] = append(l.nodes[n.Group], n)
		}
	}
	return l.nodes[id]
}

// node is the tile of a node.
func (l *looked) node(n *cluster.Node, g *cluster.Group) Tile {
	v := l.verdicts[reason.Node(n.Name())]
	t := Tile{About: reason.Node(n.Name()), Zone: n.Object.Labels[corev1.LabelTopologyZone], State: Busy}
	t.Load, t.Jobs = l.load(n, g)
	var blocked bool
	for i, r := range v.Because {
		if i == 0 {
			t.Code = r.Code
		}
		if at := r.EndsAt(l.now); !at.IsZero() && t.Until.IsZero() {
			t.Until = at
		}
		blocked = blocked || troubles[r.Code].machine
		if held[r.Code] && (v.Outcome == action.NodeKeep || v.Outcome == action.NodeHold) {
			t.State = Held
		}
	}
	switch v.Outcome {
	case action.NodeIdle:
		t.State = Idle
	case action.NodeCordoned, action.NodeDraining, action.NodeDeleting, action.NodeParking, action.NodeGone:
		t.State = Leaves
	case action.NodeParked:
		t.State, t.Load = Parked, empty
		return t
	case action.NodeHold:
		if t.State != Held {
			t.State = Trouble
		}
	}
	switch {
	case l.entry.Policy.Growth.Starting(n.Object, l.now) && t.State == Busy:
		t.State, t.Until = Coming, l.entry.Policy.Growth.Due(n.Object)
	case !cluster.Ready(n.Object) && v.Outcome != action.NodeDeleting && v.Outcome != action.NodeParking && v.Outcome != action.NodeGone:
		t.State, t.Since = Silent, cluster.NotReadySince(n.Object).Time
	case blocked:
		t.State = Trouble
	}
	if t.State == Trouble || t.State == Silent {
		t.Since = cmp.Or(t.Since, l.now)
	}
	return t
}

// machine is the tile of a machine without a node.
func (l *looked) machine(in *cluster.Instance, g *cluster.Group) Tile {
	about := reason.Instance(string(g.ID), string(in.ID))
	v := l.verdicts[about]
	t := Tile{About: about, Zone: in.Zone, State: Coming, Since: in.UpSince(), Load: empty}
	for i, r := range v.Because {
		if i == 0 {
			t.Code = r.Code
		}
		if troubles[r.Code].machine {
			t.State = Trouble
		}
		if at := r.EndsAt(l.now); !at.IsZero() && t.Until.IsZero() {
			t.Until = at
		}
	}
	if boot := l.entry.After.Groups[g.ID].Boot; t.State == Coming && t.Until.IsZero() && boot.Longest > 0 && !in.Created.IsZero() {
		if by := in.Created.Add(boot.Longest); by.After(l.now) {
			t.Until = by // others of the group took no longer
		}
	}
	switch {
	case in.State == cluster.StateDeleting || v.Outcome == action.MachineDeleting:
		t.State = Leaves
	case v.Outcome == action.MachineHold && in.Stopped():
		t.State = Parked
	case v.Outcome == action.MachineHold, in.State == cluster.StateFailed:
		t.State = Trouble
	}
	return t
}

// requests are what pods of a class ask for.
type requests map[*cluster.Class]amounts

// amounts are CPU in thousandths of a core, memory in bytes, pods, and GPUs of the node's kind.
type amounts struct {
	cpu, memory int64
	gpu         map[corev1.ResourceName]int64 // nil for none
	job         bool
}

func (rs requests) of(p *cluster.Pod) amounts {
	if a, known := rs[p.Class]; known {
		return a
	}
	var a amounts
	for name, q := range scheduling.Requests(p) {
		switch name {
		case corev1.ResourceCPU:
			a.cpu = q.MilliValue()
		case corev1.ResourceMemory:
			a.memory = q.Value()
		default:
			if slices.Contains(cluster.GPUs, name) {
				if a.gpu == nil {
					a.gpu = map[corev1.ResourceName]int64{}
				}
				a.gpu[name] = q.Value()
			}
		}
	}
	o := p.Owner()
	a.job = o != nil && o.Kind == "Job"
	rs[p.Class] = a
	return a
}

// asked is what the pods of a node ask for of it together, the number of those that are work which ends by itself, and the daemons that may be, by
// the policy and the time.
type asked struct {
	load    Load
	jobs    int
	daemons []*cluster.Pod
}

// load is what the pods of a node ask for of it, and how many of them are work that ends by itself.
func (l *looked) load(n *cluster.Node, g *cluster.Group) (Load, int) {
	a, known := l.before[n]
	if !known {
		a = l.ask(n)
	}
	l.loads[n] = a
	jobs := a.jobs
	for _, p := range a.daemons {
		if !l.entry.Policy.Belongs(p, policy.On(n, g, l.entry.Seen.Objects.Budgets), l.now) {
			jobs++
		}
	}
	return a.load, jobs
}

// ask counts the pods of a node.
func (l *looked) ask(n *cluster.Node) (all asked) {
	var sum amounts
	var gpus int64
	kind := cluster.GPU(n.Object)
	for _, p := range n.Pods {
		a := l.requests.of(p)
		sum.cpu += a.cpu
		sum.memory += a.memory
		gpus += a.gpu[kind]
		switch {
		case a.job:
			all.jobs++
		case p.Daemon() && !p.Mirror():
			all.daemons = append(all.daemons, p)
		}
	}
	has := n.Object.Status.Allocatable
	share := func(name corev1.ResourceName, used int64, milli bool) float64 {
		q, ok := has[name]
		all := q.Value()
		if milli {
			all = q.MilliValue()
		}
		if !ok || all <= 0 {
			return -1
		}
		return float64(used) / float64(all)
	}
	all.load = Load{CPU: share(corev1.ResourceCPU, sum.cpu, true), Memory: share(corev1.ResourceMemory, sum.memory, false), Pods: share(corev1.ResourcePods, int64(len(n.Pods)), false), GPU: -1}
	if kind != "" {
		all.load.GPU = share(kind, gpus, false)
	}
	return all
}

// shorten gives tiles the shortest ends of their names, of at least two letters, that tell them apart; at most six.
func shorten(tiles []Tile) {
	for n := 2; ; n++ {
		seen := make(map[string]bool, len(tiles))
		for i, t := range tiles {
			name := t.About.Name
			if t.About.Kind == reason.KindInstance {
				_, name, _ = strings.Cut(name, "/")
			}
			tiles[i].Short = name[max(0, len(name)-n):]
			seen[tiles[i].Short] = true
		}
		if len(seen) == len(tiles) || n == 6 {
			return
		}
	}
}
