package cluster

import (
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Next is what [New] makes of a later observation, for the price of what changed since s: nodes and groups that did not change are the
// same pointers. Objects must be sorted, as [Objects] promises, and equal pointers among them must mean equal objects.
func (s *Snapshot) Next(at time.Time, objects Objects, groups []*Group) *Snapshot {
	at = plain(at)
	if !sameSlice(s.Objects.Nodes, objects.Nodes) || !slices.EqualFunc(s.given, groups, sameGroup) || at.Before(s.Time) || !s.turns.IsZero() && !at.Before(s.turns) {
		next := New(at, objects, groups)
		next.keep(s)
		return next
	}
	next := *s
	next.Time, next.Objects, next.given = at, objects, groups
	next.reread(groups)
	next.turnOver(since(s.Objects.Pods, objects.Pods))
	return &next
}

// reread gives the groups the time of their latest read.
func (s *Snapshot) reread(groups []*Group) {
	s.Groups = slices.Clone(s.Groups)
	for _, g := range groups {
		i := slices.IndexFunc(s.Groups, func(own *Group) bool { return own.ID == g.ID })
		if read := plain(g.Read.At); !read.Equal(s.Groups[i].Read.At) {
			own := *s.Groups[i]
			own.Read.At = read
			s.Groups[i] = &own
		}
	}
	s.groups = make(map[GroupID]*Group, len(s.Groups))
	for _, g := range s.Groups {
		s.groups[g.ID] = g
	}
}

// turnOver takes the pods that are gone off the nodes and lists that hold them, and adds those that came.
func (s *Snapshot) turnOver(t turnover) {
	if len(t.gone) == 0 && len(t.come) == 0 {
		return
	}
	var waiting, stray turnover
	nodes := map[int]*turnover{}
	sort := func(pods []*Pod, into func(*turnover) *[]*Pod) {
		for _, p := range pods {
			list := &stray
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
	if stray.gone != nil || stray.come != nil {
		s.stray = exchanged(s.stray, stray.gone, stray.come, byName)
		s.nameStrays()
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
		if old != nil && old.Object == n.Object && old.Group == n.Group && old.Instance == n.Instance && old.Marked == n.Marked &&
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

func sameSlice(a, b []*corev1.Node) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// sameGroup says whether two reads of a group say the same but for when they were made.
func sameGroup(a, b *Group) bool {
	if a == b {
		return true
	}
	if !slices.EqualFunc(a.Instances, b.Instances, sameInstance) || !slices.EqualFunc(a.Parked, b.Parked, sameInstance) {
		return false
	}
	x, y := *a, *b
	x.Instances, y.Instances, x.Parked, y.Parked = nil, nil, nil, nil
	x.Read.At = y.Read.At
	return reflect.DeepEqual(&x, &y)
}

func sameInstance(a, b *Instance) bool {
	return a == b || a.ID == b.ID && a.Group == b.Group && a.UID == b.UID && a.ProviderID == b.ProviderID && a.ComputerName == b.ComputerName &&
		slices.Equal(a.PrivateIPs, b.PrivateIPs) && a.Size == b.Size && a.Zone == b.Zone && a.Created.Equal(b.Created) && a.State == b.State &&
		a.Protected == b.Protected && reflect.DeepEqual(a.Failure, b.Failure)
}
