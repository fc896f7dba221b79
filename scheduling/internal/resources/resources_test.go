package resources

import (
	"math"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// list makes a resource list of names and quantities in turn.
func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

func TestQuantitiesAreCountedAsTheSchedulerCounts(t *testing.T) {
	for name, c := range map[string]struct {
		list corev1.ResourceList
		want []Amount
	}{
		"cpu is in thousandths":                  {list("cpu", "1500m"), []Amount{{CPU, 1500}}},
		"less than a thousandth is a whole one":  {list("cpu", "1n"), []Amount{{CPU, 1}}},
		"memory is in bytes":                     {list("memory", "1Ki"), []Amount{{Memory, 1024}}},
		"less than a byte is a whole one":        {list("memory", "1m"), []Amount{{Memory, 1}}},
		"zero is left out":                       {list("cpu", "0", "memory", "0"), nil},
		"an extended resource has its own place": {list("example.com/gpu", "2"), []Amount{{Fixed, 2}}},
		"a name that nobody counts is left out":  {list("cores", "2"), nil},
		"what no node has is no more than that":  {list("memory", "8Ei"), []Amount{{Memory, mostCounted}}},
		"nor is cpu":                             {list("cpu", "1e18"), []Amount{{CPU, mostCounted}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NewDimensions().Append(nil, c.list); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestADimensionIsGivenOnce(t *testing.T) {
	d := NewDimensions()
	first := d.Number("example.com/gpu")
	if d.Number("hugepages-2Mi") != first+1 || d.Number("example.com/gpu") != first || d.names[first] != "example.com/gpu" {
		t.Errorf("names %v", d.Names())
	}
	if d.Number("cores") != NotCounted || len(d.Names()) != int(first)+2 {
		t.Errorf("a name that is not counted has a place: %v", d.Names())
	}
}

func TestAPodNeedsAPlaceAndWhatItAsksFor(t *testing.T) {
	for name, c := range map[string]struct {
		asked, held []Amount
		want        []Need
	}{
		"nothing but a place":               {nil, nil, []Need{{Pods, 1, 1}}},
		"the same as it holds":              {[]Amount{{CPU, 5}}, []Amount{{CPU, 5}}, []Need{{Pods, 1, 1}, {CPU, 5, 5}}},
		"it holds more while it is resized": {[]Amount{{CPU, 5}}, []Amount{{CPU, 9}}, []Need{{Pods, 1, 1}, {CPU, 5, 9}}},
		"it holds what it does not ask for": {nil, []Amount{{Memory, 7}}, []Need{{Pods, 1, 1}, {Memory, 0, 7}}},
		"in the order of dimensions": {
			[]Amount{{Fixed, 1}, {CPU, 2}}, []Amount{{Memory, 3}}, []Need{{Pods, 1, 1}, {CPU, 2, 0}, {Memory, 0, 3}, {Fixed, 1, 0}},
		},
		"places that it asks for are one": {[]Amount{{Pods, 4}}, []Amount{{Pods, 4}}, []Need{{Pods, 1, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Needs(c.asked, c.held); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestHowManyPodsGoIntoWhatIsFree(t *testing.T) {
	for name, c := range map[string]struct {
		need Need
		free int64
		want int64
	}{
		"as many as hold it":                     {Need{CPU, 5, 5}, 14, 2},
		"to the last unit":                       {Need{CPU, 5, 5}, 15, 3},
		"none":                                   {Need{CPU, 5, 5}, 4, 0},
		"what is not asked for refuses nobody":   {Need{CPU, 0, 5}, -3, Unlimited},
		"what is not held runs out for nobody":   {Need{CPU, 5, 0}, 5, Unlimited},
		"the last one may ask for all that is":   {Need{CPU, 5, 2}, 9, 3},
		"each holds more than the next asks for": {Need{CPU, 2, 5}, 9, 2},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.need.Times(c.free)
			if got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
			placed := int64(0)
			for free := c.free; placed < 10 && !c.need.Exceeds(free); free -= c.need.Held {
				placed++
			}
			if min(got, 10) != placed {
				t.Errorf("one by one %d go, and %d at once", placed, got)
			}
		})
	}
}

func TestPlentyIsMoreThanPodsAskFor(t *testing.T) {
	most := Need{Fixed, mostCounted, mostCounted}
	if most.Exceeds(Plenty) || Plenty > math.MaxInt64/1024 {
		t.Errorf("plenty is %d, and one pod may ask for %d", int64(Plenty), int64(mostCounted))
	}
}

func TestAmountsInWords(t *testing.T) {
	const mebi = 1 << 20
	for name, c := range map[string]struct {
		of   corev1.ResourceName
		n    int64
		up   bool
		want string
	}{
		"cores":                           {"cpu", 1500, true, "1500m"},
		"whole cores":                     {"cpu", 2000, true, "2"},
		"bytes below a mebibyte":          {"memory", 999, true, "999"},
		"what is needed is rounded up":    {"memory", 5*mebi + 1, true, "6Mi"},
		"what is free is rounded down":    {"memory", 5*mebi + 1, false, "5Mi"},
		"huge pages are bytes":            {"hugepages-2Mi", 4 * mebi, true, "4Mi"},
		"anything else is a plain number": {"example.com/gpu", 1024, true, "1024"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Words(c.of, c.n, c.up); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// run is containers that run after each other, or together.
type run = []corev1.Container

func TestWhatAPodAsksForAndWhatItHolds(t *testing.T) {
	container := func(cpu string) corev1.Container {
		return corev1.Container{Name: "c" + cpu, Resources: corev1.ResourceRequirements{Requests: list("cpu", cpu)}}
	}
	sidecar := container("100m")
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	resized := corev1.Pod{Spec: corev1.PodSpec{Containers: run{container("1")}}}
	resized.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "c1", AllocatedResources: list("cpu", "3"), Resources: &corev1.ResourceRequirements{Requests: list("cpu", "3")},
	}}
	whole := &corev1.ResourceRequirements{Requests: list("cpu", "4")}
	plain := func(s corev1.PodSpec) corev1.Pod { return corev1.Pod{Spec: s} }
	for name, c := range map[string]struct {
		pod         corev1.Pod
		asks, holds string
	}{
		"containers run together":         {plain(corev1.PodSpec{Containers: run{container("1"), container("2")}}), "3", "3"},
		"init containers run before them": {plain(corev1.PodSpec{InitContainers: run{container("2")}, Containers: run{container("1")}}), "2", "2"},
		"sidecars run on": {
			plain(corev1.PodSpec{InitContainers: run{sidecar, container("2")}, Containers: run{container("1")}}), "2100m", "2100m",
		},
		"overhead is added": {plain(corev1.PodSpec{Containers: run{container("1")}, Overhead: list("cpu", "1")}), "2", "2"},
		"requests of the whole pod stand for the sum": {
			plain(corev1.PodSpec{Containers: run{container("1")}, Resources: whole}), "4", "4",
		},
		"a pod that is resized holds the more of both": {resized, "1", "3"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Wanted(&c.pod)[corev1.ResourceCPU]; got.Cmp(resource.MustParse(c.asks)) != 0 {
				t.Errorf("asks for %v, want %s", got.String(), c.asks)
			}
			if got := Requests(&c.pod)[corev1.ResourceCPU]; got.Cmp(resource.MustParse(c.holds)) != 0 {
				t.Errorf("holds %v, want %s", got.String(), c.holds)
			}
		})
	}
}
