package scheduling

import (
	"encoding/binary"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"sluice.dev/sluice/cluster"
)

// class is what a checker knows of a [cluster.Class].
type class struct {
	id     int32
	of     *cluster.Class
	spec   *spec
	absent bool // expendable: its pods count nowhere
	live   int  // the snapshot's pods of the class that count, and 1 more once it was asked about: a checker that remembers nothing knows it then

	hits    []*selector // that match its pods, in order; see [Checker.current]
	seen    int         // selectors that hits takes into account
	owns    []*counter  // what its pods' anti-affinity counts in
	mounts  []string    // "namespace/name" of the claims that its pods share
	volumes *volumes    // nil when no plugin cares, and until it is asked about by itself
	twin    *volumes    // that stand for its own while its claims wait for their first pod; nil when none do: see [Checker.alike]
	devices *devices    // nil when it claims none, and until it is asked about

	restrained bool               // a plugin may care for some of its volumes
	compared   bool               // whether there is a twin has been found out
	body       *framework.PodInfo // one of its pods, as plugins look at their volumes; nil until they do

	lodged   []Seat     // on which its pods stand from snapshot to snapshot: see [Checker.Lodge]
	provided []provided // claims of the one that does
	unkept   bool       // it has yet to be kept: until then its claims wait for it
	lodging  uint64     // the snapshot in which it was named there last
	listed   bool       // among the checker's lodgers

	kind *kind // of its pods when they are asked about, nil when they never were; a selector that joins hits makes it another one
}

// class is the checker's record. Classes of equal content share it.
func (c *Checker) class(of *cluster.Class) *class {
	at := &c.lately[(int(of.Key[0])|int(of.Key[1])<<8)&(len(c.lately)-1)]
	if at.of != of {
		*at = met{of, c.meet(of)}
	}
	c.heed(at.class)
	return at.class
}

// heed notes that the class was asked about in this snapshot.
func (c *Checker) heed(cl *class) {
	if cl.live == 0 {
		cl.enliven(1)
		c.asked = append(c.asked, cl)
	}
}

// enliven has so many pods more of the class be there.
func (cl *class) enliven(n int) {
	before := cl.live
	cl.live += n
	if (before > 0) == (cl.live > 0) {
		return
	}
	for _, k := range cl.owns {
		if before > 0 {
			k.lives--
		} else {
			k.lives++
		}
	}
}

// met is a class that was asked for, with its record.
type met struct {
	of    *cluster.Class
	class *class
}

// meet is class, for those that were not asked for lately.
func (c *Checker) meet(of *cluster.Class) *class {
	if cl, ok := c.classOf[of]; ok {
		return cl
	}
	cl, ok := c.classByKey[of.Key]
	if !ok {
		cl = &class{id: int32(len(c.classes)), of: of, spec: c.spec(of), absent: of.Priority() < c.cutoff}
		cl.mounts = mounted(of)
		for _, claim := range cl.mounts {
			c.mounters[claim]++
		}
		cl.restrained = slices.ContainsFunc(of.Spec.Volumes, func(v corev1.Volume) bool { return restrained(&v) })
		c.classes = append(c.classes, cl)
		c.classByKey[of.Key] = cl
		if !cl.absent {
			c.own(cl)
		}
	}
	c.classOf[of] = cl
	return cl
}

// own sets up the counters of a class's own required anti-affinity.
func (c *Checker) own(cl *class) {
	terms, err := c.terms(cl.of, true, true)
	if err != nil {
		return // kube-scheduler leaves out the terms of a running pod that it cannot read
	}
	for _, t := range terms {
		cl.owns = append(cl.owns, c.ownersOf(c.selector(t.who), c.topology(t.key)))
	}
}

// current is the class with all selectors taken into account.
func (c *Checker) current(cl *class) *class {
	if cl.seen < len(c.selectors) {
		cl.hits = append(cl.hits, c.hits(cl.of.Namespace, labels.Set(cl.of.Labels), cl.seen)...)
		cl.seen = len(c.selectors)
	}
	return cl
}

// keyed is a term with its topology.
type keyed struct {
	who matcher
	key string
}

// terms are the class's required terms of affinity or of anti-affinity, as they stand when its pods come or when they run.
func (c *Checker) terms(of *cluster.Class, anti, runs bool) ([]keyed, error) {
	a := of.Spec.Affinity
	var all []corev1.PodAffinityTerm
	switch {
	case a == nil:
	case !anti && a.PodAffinity != nil:
		all = a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	case anti && a.PodAntiAffinity != nil:
		all = a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	var out []keyed
	for i := range all {
		who, err := c.affinityTerm(of.Namespace, &all[i], runs)
		if err != nil {
			return nil, err
		}
		out = append(out, keyed{who, all[i].TopologyKey})
	}
	return out, nil
}

// kind is pods that kube-scheduler cannot tell apart: their specs are equal, and they differ at most in labels that no selector of this
// world reads.
type kind struct {
	id      int32
	class   *class // one of them
	spec    *spec
	spreads []spreading
	near    []*counter // of pods that match all terms of its affinity, for each term
	first   bool       // its pods match these terms themselves
	apart   []*counter // of pods that its anti-affinity is about, for each term
	selves  []bool     // by apart: its own pods are among them
	hits    []*selector
	volumes *volumes
	devices *devices
	refused string // why no node will do, "" when it depends on the node
	by      string // the plugin that says so
}

// spreading is a constraint to be held.
type spreading struct {
	key        string
	counter    *counter
	maxSkew    int32
	minDomains int32
	self       int32 // 1 when the pod counts itself
}

// depends says whether other pods, and not only what they take, decide where such pods go.
func (k *kind) depends() bool { return len(k.spreads) > 0 || len(k.near) > 0 || len(k.apart) > 0 }

// kind is how pods of the class are asked about.
func (c *Checker) kind(cl *class) *kind {
	if cl.kind != nil {
		if c.current(cl); len(cl.hits) == len(cl.kind.hits) && (cl.twin == nil || cl.kind.volumes == c.volumesOf(cl)) {
			return cl.kind
		}
	}
	c.prepare(cl.spec, cl.of)
	k := &kind{class: cl, spec: cl.spec}
	key := binary.AppendUvarint(nil, uint64(cl.spec.likeness))
	key = c.spreadOut(k, cl, key)
	key = c.relate(k, cl, key)
	if k.volumes = c.volumesOf(cl); k.volumes != nil {
		key = appendAll(key, 4, k.volumes.id)
		if k.volumes.refused != "" {
			k.refuse(k.volumes.by, k.volumes.refused)
		}
	}
	if k.devices = c.devicesOf(cl); k.devices != nil {
		key = appendAll(key, 5, int(cl.id))
	}
	c.current(cl)
	k.hits = cl.hits
	for _, s := range cl.hits {
		key = binary.AppendUvarint(key, uint64(s.id))
	}
	known, ok := c.kindOf[string(key)]
	if !ok {
		k.id = int32(len(c.kinds))
		c.kinds = append(c.kinds, k)
		c.kindOf[string(key)] = k
		known = k
	}
	cl.kind = known
	return known
}

// spreadOut sets up the spread constraints that forbid.
func (c *Checker) spreadOut(k *kind, cl *class, key []byte) []byte {
	var forbid []*corev1.TopologySpreadConstraint
	var keys []*topology
	for i := range cl.of.Spec.TopologySpreadConstraints {
		if t := &cl.of.Spec.TopologySpreadConstraints[i]; t.WhenUnsatisfiable == corev1.DoNotSchedule {
			forbid = append(forbid, t)
			if topo := c.topology(t.TopologyKey); !slices.Contains(keys, topo) {
				keys = append(keys, topo)
			}
		}
	}
	slices.SortFunc(keys, func(a, b *topology) int { return int(a.id - b.id) })
	for _, t := range forbid {
		who, err := spreadTerm(cl.of.Namespace, t, cl.of.Labels)
		if err != nil {
			k.refuse("PodTopologySpread", "get constraints from pod: "+err.Error())
			return key
		}
		s := spreading{key: t.TopologyKey, maxSkew: t.MaxSkew, minDomains: 1}
		if t.MinDomains != nil {
			s.minDomains = *t.MinDomains
		}
		sel, tol := cl.spec.selection, (*tolerations)(nil)
		if p := t.NodeAffinityPolicy; p != nil && *p != corev1.NodeInclusionPolicyHonor {
			sel = nil
		}
		if p := t.NodeTaintsPolicy; p != nil && *p == corev1.NodeInclusionPolicyHonor {
			tol = cl.spec.tolerations
		}
		if who.labels.Matches(labels.Set(cl.of.Labels)) {
			s.self = 1
		}
		if who.labels.Empty() {
			// A selector that matches everything counts nothing but the pod itself.
			who = matcher{key: "s none", alone: cl.of.Namespace, labels: labels.Nothing()}
		}
		in := c.scope(c.topology(t.TopologyKey), keys, sel, tol)
		selector := c.selector(who)
		s.counter = c.counterOf(selector, in.topology, in)
		k.spreads = append(k.spreads, s)
		key = appendAll(key, 1, int(selector.id), int(in.id), int(s.maxSkew), int(s.minDomains), int(s.self))
	}
	return key
}

// relate sets up required affinity and anti-affinity.
func (c *Checker) relate(k *kind, cl *class, key []byte) []byte {
	closeTo, err := c.terms(cl.of, false, false)
	if err != nil {
		k.refuse("InterPodAffinity", "parsing pod: requiredAffinityTerms: "+err.Error())
		return key
	}
	away, err := c.terms(cl.of, true, false)
	if err != nil {
		k.refuse("InterPodAffinity", "parsing pod: requiredAntiAffinityTerms: "+err.Error())
		return key
	}
	if len(closeTo) > 0 {
		var all []matcher
		for _, t := range closeTo {
			all = append(all, t.who)
		}
		s := c.selector(all...)
		k.first = s.selects(cl.of.Namespace, labels.Set(cl.of.Labels))
		for _, t := range closeTo {
			topo := c.topology(t.key)
			k.near = append(k.near, c.counterOf(s, topo, nil))
			key = appendAll(key, 2, int(s.id), int(topo.id))
		}
	}
	for _, t := range away {
		s, topo := c.selector(t.who), c.topology(t.key)
		k.apart = append(k.apart, c.counterOf(s, topo, nil))
		k.selves = append(k.selves, s.selects(cl.of.Namespace, labels.Set(cl.of.Labels)))
		key = appendAll(key, 3, int(s.id), int(topo.id))
	}
	return key
}

func (k *kind) refuse(plugin, message string) { k.by, k.refused = plugin, message }

func appendAll(key []byte, all ...int) []byte {
	for _, n := range all {
		key = binary.AppendVarint(key, int64(n))
	}
	return key
}
