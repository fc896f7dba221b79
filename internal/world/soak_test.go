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
		b.WriteString("restart\nsilent-api for=2m\nadvance 1h\nheal\nadvance 17h\n")
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
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.Logf("%d nodes, %d pods, %s simulated in %s: %d cycles, %d actions, heap %d MB", *soakNodes, *soakNodes**soakPods, r.Elapsed, time.Since(began).Round(time.Second), r.Cycles, r.Actions, m.HeapAlloc>>20)
}

// days tells of each burst that begins.
type days struct {
	t     *testing.T
	began time.Time
}

// Write hears the transcript as it is written.
func (d *days) Write(p []byte) (int, error) {
	if i := strings.Index(string(p), "> restart"); i >= 0 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		d.t.Logf("%s: a day, heap %d KB", time.Since(d.began).Round(time.Second), m.HeapAlloc>>10)
	}
	return len(p), nil
}
