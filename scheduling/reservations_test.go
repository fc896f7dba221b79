package scheduling

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"pgregory.net/rapid"

	"sluice.dev/sluice/cluster"
)

// place is a demand's pods on a node, as a cycle left them to the next one.
type place struct {
	node string
	on   Handle
	pods int
}

// crowd is pods that wait for places beside machines that are coming, cycle after cycle.
type crowd struct {
	*rapid.T
	demands  []*cluster.Class
	counts   []int
	machines int
	size     string
	last     map[int][]place // by demand
	stood    int             // pods that stood in some cycle
	disks    int             // of these, pods with a claim
}

// once finds places for all as a plan does: kept ones on nodes that are there, then further ones, and then the same on machines that are coming.
func (w *crowd) once(c *Checker, stood bool) (said []string, found map[int][]place) {
	template := c.Template(node("", nodeLabel(zone, "1"), allocatable("cpu", w.size)))
	var machines []Awaited
	for i := range w.machines {
		machines = append(machines, Awaited{Like: template, Name: fmt.Sprintf("coming-%d", i)})
	}
	var coming []Handle
	if stood {
		coming = c.Await(machines)
	} else {
		for _, m := range machines {
			coming = append(coming, c.Open(m.Like, m.Name))
		}
	}
	rows := [2]*Row{c.Row(), c.Row(coming...)}
	for _, h := range c.Handles() {
		if !slices.Contains(coming, h) {
			rows[0].Append(h)
		}
	}
	seats := make([][2][]Seat, len(w.demands))
	var reserved []Reservation
	for i, of := range w.demands {
		var all []Seat
		there := 0
		for r := range rows {
			for _, p := range w.last[i] {
				if h, present := c.Handle(p.node); present && slices.Contains(coming, h) == (r == 1) {
					all = append(all, Seat{On: h, Pods: p.pods, Held: stood && h == p.on})
				}
			}
			if r == 0 {
				there = len(all)
			}
		}
		seats[i] = [2][]Seat{all[:there:there], all[there:]}
		reserved = append(reserved, Reservation{of, w.counts[i], all})
	}
	if stood {
		c.Reserve(reserved)
		w.noteStanding(c)
	}
	left := slices.Clone(w.counts)
	found = map[int][]place{}
	for r, row := range rows {
		take := func(i int, h Handle, n int) {
			said = append(said, fmt.Sprintf("%d of %d on %s", n, i, c.Name(h)))
			found[i] = append(found[i], place{c.Name(h), h, n})
			left[i] -= n
		}
		for i, of := range w.demands {
			for _, s := range row.Keep(of, left[i], seats[i][r]) {
				take(i, s.On, s.Pods)
			}
		}
		for i, of := range w.demands {
			row.Fill(of, left[i], func(h Handle, n int) { take(i, h, n) })
		}
	}
	for _, h := range c.Handles() {
		said = append(said, fmt.Sprintf("%s has %v left", c.Name(h), c.Free(h)))
		for i, of := range w.demands {
			said = append(said, fmt.Sprintf("%s has room for %d of %d", c.Name(h), c.Room(of, h), i))
		}
	}
	return said, found
}

func (w *crowd) noteStanding(c *Checker) {
	pods, disks := c.Standing()
	w.stood, w.disks = w.stood+pods, w.disks+disks
}

// TestReservationsAreThePlacesThatPodsWouldFind turns a cluster over in which pods wait, and holds the places that are found where pods stand from
// snapshot to snapshot to those of a checker that remembers nothing.
func TestReservationsAreThePlacesThatPodsWouldFind(t *testing.T) {
	stood, withDisks := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		draw := func(from, to int, what string) int { return rapid.IntRange(from, to).Draw(t, what) }
		w := &crowd{T: t, machines: draw(0, 4, "machines"), size: "3"}
		nodes, pods := map[string]*corev1.Node{}, map[string]*cluster.Pod{}
		change := func() {
			name := fmt.Sprintf("n%02d", draw(0, 9, "node"))
			if draw(0, 3, "what") == 0 {
				delete(nodes, name)
				return
			}
			nodes[name] = node(name, nodeLabel(zone, fmt.Sprint(draw(1, 2, "zone"))), allocatable("cpu", fmt.Sprint(draw(1, 6, "cpu"))))
		}
		run := func() {
			name := fmt.Sprint("r", draw(0, 9, "pod"))
			if pods[name] != nil {
				delete(pods, name)
				return
			}
			pods[name] = pod(name, on(fmt.Sprintf("n%02d", draw(0, 9, "on"))), requests("cpu", fmt.Sprint(draw(1, 2, "cpu"))), app(fmt.Sprint(draw(0, 12, "like"))))
			if draw(0, 9, "keeps others away") == 0 {
				pods[name] = pod(name, on("n00"), requests("cpu", "100m"), app("r"), awayFrom(fmt.Sprint(draw(0, 12, "whom")), zone))
			}
		}
		for range 14 {
			change()
		}
		o := cluster.Objects{Namespaces: namespaces, StorageClasses: []*storagev1.StorageClass{storageClass("late", storagev1.VolumeBindingWaitForFirstConsumer)}}
		for i := range draw(4, 12, "demands") {
			ask, own := requests("cpu", fmt.Sprintf("%d00m", draw(2, 20, "cpu"))), app(fmt.Sprint(i))
			p, count := pod(fmt.Sprint("d", i), ask, own), draw(1, 8, "pods")
			switch draw(0, 7, "kind") {
			case 0:
				p = pod(fmt.Sprint("d", i), ask, own, spread(fmt.Sprint(i), zone, 1))
			case 1:
				p = pod(fmt.Sprint("d", i), ask, own, awayFrom(fmt.Sprint(draw(0, i, "whom")), zone))
			case 2, 3, 4:
				name := fmt.Sprint("c", draw(max(0, i-1), i, "claim"))
				if !slices.ContainsFunc(o.PersistentVolumeClaims, func(c *corev1.PersistentVolumeClaim) bool { return c.Name == name }) {
					o.PersistentVolumeClaims = append(o.PersistentVolumeClaims, claim(name, "late", ""))
				}
				p, count = pod(fmt.Sprint("d", i), ask, own, mounts(name)), draw(1, 5, "one or two")/5+1
			}
			w.demands, w.counts = append(w.demands, p.Class), append(w.counts, count)
		}
		var s *cluster.Snapshot
		var c *Checker
		for range draw(2, 7, "cycles") {
			o.Nodes, o.Pods = nil, nil
			for _, name := range sortedKeys(nodes) {
				o.Nodes = append(o.Nodes, nodes[name])
			}
			for _, name := range sortedKeys(pods) {
				o.Pods = append(o.Pods, pods[name])
			}
			if s == nil {
				s = cluster.New(midnight, o, nil)
			} else {
				s = s.Next(midnight, o, nil)
			}
			before := c
			if c = NewChecker(s, After(c)); before != nil && before != c {
				t.Fatal("the checker was made anew")
			}
			got, found := w.once(c, true)
			want, _ := w.once(NewChecker(s), false)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("places (-nobody stands +some stand):\n%s", diff)
			}
			w.last = found
			for range draw(0, 2, "changes") {
				change()
			}
			for range draw(0, 2, "pods that come and go") {
				run()
			}
			if draw(0, 1, "demand changes") > 0 {
				if i := draw(0, len(w.counts)-1, "which"); len(w.demands[i].Spec.Volumes) == 0 {
					w.counts[i] = draw(0, 8, "pods")
				}
			}
			if draw(0, 3, "machines change") == 0 {
				w.machines, w.size = draw(0, 4, "machines"), fmt.Sprint(draw(3, 4, "size"))
			}
			if draw(0, 5, "storage changes") == 0 {
				o.PersistentVolumeClaims = append(slices.Clone(o.PersistentVolumeClaims), claim(fmt.Sprint("more-", len(o.PersistentVolumeClaims)), "late", ""))
			}
		}
		stood, withDisks = stood+w.stood, withDisks+w.disks
	})
	if stood < 200 || withDisks < 20 {
		t.Errorf("%d pods stood, %d of them with disks", stood, withDisks)
	}
}

// TestPodsThatOthersMindHaveNoReservation has pods keep their places that depend on nobody, beside others to whom it matters where they are: these are
// asked before them and must not find them standing there, or keep them away from where they were.
func TestPodsThatOthersMindHaveNoReservation(t *testing.T) {
	watched := func(name string, more ...func(*corev1.Pod)) *cluster.Class {
		return pod(name, append(more, requests("cpu", "100m"), app("watched"))...).Class
	}
	counts := pod("counts", requests("cpu", "100m"), app("counts"), spread("watched", zone, 1)).Class
	repels := pod("repels", on("n2"), requests("cpu", "100m"), awayFrom("watched", zone))
	for name, c := range map[string]struct {
		demands []*cluster.Class
		counts  []int
		comes   []*cluster.Pod // before the second cycle
	}{
		"their number is that of a spread":           {demands: []*cluster.Class{counts, watched("a")}, counts: []int{1, 3}},
		"the same, and each has a claim":             {demands: []*cluster.Class{counts, watched("a", mounts("c0")), watched("b", mounts("c1"))}, counts: []int{1, 1, 1}},
		"somebody comes who keeps them away":         {demands: []*cluster.Class{watched("a")}, counts: []int{3}, comes: []*cluster.Pod{repels}},
		"the same, and one who is kept away a claim": {demands: []*cluster.Class{watched("a", mounts("c0"))}, counts: []int{1}, comes: []*cluster.Pod{repels}},
	} {
		t.Run(name, func(t *testing.T) {
			o := cluster.Objects{
				Namespaces: namespaces, StorageClasses: []*storagev1.StorageClass{storageClass("late", storagev1.VolumeBindingWaitForFirstConsumer)},
				PersistentVolumeClaims: []*corev1.PersistentVolumeClaim{claim("c0", "late", ""), claim("c1", "late", "")},
			}
			for i, in := range []string{"1", "1", "2"} { // the first has room for all, the second is another one of its zone
				o.Nodes = append(o.Nodes, node([]string{"n1", "n2", "n3"}[i], nodeLabel(zone, in), allocatable("cpu", "4")))
			}
			w := &crowd{demands: c.demands, counts: c.counts, size: "3"}
			s := cluster.New(midnight, o, nil)
			first := NewChecker(s)
			_, w.last = w.once(first, true)
			o.Pods = c.comes
			s = s.Next(midnight, o, nil)
			second := NewChecker(s, After(first))
			if second != first {
				t.Fatal("the checker was made anew")
			}
			got, _ := w.once(second, true)
			want, _ := w.once(NewChecker(s), false)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("places (-nobody stands +some stand):\n%s", diff)
			}
			if w.stood > 0 && len(c.comes) == 0 {
				t.Errorf("%d pods stand", w.stood)
			}
		})
	}
}
