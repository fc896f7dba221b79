package policy_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

func TestAPodStaysWhoseControllerWouldNotMakeItAgainOrHasTooFew(t *testing.T) {
	of := func(version, kind, uid string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "web", UID: types.UID(uid), Controller: new(true)}}
		}
	}
	web := func(namespace, uid string, replicas int32) []*cluster.Controller {
		return []*cluster.Controller{
			{Namespace: namespace, Name: "a", UID: "a"}, {Namespace: namespace, Name: "web", UID: types.UID(uid), Replicas: &replicas}, {Namespace: namespace, Name: "z", UID: "z"},
		}
	}
	two := func(p *policy.Policy) { p.Removal.Skip.MinReplicas = 2 }
	safe := Annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "true")
	for name, c := range map[string]struct {
		pod    *cluster.Pod
		by     cluster.Controllers
		change func(*policy.Policy)
		want   reason.Code
	}{
		"its ReplicaSet is there":                           {Pod("p", of("apps/v1", "ReplicaSet", "1")), cluster.Controllers{Known: true, ReplicaSets: web("default", "1", 1)}, nil, ""},
		"its ReplicaSet is gone":                            {Pod("p", of("apps/v1", "ReplicaSet", "1")), cluster.Controllers{Known: true}, nil, reason.PodControllerMissing},
		"another one has its name":                          {Pod("p", of("apps/v1", "ReplicaSet", "1")), cluster.Controllers{Known: true, ReplicaSets: web("default", "2", 1)}, nil, reason.PodControllerMissing},
		"one of its name is in another namespace":           {Pod("p", of("apps/v1", "ReplicaSet", "1")), cluster.Controllers{Known: true, ReplicaSets: web("other", "1", 1)}, nil, reason.PodControllerMissing},
		"one of its name is of another kind":                {Pod("p", of("apps/v1", "ReplicaSet", "1")), cluster.Controllers{Known: true, StatefulSets: web("default", "1", 1)}, nil, reason.PodControllerMissing},
		"what it says of itself does not count":             {Pod("p", of("apps/v1", "StatefulSet", "1"), safe), cluster.Controllers{Known: true}, nil, reason.PodControllerMissing},
		"its ReplicationController is gone":                 {Pod("p", of("v1", "ReplicationController", "1")), cluster.Controllers{Known: true}, nil, reason.PodControllerMissing},
		"nobody follows controllers":                        {Pod("p", of("apps/v1", "ReplicaSet", "1")), cluster.Controllers{}, nil, ""},
		"operators let it go":                               {Pod("p", of("apps/v1", "ReplicaSet", "1")), cluster.Controllers{Known: true}, func(p *policy.Policy) { p.Removal.Skip.CustomControllerPods = false }, ""},
		"a Job is gone, which is for other rules":           {Pod("p", of("batch/v1", "Job", "1")), cluster.Controllers{Known: true}, nil, ""},
		"a StatefulSet of somebody else's API":              {Pod("p", of("apps.example.com/v1", "StatefulSet", "1")), cluster.Controllers{Known: true}, nil, ""},
		"a bare pod, which is for other rules":              {Pod("p", OwnedBy("", "")), cluster.Controllers{Known: true}, nil, ""},
		"its ReplicaSet has fewer replicas":                 {Pod("p", of("apps/v1", "ReplicaSet", "1"), safe), cluster.Controllers{Known: true, ReplicaSets: web("default", "1", 1)}, two, reason.PodFewReplicas},
		"its ReplicaSet has just enough":                    {Pod("p", of("apps/v1", "ReplicaSet", "1")), cluster.Controllers{Known: true, ReplicaSets: web("default", "1", 2)}, two, ""},
		"its ReplicationController has fewer":               {Pod("p", of("v1", "ReplicationController", "1")), cluster.Controllers{Known: true, ReplicationControllers: web("default", "1", 1)}, two, reason.PodFewReplicas},
		"a StatefulSet is not held to a number of replicas": {Pod("p", of("apps/v1", "StatefulSet", "1")), cluster.Controllers{Known: true, StatefulSets: web("default", "1", 1)}, two, ""},
		"fewer replicas, and operators let it go": {Pod("p", of("apps/v1", "ReplicaSet", "1")), cluster.Controllers{Known: true, ReplicaSets: web("default", "1", 1)}, func(p *policy.Policy) {
			p.Removal.Skip.MinReplicas, p.Removal.Skip.CustomControllerPods = 2, false
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy.Default()
			if c.change != nil {
				c.change(p)
			}
			why, keeps := p.Uncontrolled(c.pod, c.by)
			if why.Code != c.want || keeps != (c.want != "") {
				t.Errorf("it stays %v for %q, want %q", keeps, why.Code, c.want)
			}
		})
	}
}
