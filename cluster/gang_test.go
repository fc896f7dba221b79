package cluster_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
)

func TestGangIsToldInFourWays(t *testing.T) {
	group := func(name string, p schedulingv1beta1.PodGroupSchedulingPolicy) *schedulingv1beta1.PodGroup {
		return &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: p}}
	}
	objects := cluster.Objects{
		PodGroups: []*schedulingv1beta1.PodGroup{
			group("render", schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 64}}),
			group("single", schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 1}}),
			group("web", schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}}),
		},
		CoschedulingGroups: []*cluster.CoschedulingGroup{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train"}, Spec: cluster.CoschedulingGroupSpec{MinMember: 8}}},
	}
	in := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name} }
	}
	type ways = []func(*corev1.Pod)
	cases := map[string]struct {
		pod  ways
		want cluster.Gang // zero: none
	}{
		"nothing said":                          {nil, cluster.Gang{}},
		"a PodGroup with the policy gang":       {ways{in("render")}, cluster.Gang{ID: "podgroup default/render", Name: "default/render", Least: 64}},
		"a PodGroup of one":                     {ways{in("single")}, cluster.Gang{}},
		"a PodGroup with the policy basic":      {ways{in("web")}, cluster.Gang{}},
		"a PodGroup that is not there":          {ways{in("soon")}, cluster.Gang{ID: "podgroup default/soon", Name: "default/soon", Unclear: "there is no PodGroup default/soon; create it"}},
		"a PodGroup stands above an annotation": {ways{in("web"), OwnedBy("Job", "j"), Annotated(cluster.GangAnnotation, "9")}, cluster.Gang{}},
		"the label of the plugin":               {ways{Labelled("scheduling.x-k8s.io/pod-group", "train")}, cluster.Gang{ID: "coscheduling default/train", Name: "default/train", Least: 8}},
		"the older label of the plugin":         {ways{Labelled("pod-group.scheduling.sigs.k8s.io", "train")}, cluster.Gang{ID: "coscheduling default/train", Name: "default/train", Least: 8}},
		"the plugin's label without a number":   {ways{Labelled("scheduling.x-k8s.io/pod-group", "other")}, cluster.Gang{}},
		"the plugin's label, an annotation":     {ways{Labelled("scheduling.x-k8s.io/pod-group", "other"), Annotated(cluster.GangAnnotation, "4")}, cluster.Gang{ID: "coscheduling default/other", Name: "default/other", Least: 4}},
		"two labels of the plugin": {
			ways{Labelled("pod-group.scheduling.sigs.k8s.io/name", "light"), Labelled("pod-group.scheduling.sigs.k8s.io/min-available", "3")},
			cluster.Gang{ID: "coscheduling default/light", Name: "default/light", Least: 3},
		},
		"a Job with an annotation":  {ways{OwnedBy("Job", "j"), Annotated(cluster.GangAnnotation, "64")}, cluster.Gang{ID: "controller default/Job-j", Name: "default/j", Least: 64, FinishedCount: true}},
		"an annotation of one pod":  {ways{OwnedBy("Job", "j"), Annotated(cluster.GangAnnotation, "1")}, cluster.Gang{}},
		"an annotation on bare pod": {ways{Annotated(cluster.GangAnnotation, "64")}, cluster.Gang{}},
		"an annotation with a word": {
			ways{OwnedBy("Job", "j"), Annotated(cluster.GangAnnotation, "all")},
			cluster.Gang{ID: "controller default/Job-j", Name: "default/j", FinishedCount: true, Unclear: `annotation sluice.dev/gang is "all"; give a number of pods, such as 64`},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pod := Pod("p", append(ways{func(p *corev1.Pod) { p.OwnerReferences = nil }}, c.pod...)...)
			got, is := objects.GangOf(pod.Class)
			if is != (c.want.ID != "") {
				t.Errorf("a gang: %t, want %t", is, c.want.ID != "")
			}
			if is {
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("gang (-want +got):\n%s", diff)
				}
			}
		})
	}
}
