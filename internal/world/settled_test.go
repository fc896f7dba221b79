package world

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestWhatHasNotComeToRestIsSeen has everything judged at the end that the process which is left can know, and nothing else.
func TestWhatHasNotComeToRestIsSeen(t *testing.T) {
	const farm = "group agents size=Standard_D4s_v5 min=0 max=3"
	const away = "deny Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read\n"
	const back = "allow Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read\n"
	for name, c := range map[string]struct{ script, want string }{
		"a farm that is asked too early":                 {farm + " machines=1\nadvance 1m\nsettled\n", "P-3"},
		"pods of a Job that run one after the other":     {farm[:len(farm)-1] + "1\njob j pods=4 cpu=3 runs=15m\nadvance 63m\nsettled\n", ""},
		"a write when all work is done":                  {farm + "\njob j pods=1 cpu=3 runs=5m\nadvance 1h\npod late-0 cpu=3\nadvance 1m\nsettled\n", "P-3"},
		"a machine that never joins, and was asked for":  {farm + "\nfault never-boots group=agents times=1\npod p-0 cpu=3 owner=none\nadvance 10s\ndelete pod p-0\nadvance 80m\nsettled\n", ""},
		"a machine that the other process has asked for": {farm + "\nfault never-boots group=agents times=1\npod p-0 cpu=3 owner=none\nrival for=9s\nadvance 10s\ndelete pod p-0\nadvance 80m\nsettled\n", ""},
		"a node deleted before any process could list its machine": {
			farm + " machines=1\npod base-0 cpu=3 on=agents_0 owner=none\nadvance 1m\n" + away + "restart operations=lost\nadvance 1m\ndelete node agents_0\nadvance 1m\n" + back + "advance 80m\nsettled\n", "",
		},
		"a node whose machine went while a deletion in its group never ends": {
			"policy scale-down-unneeded-time=4m scale-down-delay-after-add=1s max-drain-time=5m\ngroup agents size=Standard_D4s_v5 min=1 max=4 machines=2 zones=1,2 spot=deallocate\n" +
				"fault delete-fails group=agents times=1\nfault never-deleted group=agents times=1\nresize agents 6\nadvance 382s\nresize agents 4\nadvance 80m\nsettled\n", "",
		},
		"a node deleted after its machine was listed": {
			farm + " machines=1\npod base-0 cpu=3 on=agents_0 owner=none\nadvance 1m\nrestart operations=lost\nadvance 1m\n" + away + "delete node agents_0\nadvance 1m\n" + back + "advance 80m\nsettled\n", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			broken, err := played(t, c.script).promises()
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(broken, "\n"); c.want == "" && all != "" || c.want != "" && !strings.Contains(all, c.want+" was broken") {
				t.Errorf("broken promises are %q, want %q", all, c.want)
			}
		})
	}
}

// TestWorkIsWaitedForAtTheEnd lets pass what time the pods need that run, and none for those that run for ever.
func TestWorkIsWaitedForAtTheEnd(t *testing.T) {
	const farm = "group agents size=Standard_D4s_v5 min=1 max=1 machines=1\n"
	for name, c := range map[string]struct {
		script string
		want   time.Duration
	}{
		"nothing works":                 {farm + "advance 1h\n", time.Hour},
		"a pod without an end":          {farm + "pod base-0 cpu=3 owner=job\nadvance 1h\n", time.Hour},
		"one that came to it long ago":  {farm + "pod base-0 cpu=3 owner=job runs=5m\nadvance 1h\n", time.Hour},
		"one that came to it just now":  {farm + "pod base-0 cpu=3 owner=job runs=50m\nadvance 1h\n", 80*time.Minute + 2*time.Second},
		"two, one of them after that":   {farm + "job j pods=2 cpu=3 runs=50m\nadvance 1h\n", 130*time.Minute + 4*time.Second},
		"one that takes a day to do it": {farm + "pod base-0 cpu=3 owner=job runs=24h\nadvance 1h\n", 5 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w := played(t, c.script)
			if err := w.finish(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got := w.elapsed(); got != c.want {
				t.Errorf("judged at %s, want %s", got, c.want)
			}
		})
	}
}

// TestARivalKnowsTheRecord has a second process begin while a machine is being removed: it knows, whatever Azure's reads say.
func TestARivalKnowsTheRecord(t *testing.T) {
	w := played(t, "group agents size=Standard_D4s_v5 min=0 max=3 machines=1\nfault never-deleted group=agents times=1\nadvance 10m6s\nrival for=1h\nadvance 1s\n")
	if left, known := string(w.procs.main.provider.SaveOperations()), string(w.procs.rival.provider.SaveOperations()); left == "" || known == "" {
		t.Errorf("operations in flight: %q, and the rival knows %q", left, known)
	}
}
