package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

// TestPeoplePauseAndHold gives sluice's verbs a cluster, and has explain tell what was asked for.
func TestPeoplePauseAndHold(t *testing.T) {
	f := newFarm(t)
	config := "--kubeconfig=" + kubeconfig(t, f.serve(fromProtobuf(f.cluster)))
	node := kubesim.All[*corev1.Node](f.cluster, "")[0].Name

	sluice(t.Context(), "pause", "agents", "--until=2099-01-31T18:00:00Z", config).expect(t, exitNothing, "group agents is paused until 2099-01-31T18:00:00Z")
	sluice(t.Context(), "pause", "--until=2099-02-01T18:00:00Z", config).expect(t, exitNothing, "every group is paused until 2099-02-01T18:00:00Z", "group agents is paused until 2099-01-31T18:00:00Z")
	sluice(t.Context(), f.args("explain", "group", "agents")...).expect(t, exitNothing, "GroupPaused", "paused until 2099-02-01T18:00:00Z")
	sluice(t.Context(), "resume", "agents", config).expect(t, exitNothing, "every group is paused until 2099-02-01T18:00:00Z")
	sluice(t.Context(), "resume", config).expect(t, exitNothing, "nothing is paused")

	sluice(t.Context(), "hold", node, "--until=2099-01-31T18:00:00Z", config).expect(t, exitNothing, "is held until 2099-01-31T18:00:00Z")
	sluice(t.Context(), f.args("explain", "node", node)...).expect(t, exitNothing, "NodeHeld", "held until 2099-01-31T18:00:00Z")
	sluice(t.Context(), "release", node, config).expect(t, exitNothing, "is not held")
	sluice(t.Context(), "drain", node, config).expect(t, exitNothing, "is asked to drain node "+node)
	sluice(t.Context(), f.args("explain", "node", node)...).expect(t, exitNothing, "NodeAskedFor")
	sluice(t.Context(), "undrain", node, config).expect(t, exitNothing, "is not asked to drain node "+node)
	if n, _ := kubesim.Find[*corev1.Node](f.cluster, "", node); n.Annotations[cluster.HoldAnnotation] != "" {
		t.Errorf("it is held until %s", n.Annotations[cluster.HoldAnnotation])
	}
}

// TestAPauseOfAGroupThatThereIsNotIsTold has the status ConfigMap say which groups there are.
func TestAPauseOfAGroupThatThereIsNotIsTold(t *testing.T) {
	f := newFarm(t)
	config := "--kubeconfig=" + kubeconfig(t, f.serve(fromProtobuf(f.cluster)))
	sluice(t.Context(), "pause", "agnets", "--for=2h", config).expect(t, exitNothing, "group agnets is paused until", "from now")
	_, err := f.cluster.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler-status"}, Data: map[string]string{
		"status": "autoscalerStatus: Running\nnodeGroups:\n- name: agents\n- name: render\n",
	}})
	must(t, err)
	sluice(t.Context(), "pause", "agnets", "--for=2h", config).expect(t, exitNothing, "sluice manages no group agnets: it has agents, render", "sluice resume agnets")
	sluice(t.Context(), "resume", "agnets", config).expect(t, exitNothing, "nothing is paused")
	if out := sluice(t.Context(), "pause", "render", "--for=2h", config); strings.Contains(out.out, "manages no group") {
		t.Errorf("a group that there is is told to be none: %s", out.out)
	}
}

func TestAPauseSaysWhenItEnds(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"pause", "agents"}, "give a duration above zero"},
		{[]string{"pause", "agents", "--for=-1h"}, "give a duration above zero"},
		{[]string{"pause", "agents", "--until=tomorrow"}, "give a time to come"},
		{[]string{"pause", "agents", "--until=2020-01-01T00:00:00Z"}, "give a time to come"},
		{[]string{"hold", "node", "--for=1h", "--until=2099-01-01T00:00:00Z"}, "give one of them"},
		{[]string{"hold"}, "wants a node"},
		{[]string{"pause", "a", "b", "--for=1h"}, "wants at most one node group"},
	} {
		sluice(t.Context(), c.args...).complains(t, c.want)
	}
}
