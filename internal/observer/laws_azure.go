package observer

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
)

// What writes to groups of machines do.
const (
	grows   = "growth"
	deletes = "deletion"
	parks   = "parking"
	starts  = "start"
)

// does are the kinds of writes that are sluice's business by what they do to groups: to scale sets as a whole, and to pools by deployments that make
// machines and by writes to one machine each.
var does = map[string]string{
	"PATCH virtualMachineScaleSets": grows, "PUT deployments": grows,
	"POST virtualMachineScaleSets/delete": deletes, "DELETE virtualMachines": deletes,
	"POST virtualMachineScaleSets/deallocate": parks, "POST virtualMachines/deallocate": parks,
	"POST virtualMachineScaleSets/start": starts, "POST virtualMachines/start": starts,
}

// Chores are the other kinds: what is left of machines of pools that have gone, and of deployments that are over.
var chores = map[string]bool{
	"PATCH networkInterfaces": true, "PATCH disks": true, "DELETE networkInterfaces": true, "DELETE disks": true, "DELETE deployments": true,
}

// ofPool says whether a write is about machines that are resources of their own.
func ofPool(kind string) bool { return does[kind] != "" && !strings.Contains(kind, "ScaleSets") }

// oldest is how old the oldest read may be.
const oldest = 10 * time.Minute

// write is a write to Azure and what was so when it arrived.
type write struct {
	azuresim.Request
	o       *Observer
	set     *set
	does    string                  // to the group; "" for a chore
	removes bool                    // deletes or parks
	lived   []azuresim.MachineState // when it arrived
	named   []azuresim.MachineState // those of the machines it names that there were
	live    int                     // machines of the set that were not being deleted
	kept    int                     // of these, some whose removal was accepted lately and that are there all the same
	off     int                     // of these, those that had given their cores back
	mute    int                     // of those that live, the ones that no kubelet speaks for, and no record: sluice did not switch them off, or they are no nodes and in no list
	parking int                     // of those that live, the ones that Azure has accepted lately to switch off, and has not yet
	serving int                     // named machines that did neither, and that are not deleted by force
	resting int                     // named machines that had given their cores back
	least   int
	most    int
}

func (o *Observer) write(r azuresim.Request, lived []azuresim.MachineState) *write {
	w := &write{Request: r, o: o, set: o.set(r.ScaleSet), lived: lived, does: does[r.Kind]}
	w.removes = w.does == deletes || w.does == parks
	w.least, w.most = o.rules.Limits(r.ScaleSet)
	names := map[string]bool{}
	for _, id := range r.InstanceIDs {
		names[id] = true
	}
	for _, m := range lived {
		if !strings.EqualFold(m.ScaleSet, r.ScaleSet) {
			continue
		}
		here, off := m.ProvisioningState != "Deleting", SwitchedOff(m.PowerState)
		if here {
			w.live++
		}
		if at, parted := w.set.parted[m.VMID]; here && !off && parted && r.Time.Sub(at) < oldest {
			w.kept++
		}
		if at, parks := w.set.parking[m.VMID]; here && !off && parks && r.Time.Sub(at) < oldest {
			w.parking++
		}
		if here && off {
			w.off++
			if at, parted := w.set.parted[m.VMID]; !parted || w.set.started[m.VMID].After(at) {
				w.mute++
			}
		}
		if here && !off && m.TimeCreated.After(w.set.shows) && !o.isNode(m) {
			w.mute++
		}
		if names[m.InstanceID] {
			w.named = append(w.named, m)
			if off {
				w.resting++
			} else if here && (o.rules.Forced == nil || !o.rules.Forced(m)) {
				w.serving++
			}
		}
	}
	return w
}

func (w *write) accepted() bool { return w.Status < 300 }

// answered is how long a client may wait for the answer to the first half of a growth.
const answered = 30 * time.Second

// completes says whether the write is the other half of the one before it: machines are started and made in one growth, and machines of a pool are
// removed or started one by one.
func (w *write) completes() bool {
	before := w.set.wrote
	was := does[before.Kind]
	switch {
	case w.Time.Sub(before.Time) > answered:
		return false
	case was == w.does:
		return ofPool(w.Kind) && w.does != grows && w.set.turn == w.o.turn
	}
	return (was == grows || was == starts) && (w.does == grows || w.does == starts)
}

// asks is the capacity that a growth asks for; it counts above the live machines that it must not fall below.
func (w *write) asks() (int, bool) {
	if w.does != grows || w.Capacity == nil {
		return 0, false
	}
	return int(*w.Capacity), true
}

// SwitchedOff says whether a machine in this power state has given its cores back, or is about to.
func SwitchedOff(power string) bool { return power == "deallocated" || power == "deallocating" }

// azureLaw is a property that each write to Azure keeps. broken is the sentence that says how it does not, "" when it does.
type azureLaw struct {
	property string
	broken   func(*write) string
}

var azureLaws = []azureLaw{
	{"S-01", func(w *write) string {
		if n, ok := w.asks(); ok && w.accepted() && n < w.live && !(w.set.told != nil && *w.set.told < w.live && n >= w.live-w.mute) { // Azure tells of them, or of nothing
			return fmt.Sprintf("a request set the capacity of %s to %d while it had %d machines", w.ScaleSet, n, w.live)
		}
		return ""
	}},
	{"S-02", func(w *write) string {
		unlisted := w.ScaleSet != "" && !w.set.heard(w.Time) && !w.completes() // what names a machine that is not there is about no group
		if unlisted && w.does != "" {
			return fmt.Sprintf("%s was sent for %s, whose machines nobody had listed since the write before it or since the start", w.Kind, w.ScaleSet)
		}
		return ""
	}},
	{"S-04", func(w *write) string {
		switch {
		case w.does == "" && !chores[w.Kind]:
			return "a request was made that is no business of sluice: " + w.Kind
		case w.Kind == "DELETE deployments" && !strings.Contains(w.Path, "/cluster-autoscaler-"):
			return "a deployment was deleted that is none of an autoscaler's: " + w.Path
		case w.does == "" && w.Method == http.MethodPatch && slices.ContainsFunc(w.Fields, func(f string) bool { return !strings.HasPrefix(f, "tags.") }):
			return fmt.Sprintf("more than the tags of %s was written: %s", w.Path, strings.Join(w.Fields, ", "))
		case w.does != grows:
		case ofPool(w.Kind) && w.accepted() && len(w.named) > 0:
			return fmt.Sprintf("a growth of %s wrote machine %s, which was there, again", w.ScaleSet, w.named[0].Name)
		case ofPool(w.Kind):
		case w.IfMatch == "":
			return fmt.Sprintf("a request set the capacity of %s without an entity tag", w.ScaleSet)
		case strings.Join(w.Fields, " ") != "sku.capacity":
			return fmt.Sprintf("a growth of %s wrote more than its capacity: %s", w.ScaleSet, strings.Join(w.Fields, ", "))
		}
		return ""
	}},
	{"S-05", func(w *write) string {
		// That a removal came to nothing, reads show later than the removal itself; and of a capacity that Azure tells too low nobody can know.
		if n, ok := w.asks(); ok && w.accepted() && n == w.live && w.kept == 0 && w.set.told != nil && *w.set.told >= n {
			return fmt.Sprintf("a request set the capacity of %s to the %d machines that it had", w.ScaleSet, n)
		}
		return ""
	}},
	{"S-06", func(w *write) string {
		n, ok := w.asks()
		switch {
		case w.Status == http.StatusPreconditionFailed, w.Outdated: // it rests on what was so before, and could not take effect
		case ok && n > w.most+w.off+w.parking:
			return fmt.Sprintf("a request set the capacity of %s to %d, above its max", w.ScaleSet, n)
		case w.does == starts && w.live-w.off+w.resting > w.most:
			return fmt.Sprintf("a start of %d machines of %s took it above its max", len(w.InstanceIDs), w.ScaleSet)
		case w.removes && w.serving > 0 && w.live-w.off-w.serving < w.least:
			return fmt.Sprintf("a removal of %d machines of %s took it below its min", w.serving, w.ScaleSet)
		}
		return ""
	}},
	{"S-10", func(w *write) string {
		if (w.removes || w.does == starts) && len(w.InstanceIDs) == 0 {
			return fmt.Sprintf("%s in %s named no machine", w.Kind, w.ScaleSet)
		}
		return ""
	}},
	{"S-11", func(w *write) string {
		seen := map[string]bool{}
		for _, id := range w.InstanceIDs {
			if seen[id] {
				return fmt.Sprintf("%s in %s named machine %s twice", w.Kind, w.ScaleSet, id)
			}
			seen[id] = true
		}
		return ""
	}},
	{"S-12", eachRemoved(func(w *write, m azuresim.MachineState) string {
		for _, n := range kubesim.All[*corev1.Node](w.o.kube, "") {
			other := slices.ContainsFunc(w.lived, func(l azuresim.MachineState) bool { return l.VMID == n.Status.NodeInfo.SystemUUID })
			if couldBe(n, m, other) && n.Status.NodeInfo.SystemUUID != m.VMID && ready(n) {
				return fmt.Sprintf("machine %s was removed and Ready node %s could be it", m.Name, n.Name)
			}
		}
		return ""
	})},
	{"S-13", eachNode(func(w *write, m azuresim.MachineState, n *corev1.Node) string {
		if !removing(n) && w.Time.Sub(n.CreationTimestamp.Time) < registers {
			return fmt.Sprintf("machine %s was removed and its node had registered a moment before", m.Name)
		}
		return ""
	})},
	{"S-15", eachNode(func(w *write, m azuresim.MachineState, n *corev1.Node) string {
		for _, p := range kubesim.All[*corev1.Pod](w.o.kube, "") {
			if p.Spec.NodeName == n.Name && w.o.works(p) && p.DeletionTimestamp == nil && !w.o.clings(p) {
				return fmt.Sprintf("machine %s was removed under pod %s", m.Name, nameOf(p))
			}
		}
		return ""
	})},
	{"S-16", eachNode(func(w *write, m azuresim.MachineState, n *corev1.Node) string {
		if !removing(n) {
			return fmt.Sprintf("machine %s was removed and its node was not on its way out", m.Name)
		}
		return ""
	})},
	{"S-17", eachNode(func(w *write, m azuresim.MachineState, n *corev1.Node) string {
		if controls(n) && !w.o.quorumWithout(n.Name, w.serves) {
			return fmt.Sprintf("machine %s of the control plane was removed", m.Name)
		}
		return ""
	})},
	{"S-17", func(w *write) string {
		if w.does == "" || !w.accepted() || !w.o.servers(w.ScaleSet, w.lived) {
			return ""
		}
		return fmt.Sprintf("group %s has control-plane nodes, and was changed", w.ScaleSet)
	}},
	{"S-18", eachRemoved(func(w *write, m azuresim.MachineState) string {
		if m.Protected {
			return fmt.Sprintf("machine %s was removed and is protected", m.Name)
		}
		return ""
	})},
	{"S-18", eachNode(func(w *write, m azuresim.MachineState, n *corev1.Node) string {
		if kept(n) {
			return fmt.Sprintf("machine %s was removed and its node is annotated to stay", m.Name)
		}
		return ""
	})},
	{"S-20", eachRemoved(func(w *write, m azuresim.MachineState) string {
		if d := w.o.silent(w.Time); d > mostSilence {
			return fmt.Sprintf("machine %s was removed while the API server had been silent for %s", m.Name, d)
		}
		return ""
	})},
	{"S-22", eachRemoved(func(w *write, m azuresim.MachineState) string {
		if n := w.o.foreign(w.ScaleSet, w.set.unparted(w.lived), w.set.joined, w.set.bought+w.set.doubt); n > 0 {
			return fmt.Sprintf("machine %s was removed, no machine of %s was ever a node here, and sluice had not asked for %d of them", m.Name, w.ScaleSet, n)
		}
		return ""
	})},
	{"S-37", func(w *write) string {
		if w.does != "" || w.Method != http.MethodDelete || w.Tags == nil || !w.accepted() {
			return ""
		}
		of := w.Tags["sluice.dev_delete-with"]
		switch {
		case of == "":
			return fmt.Sprintf("%s was deleted and was not marked to go with a machine", w.Path)
		case w.User != "":
			return fmt.Sprintf("%s was deleted and %s used it", w.Path, w.User)
		case slices.ContainsFunc(w.lived, func(m azuresim.MachineState) bool { return strings.EqualFold(m.VMID, of) }):
			return fmt.Sprintf("%s was deleted and the machine that it was to go with lives", w.Path)
		}
		return ""
	}},
	{"S-23", func(w *write) string {
		if w.o.leadsNoMore(w.Time) {
			return fmt.Sprintf("%s was sent for %s when the lease was about to end", w.Kind, w.ScaleSet)
		}
		return ""
	}},
	{"S-24", func(w *write) string {
		if w.o.rules.DryRun || w.o.rules.Idle {
			return fmt.Sprintf("a process that must change nothing changed Azure: %s %s", w.Kind, w.ScaleSet)
		}
		return ""
	}},
}

// eachRemoved asks about each machine whose removal was accepted.
func eachRemoved(broken func(*write, azuresim.MachineState) string) func(*write) string {
	return func(w *write) string {
		if !w.removes || !w.accepted() {
			return ""
		}
		for _, m := range w.named {
			if what := broken(w, m); what != "" {
				return what
			}
		}
		return ""
	}
}

// serves says whether a node can be counted on: it is Ready, and so is its machine, if it has one of this scale set.
func (w *write) serves(n *corev1.Node) bool {
	if !ready(n) || !strings.Contains(n.Name, w.ScaleSet) {
		return ready(n)
	}
	return slices.ContainsFunc(w.lived, func(m azuresim.MachineState) bool {
		return m.VMID == n.Status.NodeInfo.SystemUUID && m.ProvisioningState != "Deleting" && !SwitchedOff(m.PowerState)
	})
}

// eachNode asks about each machine whose removal was accepted and that a node is.
func eachNode(broken func(*write, azuresim.MachineState, *corev1.Node) string) func(*write) string {
	return eachRemoved(func(w *write, m azuresim.MachineState) string {
		for _, n := range kubesim.All[*corev1.Node](w.o.kube, "") {
			if m.VMID != "" && n.Status.NodeInfo.SystemUUID == m.VMID {
				return broken(w, m, n)
			}
		}
		return ""
	})
}
