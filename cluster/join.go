package cluster

import (
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// New joins one observation: nodes with machines and pods, groups with templates learned from their Ready nodes. It takes
// ownership of nothing: objects are shared, groups are copied. The order of its inputs does not matter.
func New(at time.Time, objects Objects, groups []*Group) *Snapshot {
	s := &Snapshot{
		Time:    plain(at),
		Objects: objects,
		nodes:   make(map[string]*Node, len(objects.Nodes)),
		groups:  make(map[GroupID]*Group, len(groups)),
	}
	for _, o := range objects.Nodes {
		n := &Node{Object: o}
		s.Nodes = append(s.Nodes, n)
		s.nodes[o.Name] = n
	}
	sort.Slice(s.Nodes, func(i, j int) bool { return s.Nodes[i].Name() < s.Nodes[j].Name() })
	s.assignPods()
	for _, g := range groups {
		own := *g
		own.Read.At = plain(g.Read.At)
		own.Instances = make([]*Instance, len(g.Instances))
		for i, in := range g.Instances {
			own.Instances[i] = new(*in)
		}
		sort.Slice(own.Instances, func(i, j int) bool { return own.Instances[i].ID < own.Instances[j].ID })
		s.Groups = append(s.Groups, &own)
		s.groups[own.ID] = &own
	}
	sort.Slice(s.Groups, func(i, j int) bool { return s.Groups[i].ID < s.Groups[j].ID })
	s.joinMachines()
	for _, g := range s.Groups {
		s.learnTemplate(g)
	}
	return s
}

// plain is t in UTC without a monotonic reading, so that a snapshot read back from paper compares and subtracts alike.
func plain(t time.Time) time.Time { return t.UTC().Round(0) }

func (s *Snapshot) assignPods() {
	for _, p := range s.Objects.Pods {
		if Finished(p) {
			continue
		}
		if p.Spec.NodeName == "" {
			if p.DeletionTimestamp == nil {
				s.Pending = append(s.Pending, p)
			}
			continue
		}
		if n := s.nodes[p.Spec.NodeName]; n != nil {
			n.Pods = append(n.Pods, p)
		}
	}
	for _, n := range s.Nodes {
		sort.Slice(n.Pods, func(i, j int) bool { return podLess(n.Pods[i], n.Pods[j]) })
	}
	sort.SliceStable(s.Pending, func(i, j int) bool {
		a, b := s.Pending[i], s.Pending[j]
		if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
			return a.CreationTimestamp.Before(&b.CreationTimestamp)
		}
		return podLess(a, b)
	})
}

func podLess(a, b *corev1.Pod) bool {
	if a.Namespace != b.Namespace {
		return a.Namespace < b.Namespace
	}
	return a.Name < b.Name
}

// MayBe says whether the node could be this machine: by the machine's unique id, provider id in any letter case, computer
// name or private address. Any one of them is enough to make it a suspect (S-12).
func (i *Instance) MayBe(n *corev1.Node) bool {
	if i.UID != "" && strings.EqualFold(i.UID, n.Status.NodeInfo.SystemUUID) {
		return true
	}
	if SameProviderID(i.ProviderID, n.Spec.ProviderID) {
		return true
	}
	if i.ComputerName != "" && (strings.EqualFold(i.ComputerName, n.Name) || strings.EqualFold(i.ComputerName, n.Labels[corev1.LabelHostname])) {
		return true
	}
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeInternalIP {
			continue
		}
		for _, ip := range i.PrivateIPs {
			if ip == a.Address {
				return true
			}
		}
	}
	return false
}

// joinMachines gives every node the one machine that it could be. Where a node could be several machines, or a machine
// several nodes, both stay apart: the node has Suspects and no Instance, and nothing is done to either.
func (s *Snapshot) joinMachines() {
	index := newMachineIndex(s.Groups)
	claims := map[*Instance][]*Node{}
	for _, n := range s.Nodes {
		n.Suspects = index.suspects(n.Object)
		for _, in := range n.Suspects {
			claims[in] = append(claims[in], n)
		}
	}
	for _, n := range s.Nodes {
		n.Marked, _ = ParseMachine(n.Object.Annotations[MachineAnnotation])
		if len(n.Suspects) == 0 {
			n.Group = n.Marked.Group
			continue
		}
		n.Group = n.Suspects[0].Group
		if in := n.Suspects[0]; len(n.Suspects) == 1 && len(claims[in]) == 1 {
			n.Instance, n.Suspects, in.Node = in, nil, n.Name()
		}
	}
}

// machineIndex finds the machines a node could be without comparing every pair.
type machineIndex map[string][]*Instance

func newMachineIndex(groups []*Group) machineIndex {
	ix := machineIndex{}
	add := func(kind, value string, in *Instance) {
		if value != "" {
			key := kind + strings.ToLower(value)
			ix[key] = append(ix[key], in)
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
		}
	}
	return ix
}

// suspects are the machines for which [Instance.MayBe] holds, in the order of groups and ids.
func (ix machineIndex) suspects(n *corev1.Node) []*Instance {
	keys := []string{
		"uid:" + n.Status.NodeInfo.SystemUUID, "provider:" + n.Spec.ProviderID, "name:" + n.Name, "name:" + n.Labels[corev1.LabelHostname],
	}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			keys = append(keys, "ip:"+a.Address)
		}
	}
	var found []*Instance
	seen := map[*Instance]bool{}
	for _, key := range keys {
		for _, in := range ix[strings.ToLower(key)] {
			if !seen[in] {
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
