package lifecycle_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/lifecycle"
)

const computeVersion = "2024-07-01"

func (w *world) set(pool string) string {
	return "/subscriptions/" + subscription + "/resourceGroups/" + w.File.ResourceGroup + "/providers/Microsoft.Compute/virtualMachineScaleSets/" + w.File.Name + "-" + pool
}

// there says whether a pool's scale set is there, with which tags.
func (w *world) there(pool string) (tags map[string]string, found bool) {
	w.Helper()
	var set struct {
		Tags map[string]string `json:"tags"`
	}
	found, err := w.Cloud.Get(w.Context(), w.set(pool), computeVersion, &set)
	w.must(err)
	return set.Tags, found
}

// remove deletes the one machine of a pool, as the running sluice does.
func (w *world) remove(pool string) {
	w.Helper()
	for _, m := range w.sim.Machines() {
		if !strings.HasSuffix("/"+m.ScaleSet, "/"+w.File.Name+"-"+pool) {
			continue
		}
		if i := strings.Index(m.ID, "/virtualMachineScaleSets/"); i >= 0 {
			id := m.ID[strings.LastIndexByte(m.ID, '/')+1:]
			w.must(w.Cloud.Post(w.Context(), w.set(pool)+"/delete", computeVersion, map[string]any{"instanceIds": []string{id}}, nil))
			continue
		}
		w.must(w.Cloud.Delete(w.Context(), m.ID, computeVersion))
	}
}

// served is an API server with a node for each machine of Azure's, which has the name that a template gives it, and more nodes.
type served struct {
	w      *world
	more   []corev1.Node
	before func() error // is called before nodes are read
	asked  []string     // the nodes whose drain was asked for
}

func (s *served) Nodes(context.Context) ([]corev1.Node, error) {
	if s.before != nil {
		if err := s.before(); err != nil {
			return nil, err
		}
	}
	all := slices.Clone(s.more)
	for _, m := range s.w.sim.Machines() {
		if !strings.Contains(m.ID, "/resourceGroups/"+s.w.File.ResourceGroup+"/") {
			continue
		}
		n := nodeOf(strings.ToLower(m.ComputerName), "azure://"+m.ID)
		if slices.Contains(s.asked, n.Name) {
			n.Annotations = map[string]string{cluster.DrainAnnotation: "asked"}
		}
		all = append(all, n)
	}
	return all, nil
}

func nodeOf(name, providerID string) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
}

func (s *served) Drain(_ context.Context, node string) error {
	s.asked = append(s.asked, node)
	return nil
}

func (w *world) retiring(d time.Duration, before func() error) lifecycle.Retiring {
	return lifecycle.Retiring{For: d, Now: w.time, API: &served{w: w, before: before}}
}

// TestAPoolGoesOnceSluiceHasEmptiedIt has sluice remove the machine: then the scale set goes, in both modes.
func TestAPoolGoesOnceSluiceHasEmptiedIt(t *testing.T) {
	for _, mode := range []string{clusterfile.Uniform, clusterfile.Flexible} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, "k3s")
			w.File.Pools[0].Orchestration = mode
			other := w.File.Pools[0]
			other.Name = "agents-b"
			w.File.Pools = append(w.File.Pools, other)
			w.up()
			w.said = nil
			looks := 0
			how := w.retiring(time.Hour, func() error {
				if tags, _ := w.there("agents"); tags["min"] != "0" || tags["max"] != "0" {
					t.Errorf("while it is emptied the tags are %v", tags)
				}
				if looks++; looks == 2 {
					w.remove("agents")
				}
				return nil
			})
			w.must(w.Retire(t.Context(), "agents", how))
			asked := strings.Join(how.API.(*served).asked, " ")
			if !strings.HasPrefix(asked, "render-agents") || strings.Contains(asked, " ") || strings.HasPrefix(asked, "render-agents-b") {
				t.Errorf("the drain is asked of %v", asked)
			}
			if _, found := w.there("agents"); found {
				t.Error("the scale set is there")
			}
			if _, found := w.there("agents-b"); !found {
				t.Error("another scale set is gone")
			}
			w.told("pool agents has 1 machine left", "sluice is asked to drain and remove 1 machine", "scale set render-agents was empty, and is deleted")
			w.must(w.Retire(t.Context(), "agents", w.retiring(time.Hour, nil))) // again: it is gone
		})
	}
}

// nodeless is an API server that knows the server alone.
type nodeless struct{ *served }

func (s nodeless) Nodes(ctx context.Context) ([]corev1.Node, error) {
	all, err := s.served.Nodes(ctx)
	return slices.DeleteFunc(all, func(n corev1.Node) bool { return n.Name != s.w.File.ServerName() }), err
}

// TestMachinesThatAreNoNodesAreSaid has a pool none of whose machines has joined: nothing can be drained, and that is said once.
func TestMachinesThatAreNoNodesAreSaid(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	w.said = nil
	const says = "the API server has no node of these machines, so that none is drained"
	how := lifecycle.Retiring{For: time.Minute, Now: w.time, API: nodeless{&served{w: w}}}
	if err := w.Retire(t.Context(), "agents", how); !errors.Is(err, lifecycle.ErrNotEmpty) || strings.Count(strings.Join(w.said, "\n"), says) != 1 {
		t.Errorf("%v; said %q", err, w.said)
	}
	w.said = nil
	how.API = &served{w: w}
	if err := w.Retire(t.Context(), "agents", how); !errors.Is(err, lifecycle.ErrNotEmpty) || strings.Contains(strings.Join(w.said, "\n"), says) {
		t.Errorf("with a node: %v; said %q", err, w.said)
	}
}

// ask writes the capacity of pool agents, as a person may.
func (w *world) ask(n int) {
	w.Helper()
	sku := map[string]any{"name": "Standard_D4s_v5", "capacity": n}
	w.must(w.Cloud.Patch(w.Context(), w.set("agents"), computeVersion, map[string]any{"sku": sku}))
}

// TestAClusterThatTurnsOutToBeAnotherIsNotDrained has it found out while the pool is emptied.
func TestAClusterThatTurnsOutToBeAnotherIsNotDrained(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	how := w.retiring(time.Hour, nil)
	api := how.API.(*served)
	api.more = []corev1.Node{nodeOf("Render-agents-000009", "azure:///subscriptions/"+subscription+"/resourceGroups/prod/x")}
	err := w.Retire(t.Context(), "agents", how)
	if err == nil || !strings.Contains(err.Error(), "it is another cluster's") || len(api.asked) > 0 {
		t.Errorf("%v; asked of %v", err, api.asked)
	}
}

// TestAScaleSetWithMachinesIsNeverDeleted waits in vain, and has machines come while nobody looks.
func TestAScaleSetWithMachinesIsNeverDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		during func(w *world, list int)
		want   string
	}{
		"they stay": {func(*world, int) {}, "it has machines (1)"},
		"one is added before the last look": {func(w *world, list int) {
			switch list {
			case 2:
				w.remove("agents")
			case 4: // the one right before the deletion
				w.ask(1)
			}
		}, "it has machines (1)"},
		"one is asked for after the last list": {func(w *world, list int) {
			if list == 2 {
				w.remove("agents")
			}
			if list >= 4 {
				w.reading = func(path string) { // the look right before the deletion
					w.reading = nil
					w.ask(1)
				}
			}
		}, "it has machines (1)"},
		"somebody gives it a max again": {func(w *world, list int) {
			if list == 2 {
				w.remove("agents")
				tags, _ := w.there("agents")
				tags["max"] = "3"
				w.must(w.Cloud.Patch(w.Context(), w.set("agents"), computeVersion, map[string]any{"tags": tags}))
			}
		}, "somebody has set its max to 3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "k3s")
			w.up()
			lists := 0
			w.listing = func(path string) {
				if strings.HasSuffix(path, "/render-agents/virtualMachines") {
					lists++
					c.during(w, lists)
				}
			}
			err := w.Retire(t.Context(), "agents", w.retiring(10*time.Minute, func() error { return errors.New("no route") }))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("after %d looks: %v, want %q", lists, err, c.want)
			}
			if _, found := w.there("agents"); !found {
				t.Error("the scale set is deleted")
			}
			if n := strings.Count(strings.Join(w.said, "\n"), "no route"); n > 1 {
				t.Errorf("it is told %d times that sluice cannot be asked", n)
			}
		})
	}
}

// TestAWriteBetweenTheLastTwoLooksPutsTheDeletionOff writes a tag while the machines are listed: it is the next look that deletes.
func TestAWriteBetweenTheLastTwoLooksPutsTheDeletionOff(t *testing.T) {
	for wait, want := range map[time.Duration]string{0: "somebody has written it meanwhile; run the command again", time.Hour: ""} {
		w := newWorld(t, "k3s")
		w.up()
		w.remove("agents")
		w.ask(0)
		lists := 0
		w.listing = func(path string) {
			if !strings.HasSuffix(path, "/render-agents/virtualMachines") {
				return
			}
			if lists++; lists == 2 {
				tags, _ := w.there("agents")
				tags["note"] = "mine"
				w.must(w.Cloud.Patch(w.Context(), w.set("agents"), computeVersion, map[string]any{"tags": tags}))
			}
		}
		err := w.Retire(t.Context(), "agents", w.retiring(wait, nil))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, found := w.there("agents"); found != (want != "") {
			t.Errorf("after %s the scale set is there: %t", wait, found)
		}
	}
}

// TestTheRangeOfASubnetIsRead reads it of a subnet with one range, and says what is wrong with the id of none.
func TestTheRangeOfASubnetIsRead(t *testing.T) {
	w := newWorld(t, "k3s")
	network := "/subscriptions/" + subscription + "/resourceGroups/shared/providers/Microsoft.Network/virtualNetworks/hub"
	w.must(w.Cloud.Put(t.Context(), network, "2024-05-01", map[string]any{"location": "westeurope", "properties": map[string]any{
		"addressSpace": map[string]any{"addressPrefixes": []string{"192.168.0.0/16", "fd00::/48"}},
		"subnets": []any{
			map[string]any{"name": "one", "properties": map[string]any{"addressPrefix": "192.168.7.0/24"}},
			map[string]any{"name": "two", "properties": map[string]any{"addressPrefixes": []string{"fd00::/64", "192.168.8.0/24"}}},
		},
	}}))
	for name, want := range map[string]string{"one": "192.168.7.0/24", "two": "192.168.8.0/24"} {
		if at, err := lifecycle.SubnetRange(t.Context(), w.Cloud, network+"/subnets/"+name); err != nil || at != want {
			t.Errorf("%s has %q, %v, want %s", name, at, err, want)
		}
	}
	if _, err := lifecycle.SubnetRange(t.Context(), w.Cloud, network+"/subnets/none"); err == nil || !strings.Contains(err.Error(), "network.subnetId: there is no subnet ") {
		t.Errorf("%v", err)
	}
}

// TestLimitsChangeWithoutTheCapacity lowers a max below the machines that are there, and leaves others' scale sets alone.
func TestLimitsChangeWithoutTheCapacity(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	before, _ := w.there("agents")
	s, found, err := w.Pool(t.Context(), "agents")
	w.must(err)
	if !found || s.Capacity != 1 || s.Min != "1" || s.Max != "10" {
		t.Errorf("%t %+v", found, s)
	}
	w.must(w.Limit(t.Context(), s, 0, 0))
	after, _ := w.there("agents")
	if again, _, err := w.Pool(t.Context(), "agents"); err != nil || again.Capacity != 1 || again.Max != "0" || len(after) != len(before) {
		t.Errorf("%+v, %v; tags %v", again, err, after)
	}
	delete(after, "sluice-cluster")
	w.must(w.Cloud.Patch(t.Context(), w.set("agents"), computeVersion, map[string]any{"tags": after}))
	if err := w.Retire(t.Context(), "agents", w.retiring(0, nil)); err == nil || !strings.Contains(err.Error(), "others made it, and it is left alone") {
		t.Errorf("%v", err)
	}
}
