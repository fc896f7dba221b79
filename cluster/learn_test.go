package cluster_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
)

const gpu = corev1.ResourceName("nvidia.com/gpu")

// with gives a node a resource, zero to take it away.
func with(name corev1.ResourceName, quantity string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		own := n.Status.Capacity.DeepCopy()
		own[name] = resource.MustParse(quantity)
		n.Status.Capacity, n.Status.Allocatable = own, own
	}
}

func born(ago time.Duration) func(*corev1.Node) {
	return func(n *corev1.Node) { n.CreationTimestamp.Time = Start.Add(-ago) }
}

// gpuGroup is a group whose description promises one GPU a machine.
func gpuGroup(machines ...*cluster.Instance) *cluster.Group {
	g := Group("a", 0, 5, machines...)
	with(gpu, "1")(g.Template)
	return g
}

func TestWhatWasLearnedOutlivesTheLastNode(t *testing.T) {
	kubelet := func(n *corev1.Node) {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
		n.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("14Gi")
		n.Labels["pool"] = "render"
	}
	full := cluster.New(Start, Objects(Node("a-0", kubelet)), []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"))}).Group("a")

	for name, tc := range map[string]struct {
		change func(*cluster.Group)
		want   string // memory of the empty group's template
	}{
		"an empty group":                 {func(*cluster.Group) {}, "14Gi"},
		"a group of another size":        {func(g *cluster.Group) { g.Size = "Standard_D8s_v5" }, "16Gi"},
		"a group that was never learned": {func(g *cluster.Group) { g.Learned = nil }, "16Gi"},
		"a group in another zone":        {func(g *cluster.Group) { g.Template.Labels[corev1.LabelTopologyZone] = "west-2" }, "14Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			g := Group("a", 0, 5)
			g.Learned = full.Learned
			tc.change(g)
			got := cluster.New(Start.Add(time.Hour), Objects(), []*cluster.Group{g}).Group("a").Template
			if m := got.Status.Allocatable.Memory().String(); m != tc.want {
				t.Errorf("allocatable memory %s, want %s", m, tc.want)
			}
			if zone := g.Template.Labels[corev1.LabelTopologyZone]; got.Labels[corev1.LabelTopologyZone] != zone {
				t.Errorf("zone %q, want the cloud's, %q", got.Labels[corev1.LabelTopologyZone], zone)
			}
		})
	}
	if full.Learned.Node.Labels[corev1.LabelTopologyZone] != "" {
		t.Error("what was learned was changed")
	}
}

func TestWhatKubeletsDeclareIsLearned(t *testing.T) {
	declares := func(n *corev1.Node) { n.Status.DeclaredFeatures = []string{"RestartAllContainersOnContainerExits"} }
	s := cluster.New(Start, Objects(Node("a-0", declares)), []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"))})
	if got := s.Group("a").Template.Status.DeclaredFeatures; len(got) != 1 {
		t.Errorf("the next machine declares %v", got)
	}
}

func TestAMachineOfAnEarlierSizeTeachesNothing(t *testing.T) {
	old := func(in *cluster.Instance) { in.Size = "standard_d2s_v5" }
	same := func(in *cluster.Instance) { in.Size = "standard_D4s_v5" }
	small := func(n *corev1.Node) {
		n.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
		n.Status.Allocatable = n.Status.Capacity
	}
	for name, tc := range map[string]struct {
		machines []*cluster.Instance
		nodes    []any
		cpu      string
	}{
		"the machine is of the group's size":         {[]*cluster.Instance{Machine("0", "a-0", same)}, []any{Node("a-0", small)}, "2"},
		"the cloud does not say its size":            {[]*cluster.Instance{Machine("0", "a-0")}, []any{Node("a-0", small)}, "2"},
		"it was made when the group had another one": {[]*cluster.Instance{Machine("0", "a-0", old)}, []any{Node("a-0", small)}, "4"},
		"a younger one is of the new size": {
			[]*cluster.Instance{Machine("0", "a-0", old), Machine("1", "a-1", same)}, []any{Node("a-0", small, born(time.Hour)), Node("a-1", born(time.Minute))}, "4",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := cluster.New(Start, Objects(tc.nodes...), []*cluster.Group{Group("a", 0, 5, tc.machines...)}).Group("a")
			if cpu := g.Template.Status.Capacity.Cpu().String(); cpu != tc.cpu {
				t.Errorf("the group's next machine has %s CPUs, want %s", cpu, tc.cpu)
			}
		})
	}
}

func TestDriftIsWhatPodsWouldNotice(t *testing.T) {
	label := func(k, v string) func(*corev1.Node) { return func(n *corev1.Node) { n.Labels[k] = v } }
	taint := func(k string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: k, Effect: corev1.TaintEffectNoSchedule})
		}
	}
	guess := func(k, v string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Labels[k], n.Annotations = v, map[string]string{cluster.GuessedLabels: "other," + k}
		}
	}
	none := func(*corev1.Node) {}
	for name, tc := range map[string]struct {
		offered, found func(*corev1.Node)
		want           []cluster.Difference
	}{
		"nothing":                               {none, none, nil},
		"what firmware and kernel keep":         {none, with(corev1.ResourceMemory, "15300Mi"), nil},
		"half of the memory":                    {none, with(corev1.ResourceMemory, "8Gi"), []cluster.Difference{{What: "memory", Offered: "16Gi", Found: "8Gi"}}},
		"more memory than there is":             {none, with(corev1.ResourceMemory, "17Gi"), []cluster.Difference{{What: "memory", Offered: "16Gi", Found: "17Gi"}}},
		"fewer cores":                           {none, with(corev1.ResourceCPU, "2"), []cluster.Difference{{What: "cpu", Offered: "4", Found: "2"}}},
		"GPUs that no plugin announces":         {with(gpu, "1"), none, []cluster.Difference{{What: "nvidia.com/gpu", Offered: "1", Found: "none"}}},
		"a label that kubelet does not set":     {label("pool", "render"), none, []cluster.Difference{{What: "label pool", Offered: "render", Found: "none"}}},
		"a label that nobody promised":          {guess("owner", "me"), none, nil},
		"a label of another value":              {label("pool", "render"), label("pool", "web"), []cluster.Difference{{What: "label pool", Offered: "render", Found: "web"}}},
		"a label that nobody described":         {none, label("rack", "7"), nil},
		"a zone":                                {label(corev1.LabelTopologyZone, "west-1"), label(corev1.LabelTopologyZone, "west-2"), []cluster.Difference{{What: "label topology.kubernetes.io/zone", Offered: "west-1", Found: "west-2"}}},
		"no zone":                               {label(corev1.LabelTopologyZone, "west-1"), none, []cluster.Difference{{What: "label topology.kubernetes.io/zone", Offered: "west-1", Found: "none"}}},
		"another label that says it":            {label("topology.example.com/zone", "west-1"), none, nil},
		"a taint that nobody described":         {none, taint("dedicated"), []cluster.Difference{{What: "taint dedicated:NoSchedule", Offered: "none", Found: "set"}}},
		"a taint that kubelet does not set":     {taint("dedicated"), none, []cluster.Difference{{What: "taint dedicated:NoSchedule", Offered: "set", Found: "none"}}},
		"a taint of the node's condition":       {none, taint(corev1.TaintNodeUnreachable), nil},
		"pods, which a kubelet's setting rules": {none, with(corev1.ResourcePods, "250"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := Group("a", 0, 5, Machine("0", "a-0"))
			tc.offered(g.Template)
			once := cluster.New(Start, Objects(Node("a-0", tc.found)), []*cluster.Group{g})
			if d := cmp.Diff(tc.want, once.Group("a").Drift); d != "" {
				t.Errorf("drift (-want +got):\n%s", d)
			}
			again := cluster.New(Start, once.Objects, once.Groups)
			if d := cmp.Diff(once.Group("a"), again.Group("a")); d != "" {
				t.Errorf("asked again it differs (-first +second):\n%s", d)
			}
		})
	}
}

func TestDevicesAreAwaitedForAWhile(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes   []any
		awaits  bool // a-0 does
		learned string
	}{
		"a young node without its GPU":                    {[]any{Node("a-0", born(time.Minute))}, true, "1"},
		"a node that has announced it":                    {[]any{Node("a-0", born(time.Minute), with(gpu, "1"))}, false, "1"},
		"an old node without it":                          {[]any{Node("a-0", born(time.Hour))}, false, "0"},
		"a young node beside one that has it":             {[]any{Node("a-0", born(time.Minute)), Node("a-1", born(time.Hour), with(gpu, "1"))}, true, "1"},
		"an old node that lost it beside one that has it": {[]any{Node("a-0", born(time.Hour)), Node("a-1", born(30*time.Minute), with(gpu, "1"))}, false, "1"},
		"a young node beside an old one that has not":     {[]any{Node("a-0", born(time.Minute)), Node("a-1", born(time.Hour))}, false, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster.New(Start, Objects(tc.nodes...), []*cluster.Group{gpuGroup(Machine("0", "a-0"), Machine("1", "a-1"))})
			if got := len(s.Node("a-0").Awaits) > 0; got != tc.awaits {
				t.Errorf("awaits %v, want %t", s.Node("a-0").Awaits, tc.awaits)
			}
			q := s.Group("a").Template.Status.Allocatable[gpu]
			if got := q.String(); got != tc.learned {
				t.Errorf("the template has %s GPUs, want %s", got, tc.learned)
			}
			again := cluster.New(Start, s.Objects, s.Groups)
			if d := cmp.Diff(s.Node("a-0").Awaits, again.Node("a-0").Awaits); d != "" {
				t.Errorf("asked again it differs (-first +second):\n%s", d)
			}
		})
	}
}

// TestATaintThatCameLaterIsTheNodesOwn has a taint come to the only node of a group: soon after it joined, as controllers set it, and when
// it had been there for long, as people do.
func TestATaintThatCameLaterIsTheNodesOwn(t *testing.T) {
	for name, test := range map[string]struct {
		age     time.Duration
		learned bool // something from the node before
		taints  int
	}{
		"a controller's, a minute after the node joined":  {time.Minute, true, 1},
		"a person's, an hour after the node joined":       {time.Hour, true, 0},
		"one that was there when the node was first seen": {time.Hour, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			n := Node("a-0", func(n *corev1.Node) { n.CreationTimestamp.Time = Start.Add(-test.age) })
			g := Group("a", 0, 5, Machine("0", "a-0"))
			if test.learned {
				g = cluster.New(Start, Objects(n), []*cluster.Group{g}).Group("a")
			}
			n = n.DeepCopy()
			n.Spec.Taints = []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoSchedule}}
			for range 2 { // the second answer is that of a group that has learned already
				g = cluster.New(Start, Objects(n), []*cluster.Group{g}).Group("a")
				if got := len(g.Template.Spec.Taints); got != test.taints {
					t.Errorf("taints %v, want %d", g.Template.Spec.Taints, test.taints)
				}
			}
		})
	}
}

// TestAnotherNodeIsBelievedWhole has the node go that the group was known by: what is left of the group is an older node with a taint.
func TestAnotherNodeIsBelievedWhole(t *testing.T) {
	g := Group("a", 0, 5, Machine("0", "a-0"))
	g = cluster.New(Start, Objects(Node("a-0")), []*cluster.Group{g}).Group("a")
	left := Group("a", 0, 5, Machine("1", "a-1"))
	left.Learned = g.Learned
	n := Node("a-1", func(n *corev1.Node) {
		n.CreationTimestamp.Time = Start.Add(-time.Hour)
		n.Spec.Taints = []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoSchedule}}
	})
	if got := cluster.New(Start, Objects(n), []*cluster.Group{left}).Group("a").Template.Spec.Taints; len(got) != 1 {
		t.Errorf("taints %v, want that of the node that is there", got)
	}
}

// TestOlderNodesAreBelievedNoMore follows a group through its nodes, of which one after the other is what it is known by.
func TestOlderNodesAreBelievedNoMore(t *testing.T) {
	pool := func(name string) func(*corev1.Node) { return func(n *corev1.Node) { n.Labels["pool"] = name } }
	for name, test := range map[string]struct {
		sights [][]any // nodes of machines that there are, one look after the other
		want   string  // the label of the next machine
	}{
		"the youngest is":                {[][]any{{Node("a-0", born(time.Hour), pool("old")), Node("a-1", born(time.Minute), pool("new"))}}, "new"},
		"an older one, once it has gone": {[][]any{{Node("a-1", born(time.Minute), pool("new"))}, {Node("a-0", born(time.Hour), pool("old"))}}, "new"},
		"one as old is":                  {[][]any{{Node("a-1", born(time.Minute), pool("new"))}, {Node("a-0", born(time.Minute), pool("old"))}}, "old"},
		"a younger one is":               {[][]any{{Node("a-0", born(time.Hour), pool("old"))}, {Node("a-1", born(time.Minute), pool("new"))}}, "new"},
		"nobody who is not Ready is":     {[][]any{{Node("a-0", born(time.Hour), pool("old")), Node("a-1", born(time.Minute), pool("new"), NotReady(Start))}}, "old"},
	} {
		t.Run(name, func(t *testing.T) {
			g := Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "a-1"))
			for _, sight := range test.sights {
				next := Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "a-1"))
				next.Learned = g.Learned
				g = cluster.New(Start, Objects(sight...), []*cluster.Group{next}).Group("a")
			}
			if got := g.Template.Labels["pool"]; got != test.want {
				t.Errorf("the next machine is thought to be %q, want %q", got, test.want)
			}
		})
	}
}

// TestATaintThatAnOlderNodeLacksTakesASecondNode has a younger node come with a taint which the older one does not bear, and go again.
func TestATaintThatAnOlderNodeLacksTakesASecondNode(t *testing.T) {
	tainted := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoSchedule}}
	}
	old := Node("a-0", born(time.Hour))
	var known *cluster.Learned
	for i, look := range []struct {
		nodes  []any
		taints int
	}{
		{[]any{old, Node("a-1", born(2*time.Minute), tainted)}, 1},
		{[]any{old}, 0},
		{[]any{old, Node("a-2", born(time.Minute), tainted)}, 1},
		{[]any{old}, 1},
	} {
		g := Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "a-1"), Machine("2", "a-2"))
		g.Learned = known
		for range 2 { // the second answer is that of a group that has learned already
			g = cluster.New(Start, Objects(look.nodes...), []*cluster.Group{g}).Group("a")
		}
		if known = g.Learned; len(g.Template.Spec.Taints) != look.taints {
			t.Errorf("look %d: the next machine is thought to have taints %v, want %d", i, g.Template.Spec.Taints, look.taints)
		}
	}
}

// TestAStartupTaintThatStaysIsBelievedForAWhile looks at a group whose node keeps a startup taint, or bears it again, and at the group
// without that node.
func TestAStartupTaintThatStaysIsBelievedForAWhile(t *testing.T) {
	tainted := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "startup-taint.cluster-autoscaler.kubernetes.io/agent", Effect: corev1.TaintEffectNoSchedule}}
	}
	for name, test := range map[string]struct {
		patience time.Duration
		at       time.Duration // of the last look, after the node was made; the first is a minute after that, the second at an hour
		late     bool          // there was no first look
		gone     bool
		clean    bool // somebody has taken the taint off by then
		back     bool // somebody had taken it off before the second look's
		taints   int
	}{
		"while the node is there":                        {at: 3 * time.Hour, taints: 1},
		"for an hour once it has gone":                   {at: 75*time.Minute - 1, gone: true, taints: 1},
		"no longer":                                      {at: 75 * time.Minute, gone: true},
		"longer where nodes have more time":              {patience: 20 * time.Minute, at: 80*time.Minute - 1, gone: true, taints: 1},
		"not once somebody has taken it off after all":   {at: 61 * time.Minute, clean: true},
		"not when it came back":                          {at: 3 * time.Hour, back: true},
		"from the time on that it was first seen":        {at: 75 * time.Minute, late: true, taints: 1},
		"not before that is over":                        {at: 75*time.Minute - 1, late: true},
		"not before its time is over":                    {patience: 2 * time.Hour, at: time.Hour + 1},
		"not of a node that has gone before it was over": {patience: 2 * time.Hour, at: time.Hour + 1, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			made := Start.Add(-time.Hour)
			at := func(since time.Duration, known *cluster.Learned, nodes ...any) *cluster.Group {
				g := Group("a", 0, 5, Machine("0", "a-0"))
				g.Learned, g.Patience = known, test.patience
				for range 2 { // the second answer is that of a group that has learned already
					g = cluster.New(made.Add(since), Objects(nodes...), []*cluster.Group{g}).Group("a")
				}
				return g
			}
			node := Node("a-0", born(time.Hour), tainted)
			var known *cluster.Learned
			if !test.late {
				known = at(time.Minute, nil, node).Learned
			}
			if test.back {
				known = at(2*time.Minute, known, Node("a-0", born(time.Hour))).Learned
			}
			g := at(time.Hour, known, node)
			switch {
			case test.gone:
				g = at(test.at, g.Learned)
			case test.clean:
				g = at(test.at, g.Learned, Node("a-0", born(time.Hour)))
			default:
				g = at(test.at, g.Learned, node)
			}
			if got := len(g.Template.Spec.Taints); got != test.taints {
				t.Errorf("taints %v, want %d", g.Template.Spec.Taints, test.taints)
			}
		})
	}
}

// TestASecondNodeWithoutDevicesIsBelieved has younger nodes come up without the GPU that an older one has.
func TestASecondNodeWithoutDevicesIsBelieved(t *testing.T) {
	old := Node("a-0", born(3*time.Hour), with(gpu, "1"))
	var known *cluster.Learned
	for i, look := range []struct {
		nodes []any
		want  string
	}{
		{[]any{old, Node("a-1", born(2*time.Hour))}, "1"},
		{[]any{old}, "1"},
		{[]any{old, Node("a-2", born(time.Hour))}, "0"},
		{[]any{old}, "0"},
		{[]any{old, Node("a-3", born(time.Minute), with(gpu, "1"))}, "1"},
	} {
		g := gpuGroup(Machine("0", "a-0"), Machine("1", "a-1"), Machine("2", "a-2"), Machine("3", "a-3"))
		g.Learned = known
		g = cluster.New(Start, Objects(look.nodes...), []*cluster.Group{g}).Group("a")
		known = g.Learned
		q := g.Template.Status.Allocatable[gpu]
		if q.String() != look.want {
			t.Errorf("look %d: the next machine is thought to have %s GPUs, want %s", i, q.String(), look.want)
		}
	}
}

// TestATaintIsTheGroupsWhenTwoNodesBoreIt follows a group through its nodes, one after the other, and asks what is thought of its next
// machine once there is no node.
func TestATaintIsTheGroupsWhenTwoNodesBoreIt(t *testing.T) {
	team := []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoSchedule}}
	type sight struct {
		node  string // none: the group has no node
		age   time.Duration
		taint bool
	}
	for name, test := range map[string]struct {
		sights []sight
		taints int
	}{
		"it was there when the node came":             {[]sight{{"a-0", time.Minute, true}}, 1},
		"it came a minute later":                      {[]sight{{"a-0", time.Minute, false}, {"a-0", 2 * time.Minute, true}}, 0},
		"it came a minute later, to the next one too": {[]sight{{"a-0", time.Minute, false}, {"a-0", 2 * time.Minute, true}, {"", 0, false}, {"a-1", time.Minute, false}, {"a-1", 2 * time.Minute, true}}, 1},
		"the next one came with it":                   {[]sight{{"a-0", time.Minute, false}, {"a-0", 2 * time.Minute, true}, {"a-1", time.Minute, true}}, 1},
		"the next one is without it":                  {[]sight{{"a-0", time.Minute, false}, {"a-0", 2 * time.Minute, true}, {"a-1", time.Minute, false}}, 0},
		"two that were old bore it":                   {[]sight{{"a-0", time.Hour, true}, {"a-1", time.Hour, true}}, 1},
		"one that was old bore it, seen twice":        {[]sight{{"a-0", time.Hour, true}, {"a-1", time.Hour, false}, {"a-0", time.Hour, true}}, 0},
		"it was taken away and came again":            {[]sight{{"a-0", time.Minute, false}, {"a-0", 2 * time.Minute, true}, {"a-0", 3 * time.Minute, false}, {"a-0", 4 * time.Minute, true}}, 0},
		"one came with it, then an old one":           {[]sight{{"a-0", time.Minute, true}, {"a-1", time.Hour, true}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var known *cluster.Learned
			for _, s := range append(test.sights, sight{}) {
				g, objects := Group("a", 0, 5), Objects()
				if s.node != "" {
					g = Group("a", 0, 5, Machine("0", s.node))
					objects = Objects(Node(s.node, born(s.age), func(n *corev1.Node) {
						if s.taint {
							n.Spec.Taints = team
						}
					}))
				}
				g.Learned = known
				for range 2 { // the second answer is that of a group that has learned already
					g = cluster.New(Start, objects, []*cluster.Group{g}).Group("a")
				}
				if got := len(g.Template.Spec.Taints) > 0; s.node != "" && got != s.taint {
					t.Errorf("while %+v is there the next machine is thought to have taints %v", s, g.Template.Spec.Taints)
				}
				known = g.Learned
			}
			if got := known.Node.Spec.Taints; len(got) != test.taints {
				t.Errorf("taints %v, want %d", got, test.taints)
			}
		})
	}
}

// TestATaintOfAnOldNodeGoesWithIt has the only node of a group go, which bore a taint when it was first seen.
func TestATaintOfAnOldNodeGoesWithIt(t *testing.T) {
	team := []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoSchedule}}
	for name, test := range map[string]struct {
		age       time.Duration
		described bool
		silent    bool // instead of gone
		freed     bool // of the taint, when it has fallen silent
		taints    int
	}{
		"a node that was old":                                         {age: time.Hour, taints: 0},
		"a node that was young: it came with the taint":               {age: time.Minute, taints: 1},
		"a node that was old, and the cloud tells of a taint":         {age: time.Hour, described: true, taints: 1},
		"a node that was old and has fallen silent":                   {age: time.Hour, silent: true, taints: 1},
		"a node that was old, has fallen silent and bears it no more": {age: time.Hour, silent: true, freed: true, taints: 0},
		"the same, and the cloud tells of a taint":                    {age: time.Hour, silent: true, freed: true, described: true, taints: 1},
		"one that was young and came with it, the same way":           {age: time.Minute, silent: true, freed: true, taints: 1},
	} {
		t.Run(name, func(t *testing.T) {
			describe := func(g *cluster.Group) *cluster.Group {
				if test.described {
					g.Template.Spec.Taints = team
				}
				return g
			}
			n := Node("a-0", func(n *corev1.Node) { n.CreationTimestamp.Time, n.Spec.Taints = Start.Add(-test.age), team })
			g := cluster.New(Start, Objects(n), []*cluster.Group{describe(Group("a", 0, 5, Machine("0", "a-0")))}).Group("a")
			for range 2 { // the second answer is that of a group that has learned already
				after, objects := describe(Group("a", 0, 5)), Objects()
				if test.silent {
					after, objects = describe(Group("a", 0, 5, Machine("0", "a-0"))), Objects(Node("a-0", func(silent *corev1.Node) {
						n.DeepCopyInto(silent)
						NotReady(Start)(silent)
						if test.freed {
							silent.Spec.Taints = nil
						}
					}))
				}
				after.Learned = g.Learned
				g = cluster.New(Start, objects, []*cluster.Group{after}).Group("a")
				if got := g.Template.Spec.Taints; len(got) != test.taints {
					t.Errorf("taints %v, want %d", got, test.taints)
				}
			}
		})
	}
}
