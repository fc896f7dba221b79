package scheduling

import (
	"context"
	"math/bits"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"sluice.dev/sluice/cluster"
)

// Checker answers for a snapshot's cluster and for what might become of it. It is not safe for concurrent use.
//
// What-ifs ([Checker.Place], [Checker.Evict], [Checker.Remove], [Checker.Add], [Checker.Open], [Row.Fill]) stack up. Each can be taken
// back with all that came after it; the checker then answers exactly as before. An undo whose what-if is already taken back does
// nothing. [Checker.Mark] takes back any number of them at once.
//
// It thinks in classes of pods, integers and counts: what pods of a class need is one vector, nodes are columns of what they have
// left, and what depends on other pods is a counter for each domain of a topology, kept up as pods come and go.
type Checker struct {
	snapshot *cluster.Snapshot
	ctx      context.Context // silences the plugins' logger; nothing else is in it
	plugins  plugins
	cutoff   int32 // pods below this priority are absent

	// What is known of pods. Everything is numbered in the order in which it was met and stays.
	dims       dimensions
	specs      map[cluster.Key]*spec
	likenesses map[string]int32 // of specs: see [Checker.likenessOf]
	classes    []*class
	classOf    map[*cluster.Class]*class
	classByKey map[cluster.Key]*class
	asked      []*class // about in this snapshot, which has no pods of them
	lately     []met    // of classOf, by a part of the key, a power of two of them: most are asked for again and again
	kinds      []*kind
	kindOf     map[string]*kind

	// What specs say of nodes alone.
	tolerations map[string]*tolerations
	selections  map[string]*selection
	lenses      map[string]*lens
	taintKinds  map[string]int32

	// What pods say of each other.
	namespaces map[string]map[string]string // labels by name, of those that are known
	selectors  []*selector
	selectorOf map[string]*selector
	byLabel    map[where][]*selector
	anywhere   []*selector
	topologies []*topology
	scopes     []*scope
	scopeOf    map[scopeKey]*scope
	repelling  int // counters of required anti-affinity

	// Nodes. A node that leaves keeps its place until what made it is taken back.
	slots  []slot
	free   [][]int64 // by dimension and node; of a node that is gone, no room for pods
	blocks blocks    // of free
	taints []int32   // by node: the kind of its taints
	byName map[string]Handle
	order  []Handle         // of the snapshot's nodes, in their order
	offers []amount         // see [Checker.allocatable]
	read   []*cluster.Class // see [Checker.entries]
	names  []string         // sorted; nil when they have to be collected again
	size   int              // what was known at the start: see [Checker.known]
	late   []*counter       // made since the snapshot's pods were counted, to be filled together; only while gathering
	gather bool

	hardware *hardware        // nil until somebody claims devices
	storage  *storage         // nil until somebody has volumes
	uses     map[string]int32 // pods that use a claim, by "namespace/name"
	mounters map[string]int32 // classes whose pods may use a claim, by the same
	mounted  int              // volumes records so far

	nominated map[Handle][]entry  // pods that wait for a node: see [Checker.nominate]
	words     map[spelling]string // see [Checker.written]
	hopeful   bool                // some pods of the snapshot wait for a node, be it there or not

	lodgers []*class // some of whose pods stand from snapshot to snapshot: see [Checker.Lodge]
	moving  []Seat   // memory for it
	awaited []Handle // machines that do, in the order of names: see [Checker.Await]
	founded Handle   // nodes before it were there in the last snapshot, without what-ifs

	snapshots uint64 // so far
	journal   journal
	last      uint64 // the number of the last what-if
	loosened  uint64 // the last what-if that stands and after which a pod may be welcome where it was not
}

// Handle names a node of a checker, real or pretended: a small number, from 0 on. It means the same node until what added the node is
// taken back. [Checker.Handles] has them in the order of names.
type Handle int32

// slot is one node.
type slot struct {
	name     string
	node     *corev1.Node // nil for a machine that was opened, until somebody asks
	template *Template    // what a machine was opened like, nil for a node
	present  bool
	slices   []*resourcev1.ResourceSlice // of a machine that was opened, when somebody has asked
	turned   uint64                      // the number of the snapshot at which it or its pods last changed
	pods     []entry                     // never changed below its length; see [whatIf]
	awaited  uint64                      // the number of the snapshot in which it was awaited last, plus 1; 0 for others
	seen     *cluster.Node               // whose pods load is of; nil for a node that is pretended
	load     load
}

// entry is pods of one class on a node.
type entry struct {
	pod   *cluster.Pod // nil for pods that were placed by number
	class int32
	n     int32
}

// leaving says whether the pods are being deleted: spread constraints do not count them.
func (e *entry) leaving() bool { return e.pod != nil && e.pod.Leaving() }

// Option is a choice that a new checker is made with.
type Option func(*choices)

type choices struct {
	cutoff int32
	after  *Checker
}

// Expendable leaves out pods whose priority is below the cutoff, wherever they are: they may be pushed out at any time.
func Expendable(cutoff int32) Option { return func(c *choices) { c.cutoff = cutoff } }

// After makes use of the checker of an earlier snapshot, nil for none: what did not change since is not worked out again. Its what-ifs
// are taken back, and it must not be used any more. The answers are the same as without it.
func After(last *Checker) Option { return func(c *choices) { c.after = last } }

// NewChecker makes a checker of the cluster as the snapshot saw it. The snapshot's objects are shared and never changed; nobody
// else may change them while the checker is in use.
func NewChecker(s *cluster.Snapshot, options ...Option) *Checker {
	chosen := choices{cutoff: minPriority}
	for _, o := range options {
		o(&chosen)
	}
	if last := chosen.after; last != nil && last.cutoff == chosen.cutoff && last.next(s) {
		return last
	}
	c := &Checker{
		snapshot: s, ctx: logr.NewContext(context.Background(), logr.Discard()), cutoff: chosen.cutoff,
		dims: newDimensions(), specs: map[cluster.Key]*spec{}, likenesses: map[string]int32{}, classOf: map[*cluster.Class]*class{}, classByKey: map[cluster.Key]*class{}, kindOf: map[string]*kind{},
		tolerations: map[string]*tolerations{}, selections: map[string]*selection{}, lenses: map[string]*lens{}, taintKinds: map[string]int32{},
		namespaces: map[string]map[string]string{}, selectorOf: map[string]*selector{}, byLabel: map[where][]*selector{}, scopeOf: map[scopeKey]*scope{}, uses: map[string]int32{}, mounters: map[string]int32{},
		byName: make(map[string]Handle, len(s.Nodes)), slots: make([]slot, 0, len(s.Nodes)),
	}
	c.lately = make([]met, 1<<min(bits.Len(uint(len(s.Objects.Pods)/8))+4, 14))
	c.plugins = newPlugins(c.ctx)
	for _, ns := range s.Objects.Namespaces {
		c.namespaces[ns.Name] = ns.Labels
	}
	c.fill()
	return c
}

const minPriority = -1 << 31

// fill counts the snapshot's nodes and pods.
func (c *Checker) fill() {
	total := 0
	for _, n := range c.snapshot.Nodes {
		c.order = append(c.order, c.slot(slot{name: n.Name(), node: n.Object}))
		total += len(n.Pods)
	}
	// Whoever waits has its counters from the start: then one pass over the pods fills them all.
	c.gather = true
	nominated := c.expect(c.snapshot.Pending)
	c.gather, c.late = false, nil
	arena := make([]entry, 0, total)
	for h, n := range c.snapshot.Nodes {
		from := len(arena)
		arena = c.entries(arena, n.Pods)
		c.slots[h].pods, c.slots[h].seen, c.slots[h].load = arena[from:len(arena):len(arena)], n, c.load(n.Pods)
		c.house(c.slots[h].pods, 1)
		c.enter(Handle(h))
	}
	c.await(c.snapshot.Pending, 1)
	c.nominate(nominated)
	c.hopeful = len(nominated) > 0
	c.size = c.known()
}

// expect sets up all that these pods, which wait, will be asked with. It returns those that wait for a node.
func (c *Checker) expect(pods []*cluster.Pod) (nominated []*cluster.Pod) {
	var last *cluster.Class
	for _, p := range pods {
		if p.Nominated() != "" {
			nominated = append(nominated, p)
		}
		if p.Class == last {
			continue
		}
		if cl := c.class(p.Class); cl.kind == nil {
			c.kind(cl)
		}
		last = p.Class
	}
	return nominated
}

// house has n times the pods of these entries more run in the snapshot.
func (c *Checker) house(pods []entry, n int) {
	for i := range pods {
		c.classes[pods[i].class].enliven(n)
	}
}

// await has n pods more such as each of these wait in the snapshot.
func (c *Checker) await(pods []*cluster.Pod, n int) {
	for i := 0; i < len(pods); {
		of, first := pods[i].Class, i
		for i < len(pods) && pods[i].Class == of {
			i++
		}
		c.class(of).enliven(n * (i - first))
	}
}

// entries adds the pods that are not absent.
func (c *Checker) entries(to []entry, pods []*cluster.Pod) []entry {
	// Their classes are read first: records lie far apart, and a short loop waits for many of them at once.
	c.read = c.read[:0]
	for _, p := range pods {
		c.read = append(c.read, p.Class)
	}
	for i, of := range c.read {
		if cl := c.class(of); !cl.absent {
			to = append(to, entry{pods[i], cl.id, 1})
		}
	}
	return to
}

// label is the node's label.
func (c *Checker) label(h Handle, key string) (string, bool) {
	s := &c.slots[h]
	if s.template == nil {
		value, ok := s.node.Labels[key]
		return value, ok
	}
	if key == corev1.LabelHostname {
		return s.name, true
	}
	value, ok := s.template.node.Labels[key]
	return value, ok
}

// object is the node's object.
func (c *Checker) object(h Handle) *corev1.Node {
	s := &c.slots[h]
	if s.node == nil {
		s.node = Future(s.template.node, s.name)
	}
	return s.node
}

// Nodes are the names of all nodes present now, real and pretended, sorted. The slice must not be changed; later what-ifs do
// not change it either.
func (c *Checker) Nodes() []string {
	if c.names == nil {
		handles := c.Handles()
		c.names = make([]string, len(handles))
		for i, h := range handles {
			c.names[i] = c.slots[h].name
		}
	}
	return c.names
}

// Handles are the handles of all nodes present now, in the order of their names. The slice belongs to the caller.
func (c *Checker) Handles() []Handle {
	byName := func(a, b Handle) int { return strings.Compare(c.slots[a].name, c.slots[b].name) }
	own := make([]bool, len(c.slots))
	all, known := make([]Handle, 0, len(c.byName)), make([]Handle, 0, len(c.order)+len(c.awaited))
	awaited := c.awaited
	if c.journal.len() > 0 {
		awaited = slices.DeleteFunc(slices.Clone(awaited), func(h Handle) bool { return !c.slots[h].present })
	}
	for _, h := range c.order {
		for len(awaited) > 0 && byName(awaited[0], h) < 0 {
			known, own[awaited[0]] = append(known, awaited[0]), true
			awaited = awaited[1:]
		}
		own[h] = true
		if c.slots[h].present {
			known = append(known, h)
		}
	}
	for _, h := range awaited {
		known, own[h] = append(known, h), true
	}
	var others []Handle
	for h := range c.slots {
		if !own[h] && c.slots[h].present {
			others = append(others, Handle(h))
		}
	}
	slices.SortFunc(others, byName)
	for _, h := range others {
		i, _ := slices.BinarySearchFunc(known, h, byName)
		all, known = append(append(all, known[:i]...), h), known[i:]
	}
	return append(all, known...)
}

// Handle is the handle of the node of that name; false when it is not present.
func (c *Checker) Handle(node string) (Handle, bool) {
	h, ok := c.byName[node]
	return h, ok
}

// Is says whether the handle is that of the node of that name, which is present.
func (c *Checker) Is(h Handle, node string) bool {
	return int(h) < len(c.slots) && c.slots[h].present && c.slots[h].name == node
}

// Size is beyond all handles of nodes that are present.
func (c *Checker) Size() int { return len(c.slots) }

// Name is the name of a node.
func (c *Checker) Name(h Handle) string { return c.slots[h].name }

// Pods are the pods on the node now: those of the snapshot by namespace and name, then those placed, in the order of placing. Pods that
// were placed by number have no name. Nil when the node has none or is not present. The slice belongs to the caller.
func (c *Checker) Pods(node string) []*cluster.Pod {
	h, ok := c.byName[node]
	if !ok {
		return nil
	}
	var pods []*cluster.Pod
	for _, e := range c.slots[h].pods {
		p := e.pod
		if p == nil {
			p = &cluster.Pod{Class: c.classes[e.class].of, Node: node}
		}
		for range e.n {
			pods = append(pods, p)
		}
	}
	return pods
}

// Node is the node object of that name, real or pretended; nil when it is not present.
func (c *Checker) Node(name string) *corev1.Node {
	h, ok := c.byName[name]
	if !ok {
		return nil
	}
	return c.object(h)
}
