package plan_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// TestWhyPodsAreStuckIsToldAnewWhenItChanges lets one thing after the other change that pods are told about, and asks one planner and a
// fresh decision each time.
func TestWhyPodsAreStuckIsToldAnewWhenItChanges(t *testing.T) {
	again := func(g *cluster.Group) *cluster.Group { own := *g; return &own }
	other := func(g *cluster.Group, change func(*corev1.Node)) *cluster.Group {
		g = again(g)
		g.Template = g.Template.DeepCopy()
		change(g.Template)
		return g
	}
	objects, groups := stuckWorld(12, 4)
	for _, g := range groups {
		g.Template.Labels[corev1.LabelTopologyZone] = "z"
	}
	objects = append(objects, Pod("near", Labelled("app", "near"), func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "late"}}, TopologyKey: corev1.LabelTopologyZone,
		}}}}
	}))
	objects = append(objects, Node("n", func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = "z" }), Pod("r", CPU("3500m"), On("n")))
	allowed := policy.Default()
	kept := memory.Memory{}
	var daemons []*appsv1.DaemonSet
	at := Start

	steps := []struct {
		name   string
		change func()
	}{
		{"nothing", func() {}},
		{"still nothing", func() {}},
		{"a group's machines have another taint", func() {
			groups[0] = other(groups[0], func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}} })
		}},
		{"and are larger", func() {
			groups[1] = other(groups[1], func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("9") })
		}},
		{"and have the label that is wanted, but may not be added", func() {
			groups[2] = other(groups[2], func(n *corev1.Node) { n.Labels["disk"] = "ssd" })
			own := *allowed
			own.Growth.Max.Nodes = 1
			allowed = &own
		}},
		{"the limit is exceeded", func() {
			objects = append(objects, Node("m", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}} }))
		}},
		{"a group cannot be read", func() {
			groups[3] = again(groups[3])
			groups[3].Problem = "it is locked"
		}},
		{"for another cause", func() {
			groups[3] = again(groups[3])
			groups[3].Problem = "it is gone"
		}},
		{"a group backs off", func() {
			kept.Groups = map[cluster.GroupID]memory.GroupMemory{"g01": {Backoff: memory.Backoff{Until: at.Add(time.Hour), Code: "Quota", Message: "none left"}}}
		}},
		{"a daemon takes its share", func() {
			ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "d", UID: "d"}}
			ds.Spec.Template.Spec = Pod("d", CPU("250m")).Object().Spec
			daemons = append(daemons, ds)
		}},
		{"a pod comes that another one wants to be near to", func() { objects = append(objects, Pod("late", CPU("100m"), Labelled("app", "late"), On("n"))) }},
		{"a group is gone", func() { groups = groups[1:] }},
	}
	var p plan.Planner
	var seen *cluster.Snapshot
	for _, step := range steps {
		step.change()
		at = at.Add(10 * time.Second)
		o := Objects(objects...)
		o.DaemonSets = daemons
		if seen == nil {
			seen = cluster.New(at, o, groups)
		}
		seen = seen.Next(at, o, groups)
		fresh, _ := plan.Decide(seen, allowed, kept)
		got, _ := p.Decide(seen, allowed, kept)
		if diff := cmp.Diff(indented(t, fresh), indented(t, got)); diff != "" {
			t.Errorf("%s: the planner tells something else (-fresh +planner):\n%s", step.name, diff)
		}
	}
}

func indented(t *testing.T, p action.Plan) string {
	t.Helper()
	raw, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
