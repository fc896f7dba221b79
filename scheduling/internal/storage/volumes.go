package storage

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/plugins"
)

// Volumes is what the volumes of pods say of nodes. Claims that are made for each pod count as made.
//
// Answers hold as long as none of the claims and storage classes that they depend on changes. [Volumes.renew] compares the number of
// changes, and must come before any answer is used.
//
//	an answer                     is kept by                            is forgotten when
//	refused, skips, state         the record                            a claim or a storage class of it changes
//	binds                         the node's kind: see [judges.read]    the same
//	full                          what is on the node, and its drivers  the same, or there are too many
//
// Claims that are bound since before the snapshot never change in a pretended world, so nobody waits for those.
type Volumes struct {
	ID     int // unlike that of any other
	judges *judges
	pod    *corev1.Pod // with its volumes

	state   fwk.CycleState
	skips   map[string]bool // plugins that have nothing to say
	refused string          // what a plugin says whatever the node, "" when it depends on the node
	by      string          // the plugin

	lens   *nodes.Lens
	binds  map[int32]bool // whether VolumeBinding and VolumeZone pass, by the lens's kinds
	full   map[crowd]bool // whether nodes are full of other volumes: see [Storage.overloads]
	alone  []string       // claims that one pod at a time may use
	claims []*waiter      // claims that wait for their first pod
	choice []*waiter      // storage classes of which they may take a volume
	known  uint64         // changes of all these that the answers take into account
}

// Refused is the plugin that no node will do for, and what it says; "" when it depends on the node.
func (v *Volumes) Refused() (by, message string) { return v.by, v.refused }

// Undecided says whether a claim waits for its first pod: where that goes may change the answer for others.
func (v *Volumes) Undecided() bool { return len(v.claims) > 0 }

// Relaxed is the last change of the world by which one of these claims was decided or taken back.
func (v *Volumes) Relaxed() uint64 {
	var at uint64
	for _, w := range v.claims {
		at = max(at, w.last)
	}
	return at
}

// waiting are the claims that waited for their first pod when the snapshot was made.
func (v *Volumes) waiting() []string {
	keys := make([]string, len(v.claims))
	for i, w := range v.claims {
		keys[i] = w.key
	}
	return keys
}

// record is a new record of the pod's volumes.
func (j *judges) record(p *corev1.Pod) *Volumes {
	*j.records++
	v := &Volumes{ID: *j.records, judges: j, pod: p, skips: map[string]bool{}, binds: map[int32]bool{}}
	name := j.name
	for i := range p.Spec.Volumes {
		mounted := p.Spec.Volumes[i].PersistentVolumeClaim
		if mounted == nil {
			continue
		}
		claim := j.claims.claim(p.Namespace + "/" + mounted.ClaimName)
		if claim == nil {
			continue
		}
		name = name || selected(claim) // it may go to the chosen node alone
		if j.claims.waits(claim) {
			class := waiterOf(j.claims.byClass, storagehelpers.GetPersistentVolumeClaimClass(claim))
			if !slices.Contains(v.choice, class) {
				v.choice = append(v.choice, class)
			}
		}
		if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
			v.alone = append(v.alone, keyOf(claim))
		}
	}
	v.lens = j.table.Lens(j.keys, name)
	v.consult()
	return v
}

// follow has the answers depend on these claims, as far as they wait for their first pod.
func (v *Volumes) follow(keys []string) {
	for _, key := range keys {
		if claim := v.judges.claims.claim(key); claim != nil && v.judges.claims.waits(claim) {
			v.claims = append(v.claims, waiterOf(v.judges.claims.byClaim, key))
		}
	}
	v.known = v.changes()
}

// consult asks the plugins what can be said before there is a node. All of them prepare, also after one has refused: skips
// must be known of each. The first that refuses is named, as it would be by kube-scheduler.
func (v *Volumes) consult() {
	v.known = v.changes()
	v.state, v.refused, v.by = framework.NewCycleState(), "", ""
	for _, plugin := range []plugins.Prepared{v.judges.restrictions, v.judges.binding, v.judges.zone} {
		_, status := plugin.PreFilter(v.judges.ctx, v.state, v.pod, nil)
		v.skips[plugin.Name()] = status.IsSkip()
		if !status.IsSuccess() && !status.IsSkip() && v.refused == "" {
			v.by, v.refused = plugin.Name(), status.Message()
		}
	}
}

// changes is how often claims and volumes that the answers depend on have changed.
func (v *Volumes) changes() uint64 {
	n := uint64(0)
	for _, w := range v.claims {
		n += w.changes
	}
	for _, w := range v.choice {
		n += w.changes
	}
	return n
}

// renew forgets answers that no longer hold.
func (v *Volumes) renew() {
	if v.changes() == v.known {
		return
	}
	for _, w := range v.claims {
		v.judges.claims.make(w.key)
	}
	clear(v.binds)
	clear(v.full)
	v.consult()
}

// bindable says whether the node can have the volumes, whatever others are on it.
func (v *Volumes) bindable(h nodes.Handle) bool {
	kind := v.judges.table.Look(v.lens, h)
	binds, known := v.binds[kind]
	if !known {
		binds = len(v.unbindable(h)) == 0
		v.binds[kind] = binds
	}
	return binds
}

// unbindable is why the node cannot have the volumes, whatever others are on it.
func (v *Volumes) unbindable(h nodes.Handle) []Refusal {
	return v.judges.ask(v, plugins.Bare(v.judges.table.Object(h)), v.judges.binding, v.judges.zone)
}
