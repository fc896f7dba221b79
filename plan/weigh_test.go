package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

func TestAGroupSaysWhatItWasWeighedAgainst(t *testing.T) {
	sized := func(id, cpu string, usd float64, change ...func(*cluster.Group)) *cluster.Group {
		g := Group(id, 0, 50)
		g.Template = g.Template.DeepCopy()
		g.PriceUSDPerHour = usd
		for _, list := range []corev1.ResourceList{g.Template.Status.Capacity, g.Template.Status.Allocatable} {
			list[corev1.ResourceCPU], list[corev1.ResourceMemory] = resource.MustParse(cpu), resource.MustParse("64Gi")
		}
		for _, c := range change {
			c(g)
		}
		return g
	}
	tainted := func(g *cluster.Group) {
		g.Template.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
	}
	atMost := func(n int) func(*cluster.Group) { return func(g *cluster.Group) { g.Max = n } }
	tolerant := func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	}

	for name, tc := range map[string]struct {
		objects []any
		groups  []*cluster.Group
		want    map[string]string // by group
	}{
		"a group alone is weighed against nothing": {
			objects: pods(4), groups: []*cluster.Group{sized("d4", "4", 0.2)}, want: map[string]string{},
		},
		"against what others would have cost, and they by whom they were outweighed": {
			objects: pods(24), groups: []*cluster.Group{sized("d4", "4", 0.2), sized("d8", "8", 0.38)},
			want: map[string]string{
				"d8": "3 machines for 1.14 USD an hour; against d4: at least 6 for 1.20",
				"d4": "outweighed by group d8, which grows by 3 for 1.14 USD an hour; it would grow by at least 6 for 1.20",
			},
		},
		"the cheapest rival is named": {
			objects: pods(24), groups: []*cluster.Group{
				sized("a", "4", 0.5), sized("b", "4", 0.3), sized("c", "4", 0.4), sized("d", "8", 0.38), sized("e", "4", 0.6),
			},
			want: map[string]string{
				"d": "3 machines for 1.14 USD an hour; against b: at least 6 for 1.80",
				"a": "outweighed by group d, which grows by 3 for 1.14 USD an hour; it would grow by at least 6 for 3.00",
				"b": "outweighed by group d, which grows by 3 for 1.14 USD an hour; it would grow by at least 6 for 1.80",
				"c": "outweighed by group d, which grows by 3 for 1.14 USD an hour; it would grow by at least 6 for 2.40",
				"e": "outweighed by group d, which grows by 3 for 1.14 USD an hour; it would grow by at least 6 for 3.60",
			},
		},
		"a group that may add fewer machines than it takes": {
			objects: pods(24), groups: []*cluster.Group{sized("d4", "4", 0.1, atMost(2)), sized("d8", "8", 0.38)},
			want: map[string]string{
				"d4": "2 machines for 0.20 USD an hour; against d8: at least 1 for 0.38",
				"d8": "2 machines for 0.76 USD an hour; against d4: at least 4 for 0.40 but may add 2",
			},
		},
		"a group that may not grow": {
			objects: pods(8), groups: []*cluster.Group{sized("d4", "4", 0.1, atMost(0)), sized("d8", "8", 0.38)},
			want: map[string]string{"d8": "1 machine for 0.38 USD an hour; against d4: at least 2 for 0.20 but may not grow"},
		},
		"nobody else takes the pods": {
			objects: pods(4), groups: []*cluster.Group{sized("d4", "4", 0.2), sized("t", "4", 0.1, tainted)},
			want: map[string]string{"d4": "1 machine for 0.20 USD an hour; no other group takes these pods"},
		},
		"a group that would take some of them": {
			objects: append(pods(3), Pod("t", tolerant)), groups: []*cluster.Group{sized("d4", "4", 0.2), sized("t", "4", 0.199, tainted)},
			want: map[string]string{"d4": "1 machine for 0.20 USD an hour; against t: at least 1 for 0.20 without 3 pods that it does not take"},
		},
		"a group that would take all of them is the nearer rival": {
			objects: append(pods(3), Pod("t", tolerant)), groups: []*cluster.Group{sized("d4", "4", 0.2), sized("d8", "8", 0.38), sized("t", "4", 0.199, tainted)},
			want: map[string]string{
				"d4": "1 machine for 0.20 USD an hour; against d8: at least 1 for 0.38",
				"d8": "outweighed by group d4, which grows by 1 for 0.20 USD an hour; it would grow by at least 1 for 0.38",
			},
		},
		"without prices what machines have": {
			objects: pods(24), groups: []*cluster.Group{sized("d4", "4", 0), sized("d16", "16", 0)},
			want: map[string]string{
				"d16": "2 machines for 32 cores and 128 GiB; against d4: at least 6 for 24 cores and 384 GiB",
				"d4":  "outweighed by group d16, which grows by 2 for 32 cores and 128 GiB; it would grow by at least 6 for 24 cores and 384 GiB",
			},
		},
		"pods that mind each other": {
			objects: pods(4, Labelled("app", "s"), spread), groups: []*cluster.Group{sized("d4", "4", 0.2), sized("d8", "8", 0.38)},
			want: map[string]string{
				"d4": "1 machine for 0.20 USD an hour; against d8: at least 1 for 0.38",
				"d8": "outweighed by group d4, which grows by 1 for 0.20 USD an hour; it would grow by at least 1 for 0.38",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := plan.Decide(cluster.New(Start, Objects(tc.objects...), tc.groups), policy.Default(), memory.Memory{})
			complete(t, p)
			got := map[string]string{}
			for _, g := range tc.groups {
				v, _ := p.Verdict(reason.Group(string(g.ID)))
				for _, r := range v.Because {
					if r.Code == reason.Weighed || r.Code == reason.Outweighed {
						got[string(g.ID)] += r.Sentence()
					}
				}
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("what groups were weighed against (-want +got):\n%s", d)
			}
		})
	}
}

func TestAGroupSaysByWhichStepsItWasChosen(t *testing.T) {
	options := []grow.Option{
		{Group: "large", Nodes: 1, Pods: make([]string, 8), RequestedMilli: 8000, RequestedBytes: 32 << 30, CapacityMilli: 16000, CapacityBytes: 64 << 30, PriceUSDPerHour: 1},
		{Group: "medium", Nodes: 2, Pods: make([]string, 8), RequestedMilli: 8000, RequestedBytes: 32 << 30, CapacityMilli: 16000, CapacityBytes: 64 << 30, PriceUSDPerHour: 0.8},
		{Group: "small", Nodes: 4, Pods: make([]string, 6), RequestedMilli: 6000, RequestedBytes: 24 << 30, CapacityMilli: 8000, CapacityBytes: 32 << 30},
	}
	for name, tc := range map[string]struct {
		chain []policy.Expander
		want  []string // of the chosen group, then of those that were dropped
	}{
		"most-pods, then least-nodes": {[]policy.Expander{policy.MostPods, policy.LeastNodes}, []string{
			"chosen of 3 groups: most-pods kept large and medium, least-nodes kept large",
			"passed over by expander most-pods: helps 6 pods, group large helps 8 pods",
			"passed over by expander least-nodes: takes 2 machines, group large takes 1 machine",
		}},
		"least-waste": {[]policy.Expander{policy.LeastWaste}, []string{
			"chosen of 3 groups: least-waste kept small",
			"passed over by expander least-waste: wastes 50%, group small wastes 25%",
			"passed over by expander least-waste: wastes 50%, group small wastes 25%",
		}},
		"price": {[]policy.Expander{policy.Price}, []string{
			"chosen of 3 groups: price kept medium",
			"passed over by expander price: costs 0.062 USD an hour for each core, group medium costs 0.050 USD an hour for each core",
			"passed over by expander price: costs nobody knows what, group medium costs 0.050 USD an hour for each core",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := grow.Expand(options, tc.chain, grow.Ranking{}, nil, Start)
			got := []string{c.Because.Sentence()}
			for _, r := range c.Dropped {
				got = append(got, r.Sentence())
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("what the expanders said (-want +got):\n%s", d)
			}
		})
	}
	if c := grow.Expand(options[:1], []policy.Expander{policy.Price}, grow.Ranking{}, nil, Start); c.Because != nil {
		t.Errorf("the only option says %q", c.Because.Sentence())
	}
}
