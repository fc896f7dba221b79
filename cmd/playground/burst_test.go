package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/policy"
)

// TestBurstsOnARealScheduler has bursts of pods come as the real controllers make them and the real scheduler judges them, each for a group of its own. It holds sluice to
// three requests a group, and has no pod wait for the end of the window. How long the last one of each waits is printed.
func TestBurstsOnARealScheduler(t *testing.T) {
	sizes := []int{10, 50, 100, 10, 50, 100, 400}
	var own []group
	for i, n := range sizes {
		own = append(own, group{name: fmt.Sprintf("burst%d-%d", i, n), size: d4s, max: n})
	}
	o := options{dir: filepath.Join(t.TempDir(), "playground"), script: shortStory()}
	o.script.gather = policy.Default().Growth.BurstWindow
	o.script.boot = azuresim.Fixed(time.Hour) // no machine disturbs the next burst
	s, ctx, wait := onGroups(t, o, own...)
	p := s.playground
	for i, g := range own {
		app := "app-" + g.name
		from := time.Now()
		if err := s.createDeployment(ctx, onPool(pod(app, "3", "1Gi"), g), sizes[i]); err != nil {
			t.Fatal(err)
		}
		var requests []azuresim.Request
		wait("machines of "+g.name, func() (string, bool) {
			requests = growths(p.azure.Requests(), g.name, span{from, time.Now()})
			n := 0
			for _, r := range requests {
				if accepted(r) {
					n = int(*r.Capacity)
				}
			}
			return fmt.Sprintf("%d of %d asked for", n, sizes[i]), n == sizes[i]
		})
		var came []time.Time
		for _, h := range p.observer.podsOf(app) {
			came = append(came, h.unschedulable)
		}
		slices.SortFunc(came, time.Time.Compare)
		gap := time.Duration(0)
		for j := 1; j < len(came); j++ {
			gap = max(gap, came[j].Sub(came[j-1]))
		}
		last := came[len(came)-1]
		after := requests[len(requests)-1].Time.Sub(last)
		t.Logf("%3d pods: judged within %s, most apart %s; requests %d; the last %s after the last pod", sizes[i], last.Sub(came[0]).Round(time.Millisecond), gap.Round(time.Millisecond), len(requests), after.Round(time.Millisecond))
		if len(requests) > 3 || after > o.script.gather/2 {
			t.Errorf("%d pods: requests %d, the last %s after the last pod, want 3 at most, and not at the end of the window", sizes[i], len(requests), after)
		}
		if err := p.client.AppsV1().Deployments(metav1.NamespaceDefault).Delete(ctx, app, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}); err != nil {
			t.Fatal(err)
		}
	}
}
