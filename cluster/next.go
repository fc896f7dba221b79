package cluster

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/fleet"
)

// Next is what [New] makes of a later observation, for the price of what changed since s: nodes and groups that did not change are the
// same pointers. Objects must be sorted, as [Objects] promises, and equal pointers among them must mean equal objects. What s itself needs
// for it passes on to the next snapshot: of several that follow one, the first costs least.
func (s *Snapshot) Next(at time.Time, objects Objects, groups []*Group) *Snapshot {
	at = plain(at)
	if s.joins == nil || s.joins.of != s || at.Before(s.Time) || !s.turns.IsZero() && !at.Before(s.turns) ||
		!sameGroups(s.given, groups) || !inOrder(s.Objects.Nodes, objects.Nodes) || !sameSlice(s.Objects.Nodes, objects.Nodes) && embeddedIn(objects.Nodes) != s.embedded {
		next := New(at, objects, groups)
		next.keep(s)
		return next
	}
	next := *s
	next.Time, next.Objects, next.given, next.Fleet = at, objects, groups, fleet.Ledger{}
	next.joins.of = &next
	c := &changes{Snapshot: &next, last: s, again: map[string]bool{}, learn: map[GroupID]bool{}}
	c.turnGroups()
	c.turnNodes()
	c.rejoin()
	c.relearn()
	next.turnOver(since(s.Objects.Pods, objects.Pods, byName))
	return &next
}

// turnOver takes the pods that are gone off the nodes and lists that hold them, and adds those that came.
func (s *Snapshot) turnOver(t turnover) {
	if len(t.gone) == 0 && len(t.come) == 0 {
		return
	}
	var waiting, orphans turnover
	nodes := map[int]*turnover{}
	sort := func(pods []*Pod, into func(*turnover) *[]*Pod) {
		for _, p := range pods {
			list := &orphans
			if p.waits() {
				list = &waiting
			} else if !p.runs() {
				continue
			} else if i, ok := s.index[p.Node]; ok {
				if nodes[i] == nil {
					nodes[i] = &turnover{}
				}
				list = nodes[i]
			}
			pods := into(list)
			*pods = append(*pods, p)
		}
	}
	sort(t.gone, func(t *turnover) *[]*Pod { return &t.gone })
	sort(t.come, func(t *turnover) *[]*Pod { return &t.come })
	if waiting.gone != nil || waiting.come != nil {
		s.Pending = exchanged(s.Pending, waiting.gone, waiting.come, byAge)
	}
	if orphans.gone != nil || orphans.come != nil {
		s.orphans = exchanged(s.orphans, orphans.gone, orphans.come, byName)
		s.nameOrphans()
	}
	if len(nodes) == 0 {
		return
	}
	s.Nodes = slices.Clone(s.Nodes)
	for i, t := range nodes {
		own := *s.Nodes[i]
		own.Pods = exchanged(own.Pods, t.gone, t.come, byName)
		s.Nodes[i] = &own
	}
}

// keep puts the machines and nodes of an earlier snapshot in the place of those that say the same.
func (s *Snapshot) keep(last *Snapshot) {
	kept := map[*Instance]*Instance{}
	for _, g := range s.Groups {
		if old := last.groups[g.ID]; old != nil {
			keepInstances(g.Instances, old.Instances, kept)
			keepInstances(g.Parked, old.Parked, kept)
		}
	}
	for i, n := range s.Nodes {
		if in := kept[n.Instance]; in != nil {
			n.Instance = in
		}
		old := last.Node(n.Name())
		if old != nil && old.Object == n.Object && old.Group == n.Group && old.Instance == n.Instance && old.Marked == n.Marked && old.Parked == n.Parked && old.Numbered == n.Numbered &&
			len(old.Suspects)+len(n.Suspects) == 0 && reflect.DeepEqual(old.Awaits, n.Awaits) && slices.Equal(old.Pods, n.Pods) {
			s.Nodes[i] = old
		}
	}
}

// keepInstances takes over what stayed as it was; both lists are sorted by id.
func keepInstances(fresh, old []*Instance, kept map[*Instance]*Instance) {
	j := 0
	for i, in := range fresh {
		for j < len(old) && old[j].ID < in.ID {
			j++
		}
		if j < len(old) && sameInstance(in, old[j]) && in.Node == old[j].Node {
			fresh[i], kept[in] = old[j], old[j]
		}
	}
}

func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// inOrder says whether nodes are as [Objects] promises; those of the last observation are.
func inOrder(last, nodes []*corev1.Node) bool {
	return sameSlice(last, nodes) || slices.IsSortedFunc(nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
}

// sameGroups says whether the same groups are told of in the same order, with the same parked machines and the same ones missing.
func sameGroups(a, b []*Group) bool {
	return slices.EqualFunc(a, b, func(a, b *Group) bool {
		return a == b || a.ID == b.ID && slices.EqualFunc(a.Parked, b.Parked, sameInstance) && slices.Equal(a.Missing, b.Missing) && a.ProviderIDPrefix == b.ProviderIDPrefix && a.HostnamePrefix == b.HostnamePrefix
	})
}

// sameGroup says whether two reads of a group say the same but for when they were made, machines aside.
func sameGroup(a, b *Group) bool {
	if a == b {
		return true
	}
	if !sameTemplate(a.Template, b.Template) {
		return false
	}
	x, y := *a, *b
	x.Instances, y.Instances, x.Parked, y.Parked = nil, nil, nil, nil
	x.Template, y.Template = nil, nil
	x.Read.At = y.Read.At
	return reflect.DeepEqual(&x, &y)
}

// sameTemplate says whether two templates say the same. Their maps are most of the work, and reflection would take long over them.
func sameTemplate(a, b *corev1.Node) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	if !maps.Equal(a.Labels, b.Labels) || !maps.Equal(a.Annotations, b.Annotations) ||
		!sameResources(a.Status.Capacity, b.Status.Capacity) || !sameResources(a.Status.Allocatable, b.Status.Allocatable) {
		return false
	}
	x, y := *a, *b
	x.Labels, y.Labels, x.Annotations, y.Annotations = nil, nil, nil, nil
	x.Status.Capacity, y.Status.Capacity, x.Status.Allocatable, y.Status.Allocatable = nil, nil, nil, nil
	return reflect.DeepEqual(&x, &y)
}

func sameResources(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(a, b resource.Quantity) bool { return a.Format == b.Format && a.Cmp(b) == 0 })
}

func sameInstance(a, b *Instance) bool {
	return a == b || a.ID == b.ID && a.Group == b.Group && a.UID == b.UID && a.ProviderID == b.ProviderID && a.ComputerName == b.ComputerName &&
		slices.Equal(a.PrivateIPs, b.PrivateIPs) && a.Size == b.Size && a.Zone == b.Zone && a.Created.Equal(b.Created) && a.Started.Equal(b.Started) && a.State == b.State && a.Passed == b.Passed && a.Off == b.Off &&
		a.Protected == b.Protected && sameFailure(a.Failure, b.Failure) && sameDiagnosis(a.Diagnosis, b.Diagnosis)
}

func sameDiagnosis(a, b *Diagnosis) bool {
	return a == b || a != nil && b != nil && reflect.DeepEqual(plainDiagnosis(a), plainDiagnosis(b))
}

func sameFailure(a, b *Failure) bool {
	return a == b || a != nil && b != nil && reflect.DeepEqual(plainFailure(a), plainFailure(b))
}
