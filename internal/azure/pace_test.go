package azure_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
)

func TestOneListServesAllGroups(t *testing.T) {
	w := newWorld(t, set("a", 1), set("b", 1), set("c", 1))
	w.open(w.options("0:9:a", "0:9:b", "0:9:c"))
	for _, id := range []cluster.GroupID{"a", "b", "c"} { // read at times of their own
		w.pass(10 * time.Second)
		_, err := w.Group(context.Background(), id)
		w.must(err)
	}
	w.pass(3 * time.Minute)
	before := w.sim.Counters()
	w.pass(10 * time.Minute)
	d := diff(before, w.sim.Counters())
	if d[listSets] > 10 || d[listMachines] > 30 || d[getSet] != 0 {
		t.Errorf("ten quiet minutes of three groups cost %d lists of scale sets, %d of machines and %d single reads, want 10, 30 and none", d[listSets], d[listMachines], d[getSet])
	}
}

func TestMachineListsServeAsLongAsSetWhileTheModelStaysAsItWas(t *testing.T) {
	w := newWorld(t)
	var names []string
	for i := range 10 {
		w.must(w.sim.AddScaleSet(set(fmt.Sprintf("pool-%d", i), 2)))
		names = append(names, fmt.Sprintf("0:9:pool-%d", i))
	}
	o := w.options(names...)
	o.InstanceCacheTTL, o.InstanceCacheJitter = 5*time.Minute, 2*time.Minute
	w.open(o)
	w.pass(10 * time.Minute)
	before := w.sim.Counters()
	most := 0
	for range 30 {
		minute := w.sim.Counters()[listMachines]
		w.pass(time.Minute)
		most = max(most, w.sim.Counters()[listMachines]-minute)
	}
	d := diff(before, w.sim.Counters())
	if d[listSets] > 30 || d[listMachines] < 60 || d[listMachines] > 100 {
		t.Errorf("half an hour cost %d lists of scale sets and %d of machines, want 30 and one in three to five minutes for each of ten groups", d[listSets], d[listMachines])
	}
	if most > 7 {
		t.Errorf("%d of ten lists of machines fell into one minute: the jitter does not spread them", most)
	}

	w.must(w.sim.SetCapacity("pool-3", 4)) // by another hand
	w.pass(time.Minute)
	if g := w.groups()["pool-3"]; g.Capacity != 4 || len(g.Instances) != 4 {
		t.Errorf("a minute after another hand's resize: capacity %d with %d machines, want 4 and 4", g.Capacity, len(g.Instances))
	}
}

func TestThrottledListsLeaveGroupsReadable(t *testing.T) {
	w := newWorld(t, set("agents", 2), set("render", 2))
	w.open(w.options("0:9:agents", "0:9:render"))
	w.groups()
	w.sim.Inject(azuresim.Fault{Kind: listSets, Times: 1, Status: http.StatusTooManyRequests, RetryAfter: 20 * time.Minute, Bare: true})
	before := w.sim.Counters()
	for range 19 {
		w.now = w.now.Add(time.Minute)
		gs, _ := w.Groups(context.Background())
		for _, g := range gs {
			if !g.Usable() || !g.Read.At.Equal(w.now) {
				t.Fatalf("at %s: %s has the problem %q and was read at %s, want it read now by itself", w.now, g.ID, g.Problem, g.Read.At)
			}
		}
	}
	if n := w.sim.Counters()[listSets] - before[listSets]; n != 1 {
		t.Errorf("%d lists were asked for, want the one that was refused", n)
	}
	w.now = w.now.Add(2 * time.Minute)
	if w.groups(); w.sim.Counters()[listSets]-before[listSets] != 2 {
		t.Errorf("no list was asked for when its time had come")
	}
}

func TestClustersFallOutOfStep(t *testing.T) {
	seconds := map[int]bool{}
	for _, name := range []string{"agents", "render", "gpu", "spot", "batch", "web"} {
		var took []int
		for range 2 { // the same cluster, started twice
			w := newWorld(t, set(name, 0))
			w.open(w.options("0:9:" + name))
			w.groups()
			start := w.now
			for w.sim.Counters()[listSets] < 2 {
				w.now = w.now.Add(time.Second)
				w.groups()
			}
			took = append(took, int(w.now.Sub(start).Seconds()))
		}
		if took[0] != took[1] || took[0] < 30 || took[0] > 60 {
			t.Errorf("%s: the second list comes after %v s, want the same time in 30 to 60 s each time", name, took)
		}
		seconds[took[0]] = true
	}
	if len(seconds) < 4 {
		t.Errorf("six clusters ask at only %d different times", len(seconds))
	}
}

func TestAGroupIsPatientWithSluicesOwnEconomy(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	o := w.options("0:9:agents")
	o.Transport, o.InstanceCacheTTL = nearlySpent{o.Transport}, 20*time.Second
	w.open(o)
	w.groups()
	w.now = w.now.Add(40 * time.Second) // every answer says that little is left: within a minute none is refreshed
	if g := w.groups()["agents"]; !g.Usable() {
		t.Errorf("the problem is %q while a refresh waits, want none for a read of 40 s", g.Problem)
	}
	w.pass(10 * time.Minute)
	if g := w.groups()["agents"]; !g.Usable() || w.now.Sub(g.Read.At) > 3*time.Minute {
		t.Errorf("problem %q and a read at %s at %s, want a refresh every minute or two", g.Problem, g.Read.At, w.now)
	}
}
