package policy_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

func selecting(t *testing.T, text string) []cluster.PodSelector {
	t.Helper()
	s, err := cluster.ParsePodSelector(text)
	if err != nil {
		t.Fatal(err)
	}
	return []cluster.PodSelector{s}
}

// TestADaemonsPodKeepsItsNodeWhenItIsWork has pods of DaemonSets that are work, and such that are none: these belong to their nodes.
func TestADaemonsPodKeepsItsNodeWhenItIsWork(t *testing.T) {
	const safe, disrupt = "cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/do-not-disrupt"
	workers, hour := selecting(t, "default/app in (worker)"), policy.Patience(time.Hour)
	worker, cordoned := Labelled("app", "worker"), policy.Where{Cordoned: Start.Add(-time.Hour), Dry: Start.Add(-time.Hour)}
	phase := func(phase corev1.PodPhase) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Phase = phase }
	}
	started := func(p *corev1.Pod) { p.Status.StartTime = new(metav1.NewTime(Start.Add(-time.Hour))) }
	later := func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(Start.Add(-time.Minute)) }
	earlier := func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(Start.Add(-2 * time.Hour)) }
	mirrored := Annotated(corev1.MirrorPodAnnotationKey, "x")
	for name, c := range map[string]struct {
		changes []func(*corev1.Pod)
		flag    []cluster.PodSelector
		rules   []policy.WorkRule
		at      policy.Where
		why     reason.Code // for which it keeps its node, "" when it does not
		free    bool        // it is work, and may be evicted
		lasts   bool
	}{
		"a daemon's pod":                                     {},
		"marked not safe to evict":                           {changes: []func(*corev1.Pod){Annotated(safe, "false")}, why: reason.PodNotSafeToEvict, lasts: true},
		"marked to be left to its end":                       {changes: []func(*corev1.Pod){Annotated(safe, "on-completion")}, why: reason.PodNotSafeToEvict, lasts: true},
		"marked not to be disrupted":                         {changes: []func(*corev1.Pod){Annotated(disrupt, "true")}, why: reason.PodDoNotDisrupt, lasts: true},
		"marked not to be disrupted for a time":              {changes: []func(*corev1.Pod){Annotated(disrupt, "61m"), started}, why: reason.PodDoNotDisrupt, lasts: true},
		"marked not to be disrupted for a time that is over": {changes: []func(*corev1.Pod){Annotated(disrupt, "1h"), started}},
		"marked without sense":                               {changes: []func(*corev1.Pod){Annotated(disrupt, "yes"), Annotated(safe, "no")}},
		"chosen by the flag":                                 {changes: []func(*corev1.Pod){worker}, flag: workers, why: reason.PodOfDaemon, lasts: true},
		"not chosen by it":                                   {changes: []func(*corev1.Pod){Labelled("app", "logs")}, flag: workers},
		"of another namespace":                               {changes: []func(*corev1.Pod){worker, func(p *corev1.Pod) { p.Namespace = "other" }}, flag: workers},
		"chosen by its group":                                {changes: []func(*corev1.Pod){worker}, at: policy.Where{DaemonWork: workers}, why: reason.PodOfDaemon, lasts: true},
		"chosen, and marked to be evicted":                   {changes: []func(*corev1.Pod){worker, Annotated(safe, "true")}, flag: workers},
		"marked both ways":                                   {changes: []func(*corev1.Pod){Annotated(disrupt, "true"), Annotated(safe, "true")}, why: reason.PodDoNotDisrupt, lasts: true},
		"chosen, and done":                                   {changes: []func(*corev1.Pod){worker, phase(corev1.PodSucceeded)}, flag: workers},
		"marked, and failed":                                 {changes: []func(*corev1.Pod){Annotated(safe, "false"), phase(corev1.PodFailed)}},
		"a static pod that is marked":                        {changes: []func(*corev1.Pod){mirrored, Annotated(safe, "false"), worker}, flag: workers},
		"chosen, and its namespace says never":               {changes: []func(*corev1.Pod){worker}, flag: workers, rules: []policy.WorkRule{{Namespace: "default", Patience: policy.Endless}}, why: reason.PodOfDaemon, lasts: true},
		"chosen, and its namespace says now":                 {changes: []func(*corev1.Pod){worker}, flag: workers, rules: []policy.WorkRule{{Namespace: "default"}}, free: true},
		"chosen, and its namespace says after an hour":       {changes: []func(*corev1.Pod){worker}, flag: workers, rules: []policy.WorkRule{{Namespace: "default", Patience: hour}}, why: reason.PodOfDaemon},
		"after an hour in which its node ran dry":            {changes: []func(*corev1.Pod){worker, earlier}, flag: workers, rules: []policy.WorkRule{{Namespace: "default", Patience: hour}}, at: cordoned, free: true},
		"made in the place of one that was evicted":          {changes: []func(*corev1.Pod){worker, later}, flag: workers, rules: []policy.WorkRule{{Namespace: "default", Patience: hour}}, at: cordoned},
		"made since the cordon, and nobody lets it go":       {changes: []func(*corev1.Pod){worker, later}, flag: workers, at: cordoned, why: reason.PodOfDaemon, lasts: true},
		"marked, and its namespace says now":                 {changes: []func(*corev1.Pod){Annotated(safe, "false")}, rules: []policy.WorkRule{{Namespace: "default"}}, why: reason.PodNotSafeToEvict, lasts: true},
	} {
		t.Run(name, func(t *testing.T) {
			allowed := policy.Default()
			allowed.Removal.Work.Daemons, allowed.Removal.Work.Evict = c.flag, c.rules
			pod := Pod("p", append([]func(*corev1.Pod){OwnedBy("DaemonSet", "d")}, c.changes...)...)
			why, keeps := allowed.Keeps(pod, c.at, Start)
			if keeps != (c.why != "") || why.Code != c.why {
				t.Errorf("kept %v for %q, want %q", keeps, why.Code, c.why)
			}
			works := c.why != "" || c.free
			if got := allowed.Belongs(pod, c.at, Start); got != !works {
				t.Errorf("belongs to its node: %v, want %v", got, !works)
			}
			if works && allowed.Lasts(pod, c.at, Start) != c.lasts {
				t.Errorf("lasts: %v, want %v", !c.lasts, c.lasts)
			}
			if keeps && !policy.Work(why.Code) {
				t.Errorf("%s is no work", why.Code)
			}
		})
	}
}
