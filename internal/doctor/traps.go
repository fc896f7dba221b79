package doctor

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/diagnosis"
)

// The traps that [Join] can name, beside [NodeAmbiguous], [NodeWithoutMachine] and [MachineWithoutNode].
const (
	TwoNodesOneMachine   = "TwoNodesOneMachine"
	NodeOfEarlierMachine = "NodeOfEarlierMachine"
	NodeDeletionHangs    = "NodeDeletionHangs"
	NodeNameWithID       = "NodeNameWithID"
	NodeNameOfInstance   = "NodeNameOfInstance"
	NodeNameOther        = "NodeNameOther"
	HostnameLabelOther   = "HostnameLabelOther"
	ProviderIDEmpty      = "ProviderIDEmpty"
	ProviderIDOfK3s      = "ProviderIDOfK3s"
	ProviderIDForeign    = "ProviderIDForeign"
	ProviderIDMalformed  = "ProviderIDMalformed"
	ProviderIDOtherForm  = "ProviderIDOtherForm"
	ProviderIDOfAnother  = "ProviderIDOfAnother"
	InstanceTypeOfK3s    = "InstanceTypeOfK3s"
	InstanceTypeMissing  = "InstanceTypeMissing"
	InstanceTypeWrong    = "InstanceTypeWrong"
	ZoneMissing          = "ZoneMissing"
	ZoneWrong            = "ZoneWrong"
	RegionMissing        = "RegionMissing"
	RegionWrong          = "RegionWrong"
	NoCloudController    = "NoCloudController"
	CloudControllerFails = "CloudControllerFails"
	VMTypeWrong          = "VMTypeWrong"
	MachineNameTaken     = "MachineNameTaken"
	NodePasswordStays    = "NodePasswordStays"
	ComputerNameInvalid  = "ComputerNameInvalid"
	MachineFails         = "MachineFails"
	ComputerNameCapital  = "ComputerNameCapital"
)

// A trap is one known way in which a machine and its node do not come together.
type trap struct {
	code   string
	area   string
	status Status
	breaks func(*pair) bool   // it is a problem then, whatever the status
	alone  bool               // of machines that are no node; else of nodes
	known  string             // where others have met it, as "kubernetes/autoscaler#4995"; "" when it was only measured or read
	is     string             // in general, one clause
	shows  func(*pair) string // of this pair, one sentence; "" when it is not so
	remedy string
}

// traps are all of them but [VMTypeWrong], which is of a group. Those of machines without a node come in the order of what tells most.
var traps = []trap{
	{
		code: NodeDeletionHangs, area: areaMachine, status: Problem,
		is:     "a Node object was deleted, and finalizers hold it",
		shows:  deletionHangs,
		remedy: "start the controllers that remove these finalizers (those of wrangler.cattle.io run in K3s's servers); until then no machine can have that name",
	},
	{
		code: TwoNodesOneMachine, area: areaMachine, status: Problem,
		is:     "two nodes claim one machine, as after its name was changed",
		shows:  twoNodes,
		remedy: "delete the Node object whose kubelet is silent (kubectl get nodes shows NotReady)",
	},
	{
		code: NodeOfEarlierMachine, area: areaMachine, status: Problem, known: "k3s-io/k3s#802, k3s-io/k3s#6054",
		is:     "a Node object is of an earlier machine, whose name a new one has",
		shows:  earlier,
		remedy: "kubectl delete node {node}; the new machine joins within seconds",
	},
	{
		code: NodeAmbiguous, area: areaMachine, status: Problem,
		is: "a node could be several machines",
		shows: func(p *pair) string {
			if len(p.node.Suspects) == 0 || twoNodes(p) != "" || earlier(p) != "" {
				return ""
			}
			return fmt.Sprintf("node %s could be machine %s: nothing is done to any of them", p.name, suspects(p.node))
		},
		remedy: "give the machines different computer names and addresses, and let kubelet report its provider id",
	},
	{
		code: NodeWithoutMachine, area: areaMachine, status: Warning,
		is:     "the machine is gone and the Node object stays; K3s's own cloud controller never deletes one",
		shows:  machineless,
		remedy: "kubectl delete node {node}, unless sluice runs, which does that by itself",
	},
	{
		code: NodeNameWithID, area: areaName, status: Warning, breaks: external,
		is: "the node's name is the computer name and a random id, by --with-node-id",
		shows: func(p *pair) string {
			if m := p.machine; m == nil || m.ComputerName == "" || !regexp.MustCompile(`(?i)^`+regexp.QuoteMeta(m.ComputerName)+`-[0-9a-f]{8}$`).MatchString(p.name) {
				return ""
			}
			return fmt.Sprintf("node %s has an id behind its computer name, %s: Azure's cloud controller does not find its machine", p.name, p.machine.ComputerName)
		},
		remedy: "take --with-node-id away, and delete the Node object before its machine starts again",
	},
	{
		code: NodeNameOfInstance, area: areaName, status: Warning, breaks: external,
		is: "the node's name is the machine's name in Azure, and not its computer name",
		shows: func(p *pair) string {
			if p.misnamed() && p.ofInstance() {
				return fmt.Sprintf("node %s has its machine's name in Azure, and its computer name is %s", p.name, p.machine.ComputerName)
			}
			return ""
		},
		remedy: "start kubelet without --hostname-override (K3s: --node-name), so that it takes the computer name",
	},
	{
		code: NodeNameOther, area: areaName, status: Warning, breaks: external,
		is: "the node's name is not its machine's computer name",
		shows: func(p *pair) string {
			if p.misnamed() && !p.ofInstance() {
				return fmt.Sprintf("node %s is machine %s/%s, whose computer name is %s", p.name, p.machine.Group, p.machine.ID, p.machine.ComputerName)
			}
			return ""
		},
		remedy: "start kubelet without --hostname-override (K3s: --node-name), so that it takes the computer name",
	},
	{
		code: HostnameLabelOther, area: areaName, status: Warning,
		is: "the label kubernetes.io/hostname is not the node's name",
		shows: func(p *pair) string {
			if have := p.label(corev1.LabelHostname); have != "" && !strings.EqualFold(have, p.name) {
				return fmt.Sprintf("node %s is labelled %s=%s: local volumes and spread by host go by the label", p.name, corev1.LabelHostname, have)
			}
			return ""
		},
		remedy: "take that label out of kubelet's --node-labels, and kubectl label --overwrite node {node} kubernetes.io/hostname={node}",
	},
	{
		code: ProviderIDEmpty, area: areaProviderID, status: Warning, breaks: external, known: "kubernetes/autoscaler#3392",
		is: "the node has no provider id, and somebody goes by it",
		shows: func(p *pair) string {
			if p.node.Object.Spec.ProviderID == "" && p.idCounts() && !p.awaitsController() {
				return fmt.Sprintf("node %s has no provider id: %s", p.name, p.unfound())
			}
			return ""
		},
		remedy: "start kubelet with --provider-id={id} (K3s: --kubelet-arg=provider-id=…); it takes effect at once where the node has none",
	},
	{
		code: ProviderIDOfK3s, area: areaProviderID, status: Warning, breaks: external, known: "kubernetes/autoscaler#4995, kubernetes-sigs/cloud-provider-azure#5237",
		is: "the node has the provider id of K3s's or RKE2's own cloud controller, and somebody goes by it",
		shows: func(p *pair) string {
			if id := p.node.Object.Spec.ProviderID; ofRancher(id) && p.idCounts() {
				return fmt.Sprintf("node %s calls its machine %s: %s", p.name, id, p.unfound())
			}
			return ""
		},
		remedy: "start agents with --kubelet-arg=provider-id={id}, and delete the Node object before its machine starts again: a provider id never changes",
	},
	{
		code: ProviderIDForeign, area: areaProviderID, status: Problem,
		is: "the provider id is of another cloud",
		shows: func(p *pair) string {
			id := p.node.Object.Spec.ProviderID
			scheme, _, _ := strings.Cut(id, ":")
			if id == "" || ofRancher(id) || strings.EqualFold(scheme, "azure") || p.machine == nil && !p.lost() {
				return ""
			}
			return fmt.Sprintf("node %s calls its machine %s, which is none of Azure's", p.name, id)
		},
		remedy: "correct kubelet's --provider-id or the cloud controller manager, and delete the Node object before its machine starts again",
	},
	{
		code: ProviderIDMalformed, area: areaProviderID, status: Problem, known: "kubernetes-sigs/cluster-api-provider-azure#1279",
		is: "the provider id is not of the form that Azure's cloud controller writes, as with four slashes",
		shows: func(p *pair) string {
			id := p.node.Object.Spec.ProviderID
			if scheme, _, is := strings.Cut(id, ":"); !is || !strings.EqualFold(scheme, "azure") || formOf(id) != "" {
				return ""
			}
			return fmt.Sprintf("node %s calls its machine %s, which has no form of Azure's", p.name, id)
		},
		remedy: "start kubelet with --provider-id={id}, three slashes in front, and delete the Node object before its machine starts again",
	},
	{
		code: ProviderIDOtherForm, area: areaProviderID, status: Problem,
		is: "the provider id is of a single machine where the scale set is uniform, or the other way round",
		shows: func(p *pair) string {
			if p.otherID() && formOf(p.node.Object.Spec.ProviderID) != formOf(p.machine.ProviderID) {
				return fmt.Sprintf("node %s has the provider id of %s, and its machine is of %s", p.name, formOf(p.node.Object.Spec.ProviderID), formOf(p.machine.ProviderID))
			}
			return ""
		},
		remedy: "start kubelet with --provider-id={id}, and delete the Node object before its machine starts again",
	},
	{
		code: ProviderIDOfAnother, area: areaProviderID, status: Problem,
		is: "the provider id is another machine's, as when an image holds it",
		shows: func(p *pair) string {
			if p.otherID() && formOf(p.node.Object.Spec.ProviderID) == formOf(p.machine.ProviderID) {
				return fmt.Sprintf("node %s calls its machine %s, and is machine %s/%s", p.name, p.node.Object.Spec.ProviderID, p.machine.Group, p.machine.ID)
			}
			return ""
		},
		remedy: "take the provider id out of the image, start kubelet with --provider-id={id}, and delete the Node object before its machine starts again",
	},
	{
		code: InstanceTypeOfK3s, area: areaLabels, status: Warning, known: "kubernetes-sigs/cloud-provider-azure#5849",
		is: "the label of the instance type is k3s or rke2",
		shows: func(p *pair) string {
			if have := p.label(corev1.LabelInstanceTypeStable); p.machine != nil && (have == "k3s" || have == "rke2") {
				return fmt.Sprintf("node %s is labelled %s=%s: pods that select a size do not find it", p.name, corev1.LabelInstanceTypeStable, have)
			}
			return ""
		},
		remedy: "start agents with --node-label=node.kubernetes.io/instance-type={size}",
	},
	{
		code: InstanceTypeMissing, area: areaLabels, status: Warning,
		is:     "there is no label of the instance type",
		shows:  missing(corev1.LabelInstanceTypeStable, (*pair).size),
		remedy: "start kubelet with --node-labels=node.kubernetes.io/instance-type={size}, or run Azure's cloud controller manager",
	},
	{
		code: InstanceTypeWrong, area: areaLabels, status: Warning,
		is: "the label of the instance type is not the machine's size",
		shows: func(p *pair) string {
			have := p.label(corev1.LabelInstanceTypeStable)
			if p.size() == "" || have == "" || have == "k3s" || have == "rke2" || strings.EqualFold(have, p.size()) {
				return ""
			}
			return fmt.Sprintf("node %s is labelled %s=%s, and its machine is %s", p.name, corev1.LabelInstanceTypeStable, have, p.size())
		},
		remedy: "correct kubelet's --node-labels; kubectl label --overwrite node {node} node.kubernetes.io/instance-type={size} until then",
	},
	{
		code: ZoneMissing, area: areaLabels, status: Warning,
		is:     "the machine is in a zone, and there is no label of it",
		shows:  missing(corev1.LabelTopologyZone, (*pair).zone),
		remedy: "start kubelet with --node-labels=topology.kubernetes.io/zone={zone}, or run Azure's cloud controller manager",
	},
	{
		code: ZoneWrong, area: areaLabels, status: Problem,
		is:     "the label of the zone is another one than the machine's, as 1 instead of westeurope-1",
		shows:  wrong(corev1.LabelTopologyZone, (*pair).zone),
		remedy: "correct kubelet's --node-labels; kubectl label --overwrite node {node} topology.kubernetes.io/zone={zone} until then: disks follow the zone",
	},
	{
		code: RegionMissing, area: areaLabels, status: Warning,
		is:     "there is no label of the region",
		shows:  missing(corev1.LabelTopologyRegion, region),
		remedy: "start kubelet with --node-labels=topology.kubernetes.io/region={region}, or run Azure's cloud controller manager",
	},
	{
		code: RegionWrong, area: areaLabels, status: Problem,
		is:     "the label of the region is another one than the machine's",
		shows:  wrong(corev1.LabelTopologyRegion, region),
		remedy: "correct kubelet's --node-labels; kubectl label --overwrite node {node} topology.kubernetes.io/region={region} until then: disks follow the region",
	},
	{
		code: NoCloudController, area: areaTaints, status: Problem,
		is: "kubelet waits for a cloud controller manager, and none runs",
		shows: func(p *pair) string {
			if p.awaitsController() && !p.external && !p.embedded && p.age() >= controllerWithin {
				return fmt.Sprintf("node %s is tainted %s for %s, and no cloud controller manager is seen that takes it off", p.name, cluster.UninitializedTaint, spell(p.age()))
			}
			return ""
		},
		remedy: "run Azure's cloud controller manager, or start kubelet without --cloud-provider=external; on K3s, leave --disable-cloud-controller away",
	},
	{
		code: CloudControllerFails, area: areaTaints, status: Problem, known: "kubernetes-sigs/cloud-provider-azure#384",
		is: "a cloud controller manager runs, and does not take the node for one of its machines",
		shows: func(p *pair) string {
			if p.awaitsController() && (p.external || p.embedded) && p.age() >= joinWithin {
				return fmt.Sprintf("node %s is tainted %s for %s: the cloud controller manager does not find its machine", p.name, cluster.UninitializedTaint, spell(p.age()))
			}
			return ""
		},
		remedy: "look at its log: the node's name must be the computer name, and vmType, subscription and resource group in its azure.json the machine's",
	},

	{
		code: MachineNameTaken, area: areaMachine, status: Problem, alone: true, known: "k3s-io/k3s#802, k3s-io/k3s#6054",
		is: "a machine is no node, as its name is that of a node of an earlier machine",
		shows: func(p *pair) string {
			for _, n := range p.Snapshot.Nodes {
				if n.CouldBe(p.machine) && p.machine.Succeeds(n.Object) {
					return fmt.Sprintf("machine %s (%s) cannot join: node %s is of an earlier machine of that name", p.name, p.machine.ComputerName, n.Name())
				}
			}
			return ""
		},
		remedy: "kubectl delete node {node}; the machine tries again by itself, on K3s every 10 s",
	},
	{
		code: NodePasswordStays, area: areaMachine, status: Problem, alone: true, known: "k3s-io/k3s#802, vitobotta/hetzner-k3s#390",
		is: "a machine is no node, as K3s or RKE2 keeps the password of an earlier one of its name",
		shows: func(p *pair) string {
			name := strings.ToLower(p.machine.ComputerName)
			if p.age() < joinWithin || !p.Passwords[name] || p.Snapshot.Node(name) != nil {
				return ""
			}
			return fmt.Sprintf("machine %s (%s) runs for %s and is no node, and the password of a node %s is kept, which may be an earlier machine's", p.name, p.machine.ComputerName, spell(p.age()), name)
		},
		remedy: "kubectl -n kube-system delete secret {node}.node-password.k3s (RKE2: .rke2); a server of 2025-10 or later does so after 10 minutes",
	},
	{
		code: ComputerNameInvalid, area: areaMachine, status: Problem, alone: true,
		is: "a machine is no node, as its computer name cannot be a node's",
		shows: func(p *pair) string {
			if name := p.machine.ComputerName; p.age() >= joinWithin && name != "" && !nodeName.MatchString(strings.ToLower(name)) {
				return fmt.Sprintf("machine %s cannot join: its computer name %s has characters that no node's name has", p.name, name)
			}
			return ""
		},
		remedy: "give group {group} a computerNamePrefix of letters, digits and hyphens, and replace the machine",
	},
	{
		code: MachineFails, area: areaMachine, status: Problem, alone: true,
		is: "a machine is no node, and its boot log, or Azure, says why",
		shows: func(p *pair) string {
			if f := p.machine.Failure; f != nil && p.machine.State == cluster.StateFailed {
				return fmt.Sprintf("machine %s (%s) is no node: Azure says that it failed: %s", p.name, p.machine.ComputerName, f.Message)
			}
			d := p.machine.Diagnosis
			if p.age() < joinWithin || d == nil || d.Cause == "" {
				return ""
			}
			return fmt.Sprintf("machine %s (%s) is no node: %s%s", p.name, p.machine.ComputerName, d.Cause, lastWords(d))
		},
		remedy: "see to the cause that is named; sluice deletes the machine and makes another",
	},
	{
		code: ComputerNameCapital, area: areaMachine, status: Warning, alone: true,
		is: "a machine is no node, and its computer name has capitals, which a node's name cannot have",
		shows: func(p *pair) string {
			name := p.machine.ComputerName
			if p.age() < joinWithin || name == strings.ToLower(name) {
				return ""
			}
			return fmt.Sprintf("machine %s runs for %s and is no node; kubelet writes its computer name %s in small letters, and a name that is given to it must be so", p.name, spell(p.age()), name)
		},
		remedy: "give kubelet no name (--hostname-override, kubeadm's nodeRegistration.name), or one in small letters; then look at the machine's boot log",
	},
	{
		code: MachineWithoutNode, area: areaMachine, status: Warning, alone: true,
		is: "a machine is no node, and nothing says why",
		shows: func(p *pair) string {
			if p.age() < joinWithin {
				return ""
			}
			for _, n := range p.Snapshot.Nodes {
				if n.CouldBe(p.machine) {
					return "" // said of the node
				}
			}
			says := "; nobody has read its boot log"
			if d := p.machine.Diagnosis; d != nil {
				if says = "; its boot log shows no known cause" + lastWords(d); len(d.Lines) == 0 && d.Problem != "" {
					says = "; " + d.Problem
				}
			}
			return fmt.Sprintf("machine %s (%s) runs for %s and is no node%s", p.name, p.machine.ComputerName, spell(p.age()), says)
		},
		remedy: "look at its kubelet and at the join token in its custom data; sluice deletes it after --max-node-provision-time",
	},
}

// controllerWithin is how long a node may wait for a cloud controller of which nothing is seen.
const controllerWithin = 2 * time.Minute

// nodeName is the form of a node's name.
var nodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

func external(p *pair) bool { return p.external }

func region(p *pair) string {
	if p.machine == nil {
		return ""
	}
	return p.Region
}

// missing says that the node lacks a label of which the machine's value is known.
func missing(label string, value func(*pair) string) func(*pair) string {
	return func(p *pair) string {
		if want := value(p); want != "" && p.label(label) == "" {
			return fmt.Sprintf("node %s has no label %s; its machine's is %s", p.name, label, want)
		}
		return ""
	}
}

// wrong says that a label of the node is another one than its machine's.
func wrong(label string, value func(*pair) string) func(*pair) string {
	return func(p *pair) string {
		if want, have := value(p), p.label(label); want != "" && have != "" && !strings.EqualFold(want, have) {
			return fmt.Sprintf("node %s is labelled %s=%s; its machine's is %s", p.name, label, have, want)
		}
		return ""
	}
}

// misnamed says that the node has neither its machine's computer name nor that with an id.
func (p *pair) misnamed() bool {
	m := p.machine
	return m != nil && m.ComputerName != "" && !strings.EqualFold(p.name, m.ComputerName) &&
		!(len(p.name) == len(m.ComputerName)+9 && strings.HasPrefix(strings.ToLower(p.name), strings.ToLower(m.ComputerName)+"-"))
}

// ofInstance says that the node's name is made of the names that Azure has for its machine.
func (p *pair) ofInstance() bool {
	rest, last := cutLast(p.machine.ProviderID)
	rest, _ = cutLast(rest)
	_, set := cutLast(rest)
	plain := strings.NewReplacer("_", "", "-", "")
	name := plain.Replace(strings.ToLower(p.name))
	return name == plain.Replace(strings.ToLower(last)) || name == plain.Replace(strings.ToLower(set+last))
}

// cutLast cuts a path before its last part.
func cutLast(path string) (before, last string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(0, i)], path[i+1:]
}

// awaitsController says that kubelet has left it to a cloud controller manager to say what the node is.
func (p *pair) awaitsController() bool {
	for _, t := range p.node.Object.Spec.Taints {
		if t.Key == cluster.UninitializedTaint {
			return true
		}
	}
	return false
}

// otherID says that both ids have a form of Azure's, and are not the same.
func (p *pair) otherID() bool {
	if p.machine == nil {
		return false
	}
	id := p.node.Object.Spec.ProviderID
	return formOf(id) != "" && formOf(p.machine.ProviderID) != "" && !cluster.SameProviderID(id, p.machine.ProviderID)
}

// unfound is whom a provider id that is none of Azure's leaves without a machine.
func (p *pair) unfound() string {
	switch {
	case p.external:
		return "Azure's cloud controller manager does not find its machine"
	case p.Unread != "":
		return "only its unique id can tell which machine it is"
	}
	return "no machine of a managed group is it"
}

func deletionHangs(p *pair) string {
	at := p.node.Object.DeletionTimestamp
	if at == nil || p.Snapshot.Time.Sub(at.Time) < time.Minute || len(p.node.Object.Finalizers) == 0 {
		return ""
	}
	return fmt.Sprintf("node %s was deleted %s ago, and finalizers hold it: %s", p.name, spell(p.Snapshot.Time.Sub(at.Time)), some(p.node.Object.Finalizers))
}

func twoNodes(p *pair) string {
	for _, in := range p.node.Suspects {
		for _, n := range p.Snapshot.Nodes {
			if n != p.node && in.Bears(n.Object) && in.Bears(p.node.Object) {
				return fmt.Sprintf("nodes %s and %s both claim machine %s/%s", p.name, n.Name(), in.Group, in.ID)
			}
		}
	}
	return ""
}

func earlier(p *pair) string {
	for _, in := range p.node.Suspects {
		if in.Succeeds(p.node.Object) {
			return fmt.Sprintf("node %s is of an earlier machine: machine %s/%s has its name or address, and another unique id", p.name, in.Group, in.ID)
		}
	}
	return ""
}

func machineless(p *pair) string {
	n, g := p.node, p.Snapshot.Group(p.node.Group)
	if p.machine != nil || len(n.Suspects) > 0 || n.Parked.UID != "" || g == nil || !g.Usable() || !n.Object.CreationTimestamp.Time.Before(g.Read.At) {
		return ""
	}
	return fmt.Sprintf("node %s belongs to group %s, which lists no such machine", p.name, n.Group)
}

// lastWords is the last line of a machine's log that shows the cause, or its last one where none does. It is cleaned and bounded.
func lastWords(d *cluster.Diagnosis) string {
	if len(d.Lines) == 0 {
		return ""
	}
	at := len(d.Lines) - 1
	for i, line := range d.Lines {
		if d.Cause != "" && diagnosis.Read(nil, []byte(line)).Cause.Name == d.Cause {
			at = i
		}
	}
	return fmt.Sprintf(" (%s)", d.Lines[at])
}
