package azure_test

import (
	"net/http"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
)

func tagged(name string, capacity int, tags ...string) azuresim.ScaleSet {
	s := set(name, capacity)
	s.Tags = map[string]string{}
	for _, t := range tags {
		k, v, _ := strings.Cut(t, "=")
		s.Tags[k] = v
	}
	return s
}

func (w *world) discovering(flags ...string) azure.Options {
	w.t.Helper()
	o := w.options()
	for _, f := range flags {
		d, err := azure.ParseDiscovery(f)
		w.must(err)
		o.Discovery = append(o.Discovery, d)
	}
	return o
}

// limits are the groups as "name min..max", sorted.
func (w *world) limits() []string {
	w.t.Helper()
	var out []string
	for _, g := range w.groups() {
		out = append(out, string(g.ID)+" "+strings.TrimSpace(strings.Join([]string{itoa(g.Min), itoa(g.Max)}, "..")))
	}
	sort.Strings(out)
	return out
}

func itoa(n int) string { return string(rune('0'+n/10)) + string(rune('0'+n%10)) }

func TestTagsChooseGroupsAndTheirSizes(t *testing.T) {
	sets := []azuresim.ScaleSet{
		tagged("a-both", 1, "enabled=true", "cluster=farm", "min=1", "max=7"),
		tagged("b-one", 1, "enabled=true", "min=1", "max=7"),
		tagged("c-sizeless", 1, "enabled=true", "cluster=farm"),
		tagged("d-word", 1, "enabled=true", "cluster=farm", "min=one", "max=7"),
		tagged("e-negative", 1, "enabled=true", "cluster=farm", "min=-1", "max=7"),
		tagged("f-backwards", 1, "enabled=true", "cluster=farm", "min=8", "max=7"),
		tagged("g-case", 1, "enabled=True", "cluster=farm", "min=1", "max=7"),
	}
	for name, tc := range map[string]struct {
		flags []string
		want  []string
		warns []string
	}{
		"tags on the scale set": {
			[]string{"label:enabled=true,cluster=farm"}, []string{"a-both 01..07"},
			[]string{"c-sizeless: tag min is missing", `d-word: tag min is "one"`, `e-negative: tag min is "-1"`, "f-backwards: tag max 7 is below"},
		},
		"all flags must match": {
			[]string{"label:enabled=true", "label:cluster=farm"}, []string{"a-both 01..07"}, []string{"c-sizeless"},
		},
		"tags win over the flag": {
			[]string{"label:enabled=true,cluster=farm,min=2,max=5"}, []string{"a-both 01..07", "c-sizeless 02..05"}, []string{"d-word"},
		},
		"of several flags the narrowest": {
			[]string{"label:enabled=true,min=2,max=9", "label:cluster=farm,min=3,max=10"}, []string{"a-both 01..07", "c-sizeless 03..09"}, nil,
		},
		"no tag matches": {[]string{"label:enabled=false"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sets...)
			w.open(w.discovering(tc.flags...))
			if d := cmp.Diff(tc.want, w.limits()); d != "" {
				t.Errorf("groups (-want +got):\n%s", d)
			}
			w.now = w.now.Add(2 * time.Minute)
			w.groups()
			for _, warn := range tc.warns {
				set, why, _ := strings.Cut(warn, ": ")
				lines := 0
				for _, line := range strings.Split(w.log.String(), "\n") {
					if strings.Contains(line, "group="+set) && strings.Contains(strings.ReplaceAll(line, `\"`, `"`), why) {
						lines++
					}
				}
				if lines != 1 {
					t.Errorf("%d warnings about %s, want one in two reads:\n%s", lines, warn, w.log.String())
				}
			}
		})
	}
}

func TestGroupsFollowTheTags(t *testing.T) {
	w := newWorld(t, tagged("agents", 1, "on=true", "min=0", "max=5"), tagged("late", 1))
	w.open(w.discovering("label:on=true"))
	if d := cmp.Diff([]string{"agents 00..05"}, w.limits()); d != "" {
		t.Errorf("at first (-want +got):\n%s", d)
	}
	w.must(w.sim.SetTags("agents", map[string]string{"on": "true", "min": "1", "max": "6"}))
	w.must(w.sim.SetTags("late", map[string]string{"on": "true", "min": "2", "max": "3"}))
	w.now = w.now.Add(time.Minute)
	if d := cmp.Diff([]string{"agents 01..06", "late 02..03"}, w.limits()); d != "" {
		t.Errorf("after tags changed (-want +got):\n%s", d)
	}
	w.must(w.sim.SetTags("agents", nil))
	w.now = w.now.Add(time.Minute)
	if d := cmp.Diff([]string{"late 02..03"}, w.limits()); d != "" {
		t.Errorf("after tags went (-want +got):\n%s", d)
	}
}

// TestOneListDoesNotDropAGroup holds that a group outlives a list that lacks it, and that what was accepted of its machines is known when it comes back, with its
// tags (S-11).
func TestOneListDoesNotDropAGroup(t *testing.T) {
	const lists = "LIST virtualMachineScaleSets"
	w := newWorld(t, tagged("agents", 3, "on=true", "min=0", "max=5"), tagged("other", 1, "on=true", "min=0", "max=5"))
	w.open(w.discovering("label:on=true"))
	w.groups()
	for _, kind := range []string{"GET virtualMachineScaleSets", "LIST virtualMachineScaleSets/virtualMachines"} {
		w.sim.Inject(azuresim.Fault{Kind: kind, Frozen: true, Until: w.now.Add(8 * time.Minute)})
	}
	w.remove("agents", "1")

	w.sim.Inject(azuresim.Fault{Kind: lists, Omit: -1, Times: 1})
	w.pass(time.Minute)
	if g := w.groups()["agents"]; g == nil || !g.Usable() {
		t.Errorf("after one list without it the group is %+v, want it as it was: it was asked for itself", g)
	}
	w.pass(time.Minute)
	if g := w.groups()["agents"]; g == nil || !g.Usable() {
		t.Errorf("after a list that has it again the group is %+v, want it usable", g)
	}

	w.must(w.sim.SetTags("agents", nil))
	w.pass(time.Minute)
	if all := w.groups(); len(all) != 1 {
		t.Errorf("without its tags there are %d groups, want the other one", len(all))
	}
	w.must(w.sim.SetTags("agents", map[string]string{"on": "true", "min": "0", "max": "5"}))
	w.pass(time.Minute)
	g := w.groups()["agents"]
	if g == nil {
		t.Fatal("the group is not found again")
	}
	if in := g.Instance("1"); in != nil && in.State != cluster.StateDeleting {
		t.Errorf("the machine whose deletion was accepted is %s in the group that was found again, want it Deleting", in.State)
	}
}

// TestADeniedGroupIsForgottenAfterAnHour holds that a group whose scale set Azure denies, though no read saw it deleted, is not to be read meanwhile, and
// is found again (S-21).
func TestADeniedGroupIsForgottenAfterAnHour(t *testing.T) {
	w := newWorld(t, tagged("agents", 3, "on=true", "min=0", "max=5"))
	w.open(w.discovering("label:on=true"))
	w.groups()
	until := w.now.Add(90 * time.Minute)
	w.sim.Inject(azuresim.Fault{Kind: "LIST virtualMachineScaleSets", Omit: -1, Until: until})
	w.sim.Inject(azuresim.Fault{Kind: "GET virtualMachineScaleSets", Status: http.StatusNotFound, Code: "ResourceNotFound", Until: until})
	for _, c := range []struct {
		minutes int
		problem string // "": there is no such group
	}{{2, "no read showed its deletion"}, {56, "no read showed its deletion"}, {6, ""}} {
		for range c.minutes {
			w.pass(time.Minute)
			w.groups()
		}
		if g := w.groups()["agents"]; (g == nil) != (c.problem == "") || g != nil && !strings.Contains(g.Problem, c.problem) {
			t.Errorf("%d minutes later the group is %+v, want its problem %q", c.minutes, g, c.problem)
		}
	}
	w.pass(time.Hour)
	if g := w.groups()["agents"]; g == nil || !g.Usable() {
		t.Errorf("when it is over the group is %+v, want it usable", g)
	}
}

// TestAReadOfOneGroupTellsItsLimits holds that a write rests on the limits that the tags say now (S-06), not on those of the last list.
func TestAReadOfOneGroupTellsItsLimits(t *testing.T) {
	w := newWorld(t, tagged("agents", 3, "on=true", "min=0", "max=5"))
	w.open(w.discovering("label:on=true"))
	w.groups()
	for _, c := range []struct{ min, max string }{{"3", "4"}, {"3", "many"}} { // what cannot be read changes nothing (S-21)
		w.must(w.sim.SetTags("agents", map[string]string{"on": "true", "min": c.min, "max": c.max}))
		g, err := w.Group(t.Context(), "agents")
		w.must(err)
		if g.Min != 3 || g.Max != 4 {
			t.Errorf("with min=%s max=%s a read says min %d, max %d, want 3 and 4", c.min, c.max, g.Min, g.Max)
		}
	}
}

func TestANamedGroupWinsOverDiscovery(t *testing.T) {
	w := newWorld(t, tagged("agents", 1, "on=true", "min=0", "max=5"))
	o := w.discovering("label:on=true")
	o.Groups = []azure.GroupSpec{{Name: "agents", Min: 1, Max: 2}}
	w.open(o)
	if d := cmp.Diff([]string{"agents 01..02"}, w.limits()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestTheTemplateComesFromSizeZonesAndTags(t *testing.T) {
	gpu := tagged("gpu", 1,
		"k8s.io_cluster-autoscaler_node-template_label_example.com_pool~2name=a-b",
		"k8s.io_cluster-autoscaler_node-template_taint_nvidia.com_gpu=present:NoSchedule",
		"k8s.io_cluster-autoscaler_node-template_taint_broken=present:Sometimes",
		"k8s.io_cluster-autoscaler_node-template_resources_example.com_licence=3",
		"k8s.io_cluster-autoscaler_node-template_resources_cpu=15500m",
		"k8s.io_cluster-autoscaler_node-template_resources_memory=lots",
	)
	gpu.Size, gpu.Zones = "Standard_NC16as_T4_v3", []string{"1", "2"}
	w := newWorld(t, gpu)
	w.open(w.options("0:9:gpu"))
	g := w.groups()["gpu"]
	n := g.Template
	if n == nil {
		t.Fatal("there is no template for a known size")
	}
	wantLabels := map[string]string{
		"kubernetes.io/arch": "amd64", "beta.kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux",
		"node.kubernetes.io/instance-type": "Standard_NC16as_T4_v3", "topology.kubernetes.io/region": "westeurope",
		"topology.kubernetes.io/zone": "westeurope-2", "topology.disk.csi.azure.com/zone": "westeurope-2", "example.com/pool_name": "a-b",
		"beta.kubernetes.io/instance-type": "Standard_NC16as_T4_v3", "failure-domain.beta.kubernetes.io/region": "westeurope",
		"failure-domain.beta.kubernetes.io/zone": "westeurope-2", "accelerator": "nvidia", "kubernetes.azure.com/accelerator": "nvidia",
		"storageprofile": "managed", "kubernetes.azure.com/storageprofile": "managed", "storagetier": "Premium_LRS", "kubernetes.azure.com/storagetier": "Premium_LRS",
	}
	if d := cmp.Diff(wantLabels, n.Labels); d != "" {
		t.Errorf("labels, with the zone that has fewest machines (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]corev1.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}}, n.Spec.Taints); d != "" {
		t.Errorf("taints (-want +got):\n%s", d)
	}
	got := map[string]string{}
	for name, q := range n.Status.Allocatable {
		got[string(name)] = q.String()
	}
	if d := cmp.Diff(map[string]string{"cpu": "15500m", "memory": "110Gi", "pods": "110", "nvidia.com/gpu": "1", "example.com/licence": "3"}, got); d != "" {
		t.Errorf("allocatable (-want +got):\n%s", d)
	}
	if g.PriceUSDPerHour != 0 {
		t.Errorf("price %v: the table has none for the region", g.PriceUSDPerHour)
	}
	if d := cmp.Diff([]azure.Notice{
		{Group: "gpu", Sentence: "tag k8s.io_cluster-autoscaler_node-template_resources_memory=lots has no effect: give a quantity, such as 4 or 16Gi"},
		{Group: "gpu", Sentence: "tag k8s.io_cluster-autoscaler_node-template_taint_broken=present:Sometimes has no effect: give value:NoSchedule, value:PreferNoSchedule or value:NoExecute"},
	}, w.Notices()); d != "" {
		t.Errorf("notices (-want +got):\n%s", d)
	}
	w.now = w.now.Add(10 * time.Minute)
	w.groups()
	if n := strings.Count(w.log.String(), "resources_memory=lots"); n != 1 {
		t.Errorf("the tag that cannot be read was logged %d times, want once", n)
	}
	if z := g.Instances[0].Zone; z != "westeurope-1" {
		t.Errorf("machine 0 is in %q, want westeurope-1", z)
	}
}

func TestHugePagesTakeMemoryOfTheSizeAway(t *testing.T) {
	const tag = "k8s.io_cluster-autoscaler_node-template_resources_"
	for name, tc := range map[string]struct {
		tags []string
		want [2]string // memory of the machine, and what pods get of it
	}{
		"none":                     {nil, [2]string{"16Gi", "16Gi"}},
		"of two sizes":             {[]string{tag + "hugepages-2Mi=4Gi", tag + "hugepages-1Gi=2Gi"}, [2]string{"16Gi", "10Gi"}},
		"beside memory in the tag": {[]string{tag + "hugepages-2Mi=4Gi", tag + "memory=11Gi"}, [2]string{"11Gi", "11Gi"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tagged("dense", 1, tc.tags...))
			w.open(w.options("0:9:dense"))
			status := w.groups()["dense"].Template.Status
			if got := [2]string{status.Capacity.Memory().String(), status.Allocatable.Memory().String()}; got != tc.want {
				t.Errorf("memory %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAnUnknownSizeNeedsResourceTags(t *testing.T) {
	const tag = "k8s.io_cluster-autoscaler_node-template_resources_"
	for name, tc := range map[string]struct {
		tags  []string
		known bool
	}{
		"no tags":        {nil, false},
		"cpu alone":      {[]string{tag + "cpu=4"}, false},
		"cpu and memory": {[]string{tag + "cpu=4", tag + "memory=8Gi"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := tagged("odd", 1, tc.tags...)
			s.Size = "Standard_X4_v99"
			w := newWorld(t, s)
			w.open(w.options("0:9:odd"))
			g := w.groups()["odd"]
			if (g.Template != nil) != tc.known || g.Size != "Standard_X4_v99" || g.PriceUSDPerHour != 0 {
				t.Errorf("template %v, size %q, price %v: want a template %t, the size's name and no price", g.Template, g.Size, g.PriceUSDPerHour, tc.known)
			}
			if tc.known && g.Template.Labels[corev1.LabelTopologyZone] != "0" {
				t.Errorf("zone %q of a scale set without zones, want 0", g.Template.Labels[corev1.LabelTopologyZone])
			}
		})
	}
}

func TestAPriceIsThatOfPriorityAndRegion(t *testing.T) {
	for name, tc := range map[string]struct {
		location, priority string
		want               float64 // 0: unknown
	}{
		"regular in a region of the table":  {"westeurope", "Regular", 0.23},
		"regular in another one":            {"eastus", "", 0.192},
		"spot":                              {"eastus", "Spot", 0.02112},
		"low priority is spot":              {"eastus", "Low", 0.02112},
		"spot where the table has no price": {"westeurope", "Spot", 0},
		"a region that is not in the table": {"francecentral", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := set("agents", 0)
			s.Location, s.Priority = tc.location, tc.priority
			w := newWorld(t, s)
			w.open(w.options("0:9:agents"))
			if g := w.groups()["agents"]; g.PriceUSDPerHour != tc.want || g.Template == nil {
				t.Errorf("price %v, template %v: want a template and %v", g.PriceUSDPerHour, g.Template, tc.want)
			}
		})
	}
}
