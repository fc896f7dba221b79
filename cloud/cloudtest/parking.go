package cloudtest

import (
	"context"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// parked is a settled group of which one machine is parked, and that machine.
func (t *trial) parked() (*cluster.Group, *cluster.Instance) {
	t.Helper()
	g := t.first()
	victim := g.Instances[1]
	if err := t.DeleteInstances(context.Background(), g, []cluster.Machine{victim.Machine()}); err != nil {
		t.Fatalf("DeleteInstances(%s): %v", victim.Machine(), err)
	}
	after := t.settled(g.ID)
	if after.Capacity != g.Capacity-1 || len(after.Instances) != g.Capacity-1 {
		t.Errorf("capacity %d with %d machines after one of %d was parked", after.Capacity, len(after.Instances), g.Capacity)
	}
	return after, victim
}

func removingParks(t *trial) {
	g, victim := t.parked()
	if len(g.Parked) != 1 || g.Parked[0].UID != victim.UID || g.Parked[0].State != cluster.StateStopped {
		t.Fatalf("parked are %v, want machine %s, stopped", g.Parked, victim.Machine())
	}
	if uids(g)[victim.UID] != "" {
		t.Errorf("machine %s is parked and still listed", victim.Machine())
	}
}

func growingStartsParked(t *trial) {
	g, victim := t.parked()
	if err := t.SetCapacity(context.Background(), g, g.Capacity+2); err != nil {
		t.Fatalf("SetCapacity(%s, %d): %v", g.ID, g.Capacity+2, err)
	}
	for _, now := range t.all() {
		if now.ID == g.ID && (now.Capacity != g.Capacity+2 || len(now.Parked) != 0) {
			t.Errorf("capacity %d with %d parked right after the request, want %d and none", now.Capacity, len(now.Parked), g.Capacity+2)
		}
	}
	after := t.settled(g.ID)
	if after.Capacity != g.Capacity+2 || len(after.Instances) != g.Capacity+2 || len(after.Parked) != 0 {
		t.Errorf("capacity %d with %d machines and %d parked, want %d and none", after.Capacity, len(after.Instances), len(after.Parked), g.Capacity+2)
	}
	if in := after.Instance(victim.ID); in == nil || in.UID != victim.UID || in.State != cluster.StateRunning {
		t.Errorf("machine %s is %+v, want it running again", victim.Machine(), in)
	}
}

func parkedIsNotRemoved(t *trial) {
	g, victim := t.parked()
	t.refuses(cloud.Conflict, func() error {
		return t.DeleteInstances(context.Background(), g, []cluster.Machine{victim.Machine()})
	})
}

func parkedIsNoGrowth(t *trial) {
	g, _ := t.parked()
	t.refuses(cloud.Invalid, func() error { return t.SetCapacity(context.Background(), g, g.Capacity) })
}
