package lifecycle_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/lifecycle"
)

const (
	subscription = "11111111-1111-1111-1111-111111111111"
	tenant       = "22222222-2222-2222-2222-222222222222"
	givenID      = "/subscriptions/" + subscription + "/resourceGroups/shared/providers/Microsoft.ManagedIdentity/userAssignedIdentities/farm"
)

// world is a simulated Azure on its own clock, and an operator in front of it.
type world struct {
	*testing.T
	*lifecycle.Cluster
	sim  *azuresim.Server
	said []string

	mu    sync.Mutex
	now   time.Time     // the clock: run commands read it beside the test
	ran   chan struct{} // of each run command that has run
	await bool          // one runs

	listing func(path string) // is called before each list
	reading func(path string) // is called before each read; nil: nothing is
}

// time is the world's.
func (w *world) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

type patient struct{}

func (patient) Settle(running *sync.WaitGroup)                  { running.Wait() }
func (patient) Go(ctx context.Context, f func(context.Context)) { go f(ctx) }
func (patient) Await(ctx context.Context, done <-chan struct{}, _ time.Duration) {
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func newWorld(t *testing.T, file string) *world {
	t.Helper()
	w := &world{T: t, now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), ran: make(chan struct{})}
	w.sim = &azuresim.Server{
		Now: w.time, AnyToken: true, TenantID: tenant, Boot: azuresim.Fixed(60 * time.Second), Delete: azuresim.Fixed(30 * time.Second),
	}
	text, err := os.ReadFile("../render/testdata/" + file + ".yaml")
	w.must(err)
	f, problems := clusterfile.Parse(text)
	w.must(problems.Err())
	// The operator's own machine: it is in another group, so that it is no part of the cluster.
	for _, name := range []string{"shared", "images"} {
		w.must(w.sim.AddResourceGroup(azuresim.ResourceGroup{Subscription: subscription, Name: name, Location: f.Region}))
	}
	w.must(w.sim.AddIdentity(azuresim.Identity{ID: givenID, TenantID: tenant, ClientID: "44444444-4444-4444-4444-444444444444"}))
	w.must(w.sim.AddMachine(azuresim.Machine{Subscription: subscription, ResourceGroup: "office", Name: "desk", Location: "westeurope", SystemAssigned: true}))
	r, err := azure.NewResources(t.Context(), azure.Options{
		Config: config.Config{Subscription: subscription, ResourceGroup: f.ResourceGroup, Location: f.Region, Cloud: "AzurePublicCloud"},
		Runner: patient{}, Transport: &azuresim.Transport{Server: w.sim, Machine: "desk"}, Now: w.sim.Now, Log: slog.New(slog.DiscardHandler),
	})
	w.must(err)
	wait := func(ctx context.Context, d time.Duration) error {
		if w.await {
			<-w.ran
			w.sim.WaitForScripts() // it has run; now Azure knows it, too
			w.await = false
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.now = w.now.Add(d)
		return ctx.Err()
	}
	r.Wait, r.Tell = wait, func(s string) { w.said = append(w.said, s) }
	w.Cluster = &lifecycle.Cluster{File: &f, Cloud: commanding{r, w}, Wait: wait, Say: func(s string) { w.said = append(w.said, s) }}
	if network, name, is := strings.Cut(f.Network.SubnetID, "/subnets/"); is {
		w.must(r.Put(t.Context(), network, "2024-05-01", map[string]any{"location": f.Region, "properties": map[string]any{
			"addressSpace": map[string]any{"addressPrefixes": []string{f.Network.Subnet}},
			"subnets":      []any{map[string]any{"name": name, "properties": map[string]any{"addressPrefix": f.Network.Subnet}}},
		}}))
	}
	return w
}

// commanding is Azure, of which the world knows when a run command runs.
type commanding struct {
	lifecycle.Cloud
	w *world
}

func (c commanding) Post(ctx context.Context, path, version string, body, into any) error {
	c.w.await = strings.HasSuffix(path, "/runCommand") && c.w.sim.Run != nil
	defer func() { c.w.await = false }()
	return c.Cloud.Post(ctx, path, version, body, into)
}

func (c commanding) Get(ctx context.Context, path, version string, into any) (bool, error) {
	if c.w.reading != nil {
		c.w.reading(path)
	}
	return c.Cloud.Get(ctx, path, version, into)
}

func (c commanding) List(ctx context.Context, path, version string, query url.Values) ([]json.RawMessage, error) {
	if c.w.listing != nil {
		c.w.listing(path)
	}
	return c.Cloud.List(ctx, path, version, query)
}

func (w *world) read(raw []byte, into any) {
	w.Helper()
	w.must(json.Unmarshal(raw, into))
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) up() lifecycle.Door {
	w.Helper()
	fresh, err := lifecycle.NewDoor(w.now)
	w.must(err)
	door, err := w.Up(w.Context(), fresh)
	w.must(err)
	return door
}

func (w *world) check() (wrong []lifecycle.Finding) {
	w.Helper()
	_, err := w.Check(w.Context(), func(f lifecycle.Finding) {
		if f.Wrong != "" {
			wrong = append(wrong, f)
		}
	})
	w.must(err)
	return wrong
}

// TestAClusterIsMadeOnceAndTakenDownByName plays the whole life over each rendering: made, made again without a change, and taken down to the storage.
func TestAClusterIsMadeOnceAndTakenDownByName(t *testing.T) {
	for _, file := range []string{"k3s", "k3s-user", "kubeadm", "kubeadm-user"} {
		t.Run(file, func(t *testing.T) {
			w := newWorld(t, file)
			if wrong := w.check(); len(wrong) > 0 {
				t.Fatalf("before: %v", wrong)
			}
			first := w.up()
			if first.PEM == "" {
				t.Error("the first door has no key")
			}
			w.rolesNamed(w.said)
			t.Log(strings.Join(w.said, "\n"))
			changes, err := w.Diff(t.Context())
			w.must(err)
			for _, c := range changes {
				t.Errorf("%s %s: %v", c.Verb, c.Resource, c.Fields)
			}
			if again := w.up(); again.Fingerprint != first.Fingerprint || again.PEM != "" {
				t.Errorf("the second time the door is %s with %d bytes of key, want %s without", again.Fingerprint, len(again.PEM), first.Fingerprint)
			}
			got, err := lifecycle.Import(t.Context(), w.Cloud, w.File.ResourceGroup, "", lifecycle.Kubernetes{})
			w.must(err)
			if again, problems := clusterfile.Parse([]byte(got.Text)); problems.Err() != nil || !reflect.DeepEqual(again, *w.File) || !got.Recorded {
				t.Errorf("imported: %v\n%s", problems, got.Text)
			}
			d, err := w.Demolish(t.Context())
			w.must(err)
			if len(d.Stays) > 0 {
				t.Errorf("stays: %v", d.Stays)
			}
			w.said = nil
			w.must(w.Down(t.Context(), d))
			w.rolesNamed(w.said)
			for n := range d.Goes { // what down lists is what it deletes
				if !slices.Contains(w.said, d.Says(d.Goes[n])+" is deleted") {
					t.Errorf("%s is not told as deleted", d.Says(d.Goes[n]))
				}
			}
			t.Log(strings.Join(w.said, "\n"))
			if d, err = w.Demolish(t.Context()); err != nil || len(d.Goes) > 0 {
				t.Errorf("after down there is %v, %v", d.Goes, err)
			}
			if found, err := w.Cloud.Get(t.Context(), "/subscriptions/"+subscription+"/resourceGroups/"+w.File.ResourceGroup, "2021-04-01", &struct{}{}); err != nil || found {
				t.Errorf("the resource group is there after down: %t, %v", found, err)
			}
			for _, disk := range w.File.Storage.Disks {
				at := "/subscriptions/" + subscription + "/resourceGroups/" + w.File.Storage.ResourceGroup + "/providers/Microsoft.Compute/disks/" + disk.Name
				if found, err := w.Cloud.Get(t.Context(), at, "2024-03-02", &struct{}{}); err != nil || !found {
					t.Errorf("disk %s is gone after down: %v", disk.Name, err)
				}
			}
		})
	}
}

// rolesNamed wants each role and its assignments told with a name: their own are GUIDs.
func (w *world) rolesNamed(lines []string) {
	w.Helper()
	named := regexp.MustCompile(`^role(Definitions|Assignments) [0-9a-f-]{36} \((sluice( [a-z]+ \w+)?|Network Contributor|` +
		`Virtual Machine Contributor|Key Vault Secrets User|Managed Identity Operator|Storage Account Contributor|Reader)\) is `)
	n := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "role") {
			if n++; !named.MatchString(line) {
				w.Errorf("its role has no name: %s", line)
			}
		}
	}
	if n < 3 {
		w.Errorf("%d roles are told", n)
	}
}

// TestWhatIsWrongIsSaidBeforeAnythingIsMade breaks one thing at a time, and wants the check that names it.
func TestWhatIsWrongIsSaidBeforeAnythingIsMade(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(*world)
		want   string
	}{
		"the size is not sold in the region": {
			func(w *world) { w.File.Pools[0].Size = "Standard_D4s_v9" },
			"pool agents: size Standard_D4s_v9 cannot be had in westeurope",
		},
		"the quota is used up": {
			func(w *world) { w.sim.Quota = map[string]int{"cores": 3} },
			"quota of cores in westeurope: 0 of 3 cores are in use, and 6 more are needed",
		},
		"the size has processors that the image is not for": {
			func(w *world) {
				w.File.Pools[0].Size, w.File.Pools[0].Image = "Standard_D4ps_v5", "Canonical:ubuntu-24_04-lts:server:24.04.1"
			},
			"pool agents: size Standard_D4ps_v5 is Arm64, and image Canonical:ubuntu-24_04-lts:server:24.04.1 is x64",
		},
		"the image is for Arm64 alone": {
			func(w *world) { w.File.Pools[0].Image = "Canonical:ubuntu-24_04-lts:server-arm64:latest" },
			"pool agents: size Standard_D4s_v5 is x64, and image Canonical:ubuntu-24_04-lts:server-arm64:latest is Arm64",
		},
		"one image is for two architectures": {
			func(w *world) { w.File.Image, w.File.Pools[0].Size = "org:os:one:1.0.0", "Standard_D4ps_v5" },
			"pool agents: size Standard_D4ps_v5 is Arm64, and the server of another architecture has the same image",
		},
		"the region does not exist": {
			func(w *world) { w.File.Region = "atlantis" },
			"Azure has no region atlantis for this subscription",
		},
		"the region is a slip": {
			func(w *world) { w.File.Region = "westeuropa" },
			"Azure has no region westeuropa",
		},
		"the region is a continent": {
			func(w *world) { w.File.Region = "europe" },
			"Azure has no region europe",
		},
		"the rights are a reader's": {
			func(w *world) { w.reader() },
			"rights are missing: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "k3s")
			c.breaks(w)
			wrong := w.check()
			if len(wrong) != 1 || !strings.Contains(wrong[0].Wrong, c.want) || wrong[0].Remedy == "" {
				t.Errorf("%+v, want one with %q and a remedy", wrong, c.want)
			}
			if found, err := w.Cloud.Get(t.Context(), "/subscriptions/"+subscription+"/resourceGroups/render", "2021-04-01", &struct{}{}); err != nil || found {
				t.Errorf("the check made the resource group: %t, %v", found, err)
			}
		})
	}
}

// TestTheDefaultImageIsForEachArchitecture has a pool of each.
func TestTheDefaultImageIsForEachArchitecture(t *testing.T) {
	w := newWorld(t, "k3s")
	if w.File.Image != clusterfile.DefaultImage {
		t.Fatalf("the file has image %s: this shows nothing", w.File.Image)
	}
	w.File.Pools[0].Size = "Standard_D4ps_v5"
	if wrong := w.check(); len(wrong) > 0 {
		t.Errorf("%+v", wrong)
	}
}

// reader takes everything but reading from the operator.
func (w *world) reader() {
	w.Helper()
	id := ""
	for _, m := range w.sim.Machines() {
		if strings.HasSuffix(m.ID, "/desk") {
			id = m.ID
		}
	}
	w.must(w.sim.AddRoleAssignment(azuresim.RoleAssignment{Role: "Reader", Principal: id, Scope: "/subscriptions/" + subscription}))
}

// TestAnInterruptedUpIsFollowed ends up in mid-deployment, and the file changes: the next one follows the first, then deploys the file, with the same door.
func TestAnInterruptedUpIsFollowed(t *testing.T) {
	w := newWorld(t, "k3s")
	fresh, err := lifecycle.NewDoor(w.now)
	w.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	w.Say = func(s string) {
		if strings.Contains(s, "is ready") {
			cancel()
		}
	}
	if _, err := w.Up(ctx, fresh); err == nil {
		t.Fatal("an interrupted up is no error")
	}
	w.Say = func(s string) { w.said = append(w.said, s) }
	w.File.Pools[0].Max = 12
	if door := w.up(); door.Fingerprint != fresh.Fingerprint {
		t.Errorf("the door is %s, want %s", door.Fingerprint, fresh.Fingerprint)
	}
	if !strings.Contains(strings.Join(w.said, "\n"), "is under way already") {
		t.Errorf("nothing is said of the deployment that is under way: %q", w.said)
	}
	changes, err := w.Diff(t.Context())
	w.must(err)
	if len(changes) > 0 {
		t.Errorf("the changed file is not deployed: %v", changes)
	}
}

// TestAFailedMachineIsNamed has Azure refuse the server: up says which resource, and why, and the next up makes what is missing.
func TestAFailedMachineIsNamed(t *testing.T) {
	w := newWorld(t, "k3s")
	w.sim.Inject(azuresim.Fault{Kind: "PUT virtualMachines", Status: 409, Code: "SkuNotAvailable", Times: 1})
	fresh, err := lifecycle.NewDoor(w.now)
	w.must(err)
	_, err = w.Up(t.Context(), fresh)
	if err == nil || !strings.Contains(err.Error(), "virtualMachines render-server failed: SkuNotAvailable") {
		t.Fatalf("%v", err)
	}
	if door := w.up(); door.Fingerprint != fresh.Fingerprint || door.PEM != "" {
		t.Errorf("the pools of the first deployment know door %s, and the second has %s", fresh.Fingerprint, door.Fingerprint)
	}
	changes, err := w.Diff(t.Context())
	w.must(err)
	if len(changes) > 0 {
		t.Errorf("after the second up: %v", changes)
	}
}

// TestWhatTheCloudControllerMadeGoesToo leaves Services of type LoadBalancer, and others' load balancers and addresses beside theirs.
func TestWhatTheCloudControllerMadeGoesToo(t *testing.T) {
	for name, c := range map[string]struct {
		controller bool
		stays      []string
	}{
		"of the cluster":       {true, []string{"renders", "theirs", "theirs-too"}},
		"without a controller": {false, []string{"render", "render-internal", "renders", "render-a1", "theirs", "theirs-too", "render", "render-out", "render-out"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "k3s")
			w.File.Addons.CloudProvider = c.controller
			w.up()
			at := "/subscriptions/" + subscription + "/resourceGroups/render/providers/Microsoft.Network/"
			put := func(kind, name string, tags, properties map[string]any) {
				w.must(w.Cloud.Put(t.Context(), at+kind+"/"+name, "2024-05-01", map[string]any{
					"location": "westeurope", "sku": map[string]any{"name": "Standard"}, "tags": tags, "properties": properties,
				}))
			}
			for address, tags := range map[string]map[string]any{
				"render-a1": {"k8s-azure-cluster-name": "render", "k8s-azure-service": "default/web"}, "theirs": {"k8s-azure-cluster-name": "renders"}, "theirs-too": {},
			} {
				put("publicIPAddresses", address, tags, map[string]any{"publicIPAllocationMethod": "Static"})
			}
			for _, balancer := range []string{"render", "render-internal", "renders"} {
				properties := map[string]any{"backendAddressPools": []any{map[string]any{"name": "render"}}}
				if balancer == "render" { // the controller's own way: addresses of the network
					properties["frontendIPConfigurations"] = []any{map[string]any{
						"name": "a1", "properties": map[string]any{"publicIPAddress": map[string]any{"id": at + "publicIPAddresses/render-a1"}},
					}}
					properties["backendAddressPools"] = []any{map[string]any{"name": "render", "properties": map[string]any{
						"loadBalancerBackendAddresses": []any{map[string]any{"name": "10.10.0.5", "properties": map[string]any{
							"ipAddress": "10.10.0.5", "virtualNetwork": map[string]any{"id": at + "virtualNetworks/render"},
						}}},
					}}}
				}
				put("loadBalancers", balancer, nil, properties)
			}
			d, err := w.Demolish(t.Context())
			w.must(err)
			var stays []string
			for _, r := range d.Stays {
				stays = append(stays, r.Name())
			}
			slices.Sort(stays)
			want := slices.Sorted(slices.Values(c.stays))
			if !slices.Equal(stays, want) || d.Group != "" {
				t.Errorf("stays %q of group %q, want %q", stays, d.Group, want)
			}
			if w.must(w.Down(t.Context(), d)); (len(d.Used) == 0) != c.controller {
				t.Errorf("in use are %v", d.Used)
			}
		})
	}
}

// TestWhatOthersMadeStays leaves somebody else's disk in the group, and so the group.
func TestWhatOthersMadeStays(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	other := "/subscriptions/" + subscription + "/resourceGroups/render/providers/Microsoft.Compute/disks/theirs"
	w.must(w.Cloud.Put(t.Context(), other, "2024-03-02", map[string]any{
		"location": "westeurope", "properties": map[string]any{"creationData": map[string]any{"createOption": "Empty"}, "diskSizeGB": 8},
	}))
	d, err := w.Demolish(t.Context())
	w.must(err)
	if len(d.Stays) != 1 || d.Stays[0].Name() != "theirs" || d.Group != "" {
		t.Errorf("stays %v, group %q", d.Stays, d.Group)
	}
	w.must(w.Down(t.Context(), d))
	if found, err := w.Cloud.Get(t.Context(), other, "2024-03-02", &struct{}{}); err != nil || !found {
		t.Errorf("their disk is gone: %v", err)
	}
}
