package world

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// weighed counts what Azure's Resource Manager is asked, and the bytes that it answers.
type weighed struct {
	next            http.RoundTripper
	requests, bytes atomic.Int64
}

func (c *weighed) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err == nil && r.URL.Hostname() == "management.azure.com" {
		c.requests.Add(1)
		resp.Body = weighedBody{resp.Body, &c.bytes}
	}
	return resp, err
}

type weighedBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b weighedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	return n, err
}

// atRest is the script of a cluster in which nothing happens: each machine is a Ready node with a pod that needs it.
func atRest(groups, machines int) string {
	var s strings.Builder
	for g := range groups {
		fmt.Fprintf(&s, "group pool-%02d size=Standard_D4s_v5 min=0 max=1000 machines=%d\n", g, machines)
	}
	for g := range groups {
		for m := range machines {
			fmt.Fprintf(&s, "pod web-%d-%d cpu=3 on=pool-%02d_%d\n", g, m, g, m)
		}
	}
	return s.String()
}

// TestAClusterAtRestAsksHalfOfWhatTheIncumbentDoes measures an hour of sluice with its default flags, after half an hour. Cluster-autoscaler 1.36 lists scale sets and VMs
// each minute, and the machines of each scale set every five: the bytes of those lists alone are its here.
func TestAClusterAtRestAsksHalfOfWhatTheIncumbentDoes(t *testing.T) {
	const mib = 1 << 20
	idle := strings.NewReplacer("min=0", "min=4", "pod ", "# pod ")
	for name, c := range map[string]struct {
		script   string
		requests float64 // an hour, of the incumbent; 0: not held
		mib      float64 // a minute, likewise
	}{
		"3 groups":                    {atRest(3, 4), 156, 0},
		"3 groups, idle at their min": {idle.Replace(atRest(3, 4)), 156, 0},
		"20 groups":                   {atRest(20, 1), 360, 0},
		"1,000 machines":              {atRest(2, 500), 0, 0.25},
	} {
		t.Run(name, func(t *testing.T) {
			statements, err := parse([]byte(c.script + "advance 30m\nadvance 1h\n"))
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(Options{NoJournal: true}, nil, io.Discard)
			t.Cleanup(w.close)
			count := &weighed{next: w.wire.next}
			w.wire.next = count
			last := len(statements) - 1
			if err := w.play(t.Context(), statements[:last]); err != nil {
				t.Fatal(err)
			}
			requests, bytes, kinds := count.requests.Load(), count.bytes.Load(), w.azure.Counters()
			if err := w.perform(t.Context(), statements[last]); err != nil {
				t.Fatal(err)
			}
			hourly, minutely := float64(count.requests.Load()-requests), float64(count.bytes.Load()-bytes)/time.Hour.Minutes()/mib
			t.Logf("%.0f requests an hour, %.2f MiB a minute", hourly, minutely)
			for _, kind := range slices.Sorted(maps.Keys(w.azure.Counters())) {
				if n := w.azure.Counters()[kind] - kinds[kind]; n > 0 {
					t.Logf("%6d %s", n, kind)
				}
			}
			if c.requests > 0 && hourly > c.requests/2 {
				t.Errorf("an hour at rest costs %.0f requests, want at most half of %.0f", hourly, c.requests)
			}
			if c.mib > 0 && minutely > c.mib/2 {
				t.Errorf("a minute at rest costs %.2f MiB, want at most half of %.2f", minutely, c.mib)
			}
		})
	}
}

// TestWhatPeopleDoToAMachineAtRestIsSeenWithinFiveMinutes has a person switch off or delete a machine of a group that has been steady for a while: for each of these times
// and each kind of scale set the group's machines are listed soon after, and the list has it.
func TestWhatPeopleDoToAMachineAtRestIsSeenWithinFiveMinutes(t *testing.T) {
	for _, mode := range []string{"uniform", "flexible"} {
		for _, does := range []string{"deallocate", "remove", "silence"} {
			for _, after := range []time.Duration{10*time.Minute + 5*time.Second, 19 * time.Minute, 31*time.Minute + 55*time.Second} {
				t.Run(fmt.Sprint(mode, " ", does, " ", after), func(t *testing.T) {
					w := played(t, strings.ReplaceAll(atRest(2, 3), " min=", " mode="+mode+" min=")+fmt.Sprintf("advance %s\n%s pool-01_1\n", after, does))
					statements, err := parse([]byte("advance 5m\n"))
					if err != nil {
						t.Fatal(err)
					}
					began := w.now()
					if err := w.perform(t.Context(), statements[0]); err != nil {
						t.Fatal(err)
					}
					silent := began.Add(40 * time.Second)
					for _, r := range w.azure.Requests() {
						if !r.Time.Before(silent) && slices.Contains(r.Lists, "pool-01") {
							t.Logf("listed after %s", r.Time.Sub(began))
							return
						}
					}
					t.Errorf("the machines were not listed within five minutes")
				})
			}
		}
	}
}

// TestAGroupAtRestGrowsAsSoon has a pod come to a group that has been steady for a while: what lies between the pod and the request for a machine is one read of the group.
func TestAGroupAtRestGrowsAsSoon(t *testing.T) {
	for _, after := range []string{"1m10s", "19m10s"} {
		w := played(t, atRest(3, 2)+"advance "+after+"\npod web-0 cpu=3\nadvance 1s\n")
		came := w.now().Add(-time.Second)
		var kinds []string
		for _, r := range w.azure.Requests() {
			if !r.Time.Before(came) && strings.Contains(r.Kind, "virtualMachineScaleSets") {
				kinds = append(kinds, r.Kind)
				if r.Method == http.MethodPatch && !r.Time.Equal(came) {
					t.Errorf("after %s a machine is asked for %s after the pod came, want at once", after, r.Time.Sub(came))
				}
			}
		}
		want := []string{"GET virtualMachineScaleSets", "LIST virtualMachineScaleSets/virtualMachines", "PATCH virtualMachineScaleSets"}
		if !slices.Equal(kinds[:min(3, len(kinds))], want) {
			t.Errorf("after %s the requests are %q, want first %q", after, kinds, want)
		}
	}
}
