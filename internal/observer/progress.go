package observer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
)

// What must have come to pass once nothing has gone wrong for a while. These ids stand beside those of the safety contract.
const (
	PodsRun      = "P-1" // each pod runs that some group could hold
	IdleGoes     = "P-2" // each machine goes that has nothing to do
	Rests        = "P-3" // nothing is written any more
	NothingLeft  = "P-4" // no node is cordoned for a removal that does not happen
	GoesOn       = "P-5" // where nothing is wrong, pods get their machines and idle ones go, whatever is wrong elsewhere
	quiet        = 10 * time.Minute
	mostStrays   = 3                // machines that never joined, from which on a set gets no more
	longPatience = 20 * time.Minute // for a pod or a machine that came late
)

// Settled judges a world in which nothing has gone wrong for so long that everything must have come to rest. Scarce says that Azure has too
// little of something, so that pods may wait for ever.
func (o *Observer) Settled(scarce bool) {
	o.Turn()
	if o.rules.Reckless {
		return
	}
	machines, nodes, pods := o.azure.Machines(), kubesim.All[*corev1.Node](o.kube, ""), kubesim.All[*corev1.Pod](o.kube, "")
	o.mu.Lock()
	defer o.mu.Unlock()
	nodes = slices.DeleteFunc(nodes, func(n *corev1.Node) bool { // those of parked machines, which are kept and no room
		return !ready(n) && slices.ContainsFunc(machines, func(m azuresim.MachineState) bool {
			return m.VMID == n.Status.NodeInfo.SystemUUID && SwitchedOff(m.PowerState)
		})
	})
	ill := sick(nodes)
	live := map[string]int{}  // machines at work or coming, by scale set; those that were taken away, too, while nothing is removed
	full := map[string]bool{} // sets in which Azure ends no deletion, so that machines that failed take up the room
	for _, m := range machines {
		switch set := strings.ToLower(m.ScaleSet); {
		case m.ProvisioningState == "Deleting":
			full[set] = true
		case ill || !SwitchedOff(m.PowerState):
			live[set]++
		}
	}
	for _, set := range o.rules.Sets() {
		if o.servers(set, machines) || o.stranger(set, machines) > 0 && strays(set, machines, nodes) >= mostStrays {
			full[strings.ToLower(set)] = true // of machines that do not join, and stay, since some may be another cluster's
		}
	}
	if !scarce {
		for _, p := range pods {
			if set := o.couldHold(p, live); set != "" && !full[strings.ToLower(set)] {
				o.breaks(PodsRun, "pod %s does not run and group %s could hold it", nameOf(p), set)
			}
		}
	}
	busy := map[string]bool{}
	for _, p := range pods {
		if o.works(p) {
			busy[p.Spec.NodeName] = true
		}
	}
	if ill {
		machines = nil // a cluster where so much is wrong is left alone
	}
	stuck, doomed := map[string]bool{}, map[string]bool{} // scale sets and machines that Azure takes for ever to delete
	for _, m := range machines {
		if m.ProvisioningState == "Deleting" {
			stuck[strings.ToLower(m.ScaleSet)], doomed[m.VMID] = true, true
		}
	}
	for name := range stuck { // nor is a deletion of many over before the last of them is
		for id := range o.set(name).parted {
			doomed[id] = true
		}
	}
	for _, m := range machines {
		if o.servers(m.ScaleSet, machines) || stuck[strings.ToLower(m.ScaleSet)] || o.stranger(m.ScaleSet, machines) > 0 {
			continue // a deletion there waits for the one before it; nor does anything go that may be another cluster's
		}
		if what := o.idle(m, machines, nodes, busy, live); what != "" {
			o.breaks(IdleGoes, "%s", what)
		}
	}
	last := o.wrote.at
	if scarce {
		last = o.wrote.granted // what Azure has no room for is asked for again, ever more seldom, as long as pods wait for it
	}
	if ago := o.now().Sub(last); !last.IsZero() && ago < quiet {
		o.breaks(Rests, "%s was sent %s ago, and nothing happens any more", o.wrote.what, ago)
	}
	there := map[string]bool{}
	for _, m := range machines {
		there[m.VMID] = true
	}
	for _, n := range nodes {
		for name := range stuck {
			if !there[n.Status.NodeInfo.SystemUUID] && strings.HasPrefix(n.Name, name) {
				doomed[n.Status.NodeInfo.SystemUUID] = true // as long as a deletion goes on, the group's list lacks more than this machine
			}
		}
		for _, m := range machines {
			if m.VMID == n.Status.NodeInfo.SystemUUID && stuck[strings.ToLower(m.ScaleSet)] {
				doomed[m.VMID] = true // it waits for the deletion before it
			}
		}
		if removing(n) && !ill && !busy[n.Name] && !doomed[n.Status.NodeInfo.SystemUUID] && !(o.rules.Gone != nil && o.rules.Gone(n.Name)) {
			o.breaks(NothingLeft, "node %s is on its way out and stays", n.Name)
		}
	}
}

// strays counts the machines of a set that are no nodes, and nodesOf those that are.
func strays(set string, machines []azuresim.MachineState, nodes []*corev1.Node) int {
	n, _ := joined(set, machines, nodes)
	return n
}

func nodesOf(set string, machines []azuresim.MachineState, nodes []*corev1.Node) int {
	_, n := joined(set, machines, nodes)
	return n
}

func joined(set string, machines []azuresim.MachineState, nodes []*corev1.Node) (strays, are int) {
	for _, m := range machines {
		switch {
		case !strings.EqualFold(m.ScaleSet, set) || SwitchedOff(m.PowerState):
		case slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return n.Status.NodeInfo.SystemUUID == m.VMID }):
			are++
		default:
			strays++
		}
	}
	return strays, are
}

// stranger counts the machines of a set that may be another cluster's for all that the present process knows, if it was left no record.
func (o *Observer) stranger(name string, machines []azuresim.MachineState) int {
	s := o.set(name)
	return o.foreign(name, machines, s.known, s.own)
}

// sick says whether so many nodes are not Ready that nothing is removed: more than 3, and more than 45 %, as sluice's flags have it by default.
func sick(nodes []*corev1.Node) bool {
	n := 0
	for _, node := range nodes {
		if !ready(node) {
			n++
		}
	}
	return n > 3 && 100*n > 45*len(nodes)
}

// couldHold is a group with room for one more machine that, empty, has room for a waiting pod; "" when none is or the pod does not wait.
func (o *Observer) couldHold(p *corev1.Pod, live map[string]int) string {
	s := p.Spec
	if p.Status.Phase != corev1.PodPending || s.NodeName != "" || p.DeletionTimestamp != nil || s.SchedulerName != corev1.DefaultSchedulerName ||
		o.now().Sub(p.CreationTimestamp.Time) < longPatience || len(s.SchedulingGates) > 1 || len(s.SchedulingGates) == 1 && !gated(p) || len(s.NodeSelector) > 0 {
		return ""
	}
	for _, set := range o.rules.Sets() {
		_, most := o.rules.Limits(set)
		has, taints := o.rules.Machine(set)
		if live[strings.ToLower(set)] < most && roomy(p, has) && kubesim.AdmitsTaints(s.Tolerations, taints) {
			return set
		}
	}
	return ""
}

// roomy says whether a pod's requests are within what a machine has.
func roomy(p *corev1.Pod, has corev1.ResourceList) bool {
	sums := corev1.ResourceList{}
	for _, c := range p.Spec.Containers {
		for name, q := range c.Resources.Requests {
			sum := sums[name]
			sum.Add(q)
			sums[name] = sum
		}
	}
	for name, sum := range sums {
		if q := has[name]; sum.Cmp(q) > 0 {
			return false
		}
	}
	return true
}

// idle says that a machine has had nothing to do for long and is still there.
func (o *Observer) idle(m azuresim.MachineState, machines []azuresim.MachineState, nodes []*corev1.Node, busy map[string]bool, live map[string]int) string {
	least, _ := o.rules.Limits(m.ScaleSet)
	if m.ScaleSet == "" || m.ProvisioningState == "Deleting" || SwitchedOff(m.PowerState) || m.Protected || live[strings.ToLower(m.ScaleSet)] <= least ||
		o.now().Sub(m.TimeCreated) < longPatience {
		return ""
	}
	for _, n := range nodes {
		if n.Status.NodeInfo.SystemUUID != m.VMID {
			continue
		}
		if busy[n.Name] || kept(n) || n.Spec.Unschedulable && !removing(n) || nodesOf(m.ScaleSet, machines, nodes) <= least {
			return ""
		}
		if ready(n) && nodesOf(m.ScaleSet, machines, slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool { return !ready(n) })) <= least {
			return "" // the others are not Ready, and the min is one of Ready nodes
		}
		if controls(n) && !o.quorumWithout(n.Name, ready) {
			return ""
		}
		return fmt.Sprintf("machine %s does nothing, and group %s has more than its min", m.Name, m.ScaleSet)
	}
	if slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return couldBe(n, m, false) }) {
		return "" // nobody can tell, and what is ambiguous stays
	}
	return fmt.Sprintf("machine %s has no node and is still there", m.Name)
}
