package world

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
)

// machineSize is what machines of a group have, and what their nodes say.
type machineSize struct {
	cpu       int
	memory    resource.Quantity
	gpus      int
	devices   int                 // of [deviceClass] that its driver publishes
	disks     int                 // that its driver attaches; 0 when it does not tell
	announced time.Duration       // from the node's joining to its GPUs
	ready     time.Duration       // from the node's joining to its being Ready
	resources corev1.ResourceList // extended ones besides GPUs
	labels    map[string]string
	taints    []corev1.Taint // that a new node bears
	names     string         // one of providerIDs
	elsewhere bool           // they are nodes of another cluster
	joinsOnce bool           // an agent whose Node object is gone does not join again: see [machines.admits]
}

// machine is a scale set's machine as the world has seen it.
type machine struct {
	azuresim.MachineState
	said   string            // what scripts and transcripts call it: as Azure names it or, in a flexible scale set, group_N in the order of birth
	labels map[string]string // that its kubelet was told when it was made
	joins  time.Time         // when its kubelet registers; zero: it does not, or has already
	joined bool
	known  bool      // a K3s server has taken its agent in once
	silent bool      // its kubelet was stopped by the script
	plugin time.Time // when its device plugin announces what it carries; zero: it has nothing to announce any more
}

// machines are the machines of all groups as they were last looked at, and their kubelets.
type machines struct {
	clock   *simClock
	azure   *azuresim.Server
	cluster *kubesim.Cluster
	groups  *nodeGroups
	out     *transcript

	join   time.Duration       // from a machine's boot to its node
	all    map[string]*machine // that are or were there, by vmId
	look   int                 // the number of the last look at them
	listed []*machine          // that it found, in its order
	gone   []*machine          // since it was last told
	born   map[string]int      // machines of a group that there have ever been
	live   map[string]int      // machines of a group that are not being deleted
}

// move has kubelets follow their machines: one that has booted joins after a while, one that is gone leaves.
func (ms *machines) move() error {
	states, look := ms.azure.MachinesSince(ms.look)
	if look == ms.look {
		return ms.moveKubelets()
	}
	ms.look, ms.listed = look, ms.listed[:0]
	now := map[string]bool{}
	live := map[string]int{}
	for _, m := range states {
		if m.ScaleSet != "" && m.ProvisioningState != "Deleting" {
			live[m.ScaleSet]++
		}
	}
	for _, state := range states {
		if state.ScaleSet == "" {
			continue
		}
		now[state.VMID] = true
		m := ms.all[state.VMID]
		if m == nil {
			m = &machine{said: ms.christen(state), labels: ms.groups.sizes[state.ScaleSet].labels}
			ms.all[state.VMID] = m
			ms.out.fact(ms.clock.elapsed(), "machine", state.Name, "created", ms.capacity(state.ScaleSet, live))
		}
		ms.tell(m, state, live)
		m.MachineState = state
		ms.listed = append(ms.listed, m)
		if err := ms.moveKubelet(m); err != nil {
			return err
		}
	}
	for id, m := range ms.all {
		if !now[id] && m.VMID != "" {
			if m.joined {
				ms.cluster.Leave(m.ComputerName)
			}
			ms.gone = append(ms.gone, m)
			delete(ms.all, id)
		}
	}
	ms.tellGone()
	ms.live = live
	return nil
}

// moveKubelets has kubelets follow machines about which nothing is new.
func (ms *machines) moveKubelets() error {
	for _, m := range ms.listed {
		if err := ms.moveKubelet(m); err != nil {
			return err
		}
	}
	return nil
}

// capacity tells how a group's capacity changed since machines were last looked at.
func (ms *machines) capacity(group string, live map[string]int) string {
	return fmt.Sprintf("capacity %d -> %d", ms.live[group], live[group])
}

// tell tells what changed about a machine.
func (ms *machines) tell(m *machine, state azuresim.MachineState, live map[string]int) {
	if m.VMID == "" {
		return
	}
	switch {
	case state.ProvisioningState == "Deleting" && m.ProvisioningState != "Deleting":
		ms.out.fact(ms.clock.elapsed(), "machine", state.Name, "deleting", ms.capacity(state.ScaleSet, live))
	case state.Error != "" && m.Error == "":
		ms.out.fact(ms.clock.elapsed(), "machine", state.Name, "failed", state.Error)
	case state.PowerState != m.PowerState && (state.PowerState == "deallocated" || state.PowerState == "stopped"):
		ms.out.fact(ms.clock.elapsed(), "machine", state.Name, state.PowerState, "")
	}
}

// moveKubelet lets a machine's kubelet join or leave.
func (ms *machines) moveKubelet(m *machine) error {
	up := !m.BootedAt.IsZero() && !m.NeverJoins && !m.silent && !ms.groups.sizes[m.ScaleSet].elsewhere
	switch {
	case m.joined && !up && m.ProvisioningState != "Deleting":
		m.joined, m.plugin = false, time.Time{}
		ms.cluster.Leave(m.ComputerName)
	case m.joined && up && !m.plugin.IsZero() && !ms.clock.now().Before(m.plugin):
		m.plugin = time.Time{}
		return ms.register(m, ms.groups.sizes[m.ScaleSet].gpus)
	case m.joined || !up || m.ProvisioningState == "Deleting":
	case !ms.out.begun: // it has been there for long
		return ms.joinNow(m)
	case m.joins.IsZero():
		m.joins = m.BootedAt.Add(ms.join)
		fallthrough
	default:
		if !ms.clock.now().Before(m.joins) {
			return ms.joinNow(m)
		}
	}
	return nil
}

func (ms *machines) joinNow(m *machine) error {
	if !ms.admits(m) {
		m.joins = ms.clock.now().Add(turnedAway)
		return nil
	}
	m.joined, m.joins = true, time.Time{}
	size := ms.groups.sizes[m.ScaleSet]
	if size.gpus == 0 {
		return ms.register(m, 0)
	}
	if !ms.out.begun || size.announced == 0 {
		return ms.register(m, size.gpus)
	}
	m.plugin = ms.clock.now().Add(size.announced)
	return ms.register(m, 0)
}

// register has a machine's kubelet tell the API server of it, with so many GPUs.
func (ms *machines) register(m *machine, gpus int) error {
	size := ms.groups.sizes[m.ScaleSet]
	zone := "0"
	if m.Zone != "" {
		zone = m.Location + "-" + m.Zone
	}
	labels := map[string]string{
		corev1.LabelInstanceTypeStable: m.Size, corev1.LabelTopologyRegion: m.Location, corev1.LabelTopologyZone: zone,
		corev1.LabelInstanceType: m.Size, corev1.LabelFailureDomainBetaRegion: m.Location, corev1.LabelFailureDomainBetaZone: zone,
	}
	if size.names == k3s {
		labels = embeddedLabels(m.labels)
	}
	maps.Copy(labels, m.labels)
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(int64(size.cpu), resource.DecimalSI), corev1.ResourceMemory: size.memory.DeepCopy(),
	}
	if gpus > 0 {
		capacity[gpuResource] = *resource.NewQuantity(int64(gpus), resource.DecimalSI)
	}
	maps.Copy(capacity, size.resources)
	ready := size.ready
	if !ms.out.begun { // it has been there for long
		ready = 0
	}
	err := ms.cluster.Join(kubesim.Machine{
		Name: m.ComputerName, ProviderID: providerIDs[size.names](m), SystemUUID: m.VMID, InternalIP: m.PrivateIP, Labels: labels, Taints: size.taints,
		Capacity: capacity, AttachLimits: attaches(size.disks), ReadyAfter: ready, KubeletVersion: versions[size.names],
		Finalizers: finalizers[size.names],
	})
	if err != nil {
		return err
	}
	return publish(ms.cluster, m.ComputerName, size.devices)
}

// k3s is the form of provider ids that the cloud controller writes that K3s brings along.
const k3s = "k3s"

// embeddedLabels are what that controller has nodes bear that were not told a provider id: its own name as their size, and neither zone nor region. It
// keeps what kubelet was told (--node-label), and copies that to the old names of such labels (measured on K3s of July 2026, for Kubernetes 1.36).
func embeddedLabels(told map[string]string) map[string]string {
	labels := map[string]string{corev1.LabelInstanceTypeStable: k3s, corev1.LabelInstanceType: k3s}
	for label, old := range map[string]string{
		corev1.LabelInstanceTypeStable: corev1.LabelInstanceType, corev1.LabelTopologyRegion: corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyZone: corev1.LabelFailureDomainBetaZone,
	} {
		if value, is := told[label]; is {
			labels[old] = value
		}
	}
	return labels
}

// nextJoin is when the next kubelet registers or the next device plugin speaks; zero when none will.
func (ms *machines) nextJoin() time.Time {
	var next time.Time
	for _, m := range ms.all {
		due := m.joins
		if m.joined {
			due = m.plugin
		}
		if !due.IsZero() && m.ProvisioningState != "Deleting" && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	return next
}

// christen has a new machine, and the node that it becomes, called as scripts call it. Azure gives names with random letters to the machines of
// flexible scale sets.
func (ms *machines) christen(m azuresim.MachineState) string {
	said := m.Name
	if m.InstanceID == m.Name {
		said = fmt.Sprintf("%s_%d", m.ScaleSet, ms.born[m.ScaleSet])
		ms.out.names.add(m.Name, said)
	}
	ms.born[m.ScaleSet]++
	ms.out.names.add(m.ComputerName, said)
	return said
}

// named is the machine that a script calls so; nil when there is none.
func (ms *machines) named(name string) *machine {
	for _, m := range ms.all {
		if m.said == name {
			return m
		}
	}
	return nil
}

// id is the resource id of the machine that a statement is about.
func (ms *machines) id(s *statement) (string, error) {
	m := ms.named(s.names[0])
	if m == nil {
		return "", fmt.Errorf("%s: there is no machine %s", s.verb.name, s.names[0])
	}
	return m.ID, nil
}

// node is the node's name for what a script calls it: a machine or a node.
func (ms *machines) node(s *statement, name string) (string, error) {
	if m := ms.named(name); m != nil {
		name = m.ComputerName
	}
	if _, ok := kubesim.Find[*corev1.Node](ms.cluster, "", name); !ok {
		return "", fmt.Errorf("%s: there is no node %s", s.verb.name, name)
	}
	return name, nil
}
