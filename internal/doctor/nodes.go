package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
)

func kubernetes(f Facts, _ *Diagnosis) []Finding {
	const check = "kubernetes"
	k := f.Kube
	who := cmp.Or(k.Account, k.As, "this account")
	switch {
	case k.Config != nil:
		return []Finding{dependent(check, "configuration")}
	case k.Err != nil && k.As != "" && k.Err.Kind == Forbidden:
		return []Finding{{
			Check: check, Status: Problem, Code: AccountNotAssumed, Message: fmt.Sprintf("--as=%s: %s", k.As, k.Err.Sentence), Remedy: "use a kubeconfig that may impersonate it, or run sluice doctor in sluice's pod", blocks: true,
		}}
	case k.Err != nil:
		remedy := cmp.Or(k.Err.Kind.remedy(), "correct the kubeconfig or the service account")
		if k.Err.Kind == Stranger {
			remedy = "correct the token or certificate in the kubeconfig"
		}
		return []Finding{{Check: check, Status: Problem, Code: ClusterUnreachable, Message: "the API server cannot be asked: " + k.Err.Sentence, Remedy: remedy, blocks: true}}
	}
	var all []Finding
	if e := k.RightsErr; e != nil {
		remedy := cmp.Or(e.Kind.remedy(), "apply deploy/rbac.yaml")
		all = append(all, Finding{Check: check, Status: Warning, Code: KubeRightsUnknown, Message: fmt.Sprintf("what %s may do cannot be asked: %s", who, e.Sentence), Remedy: remedy})
	}
	if len(k.Denied) > 0 {
		names := make([]string, len(k.Denied))
		for i, d := range k.Denied {
			names[i] = d.String()
		}
		message := fmt.Sprintf("%s may not %s", who, names[0])
		if len(names) > 1 {
			message = fmt.Sprintf("%s lacks %d of %d rights: %s", who, len(names), k.Checked, some(names))
		}
		all = append(all, Finding{Check: check, Status: Problem, Code: KubeRightMissing, Subject: strings.Join(names, ", "), Message: message, Remedy: "apply deploy/rbac.yaml" + k.offer()})
	}
	for _, loss := range k.Lacks.Losses() {
		names := make([]string, len(loss.Rights))
		for i, r := range loss.Rights {
			names[i] = r.String()
		}
		status := Warning
		if loss.Halts {
			status = Problem
		}
		all = append(all, Finding{
			Check: check, Status: status, Code: KubeRightMissing, Subject: strings.Join(names, ", "),
			Message: fmt.Sprintf("%s may not %s: %s", who, some(names), loss.Sentence), Remedy: "apply deploy/rbac.yaml" + k.offer(),
		})
	}
	if k.Unread != nil && len(k.Denied) == 0 {
		all = append(all, Finding{Check: check, Status: Problem, Code: KubeRightMissing, Subject: who, Message: k.Unread.Error(), Remedy: "apply deploy/rbac.yaml"})
	}
	if len(all) == 0 {
		all = append(all, ok(check, "", fmt.Sprintf("the API server answers and grants %s the %d rights that sluice needs%s", who, k.Checked, k.offer())))
	}
	for i := range all {
		all[i].blocks = k.Unread != nil
	}
	all = append(all, k.server(check)...)
	if k.Leader != "" {
		all = append(all, ok(check, "lease", fmt.Sprintf("%s leads; whoever shares that lease waits for its turn, a dry run does not", k.Leader)))
	}
	return all
}

// server judges the API server's version, and what it does not serve.
func (k Kube) server(check string) (all []Finding) {
	s := k.Server
	if s.Newer {
		all = append(all, Finding{
			Check: check, Status: Warning, Code: KubeNewer, Subject: "version", Message: s.Judged(), Remedy: "when a sluice of that minor is out, use it; see docs/reference/support.md",
		})
	} else if judged := s.Judged(); judged != "" {
		all = append(all, ok(check, "version", judged))
	}
	for _, w := range s.Unread() {
		all = append(all, Finding{
			Check: check, Status: Warning, Code: APIUnread, Subject: w.API, Message: w.String(), Remedy: "have the API server serve the version that sluice reads, too, or use a sluice that reads the other",
		})
	}
	if absent := s.Absent(); len(absent) > 0 {
		names := make([]string, len(absent))
		for i, w := range absent {
			names[i] = w.String()
		}
		all = append(all, ok(check, "optional APIs", strings.Join(names, "; ")))
	}
	return all
}

// offer is how to ask for the rights of sluice's own service account; "" when those were asked for, or an account that somebody chose.
func (k Kube) offer() string {
	if k.As != "" || k.Account == k.Service || k.Service == "" {
		return ""
	}
	return "; for those of sluice's service account give --as=" + k.Service
}

// String is "list nodes", with name and namespace where there are some.
func (r Right) String() string {
	text := r.Right.String()
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	return text
}

// nodes looks at how nodes and machines match.
func nodes(f Facts, _ *Diagnosis) []Finding {
	const check = "nodes"
	s := f.Snapshot
	if s == nil {
		return []Finding{dependent(check, "kubernetes")}
	}
	var all []Finding
	joined, ambiguous := 0, 0
	for _, n := range s.Nodes {
		switch {
		case len(n.Suspects) > 0:
			ambiguous++
			all = append(all, Finding{
				Check: check, Status: Problem, Code: NodeAmbiguous, Subject: n.Name(),
				Message: fmt.Sprintf("node %s could be machine %s: nothing is done to any of them", n.Name(), suspects(n)),
				Remedy:  "give the machines different computer names and addresses, delete Node objects of machines that are gone, and let kubelet report its provider id",
			})
		case n.Instance != nil:
			joined++
		case leaving(n):
			// its Node object goes next
		case n.Group != "" && s.Group(n.Group) != nil && s.Group(n.Group).Usable() && n.Object.CreationTimestamp.Time.Before(s.Group(n.Group).Read.At):
			all = append(all, Finding{
				Check: check, Status: Warning, Code: NodeWithoutMachine, Subject: n.Name(),
				Message: fmt.Sprintf("node %s belongs to group %s, which lists no such machine", n.Name(), n.Group),
				Remedy:  "delete the Node object if the machine is gone; the cloud controller manager does that where one runs",
			})
		}
	}
	all = append(all, tainted(s)...)
	all = append(all, unrepaired(s)...)
	machines, late := 0, 0
	for _, g := range s.Groups {
		for _, in := range g.Instances {
			machines++
			if in.State == cluster.StateRunning && s.Time.Sub(in.Created) >= joinWithin {
				late++
			}
			all = append(all, machine(s, g, in)...)
		}
	}
	if late > 0 && joined == 0 && ambiguous == 0 && len(s.Nodes) > 0 {
		all = append(all, Finding{
			Check: check, Status: Problem, Code: NodesUnmatched, Message: fmt.Sprintf("none of %s is one of %s in the groups", count(len(s.Nodes), "node"), count(machines, "machine")),
			Remedy: "see that kubeconfig and resource group are of the same cluster, and that kubelet's node name is the machine's computer name or its provider id Azure's",
		})
	}
	if len(all) == 0 {
		all = append(all, ok(check, "", fmt.Sprintf("%s in the groups, of which %s; %s of no group", count(machines, "machine"), count(joined, "node"), count(len(s.Nodes)-joined, "node"))))
	}
	return all
}

// tainted finds startup taints that stay: for each one finding with all its nodes.
func tainted(s *cluster.Snapshot) (all []Finding) {
	bear, who := map[string][]string{}, map[string]string{} // by the taint's key
	for _, n := range s.Nodes {
		var passing cluster.Taints
		if g := s.Group(n.Group); g != nil {
			passing = g.Passing
		}
		if leaving(n) || s.Time.Sub(n.Object.CreationTimestamp.Time) < joinWithin {
			continue
		}
		for _, t := range passing.Awaited(n.Object.Spec.Taints) {
			bear[t.Key], who[t.Key] = append(bear[t.Key], n.Name()), passing.Remover(t.Key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(bear)) {
		remedy := "see to the controller that takes it off"
		if key == cluster.UninitializedTaint {
			remedy = "run Azure's cloud controller manager, or start kubelet without --cloud-provider=external; on K3s, leave --disable-cloud-controller away"
		}
		all = append(all, Finding{
			Check: "nodes", Status: Warning, Code: NodeTaintStays, Subject: strings.Join(bear[key], ", "), Remedy: remedy,
			Message: fmt.Sprintf("taint %s stays on %s, and %s should take it off within %s: %s", key, count(len(bear[key]), "node"), who[key], joinWithin, some(bear[key])),
		})
	}
	return all
}

// unrepaired finds nodes that have not been Ready for long and whose group is at its min: for each group one finding.
func unrepaired(s *cluster.Snapshot) (all []Finding) {
	for _, g := range s.Groups {
		var names []string
		for _, in := range g.Instances {
			n := s.Node(in.Node)
			if n == nil || in.State != cluster.StateRunning || leaving(n) || cluster.Ready(n.Object) {
				continue
			}
			if since := cluster.NotReadySince(n.Object).Time; s.Time.Sub(since) >= readyWithin {
				names = append(names, n.Name())
			}
		}
		if len(names) == 0 || g.Present() > g.Min {
			continue
		}
		all = append(all, Finding{
			Check: "nodes", Status: Warning, Code: NodeUnrepaired, Subject: string(g.ID),
			Message: fmt.Sprintf("%s of group %s not Ready for %s or longer, and not deleted, as the group is at its min %d: %s", count(len(names), "node"), g.ID, readyWithin, g.Min, some(names)),
			Remedy:  "repair their machines (restart or reimage them), or lower the min, which lets them go",
		})
	}
	return all
}

func machine(s *cluster.Snapshot, g *cluster.Group, in *cluster.Instance) []Finding {
	const check = "nodes"
	name := string(g.ID) + "/" + string(in.ID)
	switch n := s.Node(in.Node); {
	case n != nil && leaving(n):
		return nil
	case in.State == cluster.StateStopped:
		return []Finding{{
			Check: check, Status: Warning, Code: MachineStopped, Subject: name, Message: fmt.Sprintf("machine %s is stopped: it counts toward the scale set's capacity and its disks are billed", name),
			Remedy: "start it, or delete it by its id",
		}}
	case in.Node != "" || g.ControlPlane != "" || in.State != cluster.StateRunning || s.Time.Sub(in.Created) < joinWithin:
		return nil
	}
	for _, n := range s.Nodes {
		if n.CouldBe(in) {
			return nil // said of the node
		}
	}
	return []Finding{{
		Check: check, Status: Warning, Code: MachineWithoutNode, Subject: name,
		Message: fmt.Sprintf("machine %s (%s) runs since %s and is no node", name, in.ComputerName, in.Created.UTC().Format("2006-01-02 15:04")),
		Remedy:  "look at its kubelet and at the join token in its custom data; sluice deletes it after --max-node-provision-time",
	}}
}

func suspects(n *cluster.Node) string {
	var names []string
	for _, in := range n.Suspects {
		names = append(names, string(in.Group)+"/"+string(in.ID))
	}
	return strings.Join(names, " or ")
}

// leaving says that sluice itself is removing the node.
func leaving(n *cluster.Node) bool {
	_, is := cluster.RemovalOf(n.Object)
	return is
}

// joinWithin is how long a machine that runs may be without a node before that is worth a word.
const joinWithin = 15 * time.Minute

// readyWithin is how long a node may be without being Ready before it goes, unless --scale-down-unready-time says otherwise.
const readyWithin = 20 * time.Minute
