package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/cluster/clustertest"
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
	sluice(t.Context(), "resume", "agents", config).expect(t, exitNothing, "group agents has no pause of its own now", "every group is paused until 2099-02-01T18:00:00Z")
	sluice(t.Context(), "resume", config).expect(t, exitNothing, "all pauses are ended")

	sluice(t.Context(), "hold", node, "--until=2099-01-31T18:00:00Z", config).expect(t, exitNothing, "is held until 2099-01-31T18:00:00Z")
	sluice(t.Context(), f.args("explain", "node", node)...).expect(t, exitNothing, "NodeHeld", "held until 2099-01-31T18:00:00Z")
	sluice(t.Context(), "drain", node, config).expect(t, exitNothing, "it is not drained as long as it is held until 2099-01-31T18:00:00Z; to end that: sluice release "+node)
	sluice(t.Context(), f.args("explain", "node", node)...).expect(t, exitNothing, "NodeHeld", "NodeAskedFor")
	sluice(t.Context(), "undrain", node, config).expect(t, exitNothing, "is not asked to drain node "+node)
	sluice(t.Context(), "release", node, config).expect(t, exitNothing, "is not held")
	sluice(t.Context(), "drain", node, config).expect(t, exitNothing, "is asked to drain node "+node)
	sluice(t.Context(), f.args("explain", "node", node)...).expect(t, exitNothing, "NodeAskedFor")
	sluice(t.Context(), "undrain", node, config).expect(t, exitNothing, "is not asked to drain node "+node)
	if n, _ := kubesim.Find[*corev1.Node](f.cluster, "", node); n.Annotations[cluster.HoldAnnotation] != "" {
		t.Errorf("it is held until %s", n.Annotations[cluster.HoldAnnotation])
	}
}

// status is a status ConfigMap that sluice wrote so long ago; outside is what it says of nodes in no group.
func (f *farm) status(ago time.Duration, outside string) {
	f.t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler-status"}, Data: map[string]string{
		"status": "time: " + time.Now().Add(-ago).UTC().Format("2006-01-02 15:04:05.999999999 -0700 MST") + "\nautoscalerStatus: Running\nnodeGroups:\n- name: agents\n- name: render\n",
	}}
	if outside != "" {
		m.Data[cluster.OutsideKey] = outside
	}
	if was, there := kubesim.Find[*corev1.ConfigMap](f.cluster, m.Namespace, m.Name); there {
		must(f.t, f.cluster.Delete(was, nil))
	}
	_, err := f.cluster.Create(m)
	must(f.t, err)
}

// TestAPauseOfAGroupThatThereIsNotIsRefused has the status ConfigMap say which groups there are.
func TestAPauseOfAGroupThatThereIsNotIsRefused(t *testing.T) {
	f := newFarm(t)
	config := "--kubeconfig=" + kubeconfig(t, f.serve(fromProtobuf(f.cluster)))
	paused := func() string {
		n, _ := kubesim.Find[*corev1.Namespace](f.cluster, "", cluster.PauseNamespace)
		return n.Annotations[cluster.PauseAnnotation]
	}
	sluice(t.Context(), "pause", "agnets", "--for=2h", config).expect(t, exitNothing, "group agnets is paused until", "from now", "whether sluice manages a group agnets cannot be told", "not found")
	sluice(t.Context(), "resume", "agnets", config).expect(t, exitNothing, "group agnets is not paused now")
	f.status(time.Minute, "[]")
	sluice(t.Context(), "pause", "agnets", "--for=2h", config).complains(t, "sluice manages no group agnets, so nothing is paused: it has agents, render")
	if got := paused(); got != "" {
		t.Errorf("what was refused is written: %s", got)
	}
	if out := sluice(t.Context(), "pause", "render", "--for=2h", config); out.code != exitNothing || strings.Contains(out.out, "told") {
		t.Errorf("a group that there is: %d %s", out.code, out.out)
	}
	sluice(t.Context(), "pause", "--for=2h", config).expect(t, exitNothing, "every group is paused")
	sluice(t.Context(), "resume", "agnets", config).expect(t, exitNothing)
	f.status(time.Hour, "[]")
	sluice(t.Context(), "pause", "agnets", "--for=2h", config).expect(t, exitNothing, "group agnets is paused until", "cannot be told", "was written 1h0m0s ago (limit 5m0s): no sluice keeps it now")
}

// TestPeopleAcknowledgeLosses has a person say that lost nodes are known: of a group, of all, of one that there is not, and where nothing is lost.
func TestPeopleAcknowledgeLosses(t *testing.T) {
	f := newFarm(t)
	config := "--kubeconfig=" + kubeconfig(t, f.serve(fromProtobuf(f.cluster)))
	known := func() cluster.Acknowledged {
		n, _ := kubesim.Find[*corev1.Namespace](f.cluster, "", cluster.PauseNamespace)
		return cluster.ReadAcknowledged(n.Annotations[cluster.AcknowledgeAnnotation])
	}
	sluice(t.Context(), "acknowledge", "agnets", config).expect(t, exitNothing, "whether sluice manages a group agnets cannot be told", "lost nodes of group agnets are acknowledged: their machines go one by one")
	f.status(time.Minute, "[]")
	before := known()
	sluice(t.Context(), "acknowledge", "agent", config).complains(t, "sluice manages no group agent, so nothing is acknowledged: it has agents, render")
	if got := known(); len(got) != len(before) {
		t.Errorf("what was refused is written: %v", got)
	}
	if out := sluice(t.Context(), "acknowledge", "agents", config); out.code != exitNothing || out.out != "lost nodes of group agents are acknowledged: their machines go one by one, within the budget of removals\n" {
		t.Errorf("a group that there is: %d %s", out.code, out.out)
	}
	once := known().Of("agents")
	sluice(t.Context(), "acknowledge", config).expect(t, exitNothing, "lost nodes of every group are acknowledged")
	if got := known(); len(got) != 1 || !got[cluster.AllGroups].After(once) {
		t.Errorf("acknowledged of all groups: %v, want one time after %s", got, once)
	}
	f.whole("agents")
	sluice(t.Context(), "acknowledge", "agents", config).expect(t, exitNothing, "group agents has nothing to acknowledge by the last status")
	sluice(t.Context(), "acknowledge", "render", config).expect(t, exitNothing, "lost nodes of group render are acknowledged")
	sluice(t.Context(), "acknowledge", config).expect(t, exitNothing, "lost nodes of every group are acknowledged")
	f.whole("agents", "render")
	sluice(t.Context(), "acknowledge", config).expect(t, exitNothing, "every group has nothing to acknowledge")
	sluice(t.Context(), "acknowledge", "a", "b", config).complains(t, "wants at most one node group")
	sluice(t.Context(), "acknowledge", "", config).complains(t, "the group's name is empty")
}

// whole is a status ConfigMap of sluice's own words, by which each machine of these groups is a Ready node; agents and render have two each.
func (f *farm) whole(groups ...string) {
	f.t.Helper()
	f.status(time.Minute, "[]")
	m, _ := kubesim.Find[*corev1.ConfigMap](f.cluster, "kube-system", "cluster-autoscaler-status")
	m = m.DeepCopy()
	text, _, _ := strings.Cut(m.Data["status"], "nodeGroups:")
	text += "nodeGroups:\n"
	for _, g := range []string{"agents", "render"} {
		ready := 1
		if slices.Contains(groups, g) {
			ready = 2
		}
		text += fmt.Sprintf("- name: %s\n  health:\n    cloudProviderTarget: 2\n    nodeCounts:\n      longUnregistered: 0\n      registered:\n        ready: %d\n        total: 2\n      unregistered: 0\n", g, ready)
	}
	must(f.t, kubesim.Edit(f.cluster, "kube-system", m.Name, func(m *corev1.ConfigMap) { m.Data["status"] = text }))
}

// TestADrainOfANodeOfNoGroupIsRefused has the status ConfigMap say which nodes are in none.
func TestADrainOfANodeOfNoGroupIsRefused(t *testing.T) {
	f := newFarm(t)
	config := "--kubeconfig=" + kubeconfig(t, f.serve(fromProtobuf(f.cluster)))
	node := kubesim.All[*corev1.Node](f.cluster, "")[0].Name
	asked := func() string {
		n, _ := kubesim.Find[*corev1.Node](f.cluster, "", node)
		return n.Annotations[cluster.DrainAnnotation]
	}
	f.status(time.Minute, `["server-0","`+node+`"]`)
	sluice(t.Context(), "drain", node, config).complains(t, "node "+node+" is in no node group of sluice", "agents, render", "kubectl drain")
	if got := asked(); got != "" {
		t.Errorf("what was refused is written: %s", got)
	}
	f.status(time.Minute, `["server-0"]`)
	if out := sluice(t.Context(), "drain", node, config); out.code != exitNothing || strings.Contains(out.out, "cannot be told") || asked() == "" {
		t.Errorf("a node of a group: %d %s", out.code, out.out)
	}
	for what, said := range map[string]func(){
		"it is not told":  func() { f.status(time.Minute, "") },
		"it is told late": func() { f.status(time.Hour, `["`+node+`"]`) },
	} {
		said()
		if out := sluice(t.Context(), "drain", node, config); out.code != exitNothing || !strings.Contains(out.out, "whether the node is in a node group of sluice cannot be told") {
			t.Errorf("%s: %d %s", what, out.code, out.out)
		}
	}
	sluice(t.Context(), "undrain", node, config).expect(t, exitNothing, "is not asked to drain node "+node)
}

func TestAPauseSaysWhenItEnds(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"pause", "agents"}, "say until when: --for=2h or --until="},
		{[]string{"hold", "node"}, "say until when: --for=2h or --until="},
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

// TestADrainSaysWhatKeepsTheNode looks at nodes as they are after somebody has asked for them to be drained, or has not.
func TestADrainSaysWhatKeepsTheNode(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	drain := map[string]string{cluster.DrainAnnotation: "2026-01-01T12:00:00Z"}
	with := func(key, value string) map[string]string {
		return map[string]string{cluster.DrainAnnotation: drain[cluster.DrainAnnotation], key: value}
	}
	for name, c := range map[string]struct {
		annotations map[string]string
		cordoned    bool
		own         bool // by sluice
		want        string
	}{
		"nothing does":                {annotations: drain},
		"nobody asked":                {cordoned: true},
		"somebody has cordoned it":    {annotations: drain, cordoned: true, want: "cordoned by somebody else; to end that: kubectl uncordon a"},
		"sluice has cordoned it":      {annotations: drain, cordoned: true, own: true},
		"it is annotated to stay":     {annotations: with(cluster.KeepAnnotation, "true"), want: "annotated to stay; to end that: kubectl annotate node a cluster-autoscaler.kubernetes.io/scale-down-disabled-"},
		"somebody holds it":           {annotations: with(cluster.HoldAnnotation, "2026-01-01T13:00:00Z"), want: "held until 2026-01-01T13:00:00Z; to end that: sluice release a"},
		"somebody held it until then": {annotations: with(cluster.HoldAnnotation, "2026-01-01T12:00:00Z")},
	} {
		t.Run(name, func(t *testing.T) {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: c.annotations}, Spec: corev1.NodeSpec{Unschedulable: c.cordoned}}
			if c.own {
				clustertest.Removing(now, cluster.Machine{Group: "g", ID: "0", UID: "vm-0"})(n)
			}
			got := strings.Join(contradictions(n, now), "\n")
			if want := c.want; want != "" && got != "it is not drained as long as it is "+want || want == "" && got != "" {
				t.Errorf("it says %q, want %q", got, want)
			}
		})
	}
}
