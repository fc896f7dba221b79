package world_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/world"
)

// The size of the soak; make soak plays 5,000 nodes with 30 pods each for seven days.
var (
	soakNodes = flag.Int("soak-nodes", 20, "nodes of the soak, a multiple of ten")
	soakPods  = flag.Int("soak-pods", 30, "pods on each of them")
	soakDays  = flag.Int("soak-days", 1, "simulated days")
)

// mostGrowth is how much the heap may grow from one day to the next beyond a tenth of it: the simulators keep a record of what they were asked, 4 MB a day, and the
// names of all pods that there ever were.
const mostGrowth = 8 << 20

// soak is a script of days: in each a burst comes while an allocation fails, leaves while Azure throttles and the API server answers with conflicts, and
// another process takes over while the API server falls silent.
func soak(nodes, pods, days int) string {
	const groups = 10
	var b strings.Builder
	b.WriteString("timing resync=5m\n")
	for g := range groups {
		fmt.Fprintf(&b, "group g%d size=Standard_D8s_v5 min=0 max=%d machines=%d\n", g, nodes/groups*2, nodes/groups)
	}
	fmt.Fprintf(&b, "deployment base replicas=%d cpu=250m\nadvance 1h\n", nodes*pods)
	for d := range days {
		fmt.Fprintf(&b, "fault fails code=AllocationFailed after=1m group=g%d times=1\n", d%groups)
		fmt.Fprintf(&b, "deployment burst-%d replicas=%d cpu=250m\nadvance 2h\n", d, nodes*pods/10)
		b.WriteString("fault list status=429 retry-after=10m times=1\napi-fault conflict of=cordon times=3\n")
		fmt.Fprintf(&b, "delete deployment burst-%d\nadvance 3h\n", d)
		b.WriteString("restart\nsilent-api for=2m\nadvance 1h\nheal\nadvance 18h\n")
	}
	for g := range groups {
		fmt.Fprintf(&b, "until group g%d %d within=2h\n", g, nodes/groups)
	}
	return b.String()
}

// TestASoakLeavesNothingBehind plays the soak: no promise is broken, there are as many nodes at its end as at its beginning, and what sluice and the world
// remember does not grow from day to day. Every simulated day is told with what it took.
func TestASoakLeavesNothingBehind(t *testing.T) {
	began := time.Now()
	said := &days{t: t, began: began}
	r, err := world.Run(context.Background(), []byte(soak(*soakNodes, *soakPods, *soakDays)), io.MultiWriter(io.Discard, said), world.Options{NoJournal: true})
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Transcript[max(0, len(r.Transcript)-4000):])
	}
	for _, b := range r.Broken {
		t.Error(b)
	}
	if said.grown() {
		t.Errorf("the heap at the same hour of each day, in bytes: %d; want no more than %d a day beyond a tenth", said.heaps, mostGrowth)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.Logf("%d nodes, %d pods, %s simulated in %s: %d cycles, %d actions, heap %d MB", *soakNodes, *soakNodes**soakPods, r.Elapsed, time.Since(began).Round(time.Second), r.Cycles, r.Actions, m.HeapAlloc>>20)
}

// days tells of each burst that begins.
type days struct {
	t     *testing.T
	began time.Time
	heaps []uint64 // of each until now, at the same hour
}

// grown says whether the heap has grown beyond what it may since the second day; the first has yet to see a burst leave.
func (d *days) grown() bool {
	if len(d.heaps) < 3 {
		return false
	}
	second, last := d.heaps[1], d.heaps[len(d.heaps)-1]
	return last > second+second/10+uint64(len(d.heaps)-2)*mostGrowth
}

// Write hears the transcript as it is written.
func (d *days) Write(p []byte) (int, error) {
	if i := strings.Index(string(p), "> restart"); i >= 0 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		d.heaps = append(d.heaps, m.HeapAlloc)
		d.t.Logf("%s: day %d, heap %d MB", time.Since(d.began).Round(time.Second), len(d.heaps), m.HeapAlloc>>20)
	}
	return len(p), nil
}
