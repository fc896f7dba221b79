package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/economics"
	"sluice.dev/sluice/internal/traces"
)

// farmTold are the facts of a farm's story that came out right: three Jobs on three machines, of which the newest works for longest.
func farmTold(t *testing.T) *farmFacts {
	t.Helper()
	before := groups
	groups = []group{{name: "farm", size: d4s, max: 3}}
	t.Cleanup(func() { groups = before })
	f := told(t)
	f.observer.pods, f.observer.nodes = map[types.UID]podHistory{}, map[string]nodeHistory{}
	load := economics.FoundingStory()
	load.Pods = nil
	book := newCensus()
	for i, end := range []float64{200, 400, 800} {
		name, node := string('a'+rune(i)), "farm-"+string('a'+rune(i))
		load.Pods = append(load.Pods, traces.Pod{Name: name, Asks: economics.Vector{Milli: 3000, MiB: 1024}})
		f.observer.pods[types.UID(name)] = podHistory{
			name: name + "-pod", app: frameApp, owner: "Job", job: name, node: node, succeeded: true,
			created: at(float64(i)), bound: at(20 + float64(i)), running: at(21 + float64(i)), finished: at(end),
		}
		f.observer.nodes[node] = nodeHistory{name: node, readySince: at(10 + float64(i)), gone: at(end + 20)}
		book.lives[node] = life{id: name, node: node, created: at(float64(i)), gone: at(end + 15)}
	}
	f.requests = []azuresim.Request{
		resize(0, "farm", 3), remove(205, "farm", "a"), remove(405, "farm", "b"), remove(805, "farm", "c"),
	}
	f.pods = f.observer.podsOf()
	return &farmFacts{facts: f, farm: &farm{story: f.story, speed: 1, load: load, book: book, began: at(0)}}
}

func TestEveryBrokenPromiseOfTheFarmIsFound(t *testing.T) {
	pod := func(f *farmFacts, i int, change func(*podHistory)) { change(&f.pods[i]) }
	cases := map[string]struct {
		spoil func(*farmFacts)
		want  []string // the beginnings of the promises that break
	}{
		"nothing":                                   {func(*farmFacts) {}, nil},
		"a story that got stuck":                    {func(f *farmFacts) { f.played = false }, []string{"the story was played", "machine-hours"}},
		"a Job's pod that was evicted":              {func(f *farmFacts) { pod(f, 0, func(p *podHistory) { p.evicted = true }) }, []string{"no Job's pod"}},
		"a Job's pod that was deleted while it ran": {func(f *farmFacts) { pod(f, 0, func(p *podHistory) { p.deleting = at(100) }) }, []string{"no Job's pod"}},
		"a Job's pod that failed":                   {func(f *farmFacts) { pod(f, 0, func(p *podHistory) { p.succeeded = false }) }, []string{"no Job's pod"}},
		"a Job's pod that was made again":           {func(f *farmFacts) { f.pods = append(f.pods, f.pods[0]) }, []string{"no Job's pod"}},
		"a machine removed while a Job ran on it":   {func(f *farmFacts) { f.requests[1].Time = at(199) }, []string{"every deleted machine was idle"}},
		"a machine removed while a Job was bound to it and had not begun": {func(f *farmFacts) {
			f.requests[1].Time, f.pods[0].running = at(25), at(30)
		}, []string{"every deleted machine was idle"}},
		"the newest machine removed first": {func(f *farmFacts) {
			f.requests[1], f.requests[2], f.requests[3] = remove(805, "farm", "c"), remove(806, "farm", "b"), remove(807, "farm", "a")
			for id, l := range f.farm.book.lives {
				l.gone = at(830)
				f.farm.book.lives[id] = l
			}
		}, []string{"older machines went", "machine-hours"}},
		"a machine that stayed":   {func(f *farmFacts) { f.requests = f.requests[:3] }, []string{"every machine that came"}},
		"a removal without names": {func(f *farmFacts) { f.requests = append(f.requests, remove(900, "farm")) }, []string{"every machine that came"}},
		"idle machines that were kept long": {func(f *farmFacts) {
			f.requests[1].Time = at(490)
			f.farm.book.lives["farm-a"] = life{id: "a", node: "farm-a", created: at(0), gone: at(500)}
		}, []string{"machine-hours"}},
		"Jobs so short that the newest machine is never at work when it goes": {func(f *farmFacts) {
			for i := range f.pods {
				f.pods[i].finished = at(60)
			}
		}, []string{"older machines went", "deleting the newest", "machine-hours"}},
		"a machine too many":             {func(f *farmFacts) { groups[0].max = 2 }, []string{"machines at once"}},
		"a capacity lowered by a number": {func(f *farmFacts) { f.requests = append(f.requests, resize(810, "farm", -1)) }, []string{"no capacity was lowered"}},
		"a Node object that was left":    {func(f *farmFacts) { f.observer.nodes["farm-a"] = nodeHistory{name: "farm-a"} }, []string{"no Node object"}},
		"a cycle that replays otherwise": {func(f *farmFacts) { f.record.differs = []uint64{2} }, []string{"replay decides"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := farmTold(t)
			c.spoil(f)
			var broken []string
			for _, check := range f.checks() {
				if check.ok {
					continue
				}
				promise := check.promise
				if n := len(broken); n < len(c.want) && strings.HasPrefix(promise, c.want[n]) {
					promise = c.want[n]
				}
				broken = append(broken, promise)
			}
			if diff := cmp.Diff(c.want, broken); diff != "" {
				t.Errorf("broken promises (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFarmIsToldByWhatWasOnItsMachines(t *testing.T) {
	f := farmTold(t)
	var out strings.Builder
	f.summarize(&out)
	if !judge(&out, f.checks()) || strings.Contains(out.String(), "FAILED") {
		t.Errorf("judged wrong:\n%s", out.String())
	}
	gone := f.departures()
	if len(gone) != 3 || gone[0].node != "farm-a" || gone[0].newest || !gone[0].worked || !gone[2].newest {
		t.Errorf("machines that went: %+v; want farm-a first, an older one, and the newest last", gone)
	}
	if got, want := f.machineTime(), (215-0+415-1+815-2)*time.Second; got != want {
		t.Errorf("machine time is %s, want %s", got, want)
	}
}

func TestACensusKnowsMachinesFromTheirRequestToTheirEnd(t *testing.T) {
	c := newCensus()
	machine := func(id string, made float64) azuresim.MachineState {
		return azuresim.MachineState{ScaleSet: "farm", VMID: id, InstanceID: id, ComputerName: "node-" + id, TimeCreated: at(made)}
	}
	c.look([]azuresim.MachineState{{VMID: "control-plane"}, machine("2", 5), machine("1", 0)}, at(6))
	c.look([]azuresim.MachineState{machine("2", 5)}, at(9))
	c.look(nil, at(12))
	want := []life{{"1", "node-1", at(0), at(9)}, {"2", "node-2", at(5), at(12)}}
	if diff := cmp.Diff(want, c.all(), cmp.AllowUnexported(life{})); diff != "" {
		t.Errorf("machines (-want +got):\n%s", diff)
	}
}
