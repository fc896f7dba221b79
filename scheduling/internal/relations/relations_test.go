package relations

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"sluice.dev/sluice/scheduling/internal/journal"
	"sluice.dev/sluice/scheduling/internal/nodes"
)

const zone = corev1.LabelTopologyZone

// affine and even are short for long names.
type (
	affine = corev1.PodAffinityTerm
	even   = corev1.TopologySpreadConstraint
)

// world is nodes "a1", "a2" and so on: the letter is the zone.
func world(names ...string) (*Relations, *nodes.Table, []nodes.Handle) {
	table := nodes.NewTable(len(names))
	r := New(&journal.Clock{}, table, nodes.NewRules(table), []*corev1.Namespace{
		{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "red"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "tools", Labels: map[string]string{"team": "blue"}}},
	})
	var handles []nodes.Handle
	for _, name := range names {
		handles = append(handles, join(r, table, name))
	}
	return r, table, handles
}

// join has a node come; one whose name begins with a dash is in no zone.
func join(r *Relations, table *nodes.Table, name string) nodes.Handle {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	if name[0] != '-' {
		n.Labels[zone] = name[:1]
	}
	h := table.Node(n, nil)
	table.Enter(h)
	r.Join(h)
	return h
}

func app(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

func selectorOf(t *testing.T, s *metav1.LabelSelector) labels.Selector {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return selector
}

func TestATermIsAboutTheNamespacesThatItNames(t *testing.T) {
	red := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}
	everywhere := &metav1.LabelSelector{}
	for name, c := range map[string]struct {
		term affine
		runs bool
		want []string // of shop, tools and unknown, which has no record
	}{
		"its own where it names none":             {affine{}, false, []string{"shop"}},
		"those that it names":                     {affine{Namespaces: []string{"tools"}}, false, []string{"tools"}},
		"several of them":                         {affine{Namespaces: []string{"unknown", "tools"}}, false, []string{"tools", "unknown"}},
		"those that it selects":                   {affine{NamespaceSelector: red}, false, []string{"shop"}},
		"those and the named ones":                {affine{NamespaceSelector: red, Namespaces: []string{"tools"}}, false, []string{"shop", "tools"}},
		"an empty selector is about all":          {affine{NamespaceSelector: everywhere}, false, []string{"shop", "tools", "unknown"}},
		"and so it is for a pod that runs":        {affine{NamespaceSelector: everywhere}, true, []string{"shop", "tools", "unknown"}},
		"a pod that runs selects in the same way": {affine{NamespaceSelector: red}, true, []string{"shop"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, _ := world()
			c.term.LabelSelector, c.term.TopologyKey = app("web"), zone
			a := &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []affine{c.term}}}
			terms, err := r.Terms("shop", nil, a, false, c.runs)
			if err != nil || len(terms) != 1 || terms[0].Key != zone {
				t.Fatalf("terms %v, %v", terms, err)
			}
			s := r.Selector(terms[0].Term)
			var got []string
			for _, ns := range []string{"shop", "tools", "unknown"} {
				if s.Selects(ns, labels.Set{"app": "web"}) {
					got = append(got, ns)
				}
				if s.Selects(ns, labels.Set{"app": "db"}) {
					t.Errorf("it selects other labels in %s", ns)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("about %v, want %v", got, c.want)
			}
		})
	}
}

func TestASpreadCountsPodsLikeItsOwn(t *testing.T) {
	own := map[string]string{"app": "web", "version": "2"}
	for name, c := range map[string]struct {
		constraint even
		want       []string // versions of web that it counts, and "none" for a pod without labels
	}{
		"what it selects":                        {even{LabelSelector: app("web")}, []string{"1", "2"}},
		"of its own version":                     {even{LabelSelector: app("web"), MatchLabelKeys: []string{"version"}}, []string{"2"}},
		"a key that the pod does not have":       {even{LabelSelector: app("web"), MatchLabelKeys: []string{"x"}}, []string{"1", "2"}},
		"nothing without a selector":             {even{}, nil},
		"everything with an empty one":           {even{LabelSelector: &metav1.LabelSelector{}}, []string{"1", "2", "none"}},
		"a key does not make it select anything": {even{MatchLabelKeys: []string{"version"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, _ := world()
			term, err := SpreadTerm("shop", &c.constraint, own)
			if err != nil {
				t.Fatal(err)
			}
			s := r.Selector(term)
			var got []string
			for _, version := range []string{"1", "2", "none"} {
				l := labels.Set{"app": "web", "version": version}
				if version == "none" {
					l = nil
				}
				if s.Selects("tools", l) {
					t.Error("it counts pods of another namespace")
				}
				if s.Selects("shop", l) {
					got = append(got, version)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("counts %v, want %v", got, c.want)
			}
		})
	}
}

// TestSelectorsAreFoundByALabelAsOneByOne compares the two ways in which selectors are found: by a label that they need, and one by one.
func TestSelectorsAreFoundByALabelAsOneByOne(t *testing.T) {
	r, _, _ := world()
	for i := range 3 * few {
		term, err := SpreadTerm([]string{"shop", "tools"}[i%2], &even{LabelSelector: app(fmt.Sprint(i / 2 % 4))}, nil)
		if i%5 == 0 {
			without := metav1.LabelSelectorRequirement{Key: fmt.Sprint("not-", i), Operator: metav1.LabelSelectorOpDoesNotExist}
			selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{without}}
			term, err = SpreadTerm("shop", &even{LabelSelector: selector}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.Selector(term)
		both := affine{NamespaceSelector: &metav1.LabelSelector{}, LabelSelector: app(fmt.Sprint(i))}
		both.LabelSelector.MatchLabels["tier"] = "x"
		if i%2 == 1 {
			both.NamespaceSelector.MatchLabels = map[string]string{"team": "red"}
		}
		anywhere, err := r.affinityTerm("shop", &both, selectorOf(t, both.LabelSelector), false)
		if err != nil {
			t.Fatal(err)
		}
		r.Selector(anywhere)
	}
	if at := (where{"", "tier", "x"}); len(r.byLabel[at]) > 1 {
		t.Errorf("%d selectors are filed under a label that all of them share", len(r.byLabel[at]))
	}
	for _, ns := range []string{"shop", "tools", "other"} {
		for _, name := range []string{"0", "1", "3", "9"} {
			l := labels.Set{"app": name, "tier": "x"}
			var want []*Selector
			for _, s := range r.selectors {
				if s.Selects(ns, l) {
					want = append(want, s)
				}
			}
			if got := r.Matching(ns, l, 0); !slices.Equal(got, want) {
				t.Errorf("app %s in %s: %d selectors, want %d", name, ns, len(got), len(want))
			}
		}
	}
	if first := r.selectors[0]; r.Selector(first.terms...) != first {
		t.Error("a selector of equal terms was made again")
	}
}

// TestTheLeastOfASpreadIsThatOfAnyZone follows the least number of pods that a zone has, while pods and nodes come and go.
func TestTheLeastOfASpreadIsThatOfAnyZone(t *testing.T) {
	r, table, h := world("a1", "a2", "b1", "-x")
	term, err := SpreadTerm("shop", &even{LabelSelector: app("web")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	topology := table.Topology(zone)
	in := r.Scope(topology, []*nodes.Topology{topology}, nil, nil)
	k := r.Counter(r.Selector(term), topology, in)
	expect := func(when string, least, ofThree int32) {
		t.Helper()
		if k.Lowest(1) != least || k.Lowest(3) != ofThree {
			t.Errorf("%s the least is %d and of three zones %d, want %d and %d", when, k.Lowest(1), k.Lowest(3), least, ofThree)
		}
	}
	expect("at first", 0, 0)
	k.Add(h[0], 2, 1)
	k.Add(h[2], 1, 2)
	expect("with 2 and 1", 1, 0)
	k.Add(h[1], 1, 3)
	k.Add(h[2], 1, 4)
	expect("with 3 and 2", 2, 0)
	if k.Relaxed() != 4 {
		t.Errorf("the least rose last in change %d", k.Relaxed())
	}
	k.Add(h[3], 5, 5)
	expect("with pods outside of every zone", 2, 0)
	c := join(r, table, "c1")
	expect("with an empty zone", 0, 0)
	k.Add(c, 3, 6)
	expect("with 3, 2 and 3", 2, 2)
	k.Add(h[2], -2, 7)
	table.Leave(h[2])
	r.Leave(h[2])
	expect("without the zone of the least", 3, 0)
	if k.Here(h[0]) != 3 || k.Here(h[3]) != 0 || k.Domain(h[3]) >= 0 {
		t.Errorf("%d pods in the zone of a1, %d in none", k.Here(h[0]), k.Here(h[3]))
	}
}

func TestAScopeHoldsNodesThatPodsCouldGoTo(t *testing.T) {
	r, table, h := world("a1", "b1", "-x")
	tainted := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "c1", Labels: map[string]string{zone: "c", "disk": "ssd"}}}
	tainted.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	at := table.Node(tainted, nil)
	table.Enter(at)
	r.Join(at)
	topology := table.Topology(zone)
	rules := nodes.NewRules(table)
	ssd := rules.Selection(&corev1.PodSpec{NodeSelector: map[string]string{"disk": "ssd"}})
	for name, c := range map[string]struct {
		keys []*nodes.Topology
		sel  *nodes.Selection
		tol  *nodes.Tolerations
		want int32 // zones
	}{
		"all that have the label":    {[]*nodes.Topology{topology}, nil, nil, 3},
		"those that are selected":    {[]*nodes.Topology{topology}, ssd, nil, 1},
		"those that are tolerated":   {[]*nodes.Topology{topology}, nil, rules.Tolerations(nil), 2},
		"those that have all labels": {[]*nodes.Topology{topology, table.Topology("disk")}, nil, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			in := r.Scope(topology, c.keys, c.sel, c.tol)
			if in.domains != c.want || in.counts(h[2]) {
				t.Errorf("%d zones, want %d", in.domains, c.want)
			}
			if r.Scope(topology, c.keys, c.sel, c.tol) != in {
				t.Error("it was made again")
			}
		})
	}
}

// TestACounterCountsDomainsInAnyOrder has pods come to domains before and behind those that a counter has, and leave again.
func TestACounterCountsDomainsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var names []string
		for i := range 26 {
			names = append(names, string(rune('a'+i)))
		}
		_, table, h := world(names...)
		k, want := &Counter{topology: table.Topology(zone)}, make([]int32, len(h))
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			at := rapid.IntRange(0, len(h)-1).Draw(t, "at")
			n := rapid.Int32Range(-2, 2).Draw(t, "n")
			k.Add(h[at], n, 1)
			want[at] += n
			for i := range h {
				if got := k.Here(h[i]); got != want[i] {
					t.Fatalf("domain %d has %d pods, want %d", i, got, want[i])
				}
			}
		}
	})
}

func TestCountersAreFilledOnce(t *testing.T) {
	r, table, _ := world("a1")
	term, err := SpreadTerm("shop", &even{LabelSelector: app("web")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, topology := r.Selector(term), table.Topology(zone)
	k := r.Counter(s, topology, nil)
	if r.Counter(s, topology, nil) != k || len(r.Late()) != 1 || len(r.Late()) != 0 {
		t.Error("a counter is told once to whoever fills it")
	}
	if r.Repelling() {
		t.Error("nobody has anti-affinity")
	}
	if o := r.Owners(s, topology); !r.Repelling() || len(r.Late()) != 0 || r.Owners(s, topology) != o {
		t.Error("owners come with their first pod, and need not be filled")
	}
}
