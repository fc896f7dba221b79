package cluster

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// assignPods gives every pod to its node, or to those that wait for one.
func (s *Snapshot) assignPods() {
	for _, p := range s.Objects.Pods {
		switch n := s.Node(p.Node); {
		case p.waits():
			s.Pending = append(s.Pending, p)
		case !p.runs():
		case n != nil:
			n.Pods = append(n.Pods, p)
		default:
			s.orphans = append(s.orphans, p)
		}
	}
	for _, n := range s.Nodes {
		if !slices.IsSortedFunc(n.Pods, byName) {
			slices.SortFunc(n.Pods, byName)
		}
	}
	slices.SortStableFunc(s.Pending, byAge)
	s.nameOrphans()
}

func (s *Snapshot) nameOrphans() {
	s.orphansByNode = make(map[string]*Pod, len(s.orphans))
	for _, p := range s.orphans {
		if name := strings.ToLower(p.Node); s.orphansByNode[name] == nil {
			s.orphansByNode[name] = p
		}
	}
}

// waits says whether the pod is one of Pending, runs whether a node holds it.
func (p *Pod) waits() bool { return p.Node == "" && !p.Leaving() && !p.Finished() }
func (p *Pod) runs() bool  { return p.Node != "" && !p.Finished() }

func byName(a, b *Pod) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

func byAge(a, b *Pod) int { return cmp.Or(cmp.Compare(a.created, b.created), byName(a, b)) }

// turnover is what became of the pods between two observations.
type turnover struct{ gone, come []*Pod } // a pod that changed is in both

// PendingSince is what became of the pods that wait since the last snapshot: those that wait no more and those that have come. A pod that
// changed is in both.
func (s *Snapshot) PendingSince(last *Snapshot) (gone, come []*Pod) {
	t := since(last.Pending, s.Pending, byAge)
	return t.gone, t.come
}

// since finds what changed between two lists that are in this order.
func since(before, after []*Pod, order func(a, b *Pod) int) turnover {
	var t turnover
	if sameSlice(before, after) {
		return t
	}
	i, j := 0, 0
	for i < len(before) && j < len(after) {
		if before[i] == after[j] {
			i, j = i+1, j+1
			continue
		}
		first := order(before[i], after[j])
		if first <= 0 {
			t.gone = append(t.gone, before[i])
			i++
		}
		if first >= 0 {
			t.come = append(t.come, after[j])
			j++
		}
	}
	t.gone, t.come = append(t.gone, before[i:]...), append(t.come, after[j:]...)
	return t
}

// exchanged is the list without those that are gone and with those that came, in its order. The list itself stays as it is.
func exchanged(list, gone, come []*Pod, order func(a, b *Pod) int) []*Pod {
	leave := make([]int, 0, len(gone)) // places
	for _, p := range gone {
		at, _ := slices.BinarySearchFunc(list, p, order)
		for at < len(list) && list[at] != p && order(list[at], p) == 0 {
			at++
		}
		if at < len(list) && list[at] == p {
			leave = append(leave, at)
		}
	}
	slices.Sort(leave)
	come = slices.SortedStableFunc(slices.Values(come), order)
	out := make([]*Pod, 0, len(list)+len(come)-len(leave))
	from := 0
	until := func(at int) {
		for len(leave) > 0 && leave[0] < at {
			out, from, leave = append(out, list[from:leave[0]]...), leave[0]+1, leave[1:]
		}
		out, from = append(out, list[from:at]...), at
	}
	for _, p := range come {
		at := from + sort.Search(len(list)-from, func(i int) bool { return order(p, list[from+i]) < 0 })
		until(at)
		out = append(out, p)
	}
	until(len(list))
	return out
}
