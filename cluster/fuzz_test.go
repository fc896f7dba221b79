package cluster_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
)

// FuzzAnnotations puts any text where sluice, its agent and people leave word for each other.
func FuzzAnnotations(f *testing.F) {
	for _, seed := range []string{
		"", "agents/1/uid", "a/b/c/d", "//", "2026-03-01T12:00:00Z", "9999-12-31T23:59:59Z", "agents=2026-03-01T12:00:00Z,*=2026-03-02T00:00:00Z", "*=", "=",
		`{"id":"1","kind":"Preempt","deadline":"2026-03-01T12:00:00Z"}`, `{"deadline":1}`, `null`, "2026-03-01T12.00.00Z_idle", "since-2026", "4/3", "-1", "99999999999999999999", "\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if m, ok := cluster.ParseMachine(text); ok && m.String() != text {
			t.Errorf("%q is read as %q", text, m)
		}
		if p, err := cluster.ReadPauses(text); err == nil {
			again, err := cluster.ReadPauses(p.Annotation())
			if err != nil || again.Annotation() != p.Annotation() {
				t.Errorf("%q, written as %q, is read as %q (%v)", text, p.Annotation(), again.Annotation(), err)
			}
			for _, g := range p.Groups() {
				_, _ = p.Of(g, Start)
			}
			_ = p.With("agents", Start.Add(time.Hour), Start).Annotation()
		}
		n := Node("a-0")
		n.Annotations = map[string]string{
			cluster.MachineAnnotation: text, cluster.NoticeAnnotation: text, cluster.HoldAnnotation: text, cluster.DrainAnnotation: text, cluster.GuessedLabels: text,
		}
		for _, key := range []string{"sluice.dev/removing", "sluice.dev/notice", text} {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: text, Effect: corev1.TaintEffectNoSchedule})
		}
		_, _ = cluster.RemovalOf(n)
		if notice, ok := cluster.NoticeOf(n); ok {
			_, _, _ = notice.Ends(), notice.Stops(), notice.Taint()
			_ = notice.Annotation()
		}
		_, _ = cluster.Held(n, Start)
		_ = cluster.Kept(n)
	})
}

// FuzzProviderIDs joins nodes and machines by any names: what could be two machines is none.
func FuzzProviderIDs(f *testing.F) {
	for _, seed := range []string{
		"", "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/agents/virtualMachines/0", "k3s://a-0", "azure://", "AZURE:///SUBSCRIPTIONS", "\xff", "ß", "K",
	} {
		f.Add(seed, "a-0", seed, "10.0.0.4")
		f.Add(seed, seed, "K", seed)
	}
	f.Fuzz(func(t *testing.T, ofNode, name, ofMachine, address string) {
		one, two := Machine("0", name), Machine("1", "a-1")
		one.ProviderID, two.ProviderID = ofMachine, ofMachine
		one.PrivateIPs, two.PrivateIPs = []string{address}, []string{address}
		first, second := Node("a-0"), Node("a-1")
		first.Spec.ProviderID, second.Spec.ProviderID = ofNode, ofMachine
		first.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
		first.Status.NodeInfo.SystemUUID, second.Status.NodeInfo.SystemUUID = address, one.UID
		s := cluster.New(Start, Objects(first, second), []*cluster.Group{Group("a", 0, 5, one, two)})
		taken := map[string]string{}
		for _, n := range s.Nodes {
			if n.Instance == nil {
				continue
			}
			if other, twice := taken[n.Instance.UID]; twice {
				t.Errorf("machine %s is both %s and %s", n.Instance.UID, other, n.Object.Name)
			}
			taken[n.Instance.UID] = n.Object.Name
		}
	})
}
