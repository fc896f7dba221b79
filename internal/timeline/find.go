package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// mostLeft is how many pods that are gone are remembered.
const mostLeft = 20_000

// leavers are pods that are gone, in the order in which they went.
type leavers []leaver

type leaver struct {
	Name string    `json:"name"`
	Node string    `json:"node,omitempty"`
	At   time.Time `json:"at"`
}

// note compares the pods of two cycles. Those that are the same records are passed over.
func (ls *leavers) note(before, now *cluster.Snapshot) {
	if before == nil {
		return
	}
	a, b := before.Objects.Pods, now.Objects.Pods
	if len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) {
		return
	}
	for i, j := 0, 0; i < len(a); {
		order := -1
		if j < len(b) {
			if a[i] == b[j] {
				i, j = i+1, j+1
				continue
			}
			order = cmp.Or(strings.Compare(a[i].Namespace, b[j].Namespace), strings.Compare(a[i].Name, b[j].Name))
		}
		if order < 0 {
			*ls = append(*ls, leaver{a[i].String(), a[i].Node, now.Time})
		}
		if order <= 0 {
			i++
		}
		if order >= 0 {
			j++
		}
	}
	if more := len(*ls) - mostLeft; more > 0 {
		clear((*ls)[:more])
		*ls = (*ls)[more:]
	}
}

// How near a name is to what is looked for.
const (
	nearIs = iota
	nearEnds
	nearBegins
	nearHas
	nearNot
)

// near says how near a name is to a text in lower case. Of "namespace/name" and "group/id" the last part may be it, too.
func near(name, text string) int {
	name = strings.ToLower(name)
	_, local, _ := strings.Cut(name, "/")
	switch {
	case name == text || local == text:
		return nearIs
	case strings.HasSuffix(name, text):
		return nearEnds
	case strings.HasPrefix(name, text) || strings.HasPrefix(local, text):
		return nearBegins
	case strings.Contains(name, text):
		return nearHas
	}
	return nearNot
}

// finding collects what is near.
type finding struct {
	text string
	all  [nearNot][]Found
	has  map[reason.Ref]bool
}

func (f *finding) add(one Found) {
	if n := near(one.Ref.Name, f.text); n < nearNot && !f.has[one.Ref] {
		f.has[one.Ref] = true
		f.all[n] = append(f.all[n], one)
	}
}

// Find finds pods, nodes, machines and groups by a part of their name: the nearest first, those that are there before those that are gone, and of these
// the latest first. The end of a name is nearer than its beginning: it tells one thing from many that are alike.
func (t *Timeline) Find(text string, most int) []Found {
	f := &finding{text: strings.ToLower(strings.TrimSpace(text)), has: map[reason.Ref]bool{}}
	if f.text == "" || most <= 0 {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.seen != nil {
		f.addPresent(t.seen)
	}
	for id, at := range t.groups {
		f.add(Found{Ref: reason.Group(string(id)), Gone: at})
	}
	for i := len(t.lives.past) - 1; i >= 0; i-- {
		l := t.lives.past[i]
		gone := l.end(time.Time{})
		if l.Node != "" {
			f.add(Found{Ref: reason.Node(l.Node), Group: l.Group, Gone: gone})
		}
		f.add(Found{Ref: reason.Instance(string(l.Group), string(l.Instance)), Group: l.Group, Node: l.Node, Gone: gone})
	}
	for i := len(t.left) - 1; i >= 0; i-- {
		f.add(Found{Ref: reason.Ref{Kind: reason.KindPod, Name: t.left[i].Name}, Node: t.left[i].Node, Gone: t.left[i].At})
	}
	var all []Found
	for _, some := range f.all {
		slices.SortStableFunc(some, func(a, b Found) int {
			switch {
			case a.Gone.IsZero() != b.Gone.IsZero():
				if a.Gone.IsZero() {
					return -1
				}
				return 1
			case !a.Gone.Equal(b.Gone):
				return b.Gone.Compare(a.Gone)
			}
			return cmp.Or(cmp.Compare(rank(a.Ref.Kind), rank(b.Ref.Kind)), strings.Compare(a.Ref.Name, b.Ref.Name))
		})
		all = append(all, some...)
	}
	return all[:min(most, len(all))]
}

// addPresent adds what the last cycle saw.
func (f *finding) addPresent(seen *cluster.Snapshot) {
	for _, g := range seen.Groups {
		f.add(Found{Ref: reason.Group(string(g.ID))})
		for _, list := range [][]*cluster.Instance{g.Instances, g.Parked} {
			for _, in := range list {
				f.add(Found{Ref: reason.Instance(string(g.ID), string(in.ID)), Group: g.ID, Node: in.Node})
			}
		}
	}
	for _, n := range seen.Nodes {
		f.add(Found{Ref: reason.Node(n.Name()), Group: n.Group})
	}
	for _, p := range seen.Objects.Pods {
		f.add(Found{Ref: reason.Ref{Kind: reason.KindPod, Name: p.String()}, Node: p.Node})
	}
}

// rank orders kinds, the fewest first.
func rank(k reason.Kind) int {
	return slices.Index([]reason.Kind{reason.KindGroup, reason.KindNode, reason.KindInstance, reason.KindPod}, k)
}
