package workload

import (
	"container/heap"
	"fmt"

	"sluice.dev/sluice/cluster"
)

// NewSteadyWorld is the steady cluster of a seed at its beginning, every pod on a node and one pod of a DaemonSet on each. Pods are placed
// in the order of their names, each on the node of its pool of whose CPU or memory, whichever is scarcer there, the smallest
// share is asked for. A pod for which no node has room is pending: at 5,000 nodes there is none.
func NewSteadyWorld(seed uint64, nodes int) *World { return newSteadyWorld(seed, nodes, false) }

// NewConstrainedSteadyWorld is the same with constraints on every tenth service, in turn as those of a [Backlog]. Pods stand where they do without
// them, which does not always keep them.
func NewConstrainedSteadyWorld(seed uint64, nodes int) *World {
	return newSteadyWorld(seed, nodes, true)
}

func newSteadyWorld(seed uint64, nodes int, constrained bool) *World {
	s := NewSteady(seed, nodes)
	w := begin()
	pools := w.settle(s)
	loads := s.Loads()
	for i, l := range loads {
		loads[i] = Backlog{Constrained: constrained}.constrain(i, l)
	}
	for _, t := range s.Steps[:s.Initial()] {
		l := loads[t.Service]
		if host := roomiest(pools, s.Services[t.Service].Pool, l); host != nil {
			w.Pods = append(w.Pods, l.Running(t.Replica, host.node))
		} else {
			w.Pods = append(w.Pods, l.Pending(t.Replica))
		}
	}
	return w
}

// Loads are the services' pods: the namespaces take turns.
func (s *Steady) Loads() []*Load {
	var all []*Load
	for i, of := range s.Services {
		l := &Load{App: of.Name, Namespace: team(i), Milli: of.Milli, MiB: of.MiB}
		if of.Pool != "" {
			l.Selects = map[string]string{"agentpool": of.Pool}
		}
		all = append(all, l)
	}
	return all
}

// settle makes the nodes, their groups and their daemons.
func (w *World) settle(s *Steady) map[string]*hosts {
	groups := make([]*cluster.Group, sets)
	pools := map[string]*hosts{}
	for i, h := range s.Hosts {
		size, p := SizeOf(h.Size), pool{name: h.Pool, zone: h.Zone}
		if groups[h.Set] == nil {
			groups[h.Set] = newGroup(fmt.Sprintf("vmss%d", h.Set), size, p)
			w.Groups = append(w.Groups, groups[h.Set])
		}
		n := w.join(groups[h.Set], size, p, h.No)
		w.Pods = append(w.Pods, agent.Running(i, n.Name))
		if pools[h.Pool] == nil {
			pools[h.Pool] = &hosts{}
		}
		left := &host{node: n.Name, at: i}
		left.milli, left.bytes = n.Status.Allocatable.Cpu().MilliValue(), n.Status.Allocatable.Memory().Value()
		left.has(agent)
		heap.Push(pools[h.Pool], left)
	}
	return pools
}

// host is a node that is being filled.
type host struct {
	node         string
	at           int
	milli, bytes int64 // allocatable
	usedMilli    int64
	usedBytes    int64
	pods         int
}

func (h *host) has(l *Load) {
	h.usedMilli += l.Milli
	h.usedBytes += l.MiB << 20
	h.pods++
}

func (h *host) holds(l *Load) bool {
	return h.usedMilli+l.Milli <= h.milli && h.usedBytes+l.MiB<<20 <= h.bytes && h.pods < podsPerNode
}

// share of what the node has that is asked for.
func (h *host) share() float64 {
	return max(float64(h.usedMilli)/float64(h.milli), float64(h.usedBytes)/float64(h.bytes))
}

func (h *host) before(o *host) bool {
	if a, b := h.share(), o.share(); a != b {
		return a < b
	}
	return h.at < o.at
}

// hosts is a heap, the roomiest first.
type hosts []*host

func (h hosts) Len() int           { return len(h) }
func (h hosts) Less(i, j int) bool { return h[i].before(h[j]) }
func (h hosts) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *hosts) Push(x any)        { *h = append(*h, x.(*host)) }
func (h *hosts) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// roomiest gives a pod to the roomiest node of its pool, or of all pools for ""; nil when that has no room.
func roomiest(pools map[string]*hosts, pool string, l *Load) *host {
	var best *hosts
	for name, of := range pools {
		if (pool == "" || pool == name) && (best == nil || (*of)[0].before((*best)[0])) {
			best = of
		}
	}
	if best == nil || !(*best)[0].holds(l) {
		return nil
	}
	h := (*best)[0]
	h.has(l)
	heap.Fix(best, 0)
	return h
}
