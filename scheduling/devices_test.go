package scheduling

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
)

const gpuDriver = "gpu.example.com"

// gpuClaim asks for one device of the class gpu.
func gpuClaim(name string) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-of-" + name)}}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
	}}}
	return c
}

// gpuSlice is n devices of a node.
func gpuSlice(node string, n int) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + "-gpus"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: gpuDriver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
	}}
	for i := range n {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i)})
	}
	return s
}

// claimsOwn has a claim made from a template.
func claimsOwn(p *corev1.Pod) {
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "own", ResourceClaimTemplateName: new("gpu")}}
}

func made(p *corev1.Pod) {
	p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "own", ResourceClaimName: new(p.Name + "-own")}}
}

func claimsShared(p *corev1.Pod) {
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "all", ResourceClaimName: new("shared")}}
}

// equipped is nodes a with two devices, b with one and c with none.
func equipped(pods ...any) *cluster.Snapshot {
	o := snapshot(append(pods, node("a"), node("b"), node("c"))...).Objects
	o.DeviceClasses = []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{
		Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + gpuDriver + `"`}}},
	}}}
	o.ResourceSlices = []*resourcev1.ResourceSlice{gpuSlice("a", 2), gpuSlice("b", 1)}
	o.ResourceClaims = []*resourcev1.ResourceClaim{gpuClaim("p-own"), gpuClaim("shared")}
	return cluster.New(midnight, o, nil)
}

func TestDevicesAreGivenOnce(t *testing.T) {
	p := pod("p", claimsOwn, made)
	c := NewChecker(equipped(p))
	where := func(p *cluster.Pod) string {
		var fits string
		for _, n := range c.Nodes() {
			if c.Fits(p, n) != (c.Refusals(p, n) == nil) {
				t.Errorf("Fits and Refusals differ about %s", n)
			}
			if c.Fits(p, n) {
				fits += n
			}
		}
		return fits
	}
	if got := where(p); got != "ab" {
		t.Fatalf("fits %q", got)
	}
	undo := c.Place(p, "b")
	if got := where(p); got != "a" {
		t.Errorf("after the device of b is given, fits %q", got)
	}
	undo()
	if got := where(p); got != "ab" {
		t.Errorf("after it is free again, fits %q", got)
	}
	undo = c.Mark()
	a, _ := c.Handle("a")
	cNode, _ := c.Handle("c")
	template := c.Template(node("")).Publishing(c.Slices("a")...)
	got := map[string]int{}
	if placed := c.Row(a, cNode, c.Open(template, "new-0"), c.Open(template, "new-1")).Fill(p.Class, 20, func(h Handle, n int) { got[c.Name(h)] += n }); placed != 6 || got["new-1"] != 2 {
		t.Errorf("placed %d: %v", placed, got)
	}
	undo()
	undo = c.Place(pod("x", claimsShared), "b")
	if got := where(pod("y", claimsShared)); got != "b" {
		t.Errorf("a claim that pods share is where its device is: fits %q", got)
	}
	if got := where(p); got != "a" {
		t.Errorf("its device is given: fits %q", got)
	}
	undo()
	if got := where(pod("y", claimsShared)); got != "ab" {
		t.Errorf("after it is free again, fits %q", got)
	}
}

func TestClaimsThatNobodyHasMadeKeepPodsWaiting(t *testing.T) {
	for name, p := range map[string]*cluster.Pod{"of a template": pod("q", claimsOwn), "by name": pod("q", func(p *corev1.Pod) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "all", ResourceClaimName: new("missing")}}
	})} {
		t.Run(name, func(t *testing.T) {
			c := NewChecker(equipped())
			why := c.Refusals(p, "a")
			if len(why) != 1 || why[0].Facts["plugin"] != "DynamicResources" || c.Fits(p, "a") {
				t.Errorf("refusals %v", why)
			}
		})
	}
}

func TestDevicesFollowTheNextSnapshot(t *testing.T) {
	p := pod("p", claimsOwn, made)
	s := equipped(p)
	c := NewChecker(s)
	if !c.Fits(p, "b") {
		t.Fatal("it does not fit")
	}
	o := s.Objects
	o.ResourceSlices = o.ResourceSlices[:1]
	if c = NewChecker(s.Next(midnight, o, nil), After(c)); c.Fits(p, "b") || !c.Fits(p, "a") {
		t.Error("slices of the snapshot before are remembered")
	}
}

func TestAClaimThatIsMadeLaterIsServed(t *testing.T) {
	p := pod("p", claimsOwn)
	s := equipped(p)
	c := NewChecker(s)
	if c.Fits(p, "b") {
		t.Fatal("it fits before its claim is made")
	}
	later := pod("p", claimsOwn, made)
	o := equipped(later).Objects
	if c = NewChecker(s.Next(midnight, o, nil), After(c)); !c.Fits(later, "b") {
		t.Errorf("its claim is made, and it is refused for %v", c.Refusals(later, "b"))
	}
}

const gpus = "example.com/gpu"

// serves is [equipped] with a class that serves an extended resource, of which node c has one by a device plugin.
func serves(pods ...any) *cluster.Snapshot {
	o := equipped(pods...).Objects
	o.Nodes[2] = node("c", allocatable("cpu", "4", gpus, "1"))
	o.DeviceClasses[0].Spec.ExtendedResourceName = new(gpus)
	return cluster.New(midnight, o, nil)
}

func TestAResourceThatDevicesServeIsADevice(t *testing.T) {
	one, two := pod("p", requests(gpus, "1")), pod("q", requests(gpus, "2"))
	byClass := pod("r", requests("deviceclass.resource.kubernetes.io/gpu", "1"))
	c := NewChecker(serves(one, two, byClass))
	where := func(p *cluster.Pod) (fits string) {
		for _, n := range c.Nodes() {
			if c.Fits(p, n) != (c.Refusals(p, n) == nil) {
				t.Errorf("Fits and Refusals differ about %s", n)
			}
			if c.Fits(p, n) {
				fits += n
			}
		}
		return fits
	}
	expect := func(when string, p *cluster.Pod, want string) {
		t.Helper()
		if got := where(p); got != want {
			t.Errorf("%s, %s fits %q, want %q", when, p, got, want)
		}
	}
	expect("at first", one, "abc")
	expect("at first", two, "a")
	expect("at first", byClass, "ab")
	undo := c.Place(one, "a")
	expect("with one device of a given", two, "")
	expect("with one device of a given", one, "abc")
	c.Place(byClass, "a")
	expect("with both devices of a given", one, "bc")
	c.Place(one, "c")
	expect("with all of c given", one, "b")
	undo()
	expect("when all is free again", one, "abc")
	expect("when all is free again", two, "a")
	if why := c.Refusals(byClass, "c"); len(why) != 1 || why[0].Facts["plugin"] != "DynamicResources" {
		t.Errorf("a node that publishes no device: %v", why)
	}
	template := c.Template(node("")).Publishing(c.Slices("a")...)
	if placed := c.Row(c.Open(template, "new-0"), c.Open(template, "new-1")).Fill(one.Class, 20, nil); placed != 4 {
		t.Errorf("%d pods on two machines with two devices each", placed)
	}
}

func TestAClassThatComesToServeAResourceIsHeard(t *testing.T) {
	p := pod("p", requests(gpus, "1"))
	s := equipped(p)
	c := NewChecker(s)
	if c.Fits(p, "a") {
		t.Fatal("it fits where nothing serves what it asks for")
	}
	o := s.Objects
	o.DeviceClasses = serves().Objects.DeviceClasses
	if c = NewChecker(s.Next(midnight, o, nil), After(c)); !c.Fits(p, "a") {
		t.Errorf("a class serves it now, and it is refused for %v", c.Refusals(p, "a"))
	}
}

func TestADaemonThatDevicesServeIsMade(t *testing.T) {
	o := serves().Objects
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "watch"}}
	ds.Spec.Template.Spec = *pod("d", requests(gpus, "1")).Spec
	o.DaemonSets = []*appsv1.DaemonSet{ds}
	c := NewChecker(cluster.New(midnight, o, nil))
	if got := c.Daemons(c.Node("a")); len(got) != 1 {
		t.Errorf("%d daemons on a node whose devices serve them", len(got))
	}
}
