package policy_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/policy"
)

func TestWorkIsEvictedOnlyWhereSomebodySaysSo(t *testing.T) {
	hour := policy.Patience(time.Hour)
	dry := policy.Where{Group: "agents", Dry: Start.Add(-2 * time.Hour)}
	for name, c := range map[string]struct {
		pod   *cluster.Pod
		rules []policy.WorkRule
		at    policy.Where
		keeps bool
	}{
		"a Job's pod keeps its node":                                   {pod: Pod("p", OwnedBy("Job", "j")), keeps: true},
		"its namespace says now":                                       {pod: Pod("p", OwnedBy("Job", "j")), rules: []policy.WorkRule{{Namespace: "default"}}},
		"its group says now":                                           {pod: Pod("p", OwnedBy("Job", "j")), rules: []policy.WorkRule{{Group: "Agents"}}, at: policy.Where{Group: "agents"}},
		"another group says now":                                       {pod: Pod("p", OwnedBy("Job", "j")), rules: []policy.WorkRule{{Group: "b"}}, at: policy.Where{Group: "agents"}, keeps: true},
		"its group says now and its namespace never":                   {pod: Pod("p", OwnedBy("Job", "j")), rules: []policy.WorkRule{{Namespace: "default", Patience: policy.Endless}, {Group: "agents"}}, at: dry, keeps: true},
		"after an hour, and its node does not run dry":                 {pod: Pod("p", OwnedBy("Job", "j")), rules: []policy.WorkRule{{Namespace: "default", Patience: hour}}, keeps: true},
		"after an hour, and its node has run dry for two":              {pod: Pod("p", OwnedBy("Job", "j")), rules: []policy.WorkRule{{Namespace: "default", Patience: hour}}, at: dry},
		"after an hour, and its node has run dry and is being drained": {pod: Pod("p", OwnedBy("Job", "j")), rules: []policy.WorkRule{{Namespace: "default", Patience: hour}}, at: policy.Where{Quiesced: true}},
		"after three hours, and its node has run dry for two":          {pod: Pod("p", OwnedBy("Job", "j")), rules: []policy.WorkRule{{Namespace: "default", Patience: 3 * hour}}, at: dry, keeps: true},
		"it says never itself":                                         {pod: Pod("p", OwnedBy("Job", "j"), Annotated("sluice.dev/evict-work", "never")), rules: []policy.WorkRule{{Namespace: "default"}}, keeps: true},
		"it says now itself":                                           {pod: Pod("p", OwnedBy("Job", "j"), Annotated("sluice.dev/evict-work", "now"))},
		"it saves its work":                                            {pod: Pod("p", OwnedBy("Job", "j"), Annotated("sluice.dev/checkpoint-grace", "5m"))},
		"a bare pod, whatever the namespace says":                      {pod: Pod("p", func(p *corev1.Pod) { p.OwnerReferences = nil }), rules: []policy.WorkRule{{Namespace: "default"}}, keeps: true},
		"a bare pod that says now itself":                              {pod: Pod("p", func(p *corev1.Pod) { p.OwnerReferences = nil }, Annotated("sluice.dev/evict-work", "now"))},
		"a pod that is not to be evicted, whatever the namespace says": {pod: Pod("p", OwnedBy("Job", "j"), Annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false")), rules: []policy.WorkRule{{Namespace: "default"}}, keeps: true},
	} {
		allowed := policy.Default()
		allowed.Removal.Work.Evict = c.rules
		if why, keeps := allowed.Keeps(c.pod, c.at, Start); keeps != c.keeps {
			t.Errorf("%s: kept %v (%s), want %v", name, keeps, why, c.keeps)
		}
	}
	if got := policy.Default().Removal.Grace(Pod("p", Annotated("sluice.dev/checkpoint-grace", "1h"))); got != time.Hour {
		t.Errorf("a pod that saves its work within an hour gets %s", got)
	}
}

func TestWorkRulesSayWhatTheyMean(t *testing.T) {
	for text, want := range map[string]string{
		"namespace/render=2h": "namespace/render=2h0m0s", "agents = now": "agents=now", "agents=never": "agents=never",
	} {
		if r, err := policy.ParseWorkRule(text); err != nil || r.String() != want {
			t.Errorf("%s: %s (%v), want %s", text, r, err, want)
		}
	}
	for _, text := range []string{"", "now", "=now", "namespace/=now", "agents=", "agents=soon", "agents=-1h"} {
		if r, err := policy.ParseWorkRule(text); err == nil {
			t.Errorf("%s: %s, want an error", text, r)
		}
	}
}
