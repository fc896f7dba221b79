package world

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/kubesim"
	"sluice.dev/sluice/journal"
)

// witness carries sluice's requests to Azure and holds against each write what was true when it was made.
type witness struct {
	world  *world
	next   http.RoundTripper
	broken []string
	read   int // entries of the cluster's log
}

// RoundTrip implements [http.RoundTripper].
func (t *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return t.next.RoundTrip(r)
	}
	live, off := map[string]int{}, map[string]int{}
	machines := t.world.azure.Machines()
	for _, m := range machines {
		if m.ProvisioningState != "Deleting" {
			live[m.ScaleSet]++
			if switchedOff(m.PowerState) {
				off[m.ScaleSet]++
			}
		}
	}
	nodes := map[string]string{}
	for _, m := range machines {
		nodes[m.ScaleSet+"_"+m.InstanceID] = m.ComputerName
	}
	before := len(t.world.azure.Requests())
	resp, err := t.next.RoundTrip(r)
	for _, made := range t.world.azure.Requests()[before:] {
		removes := made.Kind == deleteRequest || made.Kind == parkRequest
		switch {
		case made.Kind == growRequest && made.Capacity != nil && *made.Capacity < int64(live[made.ScaleSet]):
			t.breaks("S-01", "a request set the capacity of %s to %d while it had %d machines", made.ScaleSet, *made.Capacity, live[made.ScaleSet])
		case made.Kind == growRequest && made.Capacity != nil && *made.Capacity > int64(t.world.spec(made.ScaleSet).Max+off[made.ScaleSet]):
			t.breaks("S-06", "a request set the capacity of %s to %d, above its max", made.ScaleSet, *made.Capacity)
		case made.Kind == growRequest && made.IfMatch == "":
			t.breaks("S-04", "a request set the capacity of %s without an entity tag", made.ScaleSet)
		case (removes || made.Kind == startRequest) && len(made.InstanceIDs) == 0:
			t.breaks("S-10", "%s in %s named no machine", made.Kind, made.ScaleSet)
		case removes && live[made.ScaleSet]-off[made.ScaleSet]-len(made.InstanceIDs) < t.world.spec(made.ScaleSet).Min:
			t.breaks("S-06", "a deletion of %d machines of %s took it below its min", len(made.InstanceIDs), made.ScaleSet)
		case removes && made.Status < 300:
			for _, id := range made.InstanceIDs {
				t.watchDeleted(made.ScaleSet+"_"+id, nodes[made.ScaleSet+"_"+id])
			}
		case made.Kind != growRequest && !removes && made.Kind != startRequest && made.Kind != "POST token":
			t.breaks("S-04", "a request was made that is no business of sluice: %s", made.Kind)
		}
	}
	return resp, err
}

// watchDeleted looks at what was on a machine whose deletion was accepted.
func (t *witness) watchDeleted(machine, node string) {
	n, there := kubesim.Find[*corev1.Node](t.world.cluster, "", node)
	if there && !t.isNodeOf(n, machine) {
		return // it was an older machine's
	}
	if there {
		if _, cordoned := cluster.RemovalOf(n); !cordoned {
			t.breaks("S-16", "machine %s was deleted and its node was not on its way out", machine)
		}
	}
	for _, p := range kubesim.All[*corev1.Pod](t.world.cluster, "") {
		if p.Spec.NodeName == node && !cluster.Finished(p) && ofJob(p) {
			t.breaks("S-15", "machine %s was deleted under pod %s of a Job", machine, cluster.Key(p))
		}
	}
}

// spec is what sluice was told about a group.
func (w *world) spec(group string) azure.GroupSpec {
	for _, g := range w.groups {
		if strings.EqualFold(g.Name, group) {
			return g
		}
	}
	return azure.GroupSpec{}
}

// isNodeOf says whether the node is the machine's own and not an older one's of that name.
func (t *witness) isNodeOf(n *corev1.Node, machine string) bool {
	m := t.world.machineNamed(machine)
	return m != nil && m.VMID == n.Status.NodeInfo.SystemUUID
}

// watchNodes finds Node objects that sluice deleted while their machines live; it is asked after every cycle.
func (t *witness) watchNodes() {
	log := t.world.cluster.Log()
	for _, r := range log[t.read:] {
		n, ok := r.Before.(*corev1.Node)
		if !ok || r.Verb != "delete" || r.Code >= 300 {
			continue
		}
		if m := t.world.machines[n.Status.NodeInfo.SystemUUID]; m != nil && !switchedOff(m.PowerState) {
			t.breaks("S-14", "node %s was deleted and its machine %s lives", n.Name, m.Name)
		}
	}
	t.read = len(log)
}

// switchedOff says whether a machine in this power state has given its cores back, or is about to.
func switchedOff(power string) bool { return power == "deallocated" || power == "deallocating" }

func ofJob(p *corev1.Pod) bool {
	o := cluster.Owner(p)
	return o != nil && o.Kind == "Job"
}

func (t *witness) breaks(property, format string, args ...any) {
	t.broken = append(t.broken, fmt.Sprintf("at %s ", clock(t.world.elapsed()))+property+" was broken: "+fmt.Sprintf(format, args...))
}

// promises are the sentences about what sluice must never do and has done, and about cycles that the journal does not reproduce.
func (w *world) promises() ([]string, error) {
	t := w.witness
	for _, r := range w.cluster.Log() {
		if w.dryRun {
			t.breaks("S-24", "a dry run changed Kubernetes: %s %s %s", r.Verb, r.Resource, r.Name)
		}
		if p, ok := r.Before.(*corev1.Pod); ok && r.Subresource == "eviction" && r.Code < 300 && ofJob(p) {
			t.breaks("S-15", "pod %s of a Job was evicted", cluster.Key(p))
		}
		if r.Resource == "pods" && r.Subresource != "eviction" {
			t.breaks("S-15", "pod %s/%s was changed past the eviction API: %s", r.Namespace, r.Name, r.Verb)
		}
	}
	if w.dryRun {
		for _, r := range w.azure.Requests() {
			if r.Method != http.MethodGet && !strings.HasSuffix(r.Kind, " token") {
				t.breaks("S-24", "a dry run changed Azure: %s %s", r.Kind, r.ScaleSet)
			}
		}
	}
	return t.broken, w.replay()
}

// replay decides every cycle again from the journal alone.
func (w *world) replay() error {
	entries := journal.NewDecoder(bytes.NewReader(w.journal.Bytes()))
	for {
		e, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the journal again: %w", err)
		}
		_, same, err := journal.Replay(e)
		if err != nil {
			return err
		}
		if !same {
			w.witness.broken = append(w.witness.broken, fmt.Sprintf("cycle %d at %s is decided differently on replay", e.Cycle, clock(e.Seen.Time.Sub(start))))
		}
	}
}
