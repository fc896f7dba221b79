// Package classes knows pods by what kube-scheduler tells them apart by, and counts them where they are.
//
//	value   pods that share it
//	Spec    what a pod spec says, whatever the namespace and labels
//	Class   a [cluster.Class]: namespace, labels and spec
//	Kind    classes that kube-scheduler cannot tell apart: each node refuses all of them or none, for the same reasons
//
//	file      what it owns
//	class     what is known of a class and of its spec, and how many of its pods the snapshot has
//	kind      what a class's pods are judged by
//	classes   the numbers of all of them
//	count     pods that come to nodes and leave them, and how much of a node they use
//
// What pods of a class need is one vector, and what depends on other pods is a counter for each domain of a topology.
package classes

import (
	"slices"

	"math/bits"

	"k8s.io/apimachinery/pkg/labels"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/devices"
	"sluice.dev/sluice/scheduling/internal/journal"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/relations"
	"sluice.dev/sluice/scheduling/internal/storage"
)

// World is what classes are about. All of it is of one pretended world, and none is nil.
type World struct {
	Clock     *journal.Clock
	Nodes     *nodes.Table
	Rules     *nodes.Rules
	Relations *relations.Relations
	Storage   *storage.Storage
	Devices   *devices.Devices
}

// Classes numbers classes and kinds in the order in which they were met. They stay.
//
//	invariant                                             holds
//	all[cl.ID] == cl                                      always
//	of and byKey lead to all, and equal contents to one   always
//	a class in asked has live > 0                         until the next snapshot
//	every counter counts the pods that are there          whenever gather is false
type Classes struct {
	World
	cutoff int32 // pods below this priority are absent
	specs  specs
	all    []*Class
	of     map[*cluster.Class]*Class
	byKey  map[cluster.Key]*Class
	lately []met    // of all, by a part of the key, a power of two of them: most are asked for again and again
	asked  []*Class // about in this snapshot, which has no pods of them
	kindOf map[string]*Kind
	gather bool // counters are made for many kinds, to be filled together

	read []*cluster.Class // memory for [Classes.Entries]
}

// met is a class that was asked for, with its record. Plans ask about few classes and about each again and again: a slot of an array
// answers most of that without a map. Two classes that want one slot take turns in it, which costs time and nothing else.
type met struct {
	of    *cluster.Class
	class *Class
}

// New knows no class yet. Pods below the cutoff are absent wherever they are; so many pods are about to be met.
func New(w World, cutoff int32, pods int) *Classes {
	return &Classes{
		World: w, cutoff: cutoff, specs: newSpecs(w.Nodes, w.Rules), of: map[*cluster.Class]*Class{}, byKey: map[cluster.Key]*Class{},
		lately: make([]met, 1<<min(bits.Len(uint(pods/8))+4, 14)), kindOf: map[string]*Kind{},
	}
}

// Known is how much the classes have to remember.
func (c *Classes) Known() int { return len(c.of) }

// At is the class of that number.
func (c *Classes) At(id int32) *Class { return c.all[id] }

// Of is the class's record, and notes that somebody asked about it. Classes of equal content share one.
func (c *Classes) Of(of *cluster.Class) *Class {
	at := &c.lately[(int(of.Key[0])|int(of.Key[1])<<8)&(len(c.lately)-1)]
	if at.of != of {
		*at = met{of, c.meet(of)}
	}
	if at.class.live == 0 {
		at.class.enliven(1)
		c.asked = append(c.asked, at.class)
	}
	return at.class
}

// meet is the record of a class that was not asked for lately.
func (c *Classes) meet(of *cluster.Class) *Class {
	if cl, ok := c.of[of]; ok {
		return cl
	}
	cl, ok := c.byKey[of.Key]
	if !ok {
		cl = &Class{ID: int32(len(c.all)), Of: of, Spec: c.specs.of(of), Absent: of.Priority() < c.cutoff, Volumes: c.Storage.Class(of)}
		c.all = append(c.all, cl)
		c.byKey[of.Key] = cl
		if !cl.Absent {
			c.own(cl)
		}
	}
	c.of[of] = cl
	return cl
}

// own sets up the counters of a class's own required anti-affinity.
func (c *Classes) own(cl *Class) {
	terms, err := c.Relations.Terms(cl.Of.Namespace, cl.Of.Labels, cl.Of.Spec.Affinity, true, true)
	if err != nil {
		return // kube-scheduler leaves out the terms of a running pod that it cannot read
	}
	for _, t := range terms {
		s := c.Relations.Selector(t.Term)
		n := part{c.Relations.Owners(s, c.Nodes.Topology(t.Key)), t.Sign}
		cl.owns = append(cl.owns, n)
		if s.Selects(cl.Of.Namespace, labels.Set(cl.Of.Labels)) {
			cl.own = append(cl.own, n)
		}
	}
}

// Claims are the devices that pods of the class claim, nil for none.
func (c *Classes) Claims(cl *Class) *devices.Claims { return c.Devices.Of(cl.Of, cl.Spec.Served) }

// Current is the class with all selectors taken into account.
func (c *Classes) Current(cl *Class) *Class {
	if known := c.Relations.Known(); cl.seen < known {
		cl.hits = append(cl.hits, c.Relations.Matching(cl.Of.Namespace, labels.Set(cl.Of.Labels), cl.seen)...)
		cl.seen = known
	}
	return cl
}

// Turn begins a later snapshot, in which no class was asked about yet. A class that was only asked about, and that no pod has any more, is
// forgotten. Otherwise its anti-affinity would count for ever, unlike in a checker that is made anew.
func (c *Classes) Turn() {
	for _, cl := range c.asked {
		cl.enliven(-1)
	}
	c.asked = c.asked[:0]
}

// Wait has n pods more such as each of these wait in the snapshot.
func (c *Classes) Wait(pods []*cluster.Pod, n int) {
	for _, p := range pods {
		c.Of(p.Class).enliven(n)
	}
}

// Run has n times the pods of these entries more run in the snapshot.
func (c *Classes) Run(pods []nodes.Entry, n int) {
	for i := range pods {
		c.all[pods[i].Class].enliven(n)
	}
}

// Expect sets up all that these pods, which wait, will be asked with: one pass over the pods that are there fills their counters. It
// returns those that wait for a node. Without it the first question about each kind would be a pass of its own.
func (c *Classes) Expect(pods []*cluster.Pod) (nominated []*cluster.Pod) {
	c.gather = true
	var last *cluster.Class
	for _, p := range pods {
		if p.Nominated() != "" {
			nominated = append(nominated, p)
		}
		if p.Class == last {
			continue
		}
		if cl := c.Of(p.Class); cl.kind == nil {
			c.kind(cl)
		}
		last = p.Class
	}
	c.gather = false
	c.countLate()
	return nominated
}

// Entries adds the pods that are not absent.
func (c *Classes) Entries(to []nodes.Entry, pods []*cluster.Pod) []nodes.Entry {
	// Their classes are read first: records lie far apart, and a short loop waits for many of them at once.
	c.read = c.read[:0]
	for _, p := range pods {
		c.read = append(c.read, p.Class)
	}
	for i, of := range c.read {
		if cl := c.Of(of); !cl.Absent {
			to = append(to, nodes.Entry{Pod: pods[i], Class: cl.ID, N: 1})
		}
	}
	return to
}

// Keys are the contents of the entries' classes.
func (c *Classes) Keys(pods []nodes.Entry) []string {
	keys := make([]string, len(pods))
	for i, e := range pods {
		keys[i] = string(c.all[e.Class].Of.Key[:])
	}
	return keys
}

// Kind is how pods of the class are judged now. Its number may change as other classes are met.
func (c *Classes) Kind(of *cluster.Class) *Kind { return c.kind(c.Of(of)) }

// kind is [Classes.Kind]. What was found out about a class holds until a selector joins those that match it, its claims are decided, or
// storage or hardware are those of another snapshot.
func (c *Classes) kind(cl *Class) *Kind {
	c.Current(cl)
	if k := cl.kind; k != nil && len(cl.hits) == len(k.hits) && (cl.Volumes == nil || k.Volumes == c.Storage.Volumes(cl.Volumes)) &&
		(k.Devices == nil || k.Devices == c.Claims(cl)) {
		return k
	}
	c.specs.prepare(cl.Spec, cl.Of)
	k := &Kind{Class: cl, Spec: cl.Spec, Volumes: c.Storage.Volumes(cl.Volumes), Devices: c.Claims(cl)}
	key := c.describe(k)
	c.Current(cl) // new selectors may match the class itself
	k.hits = cl.hits
	for _, s := range cl.hits {
		key = appendAll(key, int(s.ID))
	}
	known, ok := c.kindOf[string(key)]
	if !ok {
		known = k
		k.ID = int32(len(c.kindOf))
		c.kindOf[string(key)] = k
	}
	// The key of pods that claim devices is their class's in every snapshot, and what they claim is of this one. Volumes need no such care:
	// their numbers never come twice.
	known.Devices = k.Devices
	cl.kind = known
	if !c.gather {
		c.countLate()
	}
	return known
}

// describe sets up what the kind is judged by. The key is the same for kinds that are judged alike.
//
// The key begins with what the spec asks for. Each further part begins with its number and has one length: 1 is a spread constraint, 2 a
// term of affinity, 3 one of anti-affinity, 4 the volumes, 5 the devices. 6 ends them, and the selectors that match follow. So no two
// kinds that differ share a key.
func (c *Classes) describe(k *Kind) []byte {
	key := c.spread(k, slices.Clone(k.Spec.likeness))
	key = c.relate(k, key)
	if k.Volumes != nil {
		key = appendAll(key, 4, k.Volumes.ID)
		if by, message := k.Volumes.Refused(); message != "" {
			k.refuse(by, message)
		}
	}
	if k.Devices != nil {
		key = appendAll(key, 5, int(k.Class.ID))
	}
	return appendAll(key, 6)
}
