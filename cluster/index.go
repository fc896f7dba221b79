package cluster

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
)

// joins find the machines that a node could be, and the nodes that a machine could be, without comparing every pair. They are handed on
// from snapshot to snapshot and describe the latest: [Snapshot.Next] keeps them up.
type joins struct {
	of        *Snapshot
	machines  finder[machineKey]
	nodes     finder[string]             // by name
	owners    map[string]map[GroupID]int // of how many of the group's machines the provider ids begin so, in lower case
	parked    map[string]Machine         // those that are parked, by unique id
	missing   map[string]GroupID         // groups of machines that their lists lack, by unique id
	departed  map[string]GroupID         // groups of machines that have left, by unique id
	hostnames map[string]bool            // what hostnames of groups' machines are before their numbers, in lower case
}

// machineKey names a machine of the latest snapshot.
type machineKey struct {
	group GroupID
	id    InstanceID
}

// newJoins describe the snapshot's nodes and machines, which are not joined yet.
func newJoins(s *Snapshot) *joins {
	j := &joins{of: s, machines: finder[machineKey]{}, nodes: finder[string]{}, owners: map[string]map[GroupID]int{}, parked: map[string]Machine{}, missing: map[string]GroupID{}, departed: map[string]GroupID{}, hostnames: map[string]bool{}}
	for _, g := range s.Groups {
		j.own(g.ProviderIDPrefix, g.ID, 1)
		if g.HostnamePrefix != "" {
			j.hostnames[strings.ToLower(g.HostnamePrefix)] = true
		}
		for _, uid := range g.Missing {
			j.missing[uid] = g.ID
		}
		for _, uid := range g.Departed {
			j.departed[uid] = g.ID
		}
		for _, in := range g.Instances {
			j.addMachine(in)
		}
		for _, in := range g.Parked {
			if in.UID != "" {
				j.parked[strings.ToLower(in.UID)] = Machine{g.ID, in.ID, in.UID}
			}
			j.own(in.ProviderID, g.ID, 1)
		}
	}
	for _, n := range s.Nodes {
		j.addNode(n.Object)
	}
	return j
}

func (j *joins) addMachine(in *Instance) {
	in.keys(func(key uint64) { j.machines.add(key, machineKey{in.Group, in.ID}) })
	j.own(in.ProviderID, in.Group, 1)
}

func (j *joins) dropMachine(in *Instance) {
	in.keys(func(key uint64) { j.machines.drop(key, machineKey{in.Group, in.ID}) })
	j.own(in.ProviderID, in.Group, -1)
}

func (j *joins) addNode(n *corev1.Node)  { nodeKeys(n, func(key uint64) { j.nodes.add(key, n.Name) }) }
func (j *joins) dropNode(n *corev1.Node) { nodeKeys(n, func(key uint64) { j.nodes.drop(key, n.Name) }) }

// own says that the beginning of the provider id is that of so many more of the group's machines.
func (j *joins) own(providerID string, id GroupID, n int) {
	start := beginning(providerID)
	if start == "" {
		return
	}
	of := j.owners[start]
	if of == nil {
		of = map[GroupID]int{}
		j.owners[start] = of
	}
	if of[id] += n; of[id] == 0 {
		delete(of, id)
	}
	if len(of) == 0 {
		delete(j.owners, start)
	}
}

// beginning is a provider id without what tells machines of a group apart, in lower case: a number or a name's last part, such as 7,
// pool_1f and pool-7. Machines of other groups beside them share no more than the path.
func beginning(providerID string) string {
	return strings.ToLower(providerID[:strings.LastIndexAny(providerID, "/_-")+1])
}

// owner is the group whose machines have provider ids such as this one, "" when there is none or more than one.
func (j *joins) owner(providerID string) GroupID {
	of := j.owners[beginning(providerID)]
	if len(of) != 1 {
		return ""
	}
	for id := range of {
		return id
	}
	return ""
}

// parkedAs is the parked machine that the node is by its unique id or, where it tells none, by its mark; zero when there is none. Nothing
// else tells: names, provider ids and addresses may have passed to another machine.
func (j *joins) parkedAs(n *corev1.Node) Machine {
	if len(j.parked) == 0 {
		return Machine{}
	}
	uuid := n.Status.NodeInfo.SystemUUID
	if uuid == "" {
		was, _ := ParseMachine(n.Annotations[MachineAnnotation])
		uuid = was.UID
	}
	uuid = strings.ToLower(uuid)
	return cmp.Or(j.parked[uuid], j.parked[Swapped(uuid)])
}

// missingAs is the group of the machine that the node is by its unique id and that the group's list lacks, or that has left, "" when there
// is none.
func (j *joins) missingAs(n *corev1.Node) GroupID {
	if len(j.missing)+len(j.departed) == 0 {
		return ""
	}
	uuid := strings.ToLower(n.Status.NodeInfo.SystemUUID)
	return cmp.Or(j.missing[uuid], j.departed[uuid], j.missing[Swapped(uuid)], j.departed[Swapped(uuid)])
}

// numbered is what stands before the number of a machine in its hostname, in lower case: agents of agents00001f; "" when it ends in none.
// The number is that of a machine of a scale set with uniform orchestration: six digits of base 36. The first two are 0 as long as there
// have been fewer than a million and a half machines, which tells it from a word.
func numbered(hostname string) string {
	at := len(hostname) - 6
	if at < 1 || hostname[at:at+2] != "00" || strings.ContainsFunc(hostname[at:], func(r rune) bool {
		return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}) {
		return ""
	}
	return strings.ToLower(hostname[:at])
}

// suspects are the machines that the node could be, in the order of groups and ids. Those whose ids it tells are the only ones, where there
// are any. Of others, which have its name or address, those are left out whose ids another node tells.
func (j *joins) suspects(n *corev1.Node) []*Instance {
	found := j.candidates(n)
	if slices.ContainsFunc(found, func(in *Instance) bool { return in.Bears(n) }) {
		return slices.DeleteFunc(found, func(in *Instance) bool { return !in.Bears(n) })
	}
	return slices.DeleteFunc(found, func(in *Instance) bool {
		return slices.ContainsFunc(j.near(in), func(other *Node) bool { return in.Bears(other.Object) })
	})
}

// claimants are the nodes that have the machine among their suspects.
func (j *joins) claimants(in *Instance) []*Node {
	return slices.DeleteFunc(j.near(in), func(n *Node) bool { return !slices.Contains(j.suspects(n.Object), in) })
}

// candidates are the machines for which [Instance.MayBe] holds, in the order of groups and ids.
func (j *joins) candidates(n *corev1.Node) []*Instance {
	var found []*Instance
	nodeKeys(n, func(key uint64) {
		for _, m := range j.machines[key] {
			for _, in := range j.of.Group(m.group).named(m.id) {
				if !slices.Contains(found, in) && in.MayBe(n) {
					found = append(found, in)
				}
			}
		}
	})
	slices.SortFunc(found, func(a, b *Instance) int {
		return cmp.Or(strings.Compare(string(a.Group), string(b.Group)), strings.Compare(string(a.ID), string(b.ID)))
	})
	return found
}

// near are the nodes for which [Instance.MayBe] holds, but for those of parked machines.
func (j *joins) near(in *Instance) []*Node {
	var found []*Node
	in.keys(func(key uint64) {
		for _, name := range j.nodes[key] {
			n := j.of.Node(name)
			if n != nil && !slices.Contains(found, n) && in.MayBe(n.Object) && j.parkedAs(n.Object) == (Machine{}) {
				found = append(found, n)
			}
		}
	})
	return found
}

// named are the group's machines of that id: one, unless its list is at odds with itself.
func (g *Group) named(id InstanceID) []*Instance {
	if g == nil {
		return nil
	}
	from, _ := slices.BinarySearchFunc(g.Instances, id, func(in *Instance, id InstanceID) int { return strings.Compare(string(in.ID), string(id)) })
	to := from
	for to < len(g.Instances) && g.Instances[to].ID == id {
		to++
	}
	return g.Instances[from:to]
}

// finder finds things by any of their keys. What it finds only may be what is meant: keys are hashes.
type finder[T comparable] map[uint64][]T

func (f finder[T]) add(key uint64, v T) { f[key] = append(f[key], v) }

func (f finder[T]) drop(key uint64, v T) {
	all := f[key]
	if i := slices.Index(all, v); i >= 0 {
		all = slices.Delete(all, i, i+1)
	}
	if len(all) == 0 {
		delete(f, key)
		return
	}
	f[key] = all
}

// What machines and nodes have in common.
const (
	byUID = iota + 1
	byProviderID
	byHost
	byAddress
)

// keys are by what the machine is found.
func (i *Instance) keys(visit func(uint64)) {
	hashed(byUID, i.UID, visit)
	hashed(byProviderID, i.ProviderID, visit)
	hashed(byHost, i.ComputerName, visit)
	for _, ip := range i.PrivateIPs {
		hashed(byAddress, ip, visit)
	}
}

// nodeKeys are by what the node is found.
func nodeKeys(n *corev1.Node, visit func(uint64)) {
	uuid := n.Status.NodeInfo.SystemUUID
	hashed(byUID, uuid, visit)
	hashed(byUID, Swapped(uuid), visit)
	hashed(byProviderID, n.Spec.ProviderID, visit)
	hashed(byHost, n.Name, visit)
	if host := n.Labels[corev1.LabelHostname]; host != n.Name {
		hashed(byHost, host, visit)
	}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			hashed(byAddress, a.Address, visit)
		}
	}
}

// hashed is the FNV-1a hash of a value in lower case; there is none of nothing.
func hashed(kind byte, value string, visit func(uint64)) {
	if value == "" {
		return
	}
	if strings.IndexFunc(value, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		value = strings.ToLower(value)
	}
	const offset, prime = 14695981039346656037, 1099511628211
	sum := (uint64(offset) ^ uint64(kind)) * prime
	for i := range len(value) {
		b := value[i]
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		sum = (sum ^ uint64(b)) * prime
	}
	visit(sum)
}

// sameUID compares a machine's unique id with what its firmware tells the kubelet: in any letter case, and with the bytes of the
// first three parts in either order, which older firmware tables give the other way round (SMBIOS 2.6, section 7.2.1).
func sameUID(uid, firmware string) bool {
	return uid != "" && (strings.EqualFold(uid, firmware) || strings.EqualFold(uid, Swapped(firmware)))
}

// Swapped is a UUID with the bytes of its first three parts reversed; other strings are returned as they are.
func Swapped(uuid string) string {
	if len(uuid) != 36 || strings.Count(uuid, "-") != 4 {
		return uuid
	}
	out := make([]byte, 0, len(uuid))
	for i, part := 0, uuid; i < 3; i++ {
		end := strings.IndexByte(part, '-')
		for k := end - 2; k >= 0; k -= 2 {
			out = append(out, part[k:k+2]...)
		}
		out = append(out, '-')
		part = part[end+1:]
		if i == 2 {
			out = append(out, part...)
		}
	}
	return string(out)
}
