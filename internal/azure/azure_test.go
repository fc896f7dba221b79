package azure_test

import (
	"context"
	"log/slog"
	"maps"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cloud/cloudtest"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/ledger"
)

const (
	subscription  = "00000000-0000-0000-0000-000000000001"
	resourceGroup = "Farm" // not all lower case, so that the difference shows
)

// world is a simulated Azure on its own clock with one provider in it.
type world struct {
	t *testing.T
	*azure.Provider
	book *ledger.Book // the provider's
	sim  *azuresim.Server
	now  time.Time
	log  strings.Builder
}

// newWorld is an Azure with a control-plane machine and the scale sets, and no provider yet.
func newWorld(t *testing.T, sets ...azuresim.ScaleSet) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	w.sim = &azuresim.Server{
		Now: func() time.Time { return w.now }, AnyToken: true,
		Boot: azuresim.Fixed(150 * time.Second), Delete: azuresim.Fixed(45 * time.Second),
	}
	w.must(w.sim.AddMachine(azuresim.Machine{
		Subscription: subscription, ResourceGroup: resourceGroup, Name: "server-0", Location: "westeurope", SystemAssigned: true,
	}))
	for _, s := range sets {
		w.must(w.sim.AddScaleSet(s))
	}
	return w
}

// set is a scale set of D4s_v5 with a capacity.
func set(name string, capacity int) azuresim.ScaleSet {
	return azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: resourceGroup, Name: name, Location: "westeurope",
		Size: "Standard_D4s_v5", VCPUs: 4, Family: "standardDSv5Family", Capacity: capacity,
	}
}

// patient is the Runner of a world whose clock stands while Azure is asked: an answer takes no time, however busy this machine is.
type patient struct{}

func (patient) Settle(running *sync.WaitGroup) { running.Wait() }

func (patient) Go(ctx context.Context, f func(context.Context)) { go f(ctx) }

func (patient) Await(ctx context.Context, done <-chan struct{}, _ time.Duration) {
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// options are complete for a provider of these groups inside the process, with the machine's own identity.
func (w *world) options(groups ...string) azure.Options {
	o := azure.Options{
		Runner:    patient{},
		Transport: &azuresim.Transport{Server: w.sim, Machine: "server-0"}, Now: func() time.Time { return w.now },
		Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	}
	for _, g := range groups {
		spec, err := azure.ParseGroup(g)
		w.must(err)
		o.Groups = append(o.Groups, spec)
	}
	return o
}

func (w *world) open(o azure.Options) *world {
	w.t.Helper()
	w.book = ledger.New(fleet.Usual(), o.Now)
	o.Ledger = w.book
	p, err := azure.New(context.Background(), o)
	w.must(err)
	w.Provider = p
	return w
}

// mayGrow is the property by which the ledger forbids that the group comes to so many machines, none of which is known as a node; "" when it does not.
func (w *world) mayGrow(g *cluster.Group, n int) string {
	id := fleet.GroupID(g.ID)
	w.book.Observe(fleet.Nodes{Group: id, At: w.book.Instant()})
	v := w.book.View()
	_, makes := g.Split(n)
	if r := v.MayGrow(id, v.Capacity(id)+makes, makes, fleet.Limits{Max: 99, Owned: true}); r != nil {
		return r.Property
	}
	return ""
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// groups are all groups by id; an error fails the test.
func (w *world) groups() map[cluster.GroupID]*cluster.Group {
	w.t.Helper()
	gs, err := w.Groups(context.Background())
	w.must(err)
	return byID(gs)
}

func byID(gs []*cluster.Group) map[cluster.GroupID]*cluster.Group {
	m := map[cluster.GroupID]*cluster.Group{}
	for _, g := range gs {
		m[g.ID] = g
	}
	return m
}

// pass lets time go by in steps of ten seconds with a cycle each, plus one whenever the provider asks for it.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	end := w.now.Add(d)
	for w.now.Before(end) {
		next := w.now.Add(10 * time.Second)
		if p := w.NextPoll(); p.After(w.now) && p.Before(next) {
			next = p
		}
		w.now = next
		w.groups()
	}
}

// grow raises a group's capacity by n, from a fresh read.
func (w *world) grow(id cluster.GroupID, n int) {
	w.t.Helper()
	g, err := w.Group(context.Background(), id)
	w.must(err)
	w.must(w.SetCapacity(context.Background(), g, g.Capacity+n))
}

// spent is what the provider asked for since a count, without tokens, metadata, operation polls and the rare look at autoscale settings.
func spent(before, after map[string]int) (reads, writes int) {
	for kind, n := range after {
		n -= before[kind]
		switch {
		case strings.Contains(kind, "metadata"), strings.Contains(kind, "operations"), strings.Contains(kind, "token"),
			strings.Contains(kind, "autoscalesettings"), kind == "GET unknown":
		case strings.HasPrefix(kind, "GET "), strings.HasPrefix(kind, "LIST "):
			reads += n
		default:
			writes += n
		}
	}
	return reads, writes
}

// actors are the other writers of a world, for the contract test.
type actors struct{ *world }

func (h actors) Writes() int {
	_, writes := spent(nil, h.sim.Counters())
	return writes
}

func (h actors) Resize(id cluster.GroupID, n int) { h.must(h.sim.SetCapacity(string(id), n)) }

func (h actors) Settle() {
	for range 60 {
		next, more := h.sim.NextChange()
		if !more {
			break
		}
		h.now = next
	}
	h.now = h.now.Add(10 * time.Minute)
}

func TestAzureKeepsTheContractOverHTTP(t *testing.T) {
	for _, orchestration := range []string{"Uniform", "Flexible"} {
		t.Run(orchestration, func(t *testing.T) {
			cloudtest.Run(t, func(t *testing.T) (cloud.Provider, cloudtest.Actors) {
				return overHTTP(t, orchestration, nil)
			})
			cloudtest.Parking(t, func(t *testing.T) (cloud.Provider, cloudtest.Actors) {
				return overHTTP(t, orchestration, map[string]string{"sluice.dev_removal": "deallocate"})
			})
		})
	}
}

// overHTTP is a provider of two scale sets that talks to Azure through the loopback interface.
func overHTTP(t *testing.T, orchestration string, tags map[string]string) (cloud.Provider, cloudtest.Actors) {
	render, agents := set("render", 3), set("agents", 4)
	for _, s := range []*azuresim.ScaleSet{&render, &agents} {
		s.OrchestrationMode, s.Tags = orchestration, tags
	}
	w := newWorld(t, render, agents)
	arm, metadata := httptest.NewServer(w.sim), httptest.NewServer(w.sim.Metadata("server-0"))
	t.Cleanup(arm.Close)
	t.Cleanup(metadata.Close)
	o := w.options("0:10:render", "1:10:agents")
	o.Transport, o.ResourceManagerEndpoint, o.MetadataEndpoint = nil, arm.URL, metadata.URL
	w.open(o)
	return w.Provider, actors{w}
}

func TestSubscriptionAndResourceGroupComeFromInstanceMetadata(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	w.open(w.options("0:5:agents"))
	if g := w.groups()["agents"]; g == nil || g.Capacity != 2 || g.Problem != "" {
		t.Errorf("agents is %+v, want it read with capacity 2", g)
	}
}

func TestAQuietMinuteCostsTwoReadsAGroup(t *testing.T) {
	w := newWorld(t, set("agents", 3), set("render", 2))
	w.open(w.options("0:5:agents", "0:5:render"))
	w.pass(2 * time.Minute)
	before := w.sim.Counters()
	w.pass(10 * time.Minute)
	reads, writes := spent(before, w.sim.Counters())
	if reads > 2*2*10 || reads < 10 || writes != 0 {
		t.Errorf("ten quiet minutes of two groups cost %d reads and %d writes, want at most 40 reads and no write", reads, writes)
	}
}

func TestGrowingTwelveMachinesCostsTwoWritesAndTwelveReads(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t)
		w.sim.Seed, w.sim.Boot = seed, azuresim.Lognormal(150*time.Second, 0.25)
		w.must(w.sim.AddScaleSet(set("agents", 1)))
		w.must(w.sim.AddScaleSet(set("render", 0)))
		w.open(w.options("0:20:agents", "0:20:render"))
		w.pass(95 * time.Second) // somewhere within the cache's time
		before := w.sim.Counters()
		w.grow("agents", 6)
		w.grow("render", 6)
		var joined time.Time
		for limit := w.now.Add(20 * time.Minute); ; {
			w.pass(10 * time.Second)
			running := 0
			for _, g := range w.groups() {
				for _, i := range g.Instances {
					if i.State == cluster.StateRunning {
						running++
					}
				}
			}
			if running == 13 && joined.IsZero() {
				joined = w.now.Add(30 * time.Second)
			}
			if !joined.IsZero() && !w.now.Before(joined) {
				break
			}
			if w.now.After(limit) {
				t.Fatalf("seed %d: %d machines run after 20 minutes", seed, running)
			}
		}
		if reads, writes := spent(before, w.sim.Counters()); reads > 12 || writes > 2 {
			t.Errorf("seed %d: growing twelve machines cost %d reads and %d writes: %v", seed, reads, writes, diff(before, w.sim.Counters()))
		}
	}
}

func diff(before, after map[string]int) map[string]int {
	d := maps.Clone(after)
	for k, n := range before {
		d[k] -= n
	}
	return d
}

func TestMachinesAreSeenWhileTheyAreCreated(t *testing.T) {
	w := newWorld(t, set("agents", 1))
	w.open(w.options("0:9:agents"))
	w.grow("agents", 2)
	if g := w.groups()["agents"]; g.Capacity != 3 || g.Live() != 1 {
		t.Errorf("right after the request: capacity %d with %d live machines, want the answered 3 with 1", g.Capacity, g.Live())
	}
	w.pass(20 * time.Second)
	states := map[cluster.State]int{}
	for _, i := range w.groups()["agents"].Instances {
		states[i.State]++
	}
	if d := cmp.Diff(map[cluster.State]int{cluster.StateRunning: 1, cluster.StateCreating: 2}, states); d != "" {
		t.Errorf("states while booting (-want +got):\n%s", d)
	}
}

func TestTheCacheServesAsLongAsItMay(t *testing.T) {
	w := newWorld(t, set("agents", 1))
	w.open(w.options("0:9:agents"))
	w.groups()
	w.now = w.now.Add(time.Minute) // the first read serves less, so that clusters fall out of step
	w.groups()
	w.must(w.sim.SetCapacity("agents", 2))
	w.now = w.now.Add(59 * time.Second)
	if g := w.groups()["agents"]; g.Capacity != 1 {
		t.Errorf("capacity %d after 59 s, want the cached 1", g.Capacity)
	}
	w.now = w.now.Add(time.Second)
	if g := w.groups()["agents"]; g.Capacity != 2 || !g.Read.At.Equal(w.now) {
		t.Errorf("capacity %d read at %s after 60 s, want 2 read now", g.Capacity, g.Read.At)
	}
}

func TestPlainHTTPIsForLoopbackOnly(t *testing.T) {
	for endpoint, allowed := range map[string]bool{
		"http://127.0.0.1:80": true, "http://[::1]:80": true, "http://localhost": true, "https://management.usgovcloudapi.net": true,
		"http://management.azure.com": false, "http://10.0.0.1": false, "management.azure.com": false, "ftp://127.0.0.1": false,
	} {
		_, err := azure.New(context.Background(), azure.Options{
			Groups: []azure.GroupSpec{{Name: "a", Max: 1}}, Config: config.Config{Subscription: "s", ResourceGroup: "g"}, ResourceManagerEndpoint: endpoint,
		})
		if (err == nil) != allowed {
			t.Errorf("endpoint %s: error %v, want allowed %t", endpoint, err, allowed)
		}
	}
}
