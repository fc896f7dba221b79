package grow

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// offer is what a group of 4 cores and 16 GiB offers, of which daemons take a tenth of a core.
func offer(change ...func(*Likeness)) Likeness {
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	n := &corev1.Node{}
	n.Labels = map[string]string{"kubernetes.io/arch": "amd64", corev1.LabelTopologyZone: "westeurope-1"}
	n.Status.Capacity, n.Status.Allocatable = list("4", "16Gi"), list("3860m", "14Gi")
	l := Likeness{Node: n, Free: list("3760m", "13Gi")}
	for _, c := range change {
		c(&l)
	}
	return l
}

func TestGroupsAreSimilarAsClusterAutoscalerSeesThem(t *testing.T) {
	label := func(key, value string) func(*Likeness) {
		return func(l *Likeness) { l.Node.Labels[key] = value }
	}
	capacity := func(name corev1.ResourceName, q string) func(*Likeness) {
		return func(l *Likeness) { l.Node.Status.Capacity[name] = resource.MustParse(q) }
	}
	allocatable := func(name corev1.ResourceName, q string) func(*Likeness) {
		return func(l *Likeness) { l.Node.Status.Allocatable[name] = resource.MustParse(q) }
	}
	free := func(name corev1.ResourceName, q string) func(*Likeness) {
		return func(l *Likeness) { l.Free[name] = resource.MustParse(q) }
	}
	guesses := func(key string) func(*Likeness) {
		return func(l *Likeness) { l.Node.Annotations = map[string]string{cluster.GuessedLabels: key} }
	}
	of := func(size string) func(*Likeness) { return func(l *Likeness) { l.Size = size } }
	learned := func(l *Likeness) { l.Learned = true }
	for name, tc := range map[string]struct {
		a, b Likeness
		want bool
	}{
		"alike":                                      {offer(), offer(), true},
		"in another zone":                            {offer(), offer(label(corev1.LabelTopologyZone, "westeurope-2")), true},
		"one without a zone":                         {offer(), offer(func(l *Likeness) { delete(l.Node.Labels, corev1.LabelTopologyZone) }), true},
		"with another label":                         {offer(), offer(label("disk", "ssd")), false},
		"with a label of another value":              {offer(label("disk", "hdd")), offer(label("disk", "ssd")), false},
		"with a label that the cloud only guesses":   {offer(label("storagetier", "Premium_LRS"), guesses("storagetier")), offer(), true},
		"with guesses that differ":                   {offer(label("cost", "a"), guesses("cost")), offer(label("cost", "b"), guesses("cost")), false},
		"with a label that the operator ignores":     {offer(label("rack", "1")), offer(label("rack", "2")), true},
		"names of pools say nothing":                 {offer(label("poolName", "a"), label("agentpool", "a")), offer(label("poolName", "b"), label("agentpool", "b")), true},
		"one pool, whatever its machines are":        {offer(label("agentpool", "a"), label("disk", "hdd")), offer(label("agentpool", "a"), capacity("cpu", "64")), true},
		"one pool by the newer label":                {offer(label("kubernetes.azure.com/agentpool", "a"), label("disk", "hdd")), offer(label("kubernetes.azure.com/agentpool", "a")), true},
		"a pool without a name is none":              {offer(label("agentpool", ""), label("disk", "hdd")), offer(label("agentpool", "")), false},
		"more cores":                                 {offer(), offer(capacity("cpu", "4001m")), false},
		"a little more memory":                       {offer(), offer(capacity("memory", "16600Mi")), true},
		"more memory":                                {offer(), offer(capacity("memory", "16700Mi")), false},
		"a device more":                              {offer(), offer(capacity("nvidia.com/gpu", "1")), false},
		"another device":                             {offer(capacity("nvidia.com/gpu", "1")), offer(capacity("amd.com/gpu", "1")), false},
		"a little less for pods":                     {offer(), offer(allocatable("cpu", "3680m")), true},
		"less for pods":                              {offer(), offer(allocatable("cpu", "3660m")), false},
		"daemons take a little more":                 {offer(), offer(free("memory", "12700Mi")), true},
		"daemons take more":                          {offer(), offer(free("memory", "12600Mi")), false},
		"one learned, the other of its size":         {offer(of("Standard_D4s_v5"), learned, capacity("memory", "15Gi"), allocatable("memory", "12Gi"), free("memory", "11Gi")), offer(of("standard_d4s_v5")), true},
		"one learned, the other of another size":     {offer(of("Standard_D4s_v5"), learned, capacity("memory", "15Gi")), offer(of("Standard_E4s_v5")), false},
		"one learned, with a device more":            {offer(of("Standard_D4s_v5"), learned, capacity("nvidia.com/gpu", "1")), offer(of("Standard_D4s_v5")), false},
		"one learned, of sizes nobody knows":         {offer(learned, capacity("memory", "15Gi")), offer(), false},
		"both learned, and they differ":              {offer(of("Standard_D4s_v5"), learned, capacity("memory", "15Gi")), offer(of("Standard_D4s_v5"), learned), false},
		"one of which nothing is known":              {offer(), Likeness{}, false},
		"a difference of exactly the share is small": {offer(free("cpu", "100")), offer(free("cpu", "95")), true},
	} {
		t.Run(name, func(t *testing.T) {
			by := policy.Default().Growth.Balance
			by.IgnoreLabels = []string{"rack"}
			if got := Similar(tc.a, tc.b, by); got != tc.want {
				t.Errorf("similar: %t, want %t", got, tc.want)
			}
			if got := Similar(tc.b, tc.a, by); got != tc.want {
				t.Errorf("similar the other way round: %t, want %t", got, tc.want)
			}
		})
	}
}

func TestAGrowthMakesSimilarGroupsEquallyLarge(t *testing.T) {
	for name, tc := range map[string]struct {
		machines int
		shares   []Share
		want     []int
	}{
		"equal groups share evenly":            {4, []Share{{"a", 1, 9}, {"b", 1, 9}}, []int{2, 2}},
		"an odd one goes to the first by name": {3, []Share{{"b", 1, 9}, {"a", 1, 9}}, []int{1, 2}},
		"the smallest catches up first":        {5, []Share{{"a", 6, 9}, {"b", 1, 9}, {"c", 3, 9}}, []int{0, 4, 1}},
		"a full one drops out":                 {6, []Share{{"a", 1, 1}, {"b", 1, 9}}, []int{1, 5}},
		"what finds no room is dropped":        {9, []Share{{"a", 1, 1}, {"b", 1, 2}}, []int{1, 2}},
		"none may grow":                        {3, []Share{{"a", 1, 0}, {"b", 1, -2}}, []int{0, 0}},
		"nothing to share":                     {0, []Share{{"a", 1, 9}}, []int{0}},
		"nobody to share with":                 {3, nil, []int{}},
	} {
		if d := cmp.Diff(tc.want, Spread(tc.machines, tc.shares)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
