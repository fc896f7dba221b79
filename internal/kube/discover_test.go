package kube

import (
	"bytes"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

// optionalObjects is one object of each optional kind.
func optionalObjects() []kubesim.Object {
	meta := metav1.ObjectMeta{Namespace: "default", Name: "o"}
	return []kubesim.Object{
		&schedulingv1beta1.PodGroup{ObjectMeta: meta, Spec: schedulingv1beta1.PodGroupSpec{
			SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 3}}}},
		&kubesim.CoschedulingGroup{ObjectMeta: meta, Spec: map[string]any{"minMember": int64(4)}},
		&kubesim.CapacityBuffer{ObjectMeta: meta, Spec: map[string]any{"replicas": int64(2), "podTemplateRef": map[string]any{"name": "o"}, "limits": map[string]any{"cpu": "20"}}},
		&kubesim.ProvisioningRequest{ObjectMeta: meta, Spec: provisioningRequest().Spec},
		&corev1.PodTemplate{ObjectMeta: meta},
		&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "o"}},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "o"}, Provisioner: "disk.csi.azure.com"},
	}
}

var optionalAPIs = []kubesim.API{kubesim.Gangs, kubesim.Coscheduling, kubesim.CapacityBuffers, kubesim.ProvisioningRequests}

func TestOptionalKindsAreFollowedWhereTheyAreServed(t *testing.T) {
	c := &kubesim.Cluster{}
	for _, api := range optionalAPIs {
		c.Install(api)
	}
	create(t, c, optionalObjects()...)
	observe(t, c, func(t *testing.T, o *Observer) {
		all := objects(t, o)
		if len(all.PodGroups) != 1 || all.PodGroups[0].Spec.SchedulingPolicy.Gang.MinCount != 3 || len(all.CoschedulingGroups) != 1 || all.CoschedulingGroups[0].Spec.MinMember != 4 ||
			len(all.CapacityBuffers) != 1 || *all.CapacityBuffers[0].Spec.Replicas != 2 || all.CapacityBuffers[0].Spec.Limits["cpu"] != "20" ||
			len(all.ProvisioningRequests) != 1 || all.ProvisioningRequests[0].Spec.PodSets[0].Count != 3 || len(all.PodTemplates) != 1 || len(all.DeviceClasses) != 1 || len(all.StorageClasses) != 1 {
			t.Errorf("%+v", all)
		}
		once, err := List(t.Context(), clientOf(t, c), Besides{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(once, all); diff != "" {
			t.Error("observed otherwise than listed (-listed +observed)\n" + diff)
		}
		edit(t, c, "default", "o", func(g *kubesim.CoschedulingGroup) { g.Spec["minMember"] = int64(5) })
		if all = objects(t, o); all.CoschedulingGroups[0].Spec.MinMember != 5 {
			t.Errorf("a change was not heard: %+v", all.CoschedulingGroups[0])
		}
		if seen, newest := o.Seen(string(kubesim.Coscheduling)), c.ResourceVersion(string(kubesim.Coscheduling)); seen != newest {
			t.Errorf("seen %d, newest %d", seen, newest)
		}
	})
}

func TestAbsentKindsAreNormal(t *testing.T) {
	c := &kubesim.Cluster{}
	observe(t, c, func(t *testing.T, o *Observer) {
		all := objects(t, o)
		if all.PodGroups != nil || all.CapacityBuffers != nil || all.PodTemplates != nil {
			t.Errorf("%+v", all)
		}
		if _, err := List(t.Context(), clientOf(t, c), Besides{}); err != nil {
			t.Errorf("list: %v", err)
		}
	})
}

func TestKindsComeAndGoWithTheirAPI(t *testing.T) {
	c := &kubesim.Cluster{}
	observe(t, c, func(t *testing.T, o *Observer) {
		c.Install(kubesim.CapacityBuffers)
		create(t, c, &kubesim.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}})
		time.Sleep(rediscovery + time.Second) // of the bubble's clock
		if n := len(objects(t, o).CapacityBuffers); n != 1 {
			t.Errorf("%d buffers after their API came", n)
		}
		c.Uninstall(kubesim.CapacityBuffers)
		time.Sleep(rediscovery + time.Second)
		if all := objects(t, o).CapacityBuffers; all != nil {
			t.Errorf("%d buffers after their API went", len(all))
		}
		if silent := o.Silent(time.Now()); silent > time.Minute {
			t.Errorf("silent for %s because of an API that is gone", silent)
		}
		c.Install(kubesim.CapacityBuffers)
		time.Sleep(rediscovery + time.Second)
		if all := objects(t, o).CapacityBuffers; len(all) != 0 || all == nil && len(o.optional.running()) == 0 {
			t.Errorf("%d buffers in an API that came anew", len(all))
		}
	})
}

// TestOptionalKindsThatAreDeniedAreDoneWithout begins without them, says which rights are missing, and follows them once they are granted.
func TestOptionalKindsThatAreDeniedAreDoneWithout(t *testing.T) {
	c := &kubesim.Cluster{}
	c.Install(kubesim.ProvisioningRequests)
	create(t, c, &kubesim.ProvisioningRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "r"}})
	grant := c.Inject(kubesim.Fault{Resource: "provisioningrequests", Code: 403, Reason: metav1.StatusReasonForbidden})
	var said bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		o := NewObserver(clientOf(t, c), Options{Log: slog.New(slog.NewTextHandler(&said, nil))})
		if err := o.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute) // of the bubble's clock
		want := cluster.Lacks{{Verb: "list", Resource: "provisioningrequests", Group: "autoscaling.x-k8s.io"}, {Verb: "watch", Resource: "provisioningrequests", Group: "autoscaling.x-k8s.io"}}
		if got := o.Denied(); !slices.Equal(got, want) || objects(t, o).ProvisioningRequests != nil || o.Silent(time.Now()) > time.Minute {
			t.Errorf("denied %v, want %v; silent for %s", got, want, o.Silent(time.Now()))
		}
		grant()
		time.Sleep(2*rediscovery + time.Minute)
		if got := o.Denied(); len(got) > 0 || len(objects(t, o).ProvisioningRequests) != 1 {
			t.Errorf("once granted: denied %v, requests %v", got, objects(t, o).ProvisioningRequests)
		}
	})
	if said.Len() > 0 {
		t.Errorf("the log has what is told once elsewhere:\n%s", said.String())
	}
}
