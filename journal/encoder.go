package journal

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/policy"
)

// Encoder writes entries as lines. It is not safe for concurrent use.
type Encoder struct {
	w      io.Writer
	seen   cluster.Objects
	fleet  fleet.Ledger
	offers map[cluster.GroupID]*cluster.Sizes
	policy *policy.Policy
	groups []*cluster.Group
	memory json.RawMessage
	told   []action.Verdict
	number numbers // of the classes of pods since the last full line
	begun  bool
	after  int  // lines since the last full one
	torn   bool // the last write may have left half a line
}

// NewEncoder returns an encoder whose first line is a full one.
func NewEncoder(w io.Writer) *Encoder { return &Encoder{w: w} }

// Encode writes one entry as one line, by one Write. After an error the next line is a full one.
func (e *Encoder) Encode(entry Entry) error {
	if !e.begun {
		*e = Encoder{w: e.w, torn: e.torn, number: numbers{}}
	}
	before, ledger, offered, told := e.seen, e.fleet, e.offers, e.told
	groups, err := groupsSince(e.groups, entry.Seen.Groups)
	if err != nil {
		return fmt.Errorf("write cycle %d: %w", entry.Cycle, err)
	}
	changed, err := encoded(groups)
	if err != nil {
		return fmt.Errorf("write cycle %d: %w", entry.Cycle, err)
	}
	memory, remembered, err := since(e.memory, entry.Before)
	if err != nil {
		return fmt.Errorf("write cycle %d: %w", entry.Cycle, err)
	}
	offers := offersOf(entry.Seen.Groups)
	after := entry.Seen.Objects
	nodes, err := patched(between(before.Nodes, after.Nodes), before.Nodes)
	if err != nil {
		return fmt.Errorf("write cycle %d: %w", entry.Cycle, err)
	}
	pods := between(before.Pods, after.Pods)
	mates := e.number.mates(&pods) // behind whatever fails: what has a number stands in a line
	r := record{
		Version: Version, Cycle: entry.Cycle, Time: entry.Seen.Time, Full: !e.begun, After: e.after, DryRun: entry.DryRun,
		Nodes:      nodes,
		Pods:       pods,
		Alike:      mates,
		DaemonSets: between(before.DaemonSets, after.DaemonSets),
		Budgets:    between(before.Budgets, after.Budgets),
		Namespaces: between(before.Namespaces, after.Namespaces),
		ConfigMaps: between(before.ConfigMaps, after.ConfigMaps),

		PersistentVolumeClaims: between(before.PersistentVolumeClaims, after.PersistentVolumeClaims),
		PersistentVolumes:      between(before.PersistentVolumes, after.PersistentVolumes),
		StorageClasses:         between(before.StorageClasses, after.StorageClasses),
		CSINodes:               between(before.CSINodes, after.CSINodes),
		CSIDrivers:             between(before.CSIDrivers, after.CSIDrivers),
		CSIStorageCapacities:   between(before.CSIStorageCapacities, after.CSIStorageCapacities),
		VolumeAttachments:      between(before.VolumeAttachments, after.VolumeAttachments),
		DeviceClasses:          between(before.DeviceClasses, after.DeviceClasses),
		ResourceClaims:         between(before.ResourceClaims, after.ResourceClaims),
		ResourceSlices:         between(before.ResourceSlices, after.ResourceSlices),
		PodGroups:              between(before.PodGroups, after.PodGroups),
		CoschedulingGroups:     between(before.CoschedulingGroups, after.CoschedulingGroups),
		CapacityBuffers:        between(before.CapacityBuffers, after.CapacityBuffers),
		ProvisioningRequests:   between(before.ProvisioningRequests, after.ProvisioningRequests),
		PodTemplates:           between(before.PodTemplates, after.PodTemplates),
		NodeUse:                between(before.NodeUse, after.NodeUse),
		Lacks:                  after.Lacks,

		ControllersKnown:       after.Controllers.Known,
		ReplicaSets:            between(before.Controllers.ReplicaSets, after.Controllers.ReplicaSets),
		ReplicationControllers: between(before.Controllers.ReplicationControllers, after.Controllers.ReplicationControllers),
		StatefulSets:           between(before.Controllers.StatefulSets, after.Controllers.StatefulSets),

		Groups: changed, Fleet: entry.Seen.Fleet.Change(ledger), Offers: newOffers(offered, offers),
		Before: remembered, Plan: entry.Plan, Told: verdictsSince(told, entry.Plan.Verdicts), Results: entry.Results, Refused: entry.Refused, TookOver: entry.TookOver,
	}
	r.Plan.Verdicts = nil
	if !e.begun || e.policy != entry.Policy {
		r.Policy = entry.Policy
	}
	line, err := json.Marshal(r)
	if err != nil {
		e.begun = false
		return fmt.Errorf("write cycle %d: %w", entry.Cycle, err)
	}
	line = append(line, '\n')
	if e.torn {
		line = append([]byte{'\n'}, line...)
	}
	if _, err := e.w.Write(line); err != nil {
		e.begun, e.torn = false, true
		return fmt.Errorf("write cycle %d: %w", entry.Cycle, err)
	}
	e.after++
	e.fleet, e.groups, e.memory = entry.Seen.Fleet, entry.Seen.Groups, memory
	e.seen, e.offers, e.policy, e.told, e.begun, e.torn = after, offers, entry.Policy, entry.Plan.Verdicts, true, false
	return nil
}

// since is a value as a line has it, and what turns the value of the line before into it; nil when nothing does.
func since(before json.RawMessage, value any) (after, change json.RawMessage, err error) {
	if after, err = json.Marshal(value); err != nil {
		return nil, nil, err
	}
	change, err = encoded(patchBetween(before, after))
	return after, change, err
}

// encoded is the patch as a line has it, nil for one that changes nothing.
func encoded(p patch) (json.RawMessage, error) {
	if p.IsZero() {
		return nil, nil
	}
	return json.Marshal(p)
}

// groupsSince is what turns groups into others. Of most groups nothing changes but when they were read, so that they are compared before they are
// written.
func groupsSince(before, after []*cluster.Group) (patch, error) {
	same := func(a, b *cluster.Group) bool { return a.ID == b.ID }
	if before == nil || !slices.EqualFunc(before, after, same) {
		was, is, err := bothEncoded(before, after)
		if before == nil {
			was = nil
		}
		return patchBetween(was, is), err
	}
	p := patch{In: map[string]patch{}}
	for i, g := range after {
		last := before[i]
		if last == g {
			continue
		}
		was, is := *last, *g
		was.Read, is.Read = cluster.Read{}, cluster.Read{}
		var a, b any = last, g
		alike := reflect.DeepEqual(&was, &is)
		if alike {
			a, b = last.Read, g.Read
		}
		old, now, err := bothEncoded(a, b)
		if err != nil {
			return p, err
		}
		change := patchBetween(old, now)
		if alike && !change.IsZero() {
			change = patch{In: map[string]patch{"read": change}}
		}
		if !change.IsZero() {
			p.In[string(g.ID)] = change
		}
	}
	return p, nil
}

func bothEncoded(a, b any) (first, second json.RawMessage, err error) {
	if first, err = json.Marshal(a); err == nil {
		second, err = json.Marshal(b)
	}
	return first, second, err
}
