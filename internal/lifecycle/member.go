package lifecycle

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/clusterfile"
)

// members are the nodes that are machines of a pool's scale set, by the ids that each tells: the rule is the running sluice's,
// [cluster.Instance.Bears]. A name says nothing: another cluster may have the same one. Nodes of such a cluster are an error, so that none
// is drained:
//
//	node                                                  it is
//	bears the id of a machine of the set                  a member
//	is named like one, and tells an id of this group      gone in Azure since, and left out
//	is named like one, and tells another id or none       another cluster's: an error
//
// Where the set has machines and no node tells an id of this group at all, the API server is another cluster's as well.
func (c *Cluster) members(ctx context.Context, s *Scaled, nodes []corev1.Node) (of []*corev1.Node, err error) {
	all, err := c.machinesOf(ctx, &s.pool)
	if err != nil {
		return nil, err
	}
	set, near := c.File.ScaleSet(&s.pool), false
	for i := range nodes {
		n := &nodes[i]
		inGroup := Resource{strings.TrimPrefix(n.Spec.ProviderID, azureScheme)}.in(c.group(c.File.ResourceGroup))
		switch {
		case isOneOf(all, n):
			of, near = append(of, n), true
		case inGroup:
			near = true
		case c.namedLike(s.pool.Name, n.Name):
			told := n.Spec.ProviderID
			if told == "" {
				told = "none"
			}
			return nil, foreignError(fmt.Sprintf("node %s is no machine of scale set %s: its provider id is %s", n.Name, set, told))
		}
	}
	if len(all) > 0 && len(nodes) > 0 && !near {
		return nil, foreignError(fmt.Sprintf("the API server has no node in resource group %s, where scale set %s has %s",
			c.File.ResourceGroup, set, Machines(len(all))))
	}
	return of, nil
}

// azureScheme is what provider ids of Azure begin with.
const azureScheme = "azure://"

// isOneOf says whether a node is one of some machines.
func isOneOf(all []machine, n *corev1.Node) bool {
	for _, m := range all {
		if (&cluster.Instance{UID: m.Properties.UID, ProviderID: azureScheme + m.ID}).Bears(n) {
			return true
		}
	}
	return false
}

// namedLike says whether a node is named like one of a pool, which may be no more in the file.
func (c *Cluster) namedLike(name, node string) bool {
	all := []pool{{Pool: &clusterfile.Pool{Name: name}}}
	for i := range c.File.Pools {
		if p := &c.File.Pools[i]; p.Name != name {
			all = append(all, pool{Pool: p})
		}
	}
	of := poolOf(all, c.File.Name, strings.ToLower(node))
	return of != nil && of.Name == name
}

// foreignError is that an API server is another cluster's.
type foreignError string

func (e foreignError) Error() string { return string(e) + "; it is another cluster's" }
