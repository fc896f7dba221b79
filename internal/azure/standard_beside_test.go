package azure_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
)

const secondAgent = "k8s-agents-12345678-1"

// tagged has what belongs to machines bear the tags of removals that somebody began and nobody goes on with.
func (w waiting) tagged(machines ...string) {
	w.t.Helper()
	for _, name := range machines {
		uid := ""
		for _, m := range w.sim.Machines() {
			if m.Name == name {
				uid = strings.ToLower(m.VMID)
			}
		}
		body := `{"tags":{"sluice.dev_delete-with":"` + uid + `"}}`
		w.call("PATCH", "/providers/Microsoft.Compute/disks/"+name+"-os", body)
		w.call("PATCH", "/providers/Microsoft.Compute/disks/"+name+"-data", body)
	}
}

// doom removes a machine.
func (w waiting) doom(name string) error {
	w.t.Helper()
	g, err := w.Group(w.life, "agents")
	w.must(err)
	return w.DeleteInstances(w.life, g, []cluster.Machine{g.Instance(cluster.InstanceID(name)).Machine()})
}

// turns looks as often as the provider asks for it and every ten seconds, and returns the longest look and how many took any time.
func (w waiting) turns(d time.Duration) (longest time.Duration, slow int) {
	w.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		groups, took := w.look()
		w.wantProblems(groups)
		if longest = max(longest, took); took > 0 {
			slow++
		}
		next := time.Now().Add(10 * time.Second)
		if at := w.NextPoll(); !at.IsZero() && at.Before(next) {
			if next = at; !next.After(time.Now()) {
				w.t.Fatalf("it is %s, and the next look is due since %s: the loop would turn without a break", time.Now().Format(time.TimeOnly), at.Format(time.TimeOnly))
			}
		}
		time.Sleep(time.Until(next))
		synctest.Wait()
	}
	return longest, slow
}

// TestAHungChoreHoldsUpNobody has each kind of request hang that clears away what belonged to removed machines.
func TestAHungChoreHoldsUpNobody(t *testing.T) {
	for _, kind := range []string{"DELETE disks", "DELETE networkInterfaces", "LIST disks", "LIST networkInterfaces", "LIST deployments"} {
		t.Run(kind, func(t *testing.T) {
			bubble(t, func(w waiting) {
				w.begin(w.standard("1:9:agents", "1:9:render"))
				w.groups()
				if kind == "LIST deployments" {
					w.grow("agents", 1)
				} else {
					w.must(w.doom(firstAgent))
				}
				w.sim.Inject(azuresim.Fault{Kind: kind, Hang: true})
				asked := w.sim.Counters()[kind]
				longest, slow := w.turns(5 * time.Minute)
				if n := w.sim.Counters()[kind] - asked; longest != 2*time.Second || slow != 1 || n == 0 {
					t.Errorf("%d looks took time, the longest %s, and %q was asked %d times: want the first one to wait for 2 s, and no other", slow, longest, kind, n)
				}
				w.sim.ClearFaults()
				w.turns(15 * time.Minute)
				want := removed
				if kind == "LIST deployments" {
					return
				}
				want = slices.Clone(want)
				want[2] = strings.Replace(want[2], "pvc-1 ", "", 1)
				if got := w.everything(); !slices.Equal(got, want) {
					t.Errorf("at the end there is %q, want %q", got, want)
				}
				w.turns(time.Minute)
				if at := w.NextPoll(); !at.IsZero() {
					t.Errorf("there is something to do at %s though all is done", at)
				}
			}, newStandardWorld)
		})
	}
}

// TestNothingIsDeletedOnOldLists has the deletion of one disk hang: the others of the same look are left to the next one.
func TestNothingIsDeletedOnOldLists(t *testing.T) {
	bubble(t, func(w waiting) {
		w.begin(w.standard("1:9:agents", "1:9:render"))
		w.groups()
		w.must(w.doom(firstAgent))
		w.sim.Inject(azuresim.Fault{Kind: "DELETE disks", Hang: true, Times: 1})
		deletions := func() (n int) {
			for _, r := range w.sim.Requests() {
				if r.Kind == "DELETE disks" || r.Kind == "DELETE networkInterfaces" {
					n++
				}
			}
			return n
		}
		for deletions() == 0 {
			w.look()
			time.Sleep(time.Second)
			synctest.Wait()
		}
		first := time.Now()
		lists := w.sim.Counters()["LIST disks"]
		for deletions() == 1 && time.Since(first) < 5*time.Minute {
			w.look()
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if took, listed := time.Since(first), w.sim.Counters()["LIST disks"]-lists; took < 20*time.Second || listed == 0 {
			t.Errorf("the next resource was deleted after %s and %d lists, want it after the first was given up, on a new list", took, listed)
		}
	}, newStandardWorld)
}

// TestARemovalWaitsForTagsThatAreBeingTakenBack has the request be slow that takes a tag back, and the machine be removed meanwhile: were the
// tag believed, it would be gone when the machine is, and the disk left behind for ever (S-37).
func TestARemovalWaitsForTagsThatAreBeingTakenBack(t *testing.T) {
	bubble(t, func(w waiting) {
		w.tagged(firstAgent)
		w.begin(w.standard("1:9:agents", "1:9:render"))
		w.sim.Inject(azuresim.Fault{Kind: "PATCH disks", Delay: 12 * time.Second, Times: 1})
		for w.sim.Counters()["PATCH disks"] == 2 { // of the test's own
			w.look()
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if e := errorOf(t, w.doom(firstAgent)); e.Code != "TagsTakenBack" || e.Kind != "conflict" {
			t.Errorf("the removal says %v, want a conflict with the tags that are being taken back", e)
		}
		w.turns(time.Minute)
		w.must(w.doom(firstAgent))
		w.turns(10 * time.Minute)
		want := slices.Clone(removed)
		want[2] = strings.Replace(want[2], "pvc-1 ", "", 1)
		if got := w.everything(); !slices.Equal(got, want) {
			t.Errorf("at the end there is %q, want %q", got, want)
		}
	}, newStandardWorld)
}

// TestTagsThatARemovalReliesOnAreNotTakenBack removes a machine whose tags are about to be taken back, after those of another one.
func TestTagsThatARemovalReliesOnAreNotTakenBack(t *testing.T) {
	bubble(t, func(w waiting) {
		w.tagged(firstAgent, secondAgent)
		w.begin(w.standard("1:9:agents", "1:9:render"))
		w.sim.Inject(azuresim.Fault{Kind: "PATCH disks", Delay: 6 * time.Second, Times: 1})
		for w.sim.Counters()["PATCH disks"] == 4 {
			w.look()
			time.Sleep(time.Second)
			synctest.Wait()
		}
		w.must(w.doom(secondAgent))
		w.turns(10 * time.Minute)
		disks := w.names("Microsoft.Compute/disks")
		if want := []string{"agents-0-data", "agents-0-os", "render-0-data", "render-0-os", "render-1-data", "render-1-os"}; !slices.Equal(disks, want) {
			t.Errorf("at the end there are disks %q, want %q", disks, want)
		}
	}, newStandardWorld)
}
