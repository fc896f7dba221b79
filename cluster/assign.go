package cluster

import (
	"cmp"
	"slices"
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
			s.stray = append(s.stray, p)
		}
	}
	for _, n := range s.Nodes {
		if !slices.IsSortedFunc(n.Pods, byName) {
			slices.SortFunc(n.Pods, byName)
		}
	}
	slices.SortStableFunc(s.Pending, byAge)
	s.nameStrays()
}

func (s *Snapshot) nameStrays() {
	s.strays = make(map[string]*Pod, len(s.stray))
	for _, p := range s.stray {
		if name := strings.ToLower(p.Node); s.strays[name] == nil {
			s.strays[name] = p
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

// since finds what changed between two lists that are sorted by namespace and name.
func since(before, after []*Pod) turnover {
	var t turnover
	if len(before) == len(after) && (len(before) == 0 || &before[0] == &after[0]) {
		return t
	}
	i, j := 0, 0
	for i < len(before) && j < len(after) {
		if before[i] == after[j] {
			i, j = i+1, j+1
			continue
		}
		order := byName(before[i], after[j])
		if order <= 0 {
			t.gone = append(t.gone, before[i])
			i++
		}
		if order >= 0 {
			t.come = append(t.come, after[j])
			j++
		}
	}
	t.gone, t.come = append(t.gone, before[i:]...), append(t.come, after[j:]...)
	return t
}

// exchanged is the list without those that are gone and with those that came, in its order. The list itself stays as it is.
func exchanged(list, gone, come []*Pod, order func(a, b *Pod) int) []*Pod {
	leaves := make(map[*Pod]bool, len(gone))
	for _, p := range gone {
		leaves[p] = true
	}
	come = slices.SortedStableFunc(slices.Values(come), order)
	out := make([]*Pod, 0, max(0, len(list)+len(come)-len(gone)))
	for _, p := range list {
		if leaves[p] {
			continue
		}
		for len(come) > 0 && order(come[0], p) < 0 {
			out, come = append(out, come[0]), come[1:]
		}
		out = append(out, p)
	}
	return append(out, come...)
}
