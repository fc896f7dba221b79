package kube_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/controlplane/controlplanetest"
	"sluice.dev/sluice/internal/kube"
)

// TestNothingIsLeftOnAnyObject has sluice's writer, and people with sluice's commands, write all that they write on objects of a real API server, and then
// takes it off again. No object of any kind speaks of sluice afterwards, Events and the records of who wrote what aside; what is not sluice's is as it was.
func TestNothingIsLeftOnAnyObject(t *testing.T) {
	ctx := t.Context()
	e := &estate{T: t, config: controlplanetest.Start(t)}
	var err error
	if e.admin, err = kubernetes.NewForConfig(e.config); err != nil {
		t.Fatal(err)
	}
	w := kube.Writer{Client: e.admin, Owner: "kube-system/cluster-autoscaler"}
	hands := kube.Operator{Client: e.admin}
	now := time.Now()
	uid := func(name string) *corev1.Node {
		n, err := e.admin.CoreV1().Nodes().Create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"example.com/note": "x"}},
			Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "example.com/a", Effect: corev1.TaintEffectNoSchedule}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	machine := cluster.Machine{Group: "agents", ID: "0", UID: "11111111-1111-1111-1111-111111111111"}
	leaving, parked, soft, noticed, held, person := uid("agents-0"), uid("agents-1"), uid("agents-2"), uid("agents-3"), uid("agents-4"), uid("agents-5")
	e.must(nil, w.Cordon(ctx, leaving.Name, leaving.UID, cluster.Removal{Since: now, Why: cluster.Idle}, machine, true))
	e.must(nil, w.Mark(ctx, parked.Name, parked.UID, machine, now))
	e.must(nil, w.CandidateTaint(ctx, soft.Name, soft.UID, now))
	e.must(nil, w.Announce(ctx, noticed.Name, noticed.UID, cluster.Notice{ID: "e", Kind: "Reboot"}))
	e.must(nil, w.AnswerNotice(ctx, noticed.Name, noticed.UID, cluster.NoticeAnswer{ID: "e"}, true))
	e.must(hands.Hold(ctx, held.Name, now.Add(time.Hour)))
	e.must(hands.Drain(ctx, held.Name, now))
	e.must(nil, patchNode(person.Name, `{"spec":{"unschedulable":true}}`)(ctx, e.admin))
	e.must(e.admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}, metav1.CreateOptions{}))
	e.must(hands.Pause(ctx, cluster.AllGroups, now.Add(time.Hour), now))
	e.must(nil, hands.Acknowledge(ctx, cluster.AllGroups, now))
	e.must(e.admin.CoreV1().Pods("default").Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.PodSpec{
			SchedulingGates: []corev1.PodSchedulingGate{{Name: cluster.CapacityGate}, {Name: "example.com/other"}},
			Containers:      []corev1.Container{{Name: "main", Image: "registry.example/web:1"}},
		},
	}, metav1.CreateOptions{}))
	e.must(e.admin.CoreV1().ConfigMaps("kube-system").Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: cluster.StatusName}, Data: map[string]string{"status": "of sluice", "operations": "{}", cluster.OutsideKey: "[]"},
	}, metav1.CreateOptions{}))
	lease, err := e.admin.CoordinationV1().Leases("kube-system").Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster-autoscaler"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("sluice-0"), LeaseDurationSeconds: new(int32(15)), RenewTime: new(metav1.NewMicroTime(now))},
	}, metav1.CreateOptions{})
	e.must(lease, err)
	before := spoken(ctx, t, e.admin)
	if len(before) != 9 { // five nodes, the pod, the namespace, the ConfigMap, the lease
		t.Fatalf("%d objects speak of sluice, want 9: %v", len(before), before)
	}

	at := kube.Place{Namespace: "kube-system", Lease: "cluster-autoscaler", Status: cluster.StatusName}
	run := func(dry, beside bool, now time.Time) (told []string, err error) {
		err = hands.GiveBack(ctx, at, dry, beside, now, func(r kube.Returned) { told = append(told, r.Object+": "+r.What) })
		return told, err
	}
	if told, err := run(false, false, now); !errors.Is(err, kube.ErrLed) || len(told) > 0 {
		t.Errorf("while somebody leads: %v, %v, want a refusal", told, err)
	}
	told, err := run(true, false, now.Add(time.Minute))
	if err != nil || len(told) != 9 || len(spoken(ctx, t, e.admin)) != 9 {
		t.Errorf("a dry run: %v, %v, want nine objects told of and none changed", told, err)
	}
	if told, err = run(false, true, now); err != nil || len(told) != 8 {
		t.Errorf("beside a leader: %v, %v, want all but the lease", told, err)
	}
	if m, err := e.admin.CoreV1().ConfigMaps("kube-system").Get(ctx, cluster.StatusName, metav1.GetOptions{}); err != nil || len(m.Data) != 1 {
		t.Errorf("beside a leader the status has %v, %v, want only what cluster-autoscaler writes as well", m.Data, err)
	}
	if _, err := run(false, false, now.Add(time.Minute)); err != nil {
		t.Error(err)
	}
	if left := spoken(ctx, t, e.admin); len(left) > 0 {
		t.Errorf("of sluice is left: %v", left)
	}
	if told, err := run(false, false, now.Add(time.Minute)); err != nil || len(told) > 0 {
		t.Errorf("again: %v, %v, want nothing to do", told, err)
	}
	for _, name := range []string{"agents-0", "agents-1", "agents-2", "agents-3", "agents-4", "agents-5"} {
		n := e.node(name)
		if n.Spec.Unschedulable != (name == person.Name) || n.Annotations["example.com/note"] != "x" || !strings.Contains(taints(n), "example.com/a") {
			t.Errorf("node %s is unschedulable %v, has annotations %v and taints %s", name, n.Spec.Unschedulable, n.Annotations, taints(n))
		}
	}
	if p := e.podOf("default", "web"); len(p.Spec.SchedulingGates) != 1 {
		t.Errorf("the pod has gates %v, want the other one", p.Spec.SchedulingGates)
	}
}

func taints(n *corev1.Node) string {
	var all []string
	for _, t := range n.Spec.Taints {
		all = append(all, t.ToString())
	}
	return strings.Join(all, " ")
}

// spoken are the objects of all kinds that speak of sluice.
func spoken(ctx context.Context, t *testing.T, admin kubernetes.Interface) (found []string) {
	t.Helper()
	lists, err := admin.Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	kinds := 0
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if !strings.Contains(strings.Join(r.Verbs, " "), "list") || r.Name == "events" {
				continue
			}
			path := "/apis/" + list.GroupVersion + "/" + r.Name
			if version.Group == "" {
				path = "/api/v1/" + r.Name
			}
			raw, err := admin.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			kinds++
			var all struct{ Items []map[string]any }
			if err := json.Unmarshal(raw, &all); err != nil {
				t.Fatal(err)
			}
			for _, o := range all.Items {
				metadata := o["metadata"].(map[string]any)
				delete(metadata, "managedFields")
				text, err := json.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(text), "sluice") {
					found = append(found, r.Name+" "+metadata["name"].(string))
				}
			}
		}
	}
	if kinds < 30 {
		t.Fatalf("%d kinds of objects were searched", kinds)
	}
	return found
}
