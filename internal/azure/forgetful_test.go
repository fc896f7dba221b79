package azure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice.dev/sluice/cluster"
)

// forgetful is an Azure that leaves things out of its answers, or says null. What is left out goes by the seed, the request and how often it was asked:
// requests beside each other change nothing in one another's answers.
type forgetful struct {
	http.RoundTripper
	seed  uint64
	often int // one in so many is left out, and another one is null

	mu    sync.Mutex
	on    bool
	asked map[string]int
}

func (f *forgetful) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := f.RoundTripper.RoundTrip(r)
	leave := f.leave(r)
	if err != nil || leave == nil || !strings.Contains(r.URL.Path, "/providers/") {
		return resp, err
	}
	raw, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	var reported any
	if json.Unmarshal(raw, &reported) == nil {
		raw, _ = json.Marshal(without(reported, leave))
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	resp.Header.Del("Content-Length")
	return resp, err
}

// leave says of one thing after the other in an answer whether it is there (0), is left out (1) or is null (2). It is nil while nothing is left out.
func (f *forgetful) leave(r *http.Request) func() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.on {
		return nil
	}
	what := r.Method + " " + r.URL.String()
	f.asked[what]++
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, what, " ", f.asked[what])
	chance := rand.New(rand.NewPCG(f.seed, h.Sum64()))
	return func() int { return max(0, chance.IntN(f.often)-f.often+3) }
}

// begin has things be left out from now on, or none.
func (f *forgetful) begin(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on = on
}

func without(reported any, leave func() int) any {
	switch reported := reported.(type) {
	case map[string]any:
		out := map[string]any{}
		names := make([]string, 0, len(reported))
		for name := range reported {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			switch leave() {
			case 0:
				out[name] = without(reported[name], leave)
			case 2:
				out[name] = nil
			}
		}
		return out
	case []any:
		out := make([]any, len(reported))
		for i, v := range reported {
			if leave() == 0 {
				out[i] = without(v, leave)
			}
		}
		return out
	}
	return reported
}

// TestWhatAzureLeavesOutCostsNoMachine reads, grows and shrinks scale sets of every kind by answers with holes: nothing panics (S-39), and a
// machine that was not named for removal is there and on as it was (S-01, S-05, S-10).
func TestWhatAzureLeavesOutCostsNoMachine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := set("agents", 4)
		if rapid.Bool().Draw(rt, "flexible") {
			s.OrchestrationMode = "Flexible"
		}
		if rapid.Bool().Draw(rt, "parks") {
			s.Tags = map[string]string{"sluice.dev_removal": "deallocate"}
		}
		w := newWorld(t, s)
		o := w.options("0:9:agents")
		often := rapid.IntRange(5, 500).Draw(rt, "one in")
		seed := rapid.Uint64().Draw(rt, "seed") // a draw inside a request cannot be taken back
		f := &forgetful{RoundTripper: o.Transport, often: often, seed: seed, asked: map[string]int{}}
		o.Transport = f
		w.open(o)
		seen, named := map[string]bool{}, map[string]bool{}
		for range 8 {
			f.begin(rapid.Bool().Draw(rt, "holes"))
			_, _ = w.Groups(context.Background())
			if g, err := w.Group(context.Background(), "agents"); err == nil {
				f.begin(rapid.Bool().Draw(rt, "holes in the answer"))
				w.change(rt, g, named)
			}
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(rt, "seconds")) * time.Second)
			there := map[string]bool{}
			for _, m := range w.sim.Machines() {
				if on := m.ProvisioningState != "Deleting" && !strings.HasPrefix(m.PowerState, "deallocat"); m.ScaleSet == "agents" && on {
					there[m.VMID], seen[m.VMID] = true, true
				}
			}
			for id := range seen {
				if !there[id] && !named[strings.ToLower(id)] {
					rt.Fatalf("machine %s is gone, and nobody named it", id)
				}
			}
		}
	})
}

// change grows or shrinks the group as a plan might, and keeps what was named for removal.
func (w *world) change(rt *rapid.T, g *cluster.Group, named map[string]bool) {
	switch n := len(g.Instances); rapid.IntRange(0, 2).Draw(rt, "do") {
	case 1:
		_ = w.SetCapacity(context.Background(), g, g.Capacity+rapid.IntRange(1, 2).Draw(rt, "more"))
	case 2:
		if n == 0 {
			return
		}
		var victims []cluster.Machine
		for _, in := range g.Instances[rapid.IntRange(0, n-1).Draw(rt, "first victim"):] {
			named[in.UID] = true
			victims = append(victims, in.Machine())
		}
		_ = w.DeleteInstances(context.Background(), g, victims)
	}
}
