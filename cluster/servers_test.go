package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
)

// TestServersThatAreNoNodesAreKnownByWhatIsSluicesOwn has a group a, whose machine is no node unless it is said, beside a group b.
func TestServersThatAreNoNodesAreKnownByWhatIsSluicesOwn(t *testing.T) {
	server := func(n *corev1.Node) { n.Labels["node-role.kubernetes.io/control-plane"] = "true" }
	taught := func(change ...func(*corev1.Node)) *cluster.Learned {
		return &cluster.Learned{Node: Node("", change...)}
	}
	for name, tc := range map[string]struct {
		set  func(a, b *cluster.Group)
		objs []any
		want cluster.Role
	}{
		"nothing is sluice's own":                         {func(*cluster.Group, *cluster.Group) {}, nil, ""},
		"sluice runs on the machine":                      {func(a, _ *cluster.Group) { a.Own = "vm-0" }, nil, cluster.RoleOfOwn},
		"sluice runs on the machine, which is a node":     {func(a, _ *cluster.Group) { a.Own = "vm-0" }, []any{Node("a-0")}, ""},
		"sluice runs on another machine":                  {func(a, _ *cluster.Group) { a.Own = "vm-9" }, nil, ""},
		"the group alone has the identity":                {func(a, _ *cluster.Group) { a.SignsIn = true }, nil, cluster.RoleOfIdentity},
		"the other group alone has it":                    {func(_, b *cluster.Group) { b.SignsIn = true }, nil, ""},
		"every group has it":                              {func(a, b *cluster.Group) { a.SignsIn, b.SignsIn = true, true }, nil, ""},
		"every group has it, and sluice runs there":       {func(a, b *cluster.Group) { a.SignsIn, b.SignsIn, a.Own = true, true, "vm-0" }, nil, cluster.RoleOfOwn},
		"a worker of the group has it":                    {func(a, _ *cluster.Group) { a.SignsIn = true }, []any{Node("a-0")}, ""},
		"the group has had a worker":                      {func(a, _ *cluster.Group) { a.SignsIn, a.Learned = true, taught() }, nil, ""},
		"the group has had a server":                      {func(a, _ *cluster.Group) { a.SignsIn, a.Learned = true, taught(server) }, nil, cluster.RoleOfNode},
		"a worker of another group has it, a third lacks": {func(a, b *cluster.Group) { a.SignsIn, b.SignsIn = true, true }, []any{Node("b-0"), third}, ""},
		"a server of another group has it, a third lacks": {func(a, b *cluster.Group) { a.SignsIn, b.SignsIn = true, true }, []any{Node("b-0", server), third}, cluster.RoleOfIdentity},
	} {
		t.Run(name, func(t *testing.T) {
			in := func(id string) func(*cluster.Instance) {
				return func(m *cluster.Instance) { m.Group = cluster.GroupID(id) }
			}
			a, b := Group("a", 0, 5, Machine("0", "a-0")), Group("b", 0, 5, Machine("5", "b-0", in("b")))
			groups, objects := []*cluster.Group{a, b}, []any{}
			for _, o := range tc.objs {
				if o == any(third) {
					groups = append(groups, Group("c", 0, 5))
					continue
				}
				objects = append(objects, o)
			}
			for _, g := range groups {
				for _, m := range g.Instances {
					m.UID = "vm-" + string(m.ID)
				}
			}
			tc.set(a, b)
			s := cluster.New(Start, Objects(objects...), groups)
			if got := s.Group("a").ControlPlane; got != tc.want {
				t.Errorf("group a %q, want %q", got, tc.want)
			}
		})
	}
}

// third has a table's case have a group more.
const third = "a third group"
