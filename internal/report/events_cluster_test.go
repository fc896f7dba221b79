package report

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// ranked is a world with the expander priority and this ranking, in which a group grows for a pod.
func ranked(priorities string) *world {
	w := growing()
	w.group("spare", 0, 3, 0)
	w.policy.Growth.Expanders = []policy.Expander{policy.Priority}
	w.objects.ConfigMaps = []*corev1.ConfigMap{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: cluster.RankingName, UID: "ranking-uid"}, Data: map[string]string{"priorities": priorities},
	}}
	return w
}

// TestTheClusterIsToldWhatClusterAutoscalerTells holds events to cluster-autoscaler's objects, reasons and words.
func TestTheClusterIsToldWhatClusterAutoscalerTells(t *testing.T) {
	const status, ranking = "ConfigMap cluster-autoscaler-status", "ConfigMap cluster-autoscaler-priority-expander"
	unready := func(n int) *world {
		w := newWorld()
		w.group("agents", 0, 9, 8)
		for i := range n {
			c := &w.objects.Nodes[i].Status.Conditions[0]
			c.Status, c.LastTransitionTime.Time = corev1.ConditionUnknown, noon.Add(-time.Minute)
		}
		return w
	}
	late := newWorld()
	late.group("agents", 0, 3, 1)
	n := late.node("agents-0")
	n.CreationTimestamp.Time = noon.Add(-16 * time.Minute)
	n.Status.Conditions[0].Status, n.Status.Conditions[0].LastTransitionTime = corev1.ConditionFalse, n.CreationTimestamp
	late.kept.Groups = map[cluster.GroupID]memory.GroupMemory{"agents": {Noticed: noon.Add(-time.Hour)}}

	full := growing()
	full.policy.Growth.Max.Nodes = 2

	drained := newWorld()
	drained.group("agents", 0, 3, 2)
	drained.cordon("agents-1", "underused", time.Minute)

	underused := newWorld()
	underused.group("agents", 0, 3, 2)
	underused.pod("busy", "1", "agents-0")
	underused.pod("small", "500m", "agents-1")
	underused.kept.Removable = map[string]time.Time{"agents-1": noon.Add(-11 * time.Minute)}
	underused.kept.Since = noon.Add(-time.Hour)

	const tag = " (status-uid) "
	for name, c := range map[string]struct {
		world *world
		says  []string // "!" before what is not said
	}{
		"too many nodes are unready":                  {unready(4), []string{status + tag + "Warning ClusterUnhealthy: Cluster is unhealthy"}},
		"so many are tolerated":                       {unready(3), []string{"!ClusterUnhealthy"}},
		"a node was not Ready in time":                {late, []string{status + tag + "Warning ScaleUpTimedOut: Nodes added to group agents failed to register within 15m0s"}},
		"the cluster may not have more":               {full, []string{status + tag + "Warning MaxNodesTotalReached: Max total nodes in cluster reached: 2"}},
		"the group may not have more":                 {ranked("10: [agents]"), []string{"!MaxNodesTotalReached"}},
		"an emptied node is gone":                     {drained, []string{status + tag + "Normal ScaleDown: Scale-down: node agents-1 removed with drain", "!ScaleDownEmpty"}},
		"a node with pods begins to go":               {underused, []string{status + tag + "Normal ScaleDown: Scale-down: removing node agents-1, utilization: {", "pods to reschedule: small"}},
		"the ranking cannot be read":                  {ranked("first: [agents]"), []string{ranking + " (ranking-uid) Warning PriorityConfigMapInvalid: no group is ranked: the ConfigMap cluster-autoscaler-priority-expander has the rank"}},
		"no priority matches any group":               {ranked("10: [gpu]"), []string{ranking + " (ranking-uid) Warning PriorityConfigMapNoGroupMatched: no priority matches a group that could grow: group ", "!PriorityConfigMapInvalid"}},
		"a priority matches one of them":              {ranked("10: [spare]"), []string{"Warning PriorityConfigMapNotMatchedGroup: node group agents", "!NoGroupMatched", "!PriorityConfigMapInvalid"}},
		"a node goes that was given back":             {handedOver(), []string{"Node agents-0 (node-agents-0) Normal ClusterAutoscalerCleanup: removed sluice.dev/removing taint from node agents-0", "!ScaleDownAbandoned"}},
		"cluster-autoscaler left a node half removed": {leftHalfWay(), []string{"Node agents-0 (node-agents-0) Normal ClusterAutoscalerCleanup: removed ToBeDeletedByClusterAutoscaler taint from node agents-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(statusMap())
			if err := (&Events{Client: client}).Report(context.Background(), c.world.decide(accepted())); err != nil {
				t.Fatal(err)
			}
			got := said(t, client)
			for _, want := range c.says {
				if unwanted, not := strings.CutPrefix(want, "!"); not {
					if strings.Contains(got, unwanted) {
						t.Errorf("%s is said:\n%s", unwanted, got)
					}
				} else if !strings.Contains(got, want) {
					t.Errorf("%s is not said, but\n%s", want, got)
				}
			}
		})
	}
}

// handedOver is a world with a node on its way out whose group is managed no more for long enough.
func handedOver() *world {
	w := newWorld()
	w.policy.Installation = "kube-system/cluster-autoscaler"
	g := w.group("agents", 0, 3, 1)
	w.cordon("agents-0", "idle", time.Hour)
	w.node("agents-0").Annotations = map[string]string{cluster.OwnerAnnotation: w.policy.Installation, cluster.MachineAnnotation: g.Instances[0].Machine().String()}
	w.groups = nil
	w.group("other", 0, 3, 1)
	w.kept.HandedOver = map[string]time.Time{"agents-0": noon.Add(-time.Hour)}
	return w
}

// leftHalfWay is a world with a node that cluster-autoscaler began to remove before sluice led.
func leftHalfWay() *world {
	w := newWorld()
	w.group("agents", 0, 3, 1)
	n := w.node("agents-0")
	n.Spec.Unschedulable = true
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: cluster.IncumbentTaint, Value: fmt.Sprint(noon.Add(-time.Hour).Unix()), Effect: corev1.TaintEffectNoSchedule})
	return w
}

func TestEventsComeFromWhomTheOperatorNames(t *testing.T) {
	client := fake.NewClientset(statusMap())
	w := newWorld()
	w.pod("huge-0", "64", "")
	if err := (&Events{Client: client, Component: "cluster-autoscaler"}).Report(context.Background(), w.decide(accepted())); err != nil {
		t.Fatal(err)
	}
	list, _ := client.CoreV1().Events("default").List(context.Background(), metav1.ListOptions{})
	if len(list.Items) != 1 || list.Items[0].Source.Component != "cluster-autoscaler" || list.Items[0].ReportingController != "cluster-autoscaler" {
		t.Errorf("events %+v, want one of cluster-autoscaler", list.Items)
	}
}

// TestTheSameIsSaidInEachCycleWhereThatIsAskedFor holds --record-duplicated-events.
func TestTheSameIsSaidInEachCycleWhereThatIsAskedFor(t *testing.T) {
	client := fake.NewClientset(statusMap())
	events := &Events{Client: client, Repeat: true}
	w := newWorld()
	w.pod("huge-0", "64", "")
	for cycle := range 3 {
		w.at = noon.Add(time.Duration(cycle) * 10 * time.Second)
		if err := events.Report(context.Background(), w.decide(accepted())); err != nil {
			t.Fatal(err)
		}
		if got := creates(client); got != cycle+1 {
			t.Errorf("%d events after cycle %d, want %d", got, cycle, cycle+1)
		}
	}
}
