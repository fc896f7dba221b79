package kubesim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// scheduler plays kube-scheduler. It owns the lists of pods that have no node.
type scheduler struct {
	store   *store
	pods    *podIndex
	volumes *volumes
	devices deviceAllocator

	trying   map[string]struct{} // unplaced pods it is to look at, by key
	parked   map[string]struct{} // unplaced pods that wait for a change elsewhere, by key
	reserved map[string]string   // the node that an unplaced pod waits on for its volumes, by pod key
}

func newScheduler(s *store, pods *podIndex, v *volumes) *scheduler {
	return &scheduler{store: s, pods: pods, volumes: v, devices: deviceAllocator{store: s},
		trying: map[string]struct{}{}, parked: map[string]struct{}{}, reserved: map[string]string{}}
}

// schedule places the pods that are to be tried, highest priority first, then
// oldest. Of the nodes that admit a pod it takes the one with the largest share
// of CPU and memory left, then the first by name. A pod that fits nowhere is
// parked until a node changes or a pod goes; one whose volumes are still to be
// made waits for them on its node. A gang is placed where its first pod stands in
// the queue, whole or not at all.
func (s *scheduler) schedule() {
	s.bindReserved()
	if len(s.trying) == 0 {
		return
	}
	queue := slices.SortedFunc(maps.Keys(s.trying), func(a, b string) int {
		x, y := s.pods.byKey[a], s.pods.byKey[b]
		return cmp.Or(cmp.Compare(priority(y.pod), priority(x.pod)), cmp.Compare(x.born, y.born))
	})
	clear(s.trying)
	p := &pass{scheduler: s, rooms: s.rooms()}
	p.repelling = slices.ContainsFunc(p.rooms, func(r *room) bool {
		return slices.ContainsFunc(r.pods, func(st *podState) bool { return st.asks.repels })
	})
	p.nominate()
	gangs := map[string]bool{}
	for _, key := range queue {
		pod := s.pods.byKey[key].pod
		if _, waits := s.reserved[key]; waits || len(pod.Spec.SchedulingGates) > 0 {
			continue // the API server says so; removing a gate changes the spec
		}
		if _, made, _ := p.scheduler.devices.devicesOf(pod); !made {
			p.scheduler.parked[key] = struct{}{} // the scheduler does not look at it, and says nothing
			continue
		}
		g, ok := s.gangOf(pod)
		if !ok {
			p.place(key)
		} else if !gangs[g.id] {
			gangs[g.id] = true
			p.placeGang(g)
		}
	}
}

// pass is one turn of the scheduler, with the rooms as it has filled them.
type pass struct {
	scheduler *scheduler
	rooms     []*room
	repelling bool // a pod in the rooms keeps others away
	nominated bool // a pod is to come to one of them
	held      int  // pods that the pass has given a room
	ranked    *ranking
}

// place finds a room for a pod, or tells it why there is none.
func (p *pass) place(key string) {
	st := p.scheduler.pods.byKey[key]
	f, why := p.question(st)
	var best *room
	if why == "" {
		best, why = p.choose(f)
	}
	if best == nil {
		p.scheduler.parked[key] = struct{}{}
		p.scheduler.tell(key, why)
		if f != nil {
			p.preempt(f)
		}
		return
	}
	p.hold(best, st)
	p.scheduler.reserve(key, f, best.node)
}

// hold gives a pod a room.
func (p *pass) hold(r *room, st *podState) {
	p.leaveNominated(st)
	r.hold(st)
	p.held++
	p.repelling = p.repelling || st.asks.repels
}

// question prepares what is asked of every room for a pod, or tells why none
// needs to be asked.
func (p *pass) question(st *podState) (f *fit, why string) {
	f = &fit{scheduler: p.scheduler, st: st, affinity: nodeaffinity.GetRequiredNodeAffinity(st.pod)}
	if f.mounts, why = p.scheduler.volumes.mountsOf(st); why != "" {
		return nil, fmt.Sprintf("0/%d nodes are available: %s.", len(p.rooms), why)
	}
	if f.devices, _, why = p.scheduler.devices.devicesOf(st.pod); why != "" {
		return nil, fmt.Sprintf("0/%d nodes are available: %s.", len(p.rooms), why)
	}
	if st.asks.relative || p.repelling {
		f.relations = relationsOf(p.scheduler.store, st.pod, p.rooms, f)
	}
	return f, ""
}

func priority(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// choose returns the room for a pod, the one it is nominated to if that admits it, or why there is none.
func (p *pass) choose(f *fit) (best *room, why string) {
	if r := p.roomNamed(f.st.pod.Status.NominatedNodeName); r != nil && len(f.refusals(r)) == 0 && len(p.standsBack(r, r, f)) == 0 {
		return r, ""
	}
	if f.relations != nil || len(f.mounts) > 0 || f.devices != nil || p.nominated {
		return p.search(f)
	}
	return p.recall(f)
}

// search asks every room.
func (p *pass) search(f *fit) (best *room, why string) {
	rooms := p.rooms
	reasons := map[string]int{}
	bestScore := int64(-1)
	for _, r := range rooms {
		refusals := f.refusals(r)
		if len(refusals) == 0 {
			refusals = p.standsBack(r, r, f)
		}
		for _, reason := range refusals {
			reasons[reason]++
		}
		if score := f.score(r); len(refusals) == 0 && score > bestScore {
			best, bestScore = r, score
		}
	}
	if best != nil {
		return best, ""
	}
	if len(rooms) == 0 {
		return nil, "no nodes available to schedule pods"
	}
	lines := make([]string, 0, len(reasons))
	for reason, n := range reasons {
		lines = append(lines, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(lines)
	return nil, fmt.Sprintf("0/%d nodes are available: %s.", len(rooms), strings.Join(lines, ", "))
}

// tell tells the pod why it waits.
func (s *scheduler) tell(key, why string) {
	e := s.store.entryOf("pods", key)
	says := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: why}
	for _, have := range e.obj.(*corev1.Pod).Status.Conditions {
		says.LastTransitionTime = have.LastTransitionTime
		if have == says {
			return
		}
	}
	now := s.store.stamp()
	revised(s.store, e, func(p *corev1.Pod) { setCondition(p, now, says) })
}

func bind(s *store, e *entry, node string) {
	now := s.stamp()
	pod := e.obj.DeepCopyObject().(*corev1.Pod)
	pod.Spec.NodeName = node
	pod.Status.NominatedNodeName = ""
	setCondition(pod, now, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
	s.replace(e, pod)
}
