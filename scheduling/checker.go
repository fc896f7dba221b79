package scheduling

import (
	"slices"
	"strings"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/classes"
	"sluice.dev/sluice/scheduling/internal/devices"
	"sluice.dev/sluice/scheduling/internal/fit"
	"sluice.dev/sluice/scheduling/internal/journal"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/relations"
	"sluice.dev/sluice/scheduling/internal/storage"
	"sluice.dev/sluice/scheduling/internal/whatif"
)

// Checker answers for a snapshot's cluster and for what might become of it. It is not safe for concurrent use.
//
// What-ifs ([Checker.Place], [Checker.Remove], [Checker.Add], [Checker.Open], [Row.Fill]) stack up. Each can be taken back with all that
// came after it; the checker then answers exactly as before. An undo whose what-if is already taken back does nothing. [Checker.Mark]
// takes back any number of them at once.
type Checker struct {
	snapshot *cluster.Snapshot
	cutoff   int32 // pods below this priority are absent
	world    *whatif.World
	size     int  // what was known at the start: see [Checker.known]
	hopeful  bool // some pods of the snapshot wait for a node, be it there or not
}

// Option is a choice that a new checker is made with.
type Option func(*choices)

// choices are what options set.
type choices struct {
	cutoff int32
	after  *Checker
}

// Expendable leaves out pods whose priority is below the cutoff, wherever they are: they may be pushed out at any time.
func Expendable(cutoff int32) Option { return func(c *choices) { c.cutoff = cutoff } }

// After makes use of the checker of an earlier snapshot, nil for none: what did not change since is not worked out again. Its what-ifs
// are taken back, and it must not be used any more. The answers are the same as without it.
func After(last *Checker) Option { return func(c *choices) { c.after = last } }

// minPriority is below that of every pod: nobody is expendable.
const minPriority = -1 << 31

// NewChecker makes a checker of the cluster as the snapshot saw it. The snapshot's objects are shared and never changed; nobody
// else may change them while the checker is in use.
func NewChecker(s *cluster.Snapshot, options ...Option) *Checker {
	chosen := choices{cutoff: minPriority}
	for _, o := range options {
		o(&chosen)
	}
	if last := chosen.after; last != nil && last.cutoff == chosen.cutoff && last.follow(s) {
		return last
	}
	w := classes.World{Clock: &journal.Clock{}, Nodes: nodes.NewTable(len(s.Nodes))}
	w.Nodes.Serve(devices.Served(s.Objects.DeviceClasses))
	w.Rules = nodes.NewRules(w.Nodes)
	w.Relations = relations.New(w.Clock, w.Nodes, w.Rules, s.Objects.Namespaces)
	w.Storage = storage.New(w.Clock, w.Nodes, &s.Objects)
	w.Devices = devices.New(w.Nodes, s)
	c := &Checker{snapshot: s, cutoff: chosen.cutoff}
	c.world = whatif.New(fit.New(w, classes.New(w, chosen.cutoff, len(s.Objects.Pods))))
	c.fill()
	return c
}

// fill counts the snapshot's nodes and pods.
func (c *Checker) fill() {
	table, all := c.world.Nodes, c.world.Classes
	order := make([]Handle, len(c.snapshot.Nodes))
	total := 0
	for i, n := range c.snapshot.Nodes {
		order[i] = table.Node(n.Object, nil)
		total += len(n.Pods)
	}
	table.Order(order)
	// Whoever waits has its counters from the start: then one pass over the pods fills them all.
	nominated := all.Expect(c.snapshot.Pending)
	arena := make([]nodes.Entry, 0, total)
	for i, n := range c.snapshot.Nodes {
		from := len(arena)
		arena = all.Entries(arena, n.Pods)
		c.run(order[i], arena[from:len(arena):len(arena)])
	}
	all.Wait(c.snapshot.Pending, 1)
	c.world.Nominate(nominated)
	c.hopeful = len(nominated) > 0
	c.size = c.known()
}

// run has these pods run on a node that joins.
func (c *Checker) run(h Handle, pods []nodes.Entry) {
	c.world.Nodes.SetPods(h, pods)
	c.world.Classes.Run(pods, 1)
	c.world.Classes.Enter(h)
}

// spare is how much may be known beyond twice what the first snapshot had.
const spare = 4096

// known is how much the checker has to remember.
func (c *Checker) known() int {
	w := c.world
	return w.Classes.Known() + w.Relations.Known() + w.Nodes.Known() + w.Rules.Known()
}

// follow makes the checker one of a later snapshot, for the price of what changed. It says false, and leaves the work to be done anew,
// when what was known of pods and nodes no longer holds or is mostly about what is gone.
func (c *Checker) follow(s *cluster.Snapshot) bool {
	last, w := c.snapshot, c.world
	if !slices.Equal(last.Objects.Namespaces, s.Objects.Namespaces) || c.known() > 2*c.size+spare || !servesAlike(&last.Objects, &s.Objects) {
		return false
	}
	w.Unwind(0)
	c.snapshot = s
	w.Classes.Turn()
	w.Devices.Follow(s)
	w.Storage.Follow(&s.Objects)
	if !same(last.Nodes, s.Nodes) {
		c.replaceNodes(last.Nodes, s.Nodes)
	} else if same(last.Pending, s.Pending) {
		return true
	}
	gone, pods := s.PendingSince(last)
	w.Classes.Wait(pods, 1)
	w.Classes.Wait(gone, -1)
	if c.hopeful || slices.ContainsFunc(pods, func(p *cluster.Pod) bool { return p.Nominated() != "" }) {
		pods = s.Pending
	}
	nominated := w.Classes.Expect(pods)
	c.hopeful = len(nominated) > 0
	w.Nominate(nominated)
	return true
}

// servesAlike says whether device classes of two observations serve the same resources: what nodes have left of these depends on it.
func servesAlike(a, b *cluster.Objects) bool {
	return slices.Equal(a.DeviceClasses, b.DeviceClasses) || slices.Equal(devices.Served(a.DeviceClasses), devices.Served(b.DeviceClasses))
}

// same says whether two lists are one, and not only equal.
func same[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// replaceNodes puts later nodes in the place of earlier ones, both in the order of names.
func (c *Checker) replaceNodes(last, now []*cluster.Node) {
	table := c.world.Nodes
	order, was := make([]Handle, len(now)), table.Ordered()
	i := 0
	for j, n := range now {
		for i < len(last) && last[i] != n && strings.Compare(last[i].Name(), n.Name()) < 0 {
			c.leave(was[i])
			i++
		}
		if i == len(last) || last[i] != n && last[i].Name() != n.Name() {
			order[j] = table.Node(n.Object, nil)
			c.run(order[j], slices.Clip(c.world.Classes.Entries(nil, n.Pods)))
			continue
		}
		order[j] = was[i]
		c.replace(order[j], last[i], n)
		i++
	}
	for ; i < len(last); i++ {
		c.leave(was[i])
	}
	table.Order(order)
}

// leave has a node and its pods leave for good.
func (c *Checker) leave(h Handle) {
	c.world.Classes.Run(c.world.Nodes.Pods(h), -1)
	c.world.Classes.Leave(h)
	c.world.Nodes.SetPods(h, nil)
}

// replace puts a later view of a node in the place of an earlier one.
func (c *Checker) replace(h Handle, was, is *cluster.Node) {
	if was == is || was.Object == is.Object && slices.Equal(was.Pods, is.Pods) {
		return
	}
	c.leave(h)
	if was.Object != is.Object {
		c.world.Nodes.Replace(h, is.Object)
	}
	c.run(h, slices.Clip(c.world.Classes.Entries(nil, is.Pods)))
}
