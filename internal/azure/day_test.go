package azure_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// published are Azure's limits for a minute, by kind of request: of one resource and of the subscription; 0 for none.
var published = map[string][2]int{
	listSets:         {0, 360},
	getSet:           {12, 800},
	listMachines:     {12, 800},
	listInterfaces:   {0, 2000}, // the network provider's 10,000 in five minutes
	"GET operations": {15, 5000},
	patchSet:         {4, 500},
	deleteByID:       {4, 175},
}

// frontDoor are those of Resource Manager for all requests of a kind together.
var frontDoor = map[string]int{"reads": 25 * 60, "writes": 10 * 60, "deletes": 10 * 60}

// tally counts the simulator's log by class and resource, and keeps the fullest minute of each. A minute is any 60 seconds.
type tally struct {
	recent  map[string][]time.Time
	fullest map[string]int
	total   map[string]int
	seen    time.Time
}

func (l *tally) add(key string, at time.Time) {
	kept := append(l.recent[key], at)
	for !kept[0].After(at.Add(-time.Minute)) {
		kept = kept[1:]
	}
	l.recent[key] = kept
	l.total[key]++
	l.fullest[key] = max(l.fullest[key], len(kept))
}

// take adds what is new in the log. The log must not have wrapped meanwhile.
func (l *tally) take(t *testing.T, log []azuresim.Request) {
	t.Helper()
	if len(log) > 0 && log[0].Time.After(l.seen) && !l.seen.IsZero() {
		t.Fatalf("the log begins at %s, after what was read of it until %s", log[0].Time, l.seen)
	}
	for _, r := range log {
		if !r.Time.After(l.seen) {
			continue
		}
		if strings.Contains(r.Kind, "metadata") || strings.Contains(r.Kind, "token") {
			continue
		}
		door := "writes"
		switch r.Method {
		case "GET":
			door = "reads"
		case "DELETE":
			door = "deletes"
		}
		l.add(door, r.Time)
		l.add(r.Kind, r.Time)
		if published[r.Kind][0] > 0 {
			resource := strings.ToLower(r.ScaleSet)
			if r.Kind == "GET operations" {
				resource = r.Path
			}
			l.add(r.Kind+" of "+resource, r.Time)
		}
		if r.Status == 429 {
			t.Errorf("%s: Azure throttled %s %s", r.Time, r.Method, r.Path)
		}
	}
	if len(log) > 0 {
		l.seen = log[len(log)-1].Time
	}
}

// check says what came near the limits and fails on more than half of one.
func (l *tally) check(t *testing.T) {
	t.Helper()
	fullest := map[string]int{} // of one resource, by kind
	for key, n := range l.fullest {
		if kind, _, single := strings.Cut(key, " of "); single {
			fullest[kind] = max(fullest[kind], n)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(l.fullest)) {
		if strings.Contains(kind, " of ") {
			continue
		}
		limits, known := published[kind]
		if most, isDoor := frontDoor[kind]; isDoor {
			limits, known = [2]int{0, most}, true
		}
		if !known {
			t.Logf("%-50s %6d in all, which only the front door counts", kind, l.total[kind])
			if strings.Contains(kind, "virtualMachine") {
				t.Errorf("%s: this test does not know its limit", kind)
			}
			continue
		}
		t.Logf("%-50s %6d in all, fullest minute %3d of %4d; of one resource %2d of %2d", kind, l.total[kind], l.fullest[kind], limits[1], fullest[kind], limits[0])
		if 2*l.fullest[kind] > limits[1] || 2*fullest[kind] > limits[0] {
			t.Errorf("%s: more than half of Azure's limit in a minute", kind)
		}
	}
}

// hours let simulated time go by for twenty groups of few machines, whose number changes no figure, and hand every hour to each.
func hours(t *testing.T, n int, each func(w *world, hour int)) *tally {
	var sets []azuresim.ScaleSet
	var names []string
	for i := range 20 {
		sets = append(sets, set(fmt.Sprintf("pool-%02d", i), i%2))
		names = append(names, fmt.Sprintf("0:9:pool-%02d", i))
	}
	w := newWorld(t, sets...)
	w.sim.Throttle = true
	w.open(w.options(names...))
	l := &tally{recent: map[string][]time.Time{}, fullest: map[string]int{}, total: map[string]int{}}
	for hour := range n {
		each(w, hour)
		w.pass(time.Hour)
		l.take(t, w.sim.Requests())
	}
	return l
}

func TestTwentyGroupsStayWithinHalfOfAzuresLimitsForADay(t *testing.T) {
	l := hours(t, 24, func(*world, int) {})
	l.check(t)
	if lists, machines := l.total[listSets], l.total[listMachines]; lists > 24*60+1 || machines > 20*(24*60+1) {
		t.Errorf("a quiet day cost %d lists of scale sets and %d of machines, want one a minute for all and one a minute for each group", lists, machines)
	}
	if l.total[getSet] != 0 {
		t.Errorf("a quiet day cost %d reads of single scale sets, want none", l.total[getSet])
	}
}

func TestHoursOfChangeStayWithinHalfOfAzuresLimits(t *testing.T) {
	grown := 0
	l := hours(t, 4, func(w *world, hour int) {
		if hour == 0 {
			w.groups()
		}
		for id := range w.groups() {
			if hour%2 == 0 {
				w.grow(id, 1)
				grown++
				continue
			}
			if g, err := w.Group(context.Background(), id); err == nil { // a spent share is no defect
				w.remove(id, g.Instances[len(g.Instances)-1].ID)
			}
		}
	})
	l.check(t)
	if l.total[patchSet] != grown || l.total[deleteByID] < grown/2 {
		t.Errorf("%d growths and %d deletions were sent, want %d and about as many", l.total[patchSet], l.total[deleteByID], grown)
	}
}
