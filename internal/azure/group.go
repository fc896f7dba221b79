package azure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// group is what is remembered of one scale set. Provider.mu guards it.
type group struct {
	id         cluster.GroupID
	name       string // of the scale set, as Azure or the flag spells it
	min, max   int
	discovered bool

	reading *reading         // the last good one; nil when there was none
	view    *cluster.Group   // made from it, never changed; nil when there was none
	cut     *reading         // the last one whose list was short
	asked   time.Time        // when a read last had a result that serves for the cache's time
	resting time.Time        // after a failed read: no other before
	due     due              // what must be read again before the cache's time is over
	stamp   uint64           // of the youngest fact; answers to older questions are dropped
	problem string           // of the last read; "" when it was good
	failure *cluster.Failure // of the last operation

	// blame is why machines failed, as operations said it: by instance id until the next read tells who bears that id.
	blameID  map[string]*cluster.Failure
	blameUID map[string]*cluster.Failure
}

// due says what of a group must be read again.
type due int

const (
	nothing  due = iota
	machines     // the list of machines
	all          // the model and the list
)

// key is how groups are found: letter case means nothing to Azure.
func key(name string) string { return strings.ToLower(name) }

// take makes r the group's reading. It reports a reading that cannot be used, and then leaves the last good one.
func (g *group) take(r *reading) *cloud.Error {
	if r.short() && !r.sameMachines(g.cut) {
		r.whole = false
		g.cut = r
	} else {
		g.cut = nil
	}
	blame := g.attribute(r)
	view, err := r.view(g.id, blame)
	if err != nil {
		return &cloud.Error{Kind: cloud.Transient, Group: g.id, Message: fmt.Sprintf("read scale set %q: %v", g.name, err)}
	}
	if !r.whole && g.reading != nil && len(view.Instances) < len(g.view.Instances) {
		// The machines that were there a moment ago stay visible until two reads agree.
		r = &reading{set: r.set, machines: g.reading.machines, at: g.reading.at}
		if view, err = r.view(g.id, blame); err != nil {
			return &cloud.Error{Kind: cloud.Transient, Group: g.id, Message: fmt.Sprintf("read scale set %q: %v", g.name, err)}
		}
	}
	g.reading, g.view, g.blameUID, g.blameID = r, view, blame, nil
	g.asked, g.resting, g.due, g.problem = r.at, time.Time{}, nothing, ""
	if !r.whole {
		g.asked = time.Time{}
	}
	return nil
}

// attribute finds the machines that operations blamed.
func (g *group) attribute(r *reading) map[string]*cluster.Failure {
	blame := map[string]*cluster.Failure{}
	for _, vm := range r.machines {
		if vm == nil || vm.Properties == nil {
			continue
		}
		uid := strings.ToLower(val(vm.Properties.VMID))
		if f := g.blameUID[uid]; f != nil {
			blame[uid] = f
		}
		if f := g.blameID[val(vm.InstanceID)]; f != nil {
			blame[uid] = f
		}
	}
	return blame
}

// retryEvery is how soon after a failed read the next is tried, unless Azure asked for more.
const retryEvery = 10 * time.Second

// refuse records why a read failed. Answers that will not change by themselves are sought again when the cache's time is over.
func (g *group) refuse(e *cloud.Error, now time.Time) {
	g.problem = e.Message
	g.resting = now.Add(max(retryEvery, e.RetryAfter))
	switch e.Kind {
	case cloud.NotFound, cloud.Unauthorized, cloud.Invalid:
		g.asked, g.due = now, nothing
	}
}

// confirm takes the model that answered a write: the cloud's word for what it wants now (S-03).
func (g *group) confirm(answered *armcompute.VirtualMachineScaleSet) bool {
	if g.reading == nil || answered.SKU == nil || val(answered.SKU.Capacity) <= 0 {
		return false
	}
	set := *g.reading.set
	sku := *set.SKU
	sku.Capacity = answered.SKU.Capacity
	set.SKU = &sku
	if answered.Etag != nil {
		set.Etag = answered.Etag
	}
	if answered.Properties != nil && set.Properties != nil {
		properties := *set.Properties
		properties.ProvisioningState = answered.Properties.ProvisioningState
		set.Properties = &properties
	}
	r := &reading{set: &set, machines: g.reading.machines, at: g.reading.at, whole: g.reading.whole}
	view, err := r.view(g.id, g.blameUID)
	if err != nil {
		return false
	}
	g.reading, g.view = r, view
	return true
}

// settle marks the believed model as at rest: an operation that asked for this capacity has succeeded. It is false when the belief is
// another, so that the model must be read.
func (g *group) settle(capacity int) bool {
	if g.view == nil || g.view.Capacity != capacity || g.reading.set.Properties == nil {
		return false
	}
	set, properties := *g.reading.set, *g.reading.set.Properties
	properties.ProvisioningState = new("Succeeded")
	set.Properties = &properties
	g.reading = &reading{set: &set, machines: g.reading.machines, at: g.reading.at, whole: g.reading.whole}
	return true
}

// answer is the group as callers get it: theirs to keep, its instances shared.
func (g *group) answer() *cluster.Group {
	out := &cluster.Group{ID: g.id, Capacity: -1}
	if g.view != nil {
		*out = *g.view
		out.Instances = slices.Clone(g.view.Instances)
	}
	out.Min, out.Max, out.Failure = g.min, g.max, g.failure
	if g.problem != "" {
		out.Problem = g.problem
	}
	return out
}
