package kube

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

// received is the trigger that waits, nil when none does.
func received(o *Observer) *Trigger {
	synctest.Wait()
	select {
	case g := <-o.Triggers():
		return &g
	default:
		return nil
	}
}

func TestTriggers(t *testing.T) {
	since := time.Date(2026, 3, 1, 12, 0, 5, 0, time.UTC)
	now := &metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	for name, test := range map[string]struct {
		do   func(t *testing.T, c *kubesim.Cluster)
		want *Trigger
	}{
		"nothing happens": {func(*testing.T, *kubesim.Cluster) {}, nil},
		"a pod turns unschedulable": {func(t *testing.T, c *kubesim.Cluster) {
			edit(t, c, "default", "waits", func(p *corev1.Pod) { p.Status.Conditions = unschedulable(since) })
		}, &Trigger{Causes: []Cause{PodUnschedulable}, Unschedulable: since}},
		"a pod appears unschedulable": {func(t *testing.T, c *kubesim.Cluster) {
			p := pod("default", "new", "")
			p.Status.Conditions = unschedulable(since)
			create(t, c, p)
		}, &Trigger{Causes: []Cause{PodUnschedulable}, Unschedulable: since}},
		"an unschedulable pod is judged again": {func(t *testing.T, c *kubesim.Cluster) {
			edit(t, c, "default", "judged", func(p *corev1.Pod) { p.Status.Conditions[0].Message = "0/4 nodes are available" })
		}, nil},
		"a pod appears that the scheduler has not judged": {func(t *testing.T, c *kubesim.Cluster) {
			create(t, c, pod("default", "new", ""))
		}, nil},
		"a pod appears that its scheduler is not waited for to judge": {func(t *testing.T, c *kubesim.Cluster) {
			p := pod("default", "new", "")
			p.Spec.SchedulerName = "bypassed"
			create(t, c, p)
		}, &Trigger{Causes: []Cause{PodCame}}},
		"a pod finishes": {func(t *testing.T, c *kubesim.Cluster) {
			edit(t, c, "default", "runs", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		}, &Trigger{Causes: []Cause{PodGone}}},
		"a running pod leaves": {func(t *testing.T, c *kubesim.Cluster) {
			if err := c.Delete(pod("default", "runs", ""), now); err != nil {
				t.Fatal(err)
			}
		}, &Trigger{Causes: []Cause{PodGone}}},
		"a finished pod is cleaned up": {func(t *testing.T, c *kubesim.Cluster) {
			if err := c.Delete(pod("default", "done", ""), now); err != nil {
				t.Fatal(err)
			}
		}, nil},
		"a node appears": {func(t *testing.T, c *kubesim.Cluster) { create(t, c, node("b")) }, &Trigger{Causes: []Cause{NodeAppeared}}},
		"a node ceases to be Ready": {func(t *testing.T, c *kubesim.Cluster) {
			edit(t, c, "", "a", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown })
		}, &Trigger{Causes: []Cause{NodeReadiness}}},
		"a node gets a label": {func(t *testing.T, c *kubesim.Cluster) {
			edit(t, c, "", "a", func(n *corev1.Node) { n.Labels = map[string]string{"new": "true"} })
		}, nil},
		"the cloud announces something to a node's machine": {func(t *testing.T, c *kubesim.Cluster) {
			edit(t, c, "", "a", func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, cluster.Notice{Kind: "Reboot"}.Taint()) })
		}, &Trigger{Causes: []Cause{NodeNoticed}}},
		"sluice answers that": {func(t *testing.T, c *kubesim.Cluster) {
			edit(t, c, "", "a", func(n *corev1.Node) { n.Annotations = map[string]string{cluster.AnswerAnnotation: "{}"} })
		}, nil},
		"a node leaves": {func(t *testing.T, c *kubesim.Cluster) {
			if err := c.Delete(node("a"), nil); err != nil {
				t.Fatal(err)
			}
		}, &Trigger{Causes: []Cause{NodeLeft}}},
		"all that happens before it is received is one trigger with the longest wait": {func(t *testing.T, c *kubesim.Cluster) {
			create(t, c, node("b"), node("c"))
			for i, name := range []string{"late", "early", "later"} {
				p := pod("default", name, "")
				p.Status.Conditions = unschedulable(since.Add(time.Duration([]int{1, 0, 2}[i]) * time.Second))
				create(t, c, p)
			}
		}, &Trigger{Causes: []Cause{NodeAppeared, PodUnschedulable}, Unschedulable: since}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &kubesim.Cluster{}
			done, judged := pod("default", "done", "a"), pod("default", "judged", "")
			done.Status.Phase = corev1.PodSucceeded
			judged.Status.Conditions = unschedulable(since)
			create(t, c, node("a"), pod("default", "waits", ""), pod("default", "runs", "a"), done, judged)
			observe(t, c, func(t *testing.T, o *Observer) {
				if g := received(o); g != nil {
					t.Fatalf("the first read is a trigger: %v", g)
				}
				test.do(t, c)
				if diff := cmp.Diff(test.want, received(o)); diff != "" {
					t.Error("(-want +got)\n" + diff)
				}
				if g := received(o); g != nil {
					t.Errorf("delivered twice: %v", g)
				}
			})
		})
	}
}
