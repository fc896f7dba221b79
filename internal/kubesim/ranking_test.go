package kubesim

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// TestWhatRoomsAnsweredIsWhatTheyAnswer holds what a pass remembers against asking every room, for pods of a few kinds in any order.
func TestWhatRoomsAnsweredIsWhatTheyAnswer(t *testing.T) {
	taken, refused, again := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c := &Cluster{}
		c.lock()
		defer c.mu.Unlock()
		some := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
		for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{"zone": some("zone", "a", "b")}}}
			n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse(some("cores", "2", "4")), "memory": resource.MustParse("4Gi"), "pods": resource.MustParse("9")}
			if some("taint", "no", "no", "yes", "soft") == "yes" {
				n.Spec.Taints = []corev1.Taint{{Key: "t", Effect: corev1.TaintEffectNoSchedule}}
			}
			c.store.born(n)
		}
		p := &pass{scheduler: c.scheduler, rooms: c.scheduler.rooms()}
		for i := range rapid.IntRange(1, 25).Draw(t, "pods") {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i), Namespace: "default"}}
			kind := some("kind", "small", "small", "large", "zone", "port", "tolerant")
			cpu := map[string]string{"large": "1500m", "port": "100m"}[kind]
			if cpu == "" {
				cpu = "500m"
			}
			pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}
			switch kind {
			case "zone":
				pod.Spec.NodeSelector = map[string]string{"zone": "a"}
			case "port":
				pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, Protocol: corev1.ProtocolTCP}}
			case "tolerant":
				pod.Spec.Tolerations = []corev1.Toleration{{Key: "t", Operator: corev1.TolerationOpExists}}
			}
			c.store.born(pod)
			st := c.pods.byKey["default/"+pod.Name]
			f, _ := p.question(st)
			known := p.ranked
			room, why := p.choose(f)
			if known == p.ranked && known != nil {
				again++
			}
			want, because := p.search(f)
			if room != want || why != because {
				t.Fatalf("pod %d (%s): remembered %v %q, asked anew %v %q", i, kind, room, why, want, because)
			}
			if room == nil {
				refused++
				continue
			}
			taken++
			p.hold(room, st)
		}
	})
	if taken < 70 || refused < 30 || again < 25 {
		t.Errorf("%d pods were taken, %d refused, %d times an answer was remembered: too few", taken, refused, again)
	}
}
