package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// TestWhatPassesIsAskedAgain has Azure fail a read of the check, a question and a deletion once or twice: each is told, made again, and its
// time is heeded. What fails on ends.
func TestWhatPassesIsAskedAgain(t *testing.T) {
	for name, fault := range map[string]azuresim.Fault{
		"500":  {Status: 500, Code: "InternalServerError", Times: 2},
		"503":  {Status: 503, Code: "ServiceUnavailable", Times: 2, RetryAfter: 20 * time.Second},
		"429":  {Status: 429, Code: "TooManyRequests", Times: 2, RetryAfter: 20 * time.Second},
		"lost": {LoseAnswer: true, Times: 1},
	} {
		for _, kind := range []string{"GET providers", "POST deployments/whatIf", "DELETE virtualMachines"} {
			t.Run(kind+" "+name, func(t *testing.T) {
				w := newWorld(t, "k3s")
				w.up()
				w.now = w.now.Add(time.Hour)
				before := w.now
				fault.Kind = kind
				w.sim.Inject(fault)
				w.tells()
				w.down()
				if all := strings.Join(w.said, "\n"); !strings.Contains(all, "; it is asked again in ") {
					t.Errorf("nothing is asked again: %s", all)
				}
				if fault.RetryAfter > 0 && w.now.Sub(before) < fault.RetryAfter {
					t.Errorf("%s after the refusal all is over", w.now.Sub(before))
				}
			})
		}
	}
	w := newWorld(t, "k3s")
	w.up()
	w.sim.Inject(azuresim.Fault{Kind: "DELETE virtualMachines", Status: 500, Code: "InternalServerError"})
	d, err := w.Demolish(t.Context())
	w.must(err)
	if err := w.Down(t.Context(), d); err == nil || strings.Count(strings.Join(w.said, "\n"), "it is asked again in 5s") > 30 {
		t.Errorf("%v", err)
	}
}

// TestAPersonWaitsForTheShare asks more in a minute than sluice may.
func TestAPersonWaitsForTheShare(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	for range 8 {
		w.tells()
	}
	if n := strings.Count(strings.Join(w.said, "\n"), "sluice keeps within its share of Azure's requests"); n == 0 || n > 8 {
		t.Errorf("it is told %d times that a request waits", n)
	}
}
