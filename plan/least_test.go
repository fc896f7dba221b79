package plan_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// apartFrom lets no pod share a node with pods of an app; nearTo wants one of them in the same zone.
func apartFrom(app string) func(*corev1.Pod) { return minding(app, corev1.LabelHostname, false) }
func nearTo(app string) func(*corev1.Pod)    { return minding(app, corev1.LabelTopologyZone, true) }

func minding(app, topology string, wants bool) func(*corev1.Pod) {
	terms := []corev1.PodAffinityTerm{{TopologyKey: topology, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
	return func(p *corev1.Pod) {
		if p.Spec.Affinity == nil {
			p.Spec.Affinity = &corev1.Affinity{}
		}
		if wants {
			p.Spec.Affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}
		} else {
			p.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}
		}
	}
}

// zonal puts the machines of a group, or a node, into zone 1.
func zonal(g *cluster.Group) *cluster.Group {
	g.Template.Labels = map[string]string{corev1.LabelTopologyZone: "1"}
	return g
}

func inZone(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = "1" }

// TestPodsThatNeedNoMachineRaiseNoBound: the large machine is bought for two pods, of which one then turns out to fit a node that is there.
// The other alone would have had a place for less.
func TestPodsThatNeedNoMachineRaiseNoBound(t *testing.T) {
	objects := Objects(
		Node("there", inZone), Pod("busy", CPU("3"), On("there")),
		Pod("server", CPU("3"), Labelled("app", "server")), Pod("client", CPU("1"), nearTo("server"), apartFrom("server")),
	)
	groups := []*cluster.Group{zonal(priced("large", "4", 2)), zonal(priced("small", "3", 1.5))}
	p, _ := plan.Decide(cluster.New(Start, objects, groups), policy.Default(), memory.Memory{})
	if got := told(p); !slices.Equal(got, []string{"grow large 0 -> 1"}) || verdictOf(p, ref("pod client")) != "scheduling FitsNode" {
		t.Fatalf("actions %v and %s: the case shows nothing", got, verdictOf(p, ref("pod client")))
	}
	if p.Cost == nil || p.Cost.USDPerHour != 2 || p.Cost.LeastUSDPerHour > 1.5 {
		t.Errorf("%+v: the pod that buys the machine would have had a place for 1.50", p.Cost)
	}
}

// tinyWorld is a few pods and groups such that every choice of machines can be tried.
type tinyWorld struct {
	groups  []*cluster.Group
	cores   []int64 // by group: of a machine, in thousandths
	pods    []any
	asks    []int64 // by pod, in thousandths of cores
	apart   []int   // by pod: no two of one number above zero share a machine
	allowed *policy.Policy
	kept    memory.Memory
}

func drawTiny(t *rapid.T) tinyWorld {
	w := tinyWorld{allowed: policy.Default()}
	for i := range rapid.IntRange(1, 3).Draw(t, "groups") {
		cores := rapid.Int64Range(1, 8).Draw(t, "cores")
		g := priced(fmt.Sprintf("g%d", i), fmt.Sprint(cores), float64(rapid.IntRange(1, 12).Draw(t, "price"))/4)
		g.Max = rapid.SampledFrom([]int{0, 1, 2, 10}).Draw(t, "max")
		g.Template.Status.Capacity = g.Template.Status.Allocatable
		w.groups, w.cores = append(w.groups, g), append(w.cores, 1000*cores)
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "pods") {
		milli, apart := 500*rapid.Int64Range(1, 6).Draw(t, "half cores"), rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "apart")
		change := []func(*corev1.Pod){CPU(fmt.Sprintf("%dm", milli))}
		if apart > 0 {
			app := fmt.Sprintf("app-%d", apart)
			change = append(change, Labelled("app", app), apartFrom(app))
		}
		w.pods = append(w.pods, Pod(fmt.Sprintf("p%d", i), change...))
		w.asks, w.apart = append(w.asks, milli), append(w.apart, apart)
	}
	w.allowed.Growth.Max.Nodes = rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "nodes")
	w.allowed.Growth.Max.Cores = rapid.SampledFrom([]int64{320_000, 320_000, 3, 6, 9}).Draw(t, "all cores")
	if rapid.Bool().Draw(t, "quota") {
		most := rapid.IntRange(0, 2).Draw(t, "of the quota")
		w.kept.Groups = map[cluster.GroupID]memory.GroupMemory{"g0": {Backoff: memory.Backoff{Until: Start.Add(time.Hour), Length: time.Hour, Last: Start, Ceiling: most}}}
		w.groups[0].Max = min(w.groups[0].Max, 10)
	}
	return w
}

// most is how many machines the group may add by its own limits.
func (w *tinyWorld) most(g int) int {
	if m, ok := w.kept.Groups[w.groups[g].ID]; ok {
		return min(w.groups[g].Max, m.Backoff.Ceiling)
	}
	return w.groups[g].Max
}

// least is what the cheapest machines within all limits cost that hold these pods; infinite when none do.
func (w *tinyWorld) least(pods []int) float64 {
	type machine struct {
		free int64
		has  []int
	}
	best := math.Inf(1)
	count := make([]int, len(w.groups))
	var machines []*machine
	var place func(i int, cost float64, cores int64)
	place = func(i int, cost float64, cores int64) {
		if cost >= best {
			return
		}
		if i == len(pods) {
			best = cost
			return
		}
		p := pods[i]
		try := func(m *machine, cost float64, cores int64) {
			if m.free < w.asks[p] || w.apart[p] > 0 && slices.Contains(m.has, w.apart[p]) {
				return
			}
			m.free -= w.asks[p]
			m.has = append(m.has, w.apart[p])
			place(i+1, cost, cores)
			m.has = m.has[:len(m.has)-1]
			m.free += w.asks[p]
		}
		for _, m := range slices.Clone(machines) {
			try(m, cost, cores)
		}
		growth := w.allowed.Growth
		for g := range w.groups {
			all := cores + w.cores[g]
			if count[g] >= w.most(g) || growth.Max.Nodes > 0 && len(machines) >= growth.Max.Nodes || all > 1000*growth.Max.Cores {
				continue
			}
			count[g]++
			machines = append(machines, &machine{free: w.cores[g]})
			try(machines[len(machines)-1], cost+w.groups[g].PriceUSDPerHour, all)
			machines = machines[:len(machines)-1]
			count[g]--
		}
	}
	place(0, 0, 0)
	return best
}

// TestNothingCostsLessThanThePlanSays compares with every choice of machines within the groups' maxima, a quota and the cluster's limits,
// for pods of which some share no machine.
func TestNothingCostsLessThanThePlanSays(t *testing.T) {
	var worlds, cheapest int
	var spent, said, leasts float64
	rapid.Check(t, func(t *rapid.T) {
		w := drawTiny(t)
		p, _ := plan.Decide(cluster.New(Start, Objects(w.pods...), w.groups), w.allowed, w.kept)
		if p.Cost == nil {
			return
		}
		var grown []int
		for i := range w.pods {
			if verdictOf(p, ref(fmt.Sprintf("pod p%d", i))) == "grows NeedsMachine" {
				grown = append(grown, i)
			}
		}
		least := w.least(grown)
		if p.Cost.LeastUSDPerHour > least+1e-9 || p.Cost.USDPerHour < least-1e-9 {
			t.Fatalf("%+v for pods %v, and the cheapest machines cost %g", *p.Cost, grown, least)
		}
		worlds, spent, said, leasts = worlds+1, spent+p.Cost.USDPerHour, said+p.Cost.LeastUSDPerHour, leasts+least
		if p.Cost.USDPerHour < least+1e-9 {
			cheapest++
		}
	})
	t.Logf("%d worlds: %d plans are the cheapest; all cost %.2f, the cheapest %.2f, the bounds %.2f", worlds, cheapest, spent, leasts, said)
}
