package scheduling

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestANewNodeCarriesTheDaemonsThatMatchIt(t *testing.T) {
	deleted := daemonSet("d")
	deleted.DeletionTimestamp = new(metav1.Unix(0, 0))
	for name, tt := range map[string]struct {
		node *corev1.Node
		ds   *appsv1.DaemonSet
		want []string
	}{
		"a plain one runs everywhere":                             {node("n"), daemonSet("d"), []string{"d-n"}},
		"a node selector must match":                              {node("n"), daemonSet("d", selects("pool", "gpu")), nil},
		"a node selector that matches":                            {node("n", nodeLabel("pool", "gpu")), daemonSet("d", selects("pool", "gpu")), []string{"d-n"}},
		"affinity by another node's name keeps it away":           {node("n"), daemonSet("d", byName("other")), nil},
		"a template that names another node keeps it away":        {node("n"), daemonSet("d", on("other")), nil},
		"an untolerated taint keeps it away":                      {node("n", taint("gpu", "", corev1.TaintEffectNoSchedule)), daemonSet("d"), nil},
		"an untolerated NoExecute taint keeps it away":            {node("n", taint("gpu", "", corev1.TaintEffectNoExecute)), daemonSet("d"), nil},
		"a taint that only asks to avoid does not":                {node("n", taint("gpu", "", corev1.TaintEffectPreferNoSchedule)), daemonSet("d"), []string{"d-n"}},
		"a tolerated taint does not":                              {node("n", taint("gpu", "", corev1.TaintEffectNoSchedule)), daemonSet("d", tolerates("gpu")), []string{"d-n"}},
		"an unschedulable node gets its daemons":                  {node("n", unschedulable, taint(corev1.TaintNodeUnschedulable, "", corev1.TaintEffectNoSchedule)), daemonSet("d"), []string{"d-n"}},
		"a node that is not ready gets its daemons":               {node("n", taint(corev1.TaintNodeNotReady, "", corev1.TaintEffectNoExecute)), daemonSet("d"), []string{"d-n"}},
		"a node without network gets those of the host's":         {node("n", taint(corev1.TaintNodeNetworkUnavailable, "", corev1.TaintEffectNoSchedule)), daemonSet("d", hostNetwork), []string{"d-n"}},
		"a node without network does not get the others":          {node("n", taint(corev1.TaintNodeNetworkUnavailable, "", corev1.TaintEffectNoSchedule)), daemonSet("d"), nil},
		"one that is being deleted makes none":                    {node("n"), deleted, nil},
		"one that asks for more than the node has is not carried": {node("n"), daemonSet("d", requests("cpu", "64")), nil},
		"one that asks for what the node does not have neither":   {node("n"), daemonSet("d", requests("example.com/licence", "1")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := NewChecker(snapshot(tt.ds)).Daemons(tt.node)
			if diff := cmp.Diff(tt.want, names(got)); diff != "" {
				t.Errorf("daemons (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADaemonPodIsKnownAsOne(t *testing.T) {
	c := NewChecker(snapshot(daemonSet("d", app("logs"), requests("cpu", "100m"))))
	p := c.Daemons(node("n"))[0]
	if !p.Daemon() {
		t.Error("its owner is no DaemonSet")
	}
	if got := p.String(); got != "kube-system/d-n" || p.Node != "n" || p.Labels["app"] != "logs" {
		t.Errorf("it is %s on %q with labels %v", got, p.Node, p.Labels)
	}
	if diff := cmp.Diff(p, c.Daemons(node("n"))[0]); diff != "" {
		t.Errorf("asked twice, it differs:\n%s", diff)
	}
}

func hostNetwork(p *corev1.Pod) { p.Spec.HostNetwork = true }
