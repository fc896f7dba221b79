package kubesim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Labels that make a pod one of a gang for the coscheduling plugin: the name of
// its PodGroup object, as it is now and as it was, and a group without one.
const (
	coschedulingLabel    = "scheduling.x-k8s.io/pod-group"
	oldCoschedulingLabel = "pod-group.scheduling.sigs.k8s.io"
	lightweightName      = "pod-group.scheduling.sigs.k8s.io/name"
	lightweightLeast     = "pod-group.scheduling.sigs.k8s.io/min-available"
)

// gang is a group of pods that is placed whole or not at all.
type gang struct {
	id     string // which way it is said to be one, and its namespace and name
	object string // key of the PodGroup of scheduling.k8s.io, "" for another gang
	least  int    // 0 while its PodGroup is missing
}

// gangOf returns the gang of a pod, false if it has none.
func (s *scheduler) gangOf(pod *corev1.Pod) (gang, bool) {
	if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil && s.store.installed[Gangs] {
		k := key(pod.Namespace, *group.PodGroupName)
		g := gang{id: "podgroup " + k, object: k}
		e := s.store.entryOf("podgroups", k)
		if e == nil {
			return g, true
		}
		policy := e.obj.(*schedulingv1beta1.PodGroup).Spec.SchedulingPolicy.Gang
		if policy == nil {
			return gang{}, false
		}
		g.least = int(policy.MinCount)
		return g, true
	}
	if !s.store.installed[Coscheduling] {
		return gang{}, false
	}
	if name := pod.Labels[lightweightName]; name != "" {
		least, err := strconv.Atoi(pod.Labels[lightweightLeast])
		return gang{id: "labels " + key(pod.Namespace, name), least: least}, err == nil && least > 1
	}
	k := key(pod.Namespace, cmp.Or(pod.Labels[coschedulingLabel], pod.Labels[oldCoschedulingLabel]))
	e := s.store.entryOf(string(Coscheduling), k)
	if e == nil {
		return gang{}, false // without its object the plugin lets a pod pass alone
	}
	least, ok := e.obj.(*CoschedulingGroup).Spec["minMember"].(int64)
	return gang{id: "coscheduling " + k, least: int(least)}, ok && least > 1
}

// placeGang places the waiting pods of a gang if enough of it has room.
func (p *pass) placeGang(g gang) {
	pods := p.scheduler.pods.byKey
	var waiting []string
	present, placed := 0, 0
	for _, k := range slices.Sorted(maps.Keys(pods)) {
		st := pods[k]
		if its, ok := p.scheduler.gangOf(st.pod); !ok || its.id != g.id || finished(st.pod) || st.pod.DeletionTimestamp != nil {
			continue
		}
		present++
		_, reserved := p.scheduler.reserved[k]
		switch {
		case st.pod.Spec.NodeName != "" || reserved:
			placed++
		case len(st.pod.Spec.SchedulingGates) == 0 && st.pod.Spec.SchedulerName == corev1.DefaultSchedulerName:
			waiting = append(waiting, k)
		}
	}
	for _, k := range waiting {
		p.scheduler.parked[k] = struct{}{}
	}
	if g.least == 0 || present < g.least {
		if g.object == "" { // the plugin says it; the scheduler's own gangs just wait
			for _, k := range waiting {
				p.scheduler.tell(k, fmt.Sprintf("0/%d nodes are available: cannot find enough sibling pods, current pods number: %d, minMember of group: %d.", len(p.rooms), present, g.least))
			}
		}
		return
	}
	slices.SortFunc(waiting, func(a, b string) int {
		return cmp.Or(cmp.Compare(priority(pods[b].pod), priority(pods[a].pod)), cmp.Compare(pods[a].born, pods[b].born))
	})
	p.tryGang(g, waiting, placed)
}

// tryGang holds rooms for the pods one after another and gives them all back
// when they are too few.
func (p *pass) tryGang(g gang, waiting []string, placed int) {
	before, repelling := p.copyRooms(), p.repelling
	type seat struct {
		key  string
		fit  *fit
		room *room
	}
	var seats []seat
	refused := map[string]string{}
	for _, k := range waiting {
		f, why := p.question(p.scheduler.pods.byKey[k])
		var best *room
		if why == "" {
			best, why = p.choose(f)
		}
		if best == nil {
			refused[k] = why
			continue
		}
		p.hold(best, p.scheduler.pods.byKey[k])
		seats = append(seats, seat{k, f, best})
	}
	whole := placed+len(seats) >= g.least
	if whole {
		for _, s := range seats {
			delete(p.scheduler.parked, s.key)
			p.scheduler.reserve(s.key, s.fit, s.room.node)
		}
	} else {
		p.rooms, p.repelling, p.ranked = before, repelling, nil
	}
	for _, k := range waiting {
		why, alone := refused[k]
		if !alone && !whole {
			why = "waiting for minCount pods from a gang to be scheduled"
		}
		if why != "" {
			p.scheduler.tell(k, why)
		}
	}
	p.tellGroup(g, whole, placed+len(seats))
}

// tellGroup writes into a PodGroup whether it was placed.
func (p *pass) tellGroup(g gang, whole bool, fit int) {
	if g.object == "" {
		return
	}
	cond := metav1.Condition{Type: schedulingv1beta1.PodGroupInitiallyScheduled, Status: metav1.ConditionTrue, Reason: "Scheduled", LastTransitionTime: p.scheduler.store.stamp()}
	if !whole {
		cond.Status, cond.Reason = metav1.ConditionFalse, schedulingv1beta1.PodGroupReasonUnschedulable
		cond.Message = fmt.Sprintf("%d of at least %d pods have room", fit, g.least)
	}
	revised(p.scheduler.store, p.scheduler.store.entryOf("podgroups", g.object), func(o *schedulingv1beta1.PodGroup) {
		meta.SetStatusCondition(&o.Status.Conditions, cond)
	})
}

// copyRooms returns the rooms as they are, for giving back what is held after.
func (p *pass) copyRooms() []*room {
	all := make([]*room, len(p.rooms))
	for i, r := range p.rooms {
		same := *r
		same.free.others = maps.Clone(r.free.others)
		same.ports, same.pods = slices.Clone(r.ports), slices.Clone(r.pods)
		all[i] = &same
	}
	return all
}
