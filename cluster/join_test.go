package cluster_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
)

func TestNodesAreJoinedToTheirMachines(t *testing.T) {
	address := func(ip string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeExternalIP, Address: "20.0.0.1"}, {Type: corev1.NodeInternalIP, Address: ip}}
		}
	}
	uuid := func(s string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = s }
	}
	ip := func(s string) func(*cluster.Instance) {
		return func(i *cluster.Instance) { i.PrivateIPs = []string{s} }
	}
	machine := func(id string, change ...func(*cluster.Instance)) *cluster.Instance {
		return Machine(id, "", change...)
	}
	cases := map[string]struct {
		node     *corev1.Node
		machines []*cluster.Instance
		instance string
		suspects int
	}{
		"by unique id, in any letter case":   {Node("n", func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "VM-1" }), []*cluster.Instance{machine("0"), machine("1")}, "1", 0},
		"by provider id, in any letter case": {Node("n", func(n *corev1.Node) { n.Spec.ProviderID = "Cloud:///Machines/1" }), []*cluster.Instance{machine("0"), machine("1")}, "1", 0},
		"by computer name":                   {Node("N1"), []*cluster.Instance{Machine("1", "n1")}, "1", 0},
		"by the host name label":             {Node("n", func(n *corev1.Node) { n.Labels[corev1.LabelHostname] = "host1" }), []*cluster.Instance{Machine("1", "HOST1")}, "1", 0},
		"by private address":                 {Node("n", address("10.0.0.4")), []*cluster.Instance{machine("1", func(i *cluster.Instance) { i.PrivateIPs = []string{"10.0.0.4"} })}, "1", 0},
		"a public address proves nothing":    {Node("n", address("10.0.0.5")), []*cluster.Instance{machine("1", func(i *cluster.Instance) { i.PrivateIPs = []string{"20.0.0.1"} })}, "", 0},
		"two empty ids are not the same":     {Node("n"), []*cluster.Instance{machine("1", func(i *cluster.Instance) { i.ProviderID, i.UID = "", "" })}, "", 0},
		"a stranger belongs to nobody":       {Node("n"), []*cluster.Instance{machine("1")}, "", 0},
		"by unique id in the firmware's byte order": {Node("n", func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "33221100-5544-7766-8899-AABBCCDDEEFF" }),
			[]*cluster.Instance{machine("1", func(i *cluster.Instance) { i.UID = "00112233-4455-6677-8899-aabbccddeeff" })}, "1", 0},
		"an older node of the same name and another unique id is of a machine before": {Node("n", func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "vm-old" }),
			[]*cluster.Instance{Machine("1", "n", Born(Start))}, "", 1},
		"a node of the same name that took over the older object is of this machine": {Node("n", func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "vm-1" }),
			[]*cluster.Instance{Machine("1", "n", Born(Start))}, "1", 0},
		"an older node of the same address and another unique id is of a machine before": {Node("n", address("10.0.0.4"), func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "vm-old" }),
			[]*cluster.Instance{Machine("1", "", Born(Start), func(i *cluster.Instance) { i.PrivateIPs = []string{"10.0.0.4"} })}, "", 0},
		"an older node of the same address that says no unique id is a suspect": {Node("n", address("10.0.0.4")),
			[]*cluster.Instance{Machine("1", "", Born(Start), func(i *cluster.Instance) { i.PrivateIPs = []string{"10.0.0.4"} })}, "1", 0},
		"a provider id that k3s made says nothing, the name does": {Node("agents000001", func(n *corev1.Node) { n.Spec.ProviderID = "k3s://agents000001" }),
			[]*cluster.Instance{Machine("0", "agents000000"), Machine("1", "agents000001")}, "1", 0},
		"a provider id that k3s made, of another host name, leaves the unique id": {Node("worker", func(n *corev1.Node) { n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = "k3s://worker", "VM-1" }),
			[]*cluster.Instance{Machine("0", "agents000000"), Machine("1", "agents000001")}, "1", 0},
		"two machines of one computer name, and nothing else":           {Node("agent"), []*cluster.Instance{Machine("0", "agent"), Machine("1", "AGENT")}, "", 2},
		"two machines of one computer name, and a unique id":            {Node("agent", func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "vm-1" }), []*cluster.Instance{Machine("0", "agent"), Machine("1", "agent")}, "1", 0},
		"its unique id decides, though another machine has its address": {Node("n", address("10.0.0.4"), uuid("vm-1")), []*cluster.Instance{machine("0", ip("10.0.0.4")), machine("1")}, "1", 0},
		"its unique id in the firmware's byte order decides": {Node("n", address("10.0.0.4"), uuid("33221100-5544-7766-8899-AABBCCDDEEFF")),
			[]*cluster.Instance{machine("0", ip("10.0.0.4")), machine("1", func(i *cluster.Instance) { i.UID = "00112233-4455-6677-8899-aabbccddeeff" })}, "1", 0},
		"its provider id decides, though another machine has its address": {Node("n", address("10.0.0.4"), func(n *corev1.Node) { n.Spec.ProviderID = "cloud:///machines/1" }),
			[]*cluster.Instance{machine("0", ip("10.0.0.4")), machine("1")}, "1", 0},
		"an address is nobody's where both ids are another machine's": {Node("n", address("10.0.0.4"), uuid("vm-9"), func(n *corev1.Node) { n.Spec.ProviderID = "cloud:///machines/9" }),
			[]*cluster.Instance{machine("1", ip("10.0.0.4"))}, "", 0},
		"two machines of its address, and no id": {Node("n", address("10.0.0.4")), []*cluster.Instance{machine("0", ip("10.0.0.4")), machine("1", ip("10.0.0.4"))}, "", 2},
		"two machines that it could be": {Node("n", func(n *corev1.Node) { n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = "cloud:///machines/0", "vm-1" }),
			[]*cluster.Instance{machine("0"), machine("1")}, "", 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := cluster.New(Start, Objects(c.node), []*cluster.Group{Group("a", 0, 5, c.machines...)})
			n := s.Nodes[0]
			got := ""
			if n.Instance != nil {
				got = string(n.Instance.ID)
				if n.Instance.Node != n.Name() || n.Group != "a" {
					t.Errorf("machine knows node %q, node knows group %q", n.Instance.Node, n.Group)
				}
			}
			if got != c.instance || len(n.Suspects) != c.suspects {
				t.Errorf("joined to %q with %d suspects, want %q with %d", got, len(n.Suspects), c.instance, c.suspects)
			}
		})
	}
}

func TestAMachineThatTwoNodesCouldBeIsNeithers(t *testing.T) {
	s := cluster.New(Start, Objects(Node("old", func(n *corev1.Node) { n.Spec.ProviderID = "cloud:///machines/0" }), Node("new", func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "vm-0" })),
		[]*cluster.Group{Group("a", 0, 5, Machine("0", ""))})
	for _, n := range s.Nodes {
		if n.Instance != nil || len(n.Suspects) != 1 {
			t.Errorf("node %s: instance %v, %d suspects; want none and 1", n.Name(), n.Instance, len(n.Suspects))
		}
	}
}

// TestAMachineWhoseIdANodeTellsIsThatNode has a node of another network beside it, which has the machine's address and tells no id of its
// own machine.
func TestAMachineWhoseIdANodeTellsIsThatNode(t *testing.T) {
	address := func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.4"}}
	}
	own, far := Node("own", address, func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "vm-0" }), Node("far", address)
	groups := []*cluster.Group{Group("a", 0, 5, Machine("0", "", func(i *cluster.Instance) { i.PrivateIPs = []string{"10.0.0.4"} }))}
	s := cluster.New(Start, Objects(far, own), groups)
	if n := s.Node("own"); n.Instance == nil || n.Instance.Node != "own" {
		t.Errorf("node own: instance %v, %d suspects; want its machine", n.Instance, len(n.Suspects))
	}
	if n := s.Node("far"); n.Instance != nil || len(n.Suspects) != 0 {
		t.Errorf("node far: instance %v, %d suspects; want none", n.Instance, len(n.Suspects))
	}
	alone := cluster.New(Start, Objects(far), groups)
	if n := alone.Node("far"); n.Instance == nil {
		t.Error("where no node tells the machine's id, its address is all there is to go by")
	}
}

// TestANodeCouldBeTheMachinesThatItsIdsLeaveOpen asks about machines beside the one that the node is by its unique id.
func TestANodeCouldBeTheMachinesThatItsIdsLeaveOpen(t *testing.T) {
	n := Node("n", func(n *corev1.Node) {
		n.Status.NodeInfo.SystemUUID, n.Status.Addresses = "vm-0", []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.4"}}
	})
	s := cluster.New(Start, Objects(n), []*cluster.Group{Group("a", 0, 5, Machine("0", ""))})
	for what, c := range map[string]struct {
		machine *cluster.Instance
		could   bool
	}{
		"its own":                {Machine("0", ""), true},
		"one of its address":     {Machine("1", "", func(i *cluster.Instance) { i.PrivateIPs = []string{"10.0.0.4"} }), false},
		"one of its name":        {Machine("1", "n"), true},
		"one of its provider id": {Machine("1", "", func(i *cluster.Instance) { i.ProviderID = n.Spec.ProviderID }), n.Spec.ProviderID != ""},
		"a stranger":             {Machine("1", ""), false},
	} {
		if got := s.Nodes[0].CouldBe(c.machine); got != c.could {
			t.Errorf("%s: could be it: %t, want %t", what, got, c.could)
		}
	}
}

func TestANodeOnTheLadderKeepsItsGroupWhenItsMachineIsGone(t *testing.T) {
	m := cluster.Machine{Group: "a", ID: "0", UID: "vm-0"}
	s := cluster.New(Start, Objects(Node("n", Removing(Start, m))), []*cluster.Group{Group("a", 0, 5)})
	if n := s.Node("n"); n.Group != "a" || n.Marked != m || n.Instance != nil {
		t.Errorf("group %q, marked %v, instance %v", n.Group, n.Marked, n.Instance)
	}
}

func TestTheNodeOfAParkedMachineIsNoOther(t *testing.T) {
	uuid := func(s string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = s }
	}
	address := func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.4"}}
	}
	ip := func(i *cluster.Instance) { i.PrivateIPs = []string{"10.0.0.4"} }
	local := time.FixedZone("x", 3600)
	g := Group("a", 0, 5, Machine("1", "new", ip))
	g.Parked = []*cluster.Instance{Machine("0", "old", ip, Born(Start.In(local)), func(i *cluster.Instance) { i.State, i.UID = cluster.StateStopped, "parked" })}
	s := cluster.New(Start, Objects(Node("old", uuid("PARKED"), address), Node("new", uuid("vm-1"), address)), []*cluster.Group{g})

	if n := s.Node("old"); n.Instance != nil || len(n.Suspects) != 0 || n.Group != "a" {
		t.Errorf("the parked machine's node: instance %v, %d suspects, group %q; want no machine, and its group", n.Instance, len(n.Suspects), n.Group)
	}
	if n := s.Node("new"); n.Instance == nil || n.Instance.ID != "1" {
		t.Errorf("the node of the machine with the same address: instance %v with %d suspects, want machine 1", n.Instance, len(n.Suspects))
	}
	parked := s.Group("a").Parked
	if len(parked) != 1 || parked[0] == g.Parked[0] || parked[0].Created != Start.UTC() || parked[0].Node != "" {
		t.Errorf("parked are %+v, want a copy in plain time", parked)
	}
}

func TestANodeWithoutAMachineBelongsToNoGroupBesideIts(t *testing.T) {
	const path = "azure:///subscriptions/s/resourceGroups/farm/providers/Microsoft.Compute/virtualMachines/"
	at := func(id string) func(*cluster.Instance) {
		return func(i *cluster.Instance) { i.ProviderID = path + id }
	}
	groups := []*cluster.Group{Group("flex", 0, 5, Machine("0", "", at("flex_0a1b2c3d"))), Group("pool", 0, 5, Machine("1", "", at("k8s-pool-1234-0")))}
	for id, want := range map[string]cluster.GroupID{"flex_ffffffff": "flex", "k8s-pool-1234-9": "pool", "server": "", "k8s-master-1234-0": "", "flexible": ""} {
		n := Node("n", func(n *corev1.Node) { n.Spec.ProviderID = path + id })
		if got := cluster.New(Start, Objects(n), groups).Nodes[0].Group; got != want {
			t.Errorf("node of %s belongs to %q, want %q", id, got, want)
		}
	}
}

func TestTemplatesAreLearnedFromTheYoungestReadyNode(t *testing.T) {
	younger := Node("a-1", func(n *corev1.Node) {
		n.CreationTimestamp.Time = Start.Add(-10 * time.Minute)
		n.Labels["pool"] = "render"
		n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}, {Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
	})
	youngest := Node("a-2", NotReady(Start), func(n *corev1.Node) { n.CreationTimestamp.Time = Start.Add(-time.Minute) })
	s := cluster.New(Start, Objects(Node("a-0"), younger, youngest), []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "a-1"), Machine("2", "a-2"))})
	template := s.Group("a").Template
	if template.Labels["pool"] != "render" {
		t.Errorf("labels %v, want those of a-1", template.Labels)
	}
	if _, ok := template.Labels[corev1.LabelHostname]; ok {
		t.Error("the template carries a host name")
	}
	if len(template.Spec.Taints) != 1 || template.Spec.Taints[0].Key != "gpu" {
		t.Errorf("taints %v, want the lasting one alone", template.Spec.Taints)
	}
}

func TestTheNextMachinesZoneIsTheCloudsToSay(t *testing.T) {
	g := Group("a", 0, 5, Machine("0", "a-0", func(in *cluster.Instance) { in.Zone = "west-1" }))
	g.Zones = []string{"west-1", "west-2"}
	g.Template.Labels = map[string]string{corev1.LabelTopologyZone: "west-2", "pool": "cloud"}
	n := Node("a-0", func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone], n.Labels["pool"] = "west-1", "real" })
	got := cluster.New(Start, Objects(n), []*cluster.Group{g}).Group("a").Template.Labels
	if got[corev1.LabelTopologyZone] != "west-2" || got["pool"] != "real" {
		t.Errorf("labels %v, want the cloud's zone and the node's pool", got)
	}
}

func TestPodsOfNodesThatAreGoneAreKnownByName(t *testing.T) {
	s := cluster.New(Start, Objects(Pod("p", On("Lost"))), nil)
	if s.Orphan("lOST") == nil || s.Orphan("other") != nil {
		t.Error("the pod bound to a node that does not exist is not found by that node's name")
	}
}

func TestTheRemovalTaintSaysSinceWhenAndWhy(t *testing.T) {
	want := cluster.Removal{Since: Start, Why: "idle"}
	n := Node("n", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{want.Taint()} })
	if got, ok := cluster.RemovalOf(n); !ok || got != want {
		t.Errorf("read %v %t, want %v", got, ok, want)
	}
	n.Spec.Taints[0].Value = "nonsense"
	if got, ok := cluster.RemovalOf(n); !ok || !got.Since.IsZero() {
		t.Errorf("a taint of others reads as %v %t, want a removal since the zero time", got, ok)
	}
}

func TestMachineNamesSurviveTheirAnnotation(t *testing.T) {
	want := cluster.Machine{Group: "a", ID: "7", UID: "vm-7"}
	if got, ok := cluster.ParseMachine(want.String()); !ok || got != want {
		t.Errorf("read %v %t, want %v", got, ok, want)
	}
	for _, s := range []string{"", "a", "a/7", "a/7/", "/7/u", "a/7/u/x"} {
		if m, ok := cluster.ParseMachine(s); ok {
			t.Errorf("%q reads as %v", s, m)
		}
	}
}
