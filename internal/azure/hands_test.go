package azure_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
)

// TestTheCloudsOwnHandsAreRead wants every setting found by which Azure changes machines by itself, by no request more, and none where there is none.
func TestTheCloudsOwnHandsAreRead(t *testing.T) {
	calm, all, mix := set("calm", 1), set("all", 1), set("mix", 1)
	all.UpgradeMode, all.OSUpgrades, all.Repairs, all.ZoneRebalancing = "Rolling", true, true, true
	mix.UpgradeMode, mix.Size = "Automatic", "Mix"
	w := newWorld(t, calm, all, mix)
	w.open(w.options("0:9:calm", "0:9:all", "0:9:mix"))
	for id, want := range map[cluster.GroupID][]cluster.ActorKind{
		"calm": nil,
		"all":  {cluster.HandUpdatesModel, cluster.HandUpdatesOS, cluster.HandRepairs, cluster.HandZones},
		"mix":  {cluster.HandUpdatesModel, cluster.HandSizes},
	} {
		var got []cluster.ActorKind
		for _, h := range w.groups()[id].OtherActors {
			if got = append(got, h.Kind); h.Does == "" || h.Remedy == "" {
				t.Errorf("%s: %s has no sentence or no remedy", id, h.Kind)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", id, got, want)
		}
	}
	reads := func(one azuresim.ScaleSet) int {
		w := newWorld(t, one)
		before := w.sim.Counters()
		w.open(w.options("0:9:" + one.Name))
		w.groups()
		n, _ := spent(before, w.sim.Counters())
		return n
	}
	if with, without := reads(all), reads(set("all", 1)); with != without {
		t.Errorf("%d reads where hands are found, %d where there are none", with, without)
	}
}

// TestMachinesThatOthersTookAreCounted wants machines counted that went by another hand, seen leaving or not, and none that sluice deleted.
func TestMachinesThatOthersTookAreCounted(t *testing.T) {
	w := newWorld(t, set("agents", 6))
	w.open(w.options("0:9:agents"))
	w.groups()
	g, err := w.Group(context.Background(), "agents")
	w.must(err)
	w.must(w.DeleteInstances(context.Background(), g, []cluster.Machine{g.Instances[0].Machine()}))
	w.now = w.now.Add(2 * time.Minute)
	if taken := w.groups()["agents"].Taken; taken.Machines != 0 {
		t.Fatalf("%d machines count as taken by others after a deletion of sluice's own", taken.Machines)
	}
	w.must(w.sim.SetCapacity("agents", 2))
	for range 4 {
		w.now = w.now.Add(time.Minute)
		w.groups()
	}
	if taken := w.groups()["agents"].Taken; taken.Machines != 3 || taken.First.IsZero() || taken.Last.Before(taken.First) {
		t.Errorf("taken by others: %+v, want 3 machines", taken)
	}
	for range 24 {
		w.now = w.now.Add(5 * time.Minute)
		w.groups()
	}
	if taken := w.groups()["agents"].Taken; taken.Machines != 0 {
		t.Errorf("after two hours %d machines are still told of", taken.Machines)
	}
}
