package fidelity

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
)

// A Pretender is a judge whose every change can be taken back. An undo takes back its change and all later ones.
type Pretender interface {
	Judge
	Pretend(p *corev1.Pod, node string) (undo func()) // the pod runs there, whether it fits or not
	Evict(p *corev1.Pod, node string) (undo func())
	Remove(node string) (undo func()) // the node goes with its pods
}

// Shake changes the world at random: pods are placed where they fit and where they do not, pods and nodes go, machines come, and
// now and then all is taken back to an earlier moment. After every change the judge and kube-scheduler are asked about some
// pods, those that run among them, as pods that would replace them. The world must have no volumes and devices: what binds
// to a pod is not unbound.
func Shake(w *World, j Pretender) Walked {
	o := NewOracle(w)
	defer o.Close()
	var pods []*corev1.Pod
	for _, p := range w.Pods {
		if on := p.Spec.NodeName; on == "" || o.nodes[on] != nil {
			pods = append(pods, p) // nobody moves a pod of a node that is gone
		}
	}
	s := &shaken{pods: pods, walk: walk{w: w, o: o, j: j, rand: rand.New(rand.NewPCG(w.Seed, 0x5ba7e))}, p: j}
	for range 24 {
		s.change()
		s.question(6)
	}
	if len(s.past) > 0 {
		s.back(0)
	}
	s.question(12)
	return s.Walked
}

type shaken struct {
	walk
	pods []*corev1.Pod // that are moved and asked about
	p    Pretender
	past []taken
}

// taken is a change and what takes it back: for the judge with all later ones, for the oracle alone.
type taken struct{ judge, oracle func() }

// back takes back change i and those after it.
func (s *shaken) back(i int) {
	s.past[i].judge()
	for _, t := range slices.Backward(s.past[i:]) {
		t.oracle()
	}
	s.past = s.past[:i]
}

func (s *shaken) change() {
	nodes := s.o.Nodes()
	switch at := s.rand.IntN(10); {
	case at < 5 && len(nodes) > 0:
		p, node := one(s, s.pods), one(s, nodes)
		if s.o.where(p) != "" {
			s.evict(p)
			return
		}
		s.past = append(s.past, taken{s.p.Pretend(p, node), s.o.bindForNow(p, node)})
	case at == 5:
		if p := one(s, s.pods); s.o.where(p) != "" {
			s.evict(p)
		}
	case at == 6 && len(nodes) > 1:
		node := one(s, nodes)
		s.past = append(s.past, taken{s.p.Remove(node), s.o.Remove(node)})
	case at == 7 || at == 8:
		g := s.w.Groups[s.rand.IntN(len(s.w.Groups))]
		name := fmt.Sprintf("new-%s-%d", g.ID, s.opened)
		s.opened++
		s.o.Open(g, name)
		s.past = append(s.past, taken{s.p.Open(g, name), func() { s.o.Remove(name) }})
	case len(s.past) > 0:
		s.back(s.rand.IntN(len(s.past)))
	}
}

func (s *shaken) evict(p *corev1.Pod) {
	node := s.o.where(p)
	s.past = append(s.past, taken{s.p.Evict(p, node), s.o.evict(p, node)})
}

func (s *shaken) question(n int) {
	nodes := s.o.Nodes()
	for range n {
		if len(nodes) > 0 {
			node := one(s, nodes)
			s.ask(one(s, s.pods), node, node)
		}
	}
}

// one of those.
func one[T any](s *shaken, of []T) T { return of[s.rand.IntN(len(of))] }

// where is the node that the pod runs on now, "" when it runs on none.
func (o *Oracle) where(p *corev1.Pod) string {
	for node, pods := range o.pods {
		for _, other := range pods {
			if other.UID == p.UID {
				return node
			}
		}
	}
	return ""
}

// bindForNow binds the pod, but not what its claims wait for.
func (o *Oracle) bindForNow(p *corev1.Pod, node string) (undo func()) {
	waiting := maps.Clone(o.nominated)
	o.nominated.DeleteNominatedPodIfExists(p)
	bound := p.DeepCopy()
	bound.Spec.NodeName = node
	o.addPod(bound)
	o.refresh()
	return func() {
		o.evict(p, node)
		clear(o.nominated)
		maps.Copy(o.nominated, waiting)
	}
}

// evict counts the node anew: in kube-scheduler's cache two pods that hold one host port, as only a mistake can bind them, give it
// up together.
func (o *Oracle) evict(p *corev1.Pod, node string) (undo func()) {
	i := slices.IndexFunc(o.pods[node], func(other *corev1.Pod) bool { return other.UID == p.UID })
	was := o.pods[node][i]
	o.recount(node, slices.Delete(slices.Clone(o.pods[node]), i, i+1))
	return func() {
		o.addPod(was)
		o.refresh()
	}
}

// recount gives the node these pods and no others.
func (o *Oracle) recount(node string, pods []*corev1.Pod) {
	for _, p := range o.pods[node] {
		o.must(o.cache.RemovePod(logr.Discard(), p), "remove pod "+keyOf(p))
	}
	o.pods[node] = nil
	for _, p := range pods {
		o.addPod(p)
	}
	o.refresh()
}
