package app

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/internal/controlplane/controlplanetest"
	"sluice.dev/sluice/internal/doctor"
	"sluice.dev/sluice/internal/k3sim"
	"sluice.dev/sluice/internal/kube"
	"sluice.dev/sluice/policy"
)

// TestTheTrapsOfK3sAreSeenWhereTheyAreMade has agents join the stand-in of K3s's supervisor, each into another trap, and the doctor look at the real API
// server behind it; and sluice's own deletion of a Node let the next machine of its name in.
func TestTheTrapsOfK3sAreSeenWhereTheyAreMade(t *testing.T) {
	api := controlplanetest.Start(t)
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		t.Fatal(err)
	}
	supervisor, err := k3sim.Start(k3sim.Options{API: api, Token: "server", AgentToken: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(supervisor.Stop)

	group := clustertest.Group("agents", 0, 9)
	machine := func(id, host, uuid string) *k3sim.Agent {
		group.Instances = append(group.Instances, clustertest.Machine(id, host, func(in *cluster.Instance) {
			in.Group, in.UID, in.Created, in.Zone = "agents", uuid, time.Now().Add(-time.Hour), ""
		}))
		group.Capacity = len(group.Instances)
		return &k3sim.Agent{Server: supervisor.URL(), Token: supervisor.NodeToken(), Host: host, IP: "10.10.0.7", UUID: uuid, Disk: &k3sim.Disk{}}
	}
	const first, second = "11111111-2222-3333-4444-555555555555", "21111111-2222-3333-4444-555555555555"
	plain := machine("1", "AGENTS000001", first)
	withID := machine("2", "agents000002", second)
	withID.WithNodeID = true
	withID.Labels = map[string]string{corev1.LabelInstanceTypeStable: "Standard_D4s_v5"}
	for _, a := range []*k3sim.Agent{plain, withID} {
		if err := a.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	settled := func(name string, holds func(*corev1.Node, error) bool) {
		t.Helper()
		for n, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}); !holds(n, err); n, err = client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}) {
			if t.Context().Err() != nil {
				t.Fatal(t.Context().Err())
			}
		}
	}
	seen := func(n *corev1.Node, err error) bool {
		return err == nil && len(n.Finalizers) == 2 && n.Spec.ProviderID != ""
	}
	settled("agents000001", seen)
	settled(withID.Node(), seen)

	look := func(name string) (codes []string) {
		t.Helper()
		objects, err := kube.List(t.Context(), client, kube.Besides{})
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Kube: api, Policy: policy.Default(), Log: slog.New(slog.DiscardHandler)}
		j := examineJoins(t.Context(), o, Examination{Join: true}, nil, &objects, []*cluster.Group{group})
		j.Unread = ""
		if name != "" && !j.Passwords[name] {
			t.Errorf("the password of %s is not seen among %v", name, j.Passwords)
		}
		all, known := doctor.Join(j, name)
		if !known {
			t.Errorf("%s is not known", name)
		}
		for _, f := range all {
			if f.Code != "" {
				codes = append(codes, f.Code)
			}
		}
		return codes
	}
	if got := look("agents000001"); !slices.Equal(got, []string{doctor.InstanceTypeOfK3s}) {
		t.Errorf("a node in capitals, as K3s makes it: %v", got)
	}
	if got := look(withID.Node()); !slices.Equal(got, []string{doctor.NodeNameWithID}) {
		t.Errorf("a node with an id: %v", got)
	}

	group.Instances = group.Instances[:1]
	group.Instances[0].UID, group.Instances[0].Created = "31111111-2222-3333-4444-555555555555", time.Now().Add(time.Hour) // its name comes back
	next := *plain
	next.UUID, next.Disk = group.Instances[0].UID, &k3sim.Disk{}
	if err := next.Join(t.Context()); err == nil {
		t.Fatal("a new machine takes the name of a node that is there")
	}
	if got := look("agents000001"); !slices.Contains(got, doctor.NodeOfEarlierMachine) {
		t.Errorf("a name that is taken: %v", got)
	}
	old, err := client.CoreV1().Nodes().Get(t.Context(), "agents000001", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	supervisor.Pause(true) // sluice deletes the Node, and no server of K3s lets go of it
	erase := func() {
		t.Helper()
		if err := (kube.Writer{Client: client}).DeleteNode(context.WithoutCancel(t.Context()), old.Name, old.UID, first, nil); err != nil {
			t.Fatal(err)
		}
	}
	erase()
	erase()
	settled("agents000001", func(n *corev1.Node, err error) bool { return err == nil && n.DeletionTimestamp != nil })
	supervisor.Pause(false)
	settled("agents000001", func(_ *corev1.Node, err error) bool { return apierrors.IsNotFound(err) })
	if err := next.Join(t.Context()); err != nil {
		t.Errorf("the next machine of that name: %v", err)
	}
	settled("agents000001", seen)
	group.Instances[0].Created = time.Now().Add(-time.Minute)
	if got := look("agents000001"); !slices.Equal(got, []string{doctor.InstanceTypeOfK3s}) {
		t.Errorf("the node of the next machine: %v", got)
	}
}
