package world

import (
	"io"
	"strings"
	"testing"
)

// TestFiftyIdleMachinesGoInOneRequest counts what Azure hears while a group of 102 gives 50 idle machines back: one deletion that names them all, and
// reads on the way.
func TestFiftyIdleMachinesGoInOneRequest(t *testing.T) {
	script, err := parse([]byte(`policy scale-down-unneeded-time=1m max-scale-down-parallelism=50
group agents size=Standard_D4s_v5 min=1 max=102 machines=102
deployment base replicas=52 cpu=3
until group agents 52
advance 5m
`))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(Options{}, nil, io.Discard)
	defer w.close()
	if err := w.play(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	deletions, named, operations, reads := 0, 0, 0, map[string]int{}
	for _, r := range w.azure.Requests() {
		switch {
		case r.Kind == deleteRequest:
			deletions++
			named += len(r.InstanceIDs)
		case strings.Contains(r.Kind, "operations"):
			operations++
		default:
			reads[r.Kind]++
		}
	}
	t.Logf("%d deletions of %d machines, %d polls, others %v", deletions, named, operations, reads)
	if deletions != 1 || named != 50 {
		t.Errorf("%d deletions named %d machines, want 1 that names 50", deletions, named)
	}
	if operations > 10 {
		t.Errorf("the deletion was asked after %d times", operations)
	}
	for _, left := range w.leftovers(52) {
		t.Error(left)
	}
}
