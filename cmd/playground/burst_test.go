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
	for _, c := range []struct {
		name                   string
		scheduler, controllers int // requests a second
		pods                   []int
	}{
		{"by Kubernetes' own limits", 50, 20, []int{10, 50, 100, 400}},
		{"by a slow scheduler", 3, 20, []int{10, 50}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options{dir: filepath.Join(t.TempDir(), "playground"), script: shortStory()}
			o.script.gather = policy.Default().Growth.BurstWindow
			o.script.schedulerQPS, o.script.controllersQPS = c.scheduler, c.controllers
			o.script.boot = azuresim.Fixed(time.Hour) // no machine disturbs the next burst
			var own []group
			for _, n := range c.pods {
				own = append(own, group{name: fmt.Sprintf("burst%d", n), size: d4s, max: n})
			}
			s, ctx, wait := onGroups(t, o, own...)
			for i, g := range own {
				app, from := "app-"+g.name, time.Now()
				if err := s.createDeployment(ctx, onPool(pod(app, "3", "1Gi"), g), g.max); err != nil {
					t.Fatal(err)
				}
				var requests []azuresim.Request
				wait("machines of "+g.name, func() (string, bool) {
					requests = slices.DeleteFunc(growths(s.azure.Requests(), g.name, span{from, time.Now()}), func(r azuresim.Request) bool { return !accepted(r) })
					return fmt.Sprintf("%d requests", len(requests)), len(requests) > 0 && int(*requests[len(requests)-1].Capacity) == g.max
				})
				var came []time.Time
				for _, h := range s.observer.podsOf(app) {
					came = append(came, h.unschedulable)
				}
				slices.SortFunc(came, time.Time.Compare)
				last := came[len(came)-1]
				after := requests[len(requests)-1].Time.Sub(last)
				at := ""
				for _, r := range requests {
					at += fmt.Sprintf(" %s (%d)", r.Time.Sub(came[0]).Round(time.Millisecond), *r.Capacity)
				}
				t.Logf("%3d pods: judged within %s; asked for at%s; the last %s after the last pod", g.max, last.Sub(came[0]).Round(time.Millisecond), at, after.Round(time.Millisecond))
				if len(requests) > 3 || after > o.script.gather/2 {
					t.Errorf("%d pods: requests %d, the last %s after the last pod, want 3 at most, and not at the end of the window", g.max, len(requests), after)
				}
				if i == len(own)-1 {
					break
				}
				if err := s.client.AppsV1().Deployments(metav1.NamespaceDefault).Delete(ctx, app, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}); err != nil {
					t.Fatal(err)
				}
				wait("the pods to go", func() (string, bool) {
					here := 0
					for _, h := range s.observer.podsOf(app) {
						if h.gone.IsZero() {
							here++
						}
					}
					return fmt.Sprintf("%d are there", here), here == 0
				})
			}
		})
	}
}
