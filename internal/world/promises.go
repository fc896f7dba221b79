package world

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
	"sluice.dev/sluice/journal"
)

// witness carries sluice's requests to Azure and holds against each write what was true when it was made.
type witness struct {
	world  *world
	next   http.RoundTripper
	broken []string
	read   int            // entries of the cluster's log
	before []func() error // what others do just before the next growth arrives
	silent bool           // the answer to the request under way comes after the client has given up
}

// resting counts the machines of a request that are switched off: starting one that runs adds nothing, and is how a start ends whose
// answer was lost.
func resting(made azuresim.Request, known map[string]azuresim.MachineState) int {
	n := 0
	for _, id := range made.InstanceIDs {
		if switchedOff(known[made.ScaleSet+"/"+id].PowerState) {
			n++
		}
	}
	return n
}

// RoundTrip implements [http.RoundTripper].
func (t *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return t.carry(r)
	}
	if r.Method == http.MethodPatch {
		for _, act := range t.before {
			if err := act(); err != nil {
				return nil, err
			}
		}
		t.before = nil
	}
	live, off := map[string]int{}, map[string]int{}
	known := map[string]azuresim.MachineState{} // by scale set and id
	for _, m := range t.world.azure.Machines() {
		known[m.ScaleSet+"/"+m.InstanceID] = m
		if m.ProvisioningState != "Deleting" {
			live[m.ScaleSet]++
			if switchedOff(m.PowerState) {
				off[m.ScaleSet]++
			}
		}
	}
	before := len(t.world.azure.Requests())
	resp, err := t.carry(r)
	for _, made := range t.world.azure.Requests()[before:] {
		removes := made.Kind == deleteRequest || made.Kind == parkRequest
		switch {
		case made.Kind == growRequest && made.Status < 300 && made.Capacity != nil && *made.Capacity < int64(live[made.ScaleSet]):
			t.breaks("S-01", "a request set the capacity of %s to %d while it had %d machines", made.ScaleSet, *made.Capacity, live[made.ScaleSet])
		case made.Kind == growRequest && made.Capacity != nil && *made.Capacity > int64(t.world.spec(made.ScaleSet).Max+off[made.ScaleSet]):
			t.breaks("S-06", "a request set the capacity of %s to %d, above its max", made.ScaleSet, *made.Capacity)
		case made.Kind == growRequest && made.IfMatch == "":
			t.breaks("S-04", "a request set the capacity of %s without an entity tag", made.ScaleSet)
		case (removes || made.Kind == startRequest) && len(made.InstanceIDs) == 0:
			t.breaks("S-10", "%s in %s named no machine", made.Kind, made.ScaleSet)
		case made.Kind == startRequest && live[made.ScaleSet]-off[made.ScaleSet]+resting(made, known) > t.world.spec(made.ScaleSet).Max:
			t.breaks("S-06", "a start of %d machines of %s took it above its max", len(made.InstanceIDs), made.ScaleSet)
		case removes && serving(known, made) > 0 && live[made.ScaleSet]-off[made.ScaleSet]-serving(known, made) < t.world.spec(made.ScaleSet).Min:
			t.breaks("S-06", "a removal of %d machines of %s took it below its min", serving(known, made), made.ScaleSet)
		case removes && made.Status < 300:
			for _, id := range made.InstanceIDs {
				t.watchRemoved(known[made.ScaleSet+"/"+id])
			}
		case made.Kind != growRequest && !removes && made.Kind != startRequest && made.Kind != "POST token":
			t.breaks("S-04", "a request was made that is no business of sluice: %s", made.Kind)
		}
	}
	return resp, err
}

// serving counts the machines that a request names and that are neither on their way out nor switched off.
func serving(known map[string]azuresim.MachineState, made azuresim.Request) int {
	n := 0
	for _, id := range made.InstanceIDs {
		if m, ok := known[made.ScaleSet+"/"+id]; ok && m.ProvisioningState != "Deleting" && !switchedOff(m.PowerState) {
			n++
		}
	}
	return n
}

// carry sends a request. An answer that comes too late is no answer.
func (t *witness) carry(r *http.Request) (*http.Response, error) {
	t.silent = false
	resp, err := t.next.RoundTrip(r)
	if !t.silent {
		return resp, err
	}
	if err == nil {
		_ = resp.Body.Close()
	}
	return nil, tooLate{}
}

// mostWait is how long sluice waits for an answer of Azure, as internal/azure bounds it.
const mostWait = 30 * time.Second

// wait lets a delayed answer take its time on the world's clock, as long as the client waits for it.
func (w *world) wait(_ context.Context, d time.Duration) {
	w.nanos.Add(int64(min(d, mostWait)))
	w.witness.silent = d > mostWait
}

// tooLate is what a client's own clock says of an answer that has not come.
type tooLate struct{}

func (tooLate) Error() string   { return "no answer within " + mostWait.String() }
func (tooLate) Timeout() bool   { return true }
func (tooLate) Temporary() bool { return true }

// watchRemoved looks at what was on a machine whose removal was accepted.
func (t *witness) watchRemoved(m azuresim.MachineState) {
	n, there := kubesim.Find[*corev1.Node](t.world.cluster, "", m.ComputerName)
	if !there || n.Status.NodeInfo.SystemUUID != m.VMID {
		return // it has none, or that name is another machine's
	}
	if _, cordoned := cluster.RemovalOf(n); !cordoned {
		t.breaks("S-16", "machine %s was removed and its node was not on its way out", m.Name)
	}
	for _, p := range kubesim.All[*corev1.Pod](t.world.cluster, "") {
		if p.Spec.NodeName == m.ComputerName && !record(p).Finished() && ofJob(p) {
			t.breaks("S-15", "machine %s was removed under pod %s of a Job", m.Name, p.String())
		}
	}
}

// spec is what sluice was told about a group, with the limits of this hour.
func (w *world) spec(group string) azure.GroupSpec {
	for _, g := range w.groups {
		if strings.EqualFold(g.Name, group) {
			g.Min, g.Max = w.policy.Limits(&cluster.Group{ID: cluster.GroupID(g.Name), Min: g.Min, Max: g.Max}, w.now())
			return g
		}
	}
	return azure.GroupSpec{}
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
	o := record(p).Owner()
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
		if p, ok := r.Before.(*corev1.Pod); ok && r.Subresource == "eviction" && r.Code < 300 && ofJob(p) && !w.rightly(r, p) {
			t.breaks("S-15", "pod %s of a Job was evicted", p.String())
		}
		if r.Resource == "pods" && r.Subresource != "eviction" && !gateOpened(r) {
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

// gateOpened says whether the request took sluice's gate, the only one, off a pod and changed nothing else, or was to and changed nothing.
func gateOpened(r kubesim.Request) bool {
	if r.Verb != "patch" || r.Subresource != "" {
		return false
	}
	if r.Code >= 300 {
		return true
	}
	was, isPod := r.Before.(*corev1.Pod)
	is, stillPod := r.After.(*corev1.Pod)
	if !isPod || !stillPod || !record(was).AwaitsCapacity() {
		return false
	}
	same := was.DeepCopy()
	same.Spec.SchedulingGates = nil
	return equality.Semantic.DeepEqual(same.Spec, is.Spec) && maps.Equal(was.Labels, is.Labels) && maps.Equal(was.Annotations, is.Annotations)
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
