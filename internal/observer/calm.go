package observer

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
)

// calm is a scale set that nothing strikes, and within what time everything there has to go on.
type calm struct {
	set    string
	within time.Duration
	since  map[string]time.Time // when a pod began to wait for it, or a node of it to be idle, by UID
}

// Calm says that nothing strikes a scale set: within so long each pod runs that it could take, and each idle node goes above its min, whatever strikes others.
func (o *Observer) Calm(set string, within time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calms = append(o.calms, &calm{strings.ToLower(set), within, map[string]time.Time{}})
}

// goesOn judges the scale sets that nothing strikes.
func (o *Observer) goesOn(lived []azuresim.MachineState) {
	if len(o.calms) == 0 {
		return
	}
	nodes, pods := kubesim.All[*corev1.Node](o.kube, ""), kubesim.All[*corev1.Pod](o.kube, "")
	busy := map[string]bool{}
	for _, p := range pods {
		if o.works(p) {
			busy[p.Spec.NodeName] = true
		}
	}
	for _, c := range o.calms {
		waits := map[string]bool{}
		live, serve := map[string]int{}, 0
		for _, m := range lived {
			if strings.EqualFold(m.ScaleSet, c.set) && m.ProvisioningState != "Deleting" && !SwitchedOff(m.PowerState) {
				live[c.set]++
			}
		}
		least, most := o.rules.Limits(c.set)
		has, taints := o.rules.Machine(c.set)
		for _, p := range pods {
			if p.Status.Phase == corev1.PodPending && p.Spec.NodeName == "" && p.DeletionTimestamp == nil && len(p.Spec.SchedulingGates) == 0 &&
				live[c.set] < most && roomy(p, has) && kubesim.AdmitsTaints(p.Spec.Tolerations, taints) {
				waits["pod "+nameOf(p)] = true
			}
		}
		var idle []string
		for _, n := range nodes {
			if slices.ContainsFunc(lived, func(m azuresim.MachineState) bool {
				return m.VMID == n.Status.NodeInfo.SystemUUID && strings.EqualFold(m.ScaleSet, c.set) && m.ProvisioningState != "Deleting"
			}) && ready(n) {
				if serve++; !busy[n.Name] && !kept(n) && !n.Spec.Unschedulable {
					idle = append(idle, "node "+n.Name)
				}
			}
		}
		if serve > least && !sick(nodes) {
			for _, n := range idle {
				waits[n] = true
			}
		}
		for what := range waits {
			since, known := c.since[what]
			switch {
			case !known:
				c.since[what] = o.now()
			case !since.IsZero() && o.now().Sub(since) > c.within:
				o.breaks(GoesOn, "%s has waited for %s, and nothing is wrong in group %s", what, o.now().Sub(since), c.set)
				c.since[what] = time.Time{}
			}
		}
		for what := range c.since {
			if !waits[what] {
				delete(c.since, what)
			}
		}
	}
}
