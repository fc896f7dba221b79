package devices

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/nodes"
)

const (
	driver = "gpu.example.com"
	served = "example.com/gpu"

	ownName = resourcev1.ResourceDeviceClassPrefix
)

// Short names of lists that are long.
type (
	classes = []*resourcev1.DeviceClass
	claims  = []*resourcev1.ResourceClaim
)

// slice is n devices of a node, or of none.
func slice(node string, n int) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + "-gpus"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
	}}
	for i := range n {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i)})
	}
	return s
}

// claim asks for so many devices of the class gpu.
func claim(name string, n int64) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-of-" + name)}}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: n,
	}}}
	return c
}

// has gives a claim the first device of a node.
func has(c *resourcev1.ResourceClaim, node string) *resourcev1.ResourceClaim {
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: driver, Pool: node, Device: "gpu-0"}},
	}}
	return c
}

func class(name string, serves ...string) *resourcev1.DeviceClass {
	c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for i := range serves {
		c.Spec.ExtendedResourceName = &serves[i]
	}
	return c
}

// world is node a with two devices, b with one, and c with one that a device plugin announces.
func world(objects cluster.Objects, pods ...*corev1.Pod) (*Devices, map[string]nodes.Handle) {
	objects.Pods = cluster.NewPods(pods...)
	objects.DeviceClasses = append(objects.DeviceClasses, class("gpu", served))
	objects.ResourceSlices = append(objects.ResourceSlices, slice("a", 2), slice("b", 1))
	table := nodes.NewTable(3)
	handles := map[string]nodes.Handle{}
	for _, name := range []string{"a", "b", "c"} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name == "c" {
			n.Status.Allocatable = corev1.ResourceList{served: resource.MustParse("1")}
		}
		handles[name] = table.Node(n, nil)
	}
	return New(table, cluster.New(time.Time{}, objects, nil)), handles
}

func pod(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}}
	for _, c := range change {
		c(p)
	}
	return p
}

func byName(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: claim, ResourceClaimName: &claim})
	}
}

// ofTemplate has a claim made from a template, which the controller has made when it is named.
func ofTemplate(made ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "own", ResourceClaimTemplateName: new("t")})
		for i := range made {
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "own", ResourceClaimName: &made[i]}}
		}
	}
}

func requests(n string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests[served] = resource.MustParse(n) }
}

// where are the nodes that can give a pod of the class what it claims.
func where(d *Devices, h map[string]nodes.Handle, of *cluster.Class) (fits string) {
	c := d.Of(of, true)
	for _, name := range []string{"a", "b", "c"} {
		if d.Refusal(c, h[name]) == "" {
			fits += name
		}
	}
	return fits
}

func TestANodeGivesWhatIsClaimed(t *testing.T) {
	deleted := claim("one", 1)
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for name, c := range map[string]struct {
		claims claims
		pod    *corev1.Pod
		want   string
	}{
		"a device":                         {claims{claim("one", 1)}, pod(byName("one")), "ab"},
		"two devices":                      {claims{claim("two", 2)}, pod(byName("two")), "a"},
		"one by each of two claims":        {claims{claim("one", 1), claim("more", 1)}, pod(byName("one"), byName("more")), "a"},
		"one that is given to another":     {claims{claim("one", 1), has(claim("other", 1), "b")}, pod(byName("one")), "a"},
		"a claim that nobody has made":     {nil, pod(byName("one")), ""},
		"a claim that is being deleted":    {claims{deleted}, pod(byName("one")), ""},
		"a template whose claim is made":   {claims{claim("made", 2)}, pod(ofTemplate("made")), "a"},
		"a template whose claim is not":    {nil, pod(ofTemplate()), ""},
		"a resource that devices serve":    {nil, pod(requests("2")), "ac"},
		"nothing of it":                    {nil, pod(requests("0")), "abc"},
		"such a resource and a claim":      {claims{claim("one", 1)}, pod(byName("one"), requests("1")), "a"},
		"its devices are given to a claim": {claims{has(claim("other", 1), "b")}, pod(requests("1")), "ac"},
		"a template whose claims have none": {nil, pod(func(p *corev1.Pod) {
			ofTemplate()(p)
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "own"}}
		}), "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			d, h := world(cluster.Objects{ResourceClaims: c.claims}, c.pod)
			if got := where(d, h, d.snapshot.Objects.Pods[0].Class); got != c.want {
				t.Errorf("given on %q, want %q", got, c.want)
			}
		})
	}
}

// TestWhatIsGivenIsTakenBackWhole gives devices until there are none, and takes them back in any order of claims.
func TestWhatIsGivenIsTakenBackWhole(t *testing.T) {
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		n    int32
		with string // nodes that can serve another pod once n were given what they claim on a
		back string // and when it was taken back
	}{
		"claims of their own":                    {pod(ofTemplate("made")), 1, "ab", "ab"},
		"as many as there are":                   {pod(ofTemplate("made")), 5, "b", "ab"},
		"a shared claim is where it is":          {pod(byName("made")), 1, "a", "ab"},
		"a resource that devices serve":          {pod(requests("1")), 1, "abc", "abc"},
		"all of it that is left":                 {pod(requests("1")), 2, "bc", "abc"},
		"a resource beside a claim of their own": {pod(ofTemplate("made"), requests("1")), 1, "", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			d, h := world(cluster.Objects{ResourceClaims: claims{claim("made", 1)}}, c.pod)
			of := d.snapshot.Objects.Pods[0].Class
			all := d.Of(of, true)
			known := len(d.hardware.claims)
			given := d.Give(all, h["a"], c.n)
			if got := where(d, h, of); got != c.with {
				t.Errorf("with devices given on a, another pod fits %q, want %q", got, c.with)
			}
			d.Withdraw(given)
			if got := where(d, h, of); got != c.back {
				t.Errorf("after they were taken back it fits %q, want %q", got, c.back)
			}
			if len(d.hardware.taken.AllocatedDevices) > 0 || len(d.hardware.claims) != known {
				t.Errorf("%d devices are taken still, %d claims were added", len(d.hardware.taken.AllocatedDevices), len(d.hardware.claims)-known)
			}
		})
	}
}

func TestAMachinePublishesCopies(t *testing.T) {
	d, _ := world(cluster.Objects{}, pod(requests("1")))
	of := d.snapshot.Objects.Pods[0].Class
	like := d.table.Template(&corev1.Node{}, nil, nil).Publishing(d.Slices("a")...)
	first, second := d.table.Machine("m0", like), d.table.Machine("m1", like)
	if given := d.Give(d.Of(of, true), first, 5); len(given) != 2 {
		t.Errorf("a machine like a gives %d devices", len(given))
	}
	if why := d.Refusal(d.Of(of, true), second); why != "" {
		t.Errorf("the other machine has none: %s", why)
	}
}

func TestAPoolOverSeveralNodesIsLookedAtWhole(t *testing.T) {
	near, far := slice("a", 1), slice("b", 1)
	near.Spec.Pool.Name, far.Spec.Pool.Name = "rack", "rack"
	anywhere := slice("c", 1)
	anywhere.Spec.NodeName, anywhere.Spec.AllNodes = nil, new(true)
	for name, c := range map[string]struct {
		slices      []*resourcev1.ResourceSlice
		own, shared int
	}{
		"a pool for each node":        {[]*resourcev1.ResourceSlice{slice("a", 1), slice("b", 1)}, 2, 0},
		"two slices of one node":      {[]*resourcev1.ResourceSlice{slice("a", 1), slice("a", 1)}, 2, 0},
		"one pool over two nodes":     {[]*resourcev1.ResourceSlice{near, far}, 0, 2},
		"a slice of no node":          {[]*resourcev1.ResourceSlice{slice("a", 1), anywhere}, 1, 1},
		"which makes its pool shared": {[]*resourcev1.ResourceSlice{slice("c", 1), anywhere}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hardware{slices: map[string][]*resourcev1.ResourceSlice{}}
			h.sort(c.slices)
			own := 0
			for _, of := range h.slices {
				own += len(of)
			}
			if own != c.own || len(h.shared) != c.shared {
				t.Errorf("%d of one node and %d shared, want %d and %d", own, len(h.shared), c.own, c.shared)
			}
		})
	}
}

func TestTheYoungestClassServesAResource(t *testing.T) {
	young := class("a-young", served)
	young.CreationTimestamp = metav1.NewTime(time.Unix(9, 0))
	for name, c := range map[string]struct {
		classes classes
		of      string
		want    string
	}{
		"the one that names it":    {classes{class("gpu", served), class("nic")}, served, "gpu"},
		"nobody":                   {classes{class("nic")}, served, ""},
		"each by its own name":     {classes{class("gpu", served), class("nic")}, ownName + "nic", "nic"},
		"the younger of two":       {classes{young, class("old", served)}, served, "a-young"},
		"the first of two by name": {classes{class("b", served), class("a", served)}, served, "a"},
		"and so does the last":     {classes{class("a", served), class("b", served)}, ownName + "b", "b"},
		"the other keeps its name": {classes{young, class("old", served)}, ownName + "old", "old"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if found := serving(c.classes).GetDeviceClass(corev1.ResourceName(c.of)); found != nil {
				got = found.Name
			}
			if got != c.want {
				t.Errorf("served by %q, want %q", got, c.want)
			}
		})
	}
}
