package cluster_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
)

// TestANodeContradictsAListThatLacksItsMachine has a group of two machines of which the list has one.
func TestANodeContradictsAListThatLacksItsMachine(t *testing.T) {
	const uuid = "4C4C4544-0042-3510-8057-C7C04F564C32"
	const missing, swapped = "4c4c4544-0042-3510-8057-c7c04f564c32", "44454c4c-4200-1035-8057-c7c04f564c32"
	cases := map[string]struct {
		group func(*cluster.Group)
		node  func(*corev1.Node)
		want  bool
	}{
		"an earlier list had it":             {func(g *cluster.Group) { g.Missing = []string{missing} }, nil, true},
		"with the bytes the other way round": {func(g *cluster.Group) { g.Missing = []string{swapped} }, nil, true},
		"its provider id tells":              {func(g *cluster.Group) { g.ProviderIDPrefix = "CLOUD:///machines/" }, nil, true},
		"its name tells":                     {func(g *cluster.Group) { g.HostnamePrefix = "A-1" }, named("a-100001f"), true},
		"its name tells, and its provider id that it is a machine of something else": {func(g *cluster.Group) {
			g.HostnamePrefix, g.ProviderIDPrefix = "a-1", "K3S://farm/"
		}, named("a-100001f"), false},
		"its name tells, and its provider id nothing": {func(g *cluster.Group) {
			g.HostnamePrefix, g.ProviderIDPrefix = "a-1", "cloud:///machines/"
		}, named("a-100001f"), true},
		"its name ends in no number":      {func(g *cluster.Group) { g.HostnamePrefix = "a-1" }, named("a-1master"), false},
		"its name ends in something else": {func(g *cluster.Group) { g.HostnamePrefix = "a-1" }, named("a-100.01f"), false},
		"it is named as another group's":  {func(g *cluster.Group) { g.HostnamePrefix = "a-" }, named("a-100001f"), false},
		"its name is a number":            {func(g *cluster.Group) { g.HostnamePrefix = "" }, named("00001f"), false},
		"its name tells, and it is a machine that is listed": {func(g *cluster.Group) {
			g.HostnamePrefix, g.Instances = "a-1", append(g.Instances, Machine("1", "a-100001f"))
		}, named("a-100001f"), false},
		"nothing tells":                       {nil, nil, false},
		"it is another group's":               {func(g *cluster.Group) { g.ProviderIDPrefix = "cloud:///others/" }, nil, false},
		"it has fallen silent":                {func(g *cluster.Group) { g.Missing = []string{missing} }, Silent(Start), false},
		"it reports that it is not Ready":     {func(g *cluster.Group) { g.Missing = []string{missing} }, NotReady(Start), true},
		"the same, and its provider id tells": {func(g *cluster.Group) { g.ProviderIDPrefix = "cloud:///machines/" }, NotReady(Start), true},
		"the same, and it has just joined": {func(g *cluster.Group) { g.ProviderIDPrefix = "cloud:///machines/" }, func(n *corev1.Node) {
			NotReady(Start)(n)
			born(time.Minute)(n)
		}, false},
		"the cloud was seen to delete it":           {func(g *cluster.Group) { g.Missing, g.Departed = []string{missing}, []string{swapped} }, nil, false},
		"it is marked, which proves nothing":        {func(g *cluster.Group) { g.Missing = []string{missing} }, marked(false), true},
		"it is on the ladder, which proves nothing": {func(g *cluster.Group) { g.Missing = []string{missing} }, marked(true), true},
		"it is parked": {func(g *cluster.Group) {
			g.Missing, g.Parked = []string{missing}, []*cluster.Instance{Machine("1", "a-1", called(missing))}
		}, nil, false},
		"it is parked, with the bytes the other way round": {func(g *cluster.Group) {
			g.Missing, g.Parked = []string{missing}, []*cluster.Instance{Machine("1", "a-1", called(swapped))}
		}, nil, false},
		"it is listed": {func(g *cluster.Group) {
			g.Missing, g.Instances = []string{missing}, append(g.Instances, Machine("1", "a-1", called(missing)))
		}, nil, false},
		"it is listed under a name and another UID": {func(g *cluster.Group) {
			g.ProviderIDPrefix, g.Instances = "cloud:///machines/", append(g.Instances, Machine("1", "a-1"))
		}, nil, false},
		"its provider id tells, and it has just joined":  {func(g *cluster.Group) { g.ProviderIDPrefix = "cloud:///machines/" }, born(time.Second), true},
		"its provider id is shorter than the group's is": {func(g *cluster.Group) { g.ProviderIDPrefix = "cloud:///machines/1/of/the/farm/" }, nil, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := Node("a-1", func(n *corev1.Node) {
				n.Status.NodeInfo.SystemUUID, n.Spec.ProviderID = uuid, "cloud:///machines/1"
				n.CreationTimestamp.Time = Start.Add(-time.Hour)
			})
			if c.node != nil {
				c.node(n)
			}
			g := Group("a", 0, 5, Machine("0", "a-0"))
			if c.group != nil {
				c.group(g)
			}
			s := cluster.New(Start, Objects(Node("a-0"), n), []*cluster.Group{g})
			got := s.Group("a").Contradicts(s.Nodes)
			if got == nil != !c.want || got != nil && got.Name() != n.Name {
				t.Errorf("contradicted by %v, want it to be so: %t", got, c.want)
			}
			if own := s.Node(n.Name); c.want && own.Group != "a" && !own.Numbered {
				t.Errorf("the node is of group %q, want a", own.Group)
			}
		})
	}
}

// named gives a node a name, and a provider id that says nothing of its machine.
func named(name string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Name, n.Spec.ProviderID = name, "k3s://"+name }
}

// called gives a machine its UID.
func called(uid string) func(*cluster.Instance) {
	return func(in *cluster.Instance) { in.UID = uid }
}

// marked names the node's machine on it, as one whose machine leaves or that sluice has put on the ladder.
func marked(ladder bool) func(*corev1.Node) {
	return func(n *corev1.Node) {
		Removing(Start, cluster.Machine{Group: "a", ID: "1", UID: n.Status.NodeInfo.SystemUUID})(n)
		if !ladder {
			n.Spec.Taints, n.Spec.Unschedulable = nil, false
		}
	}
}
