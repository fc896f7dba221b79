package cluster

import (
	"slices"
	"strings"
	"time"
)

// Contradicts is a node that proves the group's list wrong, the first of those given; nil when none does. It is Ready, or its kubelet
// reports that it is not and it is none of which a list may not know yet; no machine that is listed could be it, and nobody saw its machine
// leave; that it is a machine of the group is known from an earlier list, by its provider id, or by its name when no group claims it. A
// cloud may say for long, and as often as it is asked, that there are no machines: kubelets that report know better.
func (g *Group) Contradicts(nodes []*Node) *Node {
	if len(g.Missing) == 0 && g.ProviderIDPrefix == "" && g.HostnamePrefix == "" {
		return nil
	}
	var listed map[string]bool
	for _, n := range nodes {
		if !g.lacks(n) || !Ready(n.Object) && !(Speaks(n.Object) && g.shouldList(n)) {
			continue
		}
		if listed == nil {
			listed = make(map[string]bool, len(g.Instances)+len(g.Parked))
			for _, in := range slices.Concat(g.Instances, g.Parked) {
				listed[in.UID] = true
			}
		}
		if uuid := strings.ToLower(n.Object.Status.NodeInfo.SystemUUID); listed[uuid] || listed[Swapped(uuid)] || g.HasDeparted(uuid) {
			continue
		}
		if !slices.ContainsFunc(g.Instances, func(in *Instance) bool { return in.MayBe(n.Object) }) {
			return n
		}
	}
	return nil
}

// listsLag is how old a node is of which every list should know: one that is younger may be younger than the list.
const listsLag = 10 * time.Minute

// shouldList says whether the group's list should have the node's machine, however old the list is: an earlier one had it, or the node is
// old.
func (g *Group) shouldList(n *Node) bool {
	return hasUID(g.Missing, n.Object.Status.NodeInfo.SystemUUID) || g.Read.At.Sub(n.Object.CreationTimestamp.Time) >= listsLag
}

// lacks says whether the node is of a machine that the list should have. A name says so only where the node's provider id says nothing of
// its machine.
func (g *Group) lacks(n *Node) bool {
	if hasUID(g.Missing, n.Object.Status.NodeInfo.SystemUUID) {
		return true
	}
	if id := n.Object.Spec.ProviderID; g.ProviderIDPrefix != "" && len(id) >= len(g.ProviderIDPrefix) && strings.EqualFold(id[:len(g.ProviderIDPrefix)], g.ProviderIDPrefix) {
		return true
	}
	return n.Numbered && strings.EqualFold(g.HostnamePrefix, numbered(n.Name())) && !sameScheme(g.ProviderIDPrefix, n.Object.Spec.ProviderID)
}

// sameScheme says whether two provider ids are of one cloud: what stands before :// is the same.
func sameScheme(a, b string) bool {
	x, _, is := strings.Cut(a, "://")
	y, _, too := strings.Cut(b, "://")
	return is && too && strings.EqualFold(x, y)
}

// HasDeparted says whether the list lacks the machine with this UID because it was deleted.
func (g *Group) HasDeparted(uid string) bool { return hasUID(g.Departed, uid) }

// hasUID says whether one of the UIDs, which are sorted, is that of a machine whose firmware tells this one.
func hasUID(all []string, firmware string) bool {
	if len(all) == 0 || firmware == "" {
		return false
	}
	firmware = strings.ToLower(firmware)
	_, is := slices.BinarySearch(all, firmware)
	if !is {
		_, is = slices.BinarySearch(all, strings.ToLower(Swapped(firmware)))
	}
	return is
}
