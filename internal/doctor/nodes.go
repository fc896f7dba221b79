package doctor

import (
	"fmt"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
)

func kubernetes(f Facts) []Finding {
	const check = "kubernetes"
	k := f.Kube
	switch {
	case k.Skipped:
		return []Finding{unknown(check, "not looked at without a configuration")}
	case k.Err != nil:
		return []Finding{{
			Check: check, Status: Problem, Code: ClusterUnreachable, Message: fmt.Sprintf("the API server cannot be asked: %v", k.Err),
			Remedy: "correct the kubeconfig or the service account, and open the way to the API server",
		}}
	}
	var all []Finding
	if k.RightsErr != nil {
		all = append(all, Finding{
			Check: check, Status: Warning, Code: KubeRightsUnknown, Message: fmt.Sprintf("what this account may do cannot be asked: %v", k.RightsErr),
			Remedy: "apply deploy/rbac.yaml",
		})
	}
	for _, d := range k.Denied {
		all = append(all, Finding{
			Check: check, Status: Problem, Code: KubeRightMissing, Subject: d.String(), Message: "this account may not " + d.String(), Remedy: "apply deploy/rbac.yaml",
		})
	}
	if len(all) == 0 {
		all = append(all, ok(check, "", fmt.Sprintf("the API server answers and grants this account the %d rights that sluice needs", k.Checked)))
	}
	if k.Leader != "" {
		all = append(all, ok(check, "lease", fmt.Sprintf("%s leads; whoever shares that lease waits for its turn, a dry run does not", k.Leader)))
	}
	return all
}

// String is "list nodes", with name and namespace where there are some.
func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	return text
}

// nodes looks at how nodes and machines match.
func nodes(f Facts) []Finding {
	const check = "nodes"
	s := f.Snapshot
	if s == nil || f.Azure.Token != nil {
		return []Finding{unknown(check, "not looked at without cluster and groups")}
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
		case n.Group != "" && s.Group(n.Group) != nil && s.Group(n.Group).Usable():
			all = append(all, Finding{
				Check: check, Status: Warning, Code: NodeWithoutMachine, Subject: n.Name(),
				Message: fmt.Sprintf("node %s belongs to group %s, which lists no such machine", n.Name(), n.Group),
				Remedy:  "delete the Node object if the machine is gone; the cloud controller manager does that where one runs",
			})
		}
	}
	machines := 0
	for _, g := range s.Groups {
		for _, in := range g.Instances {
			machines++
			all = append(all, machine(s, g, in)...)
		}
	}
	if machines > 0 && joined == 0 && ambiguous == 0 && len(s.Nodes) > 0 {
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

func machine(s *cluster.Snapshot, g *cluster.Group, in *cluster.Instance) []Finding {
	const check = "nodes"
	name := string(g.ID) + "/" + string(in.ID)
	switch {
	case in.State == cluster.StateStopped:
		return []Finding{{
			Check: check, Status: Warning, Code: MachineStopped, Subject: name, Message: fmt.Sprintf("machine %s is stopped: it counts toward the scale set's capacity and its disks are billed", name),
			Remedy: "start it, or delete it by its id",
		}}
	case in.Node != "" || in.State != cluster.StateRunning || s.Time.Sub(in.Created) < joinWithin:
		return nil
	}
	for _, n := range s.Nodes {
		if in.MayBe(n.Object) {
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

// joinWithin is how long a machine that runs may be without a node before that is worth a word.
const joinWithin = 15 * time.Minute
