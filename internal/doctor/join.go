package doctor

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// Joining is what was learned of how machines become nodes.
type Joining struct {
	Snapshot *cluster.Snapshot // nodes, and the groups that could be read; nil when nodes could not be
	Unread   string            // why the machines of groups are not known, one clause; "" when they are

	// Passwords are the nodes of which K3s or RKE2 keeps a password, in lower case; nil when that is not known.
	Passwords map[string]bool

	// VMType is what the configuration says of machines: vmss, vmssflex or standard; "" when nothing says it. Mixed says that it lets vmss stand for
	// flexible scale sets, too (enableVmssFlexNodes).
	VMType string
	Mixed  bool

	Region string // "" when it is not known
}

// JoinCodes are all that [Join] can name.
func JoinCodes() []string {
	codes := []string{VMTypeWrong}
	for _, t := range traps {
		codes = append(codes, t.code)
	}
	return codes
}

// The areas of [Join].
const (
	areaMachine    = "machine"
	areaName       = "name"
	areaProviderID = "provider-id"
	areaLabels     = "labels"
	areaTaints     = "taints"
	areaController = "controller"
	areaPassword   = "password"
)

// A pair is a node with what could be its machine, or a machine that is no node.
type pair struct {
	*Joining
	name    string            // of the node, or "group/id"
	node    *cluster.Node     // nil for a machine that is no node
	machine *cluster.Instance // nil when none is known to be the node

	external bool // Azure's cloud controller manager runs in the cluster
	embedded bool // that of K3s or RKE2 runs in its servers
	strays   int  // machines that run and that no node is
}

// Join says of the node or machine of that name how it has joined, area by area; of "" what is wrong with any, and nothing of those with which
// nothing is. It is false when there is none of that name.
func Join(j *Joining, name string) (all []Finding, known bool) {
	if j.Snapshot == nil {
		return nil, name == ""
	}
	external := false
	for _, p := range j.pairs() {
		external = p.external
		found := p.judge()
		switch {
		case name == "":
			all = append(all, found...)
		case p.called(name):
			known = true
			all = append(all, p.told(found)...)
		}
	}
	if name == "" && j.Unread != "" {
		all = append(all, Finding{Check: areaMachine, Status: Unknown, Message: "machines are not known, and nodes are judged alone: " + j.Unread})
	}
	if name == "" {
		if all = append(all, j.kinds(external)...); len(all) == 0 {
			machines := 0
			for _, g := range j.Snapshot.Groups {
				machines += len(g.Instances)
			}
			all = append(all, Finding{Check: areaMachine, Status: OK, Message: fmt.Sprintf("%s and %s of groups: they come together as they should",
				count(len(j.Snapshot.Nodes), "node"), count(machines, "machine"))})
		}
		return all, true
	}
	return all, known
}

// pairs are all nodes, and then all machines that are none.
func (j *Joining) pairs() (all []*pair) {
	s := j.Snapshot
	shared := pair{Joining: j}
	for _, p := range s.Objects.Pods {
		shared.external = shared.external || strings.HasPrefix(p.Name, "cloud-controller-manager") || strings.HasPrefix(p.Name, "azure-cloud-controller-manager")
	}
	for _, n := range s.Nodes {
		shared.embedded = shared.embedded || ofRancher(n.Object.Spec.ProviderID)
	}
	var alone []*cluster.Instance
	for _, g := range s.Groups {
		for _, in := range g.Instances {
			if in.Node != "" || g.ControlPlane != "" {
				continue
			}
			if alone = append(alone, in); in.State == cluster.StateRunning {
				shared.strays++
			}
		}
	}
	for _, n := range s.Nodes {
		p := shared
		p.name, p.node, p.machine = n.Name(), n, n.Instance
		all = append(all, &p)
	}
	for _, in := range alone {
		p := shared
		p.name, p.machine = string(in.Group)+"/"+string(in.ID), in
		all = append(all, &p)
	}
	return all
}

// called says whether somebody who gives this name means the pair.
func (p *pair) called(name string) bool {
	if p.node == nil {
		return strings.EqualFold(p.name, name) || strings.EqualFold(p.machine.ComputerName, name)
	}
	if m := p.machine; m != nil && (strings.EqualFold(string(m.Group)+"/"+string(m.ID), name) || strings.EqualFold(m.ComputerName, name)) {
		return true
	}
	return strings.EqualFold(p.name, name)
}

// judge looks for every trap. Of a machine that is no node only the first one is told: the others follow from it.
func (p *pair) judge() (all []Finding) {
	for _, t := range traps {
		switch {
		case (p.node == nil) != t.alone, p.node != nil && leaving(p.node) && t.code != NodeDeletionHangs:
			continue
		case p.node == nil && p.machine.State != cluster.StateRunning && (t.code != MachineFails || p.machine.Failure == nil):
			continue
		}
		sentence := t.shows(p)
		if sentence == "" {
			continue
		}
		f := Finding{Check: t.area, Status: t.status, Code: t.code, Subject: p.name, Message: sentence, Remedy: p.fill(t.remedy), Known: t.known}
		if t.breaks != nil && t.breaks(p) {
			f.Status = Problem
		}
		if t.code == MachineFails && p.machine.State == cluster.StateRunning {
			f.Remedy = p.machine.Diagnosis.Remedy
		}
		all = append(all, f)
		if t.alone {
			break
		}
	}
	return all
}

// fill puts the pair's own names into a remedy.
func (p *pair) fill(remedy string) string {
	node, group, id := p.name, "", p.wantedID()
	if p.machine != nil {
		group = string(p.machine.Group)
		if p.node == nil {
			node = strings.ToLower(p.machine.ComputerName)
		}
	}
	return strings.NewReplacer("{node}", node, "{group}", cmp.Or(group, "GROUP"), "{id}", cmp.Or(id, "azure:///…"), "{distribution}", cmp.Or(p.distribution(), "k3s"),
		"{zone}", p.zone(), "{region}", p.Region, "{size}", p.size()).Replace(remedy)
}

// wantedID is the provider id that a cloud controller of Azure's would give; "" when the machine is not known.
func (p *pair) wantedID() string {
	if p.machine == nil {
		return ""
	}
	return p.machine.ProviderID
}

func (p *pair) zone() string {
	if p.machine == nil {
		return ""
	}
	return p.machine.Zone
}

// size is the machine's, or that of all machines of its group.
func (p *pair) size() string {
	if p.machine == nil {
		return ""
	}
	size := p.machine.Size
	if g := p.Snapshot.Group(p.machine.Group); size == "" && g != nil {
		size = g.Size
	}
	return size
}

func (p *pair) label(key string) string { return p.node.Object.Labels[key] }

// distribution is k3s or rke2 where the node is one of theirs, else "".
func (p *pair) distribution() string {
	if p.node == nil {
		return ""
	}
	scheme, _, _ := strings.Cut(p.node.Object.Spec.ProviderID, "://")
	for _, d := range []string{"k3s", "rke2"} {
		if _, is := p.node.Object.Annotations[d+".io/hostname"]; is || scheme == d {
			return d
		}
	}
	return ""
}

func ofRancher(id string) bool {
	return strings.HasPrefix(id, "k3s://") || strings.HasPrefix(id, "rke2://")
}

// lost says that the node is no machine that is known, and could be one: of a group that could not be read, or one that runs without a node. A
// server is none of these.
func (p *pair) lost() bool {
	return p.machine == nil && len(p.node.Suspects) == 0 && p.node.Parked.UID == "" && !cluster.ControlPlane(p.node.Object) && (p.Unread != "" || len(p.Snapshot.Groups) == 0 || p.strays > 0)
}

// idCounts says that somebody goes by the node's provider id: Azure's cloud controller, or sluice, which has nothing else.
func (p *pair) idCounts() bool { return p.external || p.lost() }

// age is how long the node or machine has been there.
func (p *pair) age() time.Duration {
	if p.node == nil {
		return p.Snapshot.Time.Sub(p.machine.Created)
	}
	return p.Snapshot.Time.Sub(p.node.Object.CreationTimestamp.Time)
}

// The forms of provider ids that Azure's cloud controller manager writes.
var (
	uniformForm = regexp.MustCompile(`(?i)^azure:///subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/virtualMachineScaleSets/[^/]+/virtualMachines/\d+$`)
	machineForm = regexp.MustCompile(`(?i)^azure:///subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/virtualMachines/[^/]+$`)
)

// formOf is what a provider id of Azure's is of, in words; "" when it has neither form.
func formOf(id string) string {
	switch {
	case uniformForm.MatchString(id):
		return "a uniform scale set"
	case machineForm.MatchString(id):
		return "a flexible scale set or a single machine"
	}
	return ""
}

// vmTypeKnown is where others have met [VMTypeWrong].
const vmTypeKnown = "kubernetes-sigs/kubespray#5824, kubernetes-sigs/cluster-api-provider-azure#680"

// kinds holds the configuration's vmType to what the machines are, where Azure's cloud controller manager runs, which may share that configuration.
func (j *Joining) kinds(external bool) (all []Finding) {
	const remedy = "set vmType to %s in the cloud controller manager's azure.json, and restart it"
	wrong := func(subject, sentence, remedy string) {
		all = append(all, Finding{
			Check: areaController, Status: Problem, Code: VMTypeWrong, Subject: subject, Remedy: remedy, Known: vmTypeKnown,
			Message: sentence + ": with that azure.json Azure's cloud controller manager does not find them",
		})
	}
	if !external || j.VMType == "" {
		return nil
	}
	if j.VMType == "standard" {
		var names []string
		for _, n := range j.Snapshot.Nodes {
			if uniformForm.MatchString(n.Object.Spec.ProviderID) {
				names = append(names, n.Name())
			}
		}
		if len(names) > 0 {
			wrong("azure.json", fmt.Sprintf("vmType is standard, and %s of uniform scale sets: %s", count(len(names), "node"), some(names)), fmt.Sprintf(remedy, "vmss"))
		}
		return all
	}
	for _, g := range j.Snapshot.Groups {
		if len(g.Instances) == 0 {
			continue
		}
		switch uniform := uniformForm.MatchString(g.Instances[0].ProviderID); {
		case uniform && j.VMType == "vmssflex":
			wrong(string(g.ID), fmt.Sprintf("vmType is vmssflex, and the machines of group %s are of a uniform scale set", g.ID), fmt.Sprintf(remedy, "vmss"))
		case !uniform && j.VMType == "vmss" && !j.Mixed:
			wrong(string(g.ID), fmt.Sprintf("vmType is vmss, and the machines of group %s are of a flexible scale set", g.ID),
				fmt.Sprintf(remedy, "vmssflex, or enableVmssFlexNodes to true,"))
		}
	}
	return all
}

// told is every area of one pair: what was found, and what is well where nothing was.
func (p *pair) told(found []Finding) (all []Finding) {
	for _, area := range []string{areaMachine, areaName, areaProviderID, areaLabels, areaTaints, areaPassword, areaController} {
		before := len(all)
		for _, f := range found {
			if f.Check == area {
				all = append(all, f)
			}
		}
		if len(all) > before {
			continue
		}
		if f := p.well(area); f.Message != "" {
			f.Check, f.Subject = area, p.name
			all = append(all, f)
		}
	}
	return all
}

// well is what there is to say of an area in which nothing is wrong; a finding without a message where there is nothing.
func (p *pair) well(area string) Finding {
	say := func(format string, values ...any) Finding {
		return Finding{Status: OK, Message: fmt.Sprintf(format, values...)}
	}
	if p.node == nil {
		switch {
		case area != areaMachine:
			return Finding{}
		case p.machine.State != cluster.StateRunning:
			return say("machine %s (%s) is %s, and no node", p.name, p.machine.ComputerName, p.machine.State)
		}
		return say("machine %s (%s) is %s old and has time to join until it is %s old", p.name, p.machine.ComputerName, spell(p.age()), spell(joinWithin))
	}
	id := p.node.Object.Spec.ProviderID
	switch area {
	case areaMachine:
		return p.whose()
	case areaName:
		if p.machine != nil && p.machine.ComputerName != "" {
			return say("node %s has the computer name of its machine, %s", p.name, p.machine.ComputerName)
		}
	case areaProviderID:
		switch {
		case id == "":
			return say("empty; sluice goes by the unique id, cluster-autoscaler would not find the node")
		case ofRancher(id):
			return say("%s, of the distribution's own; sluice goes by the unique id, cluster-autoscaler would not find the node", id)
		case formOf(id) != "":
			return say("%s, of %s", id, formOf(id))
		}
		return say("%s, of no machine of Azure's", id)
	case areaLabels:
		if p.machine != nil {
			return say("instance type %s, region %s, zone %s", cmp.Or(p.label(corev1.LabelInstanceTypeStable), "-"),
				cmp.Or(p.label(corev1.LabelTopologyRegion), "-"), cmp.Or(p.label(corev1.LabelTopologyZone), "-"))
		}
	case areaTaints:
		return say("it waits for no cloud controller")
	case areaPassword:
		switch {
		case p.distribution() == "":
		case p.Passwords == nil:
			return Finding{Status: Unknown, Message: "whether its password is kept is not known: the Secrets of kube-system cannot be listed"}
		case p.Passwords[p.name]:
			return say("%s keeps its password: no other machine can take its name while the Node object is there", p.distribution())
		default:
			return say("%s keeps no password of it, and takes that which its machine brings next", p.distribution())
		}
	}
	return Finding{}
}

// whose says which machine the node is, and by what.
func (p *pair) whose() Finding {
	switch m := p.machine; {
	case p.node.Parked.UID != "":
		return Finding{Status: OK, Message: fmt.Sprintf("node %s is parked machine %s/%s, which keeps its Node object", p.name, p.node.Parked.Group, p.node.Parked.ID)}
	case m != nil:
		by := "its computer name or address"
		switch uuid := p.node.Object.Status.NodeInfo.SystemUUID; {
		case uuid != "" && (strings.EqualFold(uuid, m.UID) || strings.EqualFold(cluster.Swapped(uuid), m.UID)):
			by = "its unique id"
		case cluster.SameProviderID(m.ProviderID, p.node.Object.Spec.ProviderID):
			by = "its provider id"
		}
		return Finding{Status: OK, Message: fmt.Sprintf("node %s is machine %s/%s, by %s", p.name, m.Group, m.ID, by)}
	case p.Unread != "":
		return Finding{Status: Unknown, Message: "machines are not known: " + p.Unread}
	}
	return Finding{Status: OK, Message: fmt.Sprintf("node %s is no machine of a managed group", p.name)}
}

// spell is a duration in whole minutes, or seconds below one.
func spell(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	if d < time.Hour {
		return fmt.Sprintf("%dm", int(d.Minutes()))
	}
	return fmt.Sprintf("%dh", int(d.Hours()))
}
