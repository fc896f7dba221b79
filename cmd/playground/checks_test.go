package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/internal/azuresim"
)

// dawn is when the told story begins.
var dawn = time.Date(2026, 1, 2, 6, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return dawn.Add(time.Duration(seconds * float64(time.Second))) }

func resize(seconds float64, set string, to int64) azuresim.Request {
	return azuresim.Request{Time: at(seconds), Kind: "PATCH virtualMachineScaleSets", ScaleSet: set, Status: 200, Capacity: &to}
}

func remove(seconds float64, set string, ids ...string) azuresim.Request {
	return azuresim.Request{Time: at(seconds), Kind: deleteKind, ScaleSet: set, Status: 202, InstanceIDs: ids}
}

func look(seconds float64, kind string) azuresim.Request {
	return azuresim.Request{Time: at(seconds), Kind: kind, Status: 200}
}

// told are the facts of a story that came out right.
func told(t *testing.T) *facts {
	t.Helper()
	azure, err := newAzure(fullStory())
	if err != nil {
		t.Fatal(err)
	}
	o := &observer{pods: map[types.UID]podHistory{}, nodes: map[string]nodeHistory{}}
	for _, m := range azure.Machines() {
		o.nodes[m.ComputerName] = nodeHistory{name: m.ComputerName, ready: true}
	}
	o.nodes["burst000001"] = nodeHistory{name: "burst000001", everOn: at(110), gone: at(120)}
	for uid, p := range map[types.UID]podHistory{
		"job":   {name: "encode-1", app: jobApp, owner: "Job", running: at(50), finished: at(100), succeeded: true},
		"api-1": {name: "api-1", app: apiApp, owner: "ReplicaSet", running: at(40), deleting: at(70), gone: at(71), evicted: true},
		"api-2": {name: "api-2", app: apiApp, owner: "ReplicaSet", running: at(40)},
		"api-3": {name: "api-3", app: apiApp, owner: "ReplicaSet", running: at(72)},
	} {
		o.pods[uid] = p
	}
	s := &story{
		playground: &playground{options: options{script: fullStory()}, azure: azure, observer: o},
		growth:     episode{app: webApp, groups: []group{agents, render}, span: span{at(10), at(30)}},
		bursts:     []episode{{app: "burst-01", groups: []group{burst}, span: span{at(30), at(35)}}, {app: "burst-02", groups: []group{burst}, span: span{at(35), at(40)}}},
		newest:     azuresim.MachineState{ScaleSet: "burst", InstanceID: "1", ComputerName: "burst000001"},
		older:      1,
		job:        span{at(50), at(100)},
		calm:       span{at(200), at(260)},
		played:     true,
	}
	return &facts{
		story: s,
		requests: []azuresim.Request{
			look(0, "GET metadata/instance"), look(1, "GET metadata/identity"), look(2, "LIST virtualMachineScaleSets"),
			resize(11, "agents", 7), resize(11, "render", 7), look(20, "GET operations"), look(21, "LIST virtualMachineScaleSets/virtualMachines"),
			resize(31, "burst", 1), resize(36, "burst", 2),
			remove(80, "burst", "0"), remove(110, "burst", "1"),
			remove(111, "agents", "0", "1", "2", "3", "4", "5"), remove(111, "render", "1", "2", "3", "4", "5", "6"),
			look(210, "LIST virtualMachineScaleSets"), look(220, "LIST virtualMachineScaleSets/virtualMachines"),
		},
		pods:   o.podsOf(),
		record: &record{cycles: 3, verdicts: 9},
		events: 4,
		status: true,
		growths: []growthFact{
			{app: webApp, group: "agents", requests: 1, answered: true, machines: 6, latency: 300 * time.Millisecond},
			{app: webApp, group: "render", requests: 1, answered: true, machines: 6, latency: 300 * time.Millisecond},
			{app: "burst-01", group: "burst", requests: 1, answered: true, machines: 1, latency: 200 * time.Millisecond},
			{app: "burst-02", group: "burst", requests: 1, answered: true, machines: 1, latency: 400 * time.Millisecond},
		},
	}
}

// failing are the promises that do not hold.
func failing(f *facts) []string {
	var broken []string
	for _, c := range f.checks() {
		if !c.ok {
			broken = append(broken, c.promise)
		}
	}
	return broken
}

func TestStoryThatCameOutRightPassesEveryCheck(t *testing.T) {
	f := told(t)
	if broken := failing(f); len(broken) > 0 {
		t.Errorf("broken promises: %q", broken)
	}
	var out strings.Builder
	f.summarize(&out)
	if !judge(&out, f.checks()) || strings.Contains(out.String(), "FAILED") {
		t.Errorf("judged wrong:\n%s", out.String())
	}
}

func TestEveryBrokenPromiseIsFound(t *testing.T) {
	cases := map[string]struct {
		spoil func(*facts)
		want  []string // the beginnings of the promises that break
	}{
		"the story got stuck at its end": {func(f *facts) { f.played, f.calm = false, span{} }, []string{"the story was played", "Azure reads in the quiet"}},
		"the story got stuck in its growth": {func(f *facts) { f.played, f.calm, f.bursts, f.growths = false, span{}, nil, f.growths[:2] },
			[]string{"the story was played", "Azure writes", "Azure reads for the 12", "Azure reads in the quiet"}},
		"one group took all machines": {func(f *facts) { f.growths[0].machines, f.growths[1].machines = 0, 12 }, []string{"the Deployment's burst grew"}},
		"a machine too many":          {func(f *facts) { f.growths[1].machines = 7 }, []string{"the Deployment's burst grew"}},
		"a second capacity request":   {func(f *facts) { f.growths[2].requests = 2 }, []string{"one capacity request"}},
		"a burst without an answer": {func(f *facts) { f.growths[2].answered = false },
			[]string{"one capacity request", "median latency", "95th percentile"}},
		"every burst waits": {func(f *facts) {
			for i := range f.growths {
				f.growths[i].latency = 1100 * time.Millisecond
			}
		}, []string{"median latency"}},
		"a few bursts wait long": {func(f *facts) { f.growths[3].latency = 3 * time.Second }, []string{"95th percentile"}},
		"a third write for the growth": {func(f *facts) {
			f.requests = slices.Insert(f.requests, 5, resize(12, "agents", 7))
		}, []string{"Azure writes"}},
		"thirteen reads for the growth": {func(f *facts) {
			for range 12 {
				f.requests = slices.Insert(f.requests, 5, look(12, "GET virtualMachineScaleSets"))
			}
		}, []string{"Azure reads for the 12"}},
		"a capacity lowered by a number": {func(f *facts) { f.requests = append(f.requests, resize(150, "agents", 0)) }, []string{"no capacity was lowered"}},
		"a machine deleted one by one": {func(f *facts) {
			f.requests = append(f.requests, look(150, "DELETE virtualMachineScaleSets/virtualMachines"))
		}, []string{"no capacity was lowered"}},
		"a removal without names":       {func(f *facts) { f.requests = append(f.requests, remove(150, "agents")) }, []string{"every deletion named"}},
		"the newest machine went first": {func(f *facts) { f.requests[9] = remove(80, "burst", "1") }, []string{"the newest machine stayed"}},
		"the newest node was cordoned": {func(f *facts) {
			f.observer.nodes["burst000001"] = nodeHistory{name: "burst000001", everOn: at(60), gone: at(120)}
		}, []string{"the newest machine stayed"}},
		"the older machine stayed":           {func(f *facts) { f.requests[9].Time = at(105) }, []string{"the newest machine stayed"}},
		"the Job's pod was evicted":          {func(f *facts) { f.pods[find(f, jobApp)].evicted = true }, []string{"no Job's pod"}},
		"the Job's pod was deleted":          {func(f *facts) { f.pods[find(f, jobApp)].deleting = at(90) }, []string{"no Job's pod"}},
		"the Job failed":                     {func(f *facts) { f.pods[find(f, jobApp)].succeeded = false }, []string{"no Job's pod"}},
		"nothing was evicted":                {func(f *facts) { f.pods[find(f, apiApp)].evicted = false }, []string{"an underused machine"}},
		"a moved pod did not come up":        {func(f *facts) { delete(f.observer.pods, "api-3") }, []string{"an underused machine"}},
		"a group did not shrink":             {func(f *facts) { must(f.azure.SetCapacity("burst", 1)) }, []string{"every group is back"}},
		"a Node object outlived its machine": {func(f *facts) { f.observer.nodes["burst000000"] = nodeHistory{name: "burst000000"} }, []string{"no Node object"}},
		"a taint was left":                   {func(f *facts) { f.observer.nodes["agents000000"] = nodeHistory{name: "agents000000", marks: true} }, []string{"no sluice.dev/removing taint"}},
		"a write in the quiet minute":        {func(f *facts) { f.requests = append(f.requests, resize(230, "burst", 1)) }, []string{"Azure reads in the quiet"}},
		"too many reads in the quiet minute": {func(f *facts) {
			f.requests = append(f.requests, slices.Repeat([]azuresim.Request{look(230, "GET virtualMachineScaleSets")}, 5)...)
		}, []string{"Azure reads in the quiet"}},
		"a cycle that replays otherwise":  {func(f *facts) { f.record.differs = []uint64{2} }, []string{"replay decides"}},
		"an empty journal":                {func(f *facts) { f.record = &record{} }, []string{"replay decides", "every pending pod"}},
		"a pod without a verdict":         {func(f *facts) { f.record.unjudged = []string{"cycle 2: pod default/a"} }, []string{"every pending pod"}},
		"a right that the manifest lacks": {func(f *facts) { f.denied = []string{"PATCH /api/v1/nodes/a"} }, []string{"deploy/rbac.yaml"}},
		"no events":                       {func(f *facts) { f.events = 0 }, []string{"events and the status"}},
		"no status ConfigMap":             {func(f *facts) { f.status = false }, []string{"events and the status"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := told(t)
			c.spoil(f)
			broken := failing(f)
			for i, promise := range broken {
				if i < len(c.want) && strings.HasPrefix(promise, c.want[i]) {
					broken[i] = c.want[i]
				}
			}
			if diff := cmp.Diff(c.want, broken); diff != "" {
				t.Errorf("broken promises (-want +got):\n%s", diff)
			}
		})
	}
}

// find is the index of the first pod of a workload.
func find(f *facts, app string) int {
	return slices.IndexFunc(f.pods, func(p podHistory) bool { return p.app == app && (app != apiApp || p.evicted) })
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
