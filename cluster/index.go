package cluster

import (
	"cmp"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// machineIndex finds the machines a node could be without comparing every pair.
type machineIndex struct {
	by     map[string][]*Instance
	owners map[string]GroupID // by what the provider ids of a group's machines begin with, in lower case; "" for a beginning that groups share
	parked map[string]GroupID // groups of parked machines, by unique id
}

func newMachineIndex(groups []*Group) machineIndex {
	ix := machineIndex{map[string][]*Instance{}, map[string]GroupID{}, map[string]GroupID{}}
	add := func(kind, value string, in *Instance) {
		if value != "" {
			key := kind + strings.ToLower(value)
			ix.by[key] = append(ix.by[key], in)
		}
	}
	for _, g := range groups {
		for _, in := range g.Instances {
			add("uid:", in.UID, in)
			add("provider:", in.ProviderID, in)
			add("name:", in.ComputerName, in)
			for _, ip := range in.PrivateIPs {
				add("ip:", ip, in)
			}
			ix.own(g.ID, in)
		}
		for _, in := range g.Parked {
			if in.UID != "" {
				ix.parked[strings.ToLower(in.UID)] = g.ID
			}
			ix.own(g.ID, in)
		}
	}
	return ix
}

// own says that the beginning of the machine's provider id is one of the group's.
func (ix machineIndex) own(id GroupID, in *Instance) {
	start := beginning(in.ProviderID)
	if start == "" {
		return
	}
	if owner, ok := ix.owners[start]; ok && owner != id {
		id = ""
	}
	ix.owners[start] = id
}

// parkedAs is the group of the parked machine that the node was by its unique id, "" when there is none. Nothing else tells: names,
// provider ids and addresses may have passed to another machine.
func (ix machineIndex) parkedAs(n *corev1.Node) GroupID {
	uuid := n.Status.NodeInfo.SystemUUID
	return cmp.Or(ix.parked[strings.ToLower(uuid)], ix.parked[strings.ToLower(swapped(uuid))])
}

// beginning is a provider id without what tells machines of a group apart, in lower case: a number or a name's last part, such as 7,
// pool_1f and pool-7. Machines of other groups beside them share no more than the path.
func beginning(providerID string) string {
	return strings.ToLower(providerID[:strings.LastIndexAny(providerID, "/_-")+1])
}

// owner is the group whose machines have provider ids such as this one, "" when there is none or more than one.
func (ix machineIndex) owner(providerID string) GroupID { return ix.owners[beginning(providerID)] }

// suspects are the machines for which [Instance.MayBe] holds, in the order of groups and ids.
func (ix machineIndex) suspects(n *corev1.Node) []*Instance {
	uuid := n.Status.NodeInfo.SystemUUID
	keys := []string{
		"uid:" + uuid, "uid:" + swapped(uuid), "provider:" + n.Spec.ProviderID, "name:" + n.Name, "name:" + n.Labels[corev1.LabelHostname],
	}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			keys = append(keys, "ip:"+a.Address)
		}
	}
	var found []*Instance
	seen := map[*Instance]bool{}
	for _, key := range keys {
		for _, in := range ix.by[strings.ToLower(key)] {
			if !seen[in] && in.MayBe(n) {
				seen[in] = true
				found = append(found, in)
			}
		}
	}
	sort.Slice(found, func(i, j int) bool {
		if found[i].Group != found[j].Group {
			return found[i].Group < found[j].Group
		}
		return found[i].ID < found[j].ID
	})
	return found
}

// sameUID compares a machine's unique id with what its firmware tells the kubelet: in any letter case, and with the bytes of the
// first three parts in either order, which older firmware tables give the other way round (SMBIOS 2.6, section 7.2.1).
func sameUID(uid, firmware string) bool {
	return uid != "" && (strings.EqualFold(uid, firmware) || strings.EqualFold(uid, swapped(firmware)))
}

// swapped is a UUID with the bytes of its first three parts reversed; other strings are returned as they are.
func swapped(uuid string) string {
	parts := strings.Split(uuid, "-")
	if len(parts) != 5 || len(uuid) != 36 {
		return uuid
	}
	for i, p := range parts[:3] {
		var b strings.Builder
		for j := len(p) - 2; j >= 0; j -= 2 {
			b.WriteString(p[j : j+2])
		}
		parts[i] = b.String()
	}
	return strings.Join(parts, "-")
}
