package cloudtest

import (
	"context"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

func growingAdds(t *trial) {
	g := t.first()
	before := t.Writes()
	if err := t.SetCapacity(context.Background(), g, g.Capacity+2); err != nil {
		t.Fatalf("SetCapacity(%s, %d): %v", g.ID, g.Capacity+2, err)
	}
	if sent := t.Writes() - before; sent != 1 {
		t.Errorf("growing took %d requests that change the cloud, want 1", sent)
	}
	after := t.settled(g.ID)
	if after.Capacity != g.Capacity+2 || len(after.Instances) != g.Capacity+2 {
		t.Errorf("capacity %d with %d instances, want %d", after.Capacity, len(after.Instances), g.Capacity+2)
	}
	now := uids(after)
	for uid := range uids(g) {
		if now[uid] == "" {
			t.Errorf("machine %s is gone after growing", uid)
		}
	}
}

func growingNeverShrinks(t *trial) {
	g := t.first()
	for _, n := range []int{g.Capacity - 1, 0, -1} {
		t.refuses(cloud.Invalid, func() error { return t.SetCapacity(context.Background(), g, n) })
	}
	if after := t.settled(g.ID); after.Capacity != g.Capacity {
		t.Errorf("capacity went from %d to %d", g.Capacity, after.Capacity)
	}
}

func oldVersionConflicts(t *trial) {
	old := t.first()
	t.Resize(old.ID, old.Capacity+1)
	err := t.SetCapacity(context.Background(), old, old.Capacity+3)
	if got := cloud.KindOf(err); got != cloud.Conflict {
		t.Errorf("growing from an old version: %v of kind %q, want %q", err, got, cloud.Conflict)
	}
	if after := t.settled(old.ID); after.Capacity != old.Capacity+1 {
		t.Errorf("capacity is %d, want the other writer's %d", after.Capacity, old.Capacity+1)
	}
}

func deletingRemovesTheNamed(t *trial) {
	g := t.first()
	victim := g.Instances[1] // neither the oldest nor the newest
	if err := t.DeleteInstances(context.Background(), g, []cluster.Machine{victim.Machine()}); err != nil {
		t.Fatalf("DeleteInstances(%s): %v", victim.Machine(), err)
	}
	after := t.settled(g.ID)
	if after.Capacity != g.Capacity-1 {
		t.Errorf("capacity %d after one deletion from %d", after.Capacity, g.Capacity)
	}
	want := uids(g)
	delete(want, victim.UID)
	now := uids(after)
	if now[victim.UID] != "" {
		t.Errorf("machine %s is still there", victim.Machine())
	}
	for uid, id := range want {
		if now[uid] != id {
			t.Errorf("machine %s under id %s is gone, and nobody named it", uid, id)
		}
	}
}

func deletionShowsAtOnce(t *trial) {
	g := t.first()
	victim := g.Instances[1]
	if err := t.DeleteInstances(context.Background(), g, []cluster.Machine{victim.Machine()}); err != nil {
		t.Fatalf("DeleteInstances(%s): %v", victim.Machine(), err)
	}
	for _, after := range t.all() {
		if after.ID != g.ID {
			continue
		}
		if in := after.Instance(victim.ID); in != nil && in.UID == victim.UID && in.State != cluster.StateDeleting {
			t.Errorf("machine %s is %s after its deletion was accepted, want it deleting or gone", victim.Machine(), in.State)
		}
	}
}

func reusedIDIsKept(t *trial) {
	g := t.first()
	m := g.Instances[0].Machine()
	m.UID = "00000000-0000-4000-8000-000000000000"
	t.refuses(cloud.Conflict, func() error {
		return t.DeleteInstances(context.Background(), g, []cluster.Machine{g.Instances[1].Machine(), m})
	})
}

func absentMachineConflicts(t *trial) {
	g := t.first()
	gone := cluster.Machine{Group: g.ID, ID: "4711", UID: "00000000-0000-4000-8000-000000000000"}
	t.refuses(cloud.Conflict, func() error {
		return t.DeleteInstances(context.Background(), g, []cluster.Machine{gone})
	})
}

func deletingNothingIsInvalid(t *trial) {
	g := t.first()
	for _, none := range [][]cluster.Machine{nil, {}} {
		t.refuses(cloud.Invalid, func() error { return t.DeleteInstances(context.Background(), g, none) })
	}
	if after := t.settled(g.ID); len(after.Instances) != len(g.Instances) {
		t.Errorf("%d machines are left of %d", len(after.Instances), len(g.Instances))
	}
}

func foreignMachineIsRefused(t *trial) {
	gs := t.all()
	g, other := t.fresh(gs[0].ID), t.fresh(gs[1].ID)
	t.refuses(cloud.Invalid, func() error {
		return t.DeleteInstances(context.Background(), g, []cluster.Machine{other.Instances[0].Machine()})
	})
}
