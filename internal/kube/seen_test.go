package kube

import (
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/internal/kubesim"
)

// seen reads an object as it was seen of K3s.
func seen[T any](t *testing.T, name string) *T {
	t.Helper()
	text, err := os.ReadFile("../k3sim/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	o := new(T)
	if err := yaml.UnmarshalStrict(text, o); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestWhatWasSeenOfK3sIsMatchedByItsUniqueID has a node whose provider id tells nothing, of a machine that runs, that is parked, and that has another
// one's name.
func TestWhatWasSeenOfK3sIsMatchedByItsUniqueID(t *testing.T) {
	if len(seen[corev1.EventList](t, "events.yaml").Items) == 0 {
		t.Error("there are no events")
	}
	node := seen[corev1.Node](t, "node.yaml")
	if _, err := Trim(node); err != nil {
		t.Fatal(err)
	}
	if node.Annotations["k3s.io/node-args"] != "" || node.Annotations["k3s.io/hostname"] == "" || len(node.Finalizers) != 2 {
		t.Errorf("trimmed it is %+v", node.ObjectMeta)
	}
	machine := clustertest.Machine("12", "another", func(in *cluster.Instance) { in.Group, in.UID = "agents", node.Status.NodeInfo.SystemUUID })
	group := clustertest.Group("agents", 0, 5, machine)
	if n := cluster.New(clustertest.Start, clustertest.Objects(node), []*cluster.Group{group}).Node(node.Name); n.Instance == nil || n.Instance.ID != "12" {
		t.Errorf("it is machine %+v, suspects %v", n.Instance, n.Suspects)
	}
	group.Instances, group.Parked, group.Parks, group.Capacity = nil, group.Instances, true, 0
	if n := cluster.New(clustertest.Start, clustertest.Objects(node), []*cluster.Group{group}).Node(node.Name); n.Parked.UID != node.Status.NodeInfo.SystemUUID {
		t.Errorf("it is parked machine %v", n.Parked)
	}
	next := clustertest.Machine("12", "AGENTS00002F", func(in *cluster.Instance) {
		in.Group, in.UID, in.Created = "agents", "00000000-960b-4ca8-aa62-2d7139814b06", clustertest.Start
	})
	node.CreationTimestamp = metav1.NewTime(clustertest.Start.Add(-time.Hour))
	n := cluster.New(clustertest.Start, clustertest.Objects(node), []*cluster.Group{clustertest.Group("agents", 0, 5, next)}).Node(node.Name)
	if n.Instance != nil || len(n.Suspects) != 1 {
		t.Errorf("a new machine has the name: machine %+v, suspects %v", n.Instance, n.Suspects)
	}
}

// TestWhatWasSeenOfK3sIsDeletedWithItsPassword deletes the node: its password, which nobody can change, goes first, and the Node object, which finalizers
// hold, is deleted once.
func TestWhatWasSeenOfK3sIsDeletedWithItsPassword(t *testing.T) {
	c := &kubesim.Cluster{}
	node, password := seen[corev1.Node](t, "node.yaml"), seen[corev1.Secret](t, "node-password.yaml")
	uuid := node.Status.NodeInfo.SystemUUID
	create(t, c, node)
	uid := uidOf[*corev1.Node](t, c, "", node.Name)
	password.OwnerReferences[0].UID = uid
	create(t, c, password)
	w := Writer{Client: clientOf(t, c)}
	for range 2 {
		if err := w.DeleteNode(t.Context(), node.Name, uid, uuid, nil); err != nil {
			t.Fatal(err)
		}
		if _, there := kubesim.Find[*corev1.Secret](c, password.Namespace, password.Name); there {
			t.Error("its password is there")
		}
		n, there := kubesim.Find[*corev1.Node](c, "", node.Name)
		if !there || n.DeletionTimestamp == nil || !slices.Equal(n.Finalizers, node.Finalizers) {
			t.Fatalf("the node is there: %t, %+v", there, n)
		}
	}
	edit(t, c, "", node.Name, func(n *corev1.Node) { n.Finalizers = nil })
	if _, there := kubesim.Find[*corev1.Node](c, "", node.Name); there {
		t.Error("the node is there, and nothing holds it")
	}
}
