package kube_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/controlplane/controlplanetest"
	"sluice.dev/sluice/internal/kube"
)

// estate is a real control plane with the shipped manifests, two nodes and pods on them, and admin's way to it.
type estate struct {
	*testing.T
	admin  kubernetes.Interface
	config *rest.Config
}

// harm is something that a token tries.
type harm struct {
	name string
	by   string // who refuses it: a policy's name, or "" for the authorizer
	try  func(ctx context.Context, api kubernetes.Interface) error
}

// TestTokensAreGoodForTheirPurposeAlone tries with tokens of real service accounts, under the manifests as they are shipped, what somebody could do
// who has stolen one. Every try is refused, and what sluice and its agents do with them is not.
func TestTokensAreGoodForTheirPurposeAlone(t *testing.T) {
	e := &estate{T: t, config: controlplanetest.Start(t)}
	var err error
	if e.admin, err = kubernetes.NewForConfig(e.config); err != nil {
		t.Fatal(err)
	}
	e.furnish()
	e.apply(deploy.Agent)
	e.apply(deploy.RBAC)
	t.Run("an agent", func(t *testing.T) { e.agent(t) })
	t.Run("sluice", func(t *testing.T) { e.sluice(t) })
	t.Run("sluice with the gate", func(t *testing.T) {
		onlyWithGates(t, e.admin)
		e.apply(deploy.CapacityGate)
		e.gatekeeper(t)
	})
}

func (e *estate) agent(t *testing.T) {
	pod := e.pod("kube-system", "sluice-agent-x", func(p *corev1.Pod) { p.Spec.NodeName, p.Spec.ServiceAccountName = "agents-0", "sluice-agent" })
	bound := &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
	own := e.client("sluice-agent", bound)
	e.until("the policy is in force", func(ctx context.Context) bool {
		return by("sluice-agent", patchNode("agents-0", `{"metadata":{"labels":{"a":"b"}}}`, metav1.DryRunAll)(ctx, own))
	})
	tries := []harm{
		{"evict", "", evict("default", "web")},
		{"evict from kube-system", "", evict("kube-system", "dns")},
		{"delete a pod", "", func(ctx context.Context, api kubernetes.Interface) error {
			return api.CoreV1().Pods("default").Delete(ctx, "web", metav1.DeleteOptions{})
		}},
		{"change a pod", "", patchPod("default", "web", `{"metadata":{"labels":{"a":"b"}}}`)},
		{"read pods", "", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=agents-0"})
			return err
		}},
		{"read secrets", "", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Secrets("kube-system").List(ctx, metav1.ListOptions{})
			return err
		}},
		{"list nodes", "", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
			return err
		}},
		{"delete its node", "", func(ctx context.Context, api kubernetes.Interface) error {
			return api.CoreV1().Nodes().Delete(ctx, "agents-0", metav1.DeleteOptions{})
		}},
		{"say that its node is not Ready", "", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Nodes().Patch(ctx, "agents-0", types.StrategicMergePatchType, []byte(`{"status":{"phase":"Terminated"}}`), metav1.PatchOptions{}, "status")
			return err
		}},
		{"announce on another node", "sluice-agent", func(ctx context.Context, api kubernetes.Interface) error {
			return kube.Writer{Client: api}.Announce(ctx, "agents-1", e.node("agents-1").UID, cluster.Notice{ID: "e", Kind: "Reboot"})
		}},
		{"label another node", "sluice-agent", patchNode("agents-1", `{"metadata":{"labels":{"a":"b"}}}`)},
		{"cordon another node", "sluice-agent", patchNode("agents-1", `{"spec":{"unschedulable":true}}`)},
		{"cordon its node", "sluice-agent", patchNode("agents-0", `{"spec":{"unschedulable":true}}`)},
		{"label its node", "sluice-agent", patchNode("agents-0", `{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}}`)},
		{"take a label off its node", "sluice-agent", patchNode("agents-0", `{"metadata":{"labels":{"pool":null}}}`)},
		{"annotate its node", "sluice-agent", patchNode("agents-0", `{"metadata":{"annotations":{"cluster-autoscaler.kubernetes.io/scale-down-disabled":"true"}}}`)},
		{"change an annotation of its node", "sluice-agent", patchNode("agents-0", `{"metadata":{"annotations":{"example.com/note":"y"}}}`)},
		{"take an annotation off its node", "sluice-agent", patchNode("agents-0", `{"metadata":{"annotations":{"example.com/note":null}}}`)},
		{"answer in sluice's place", "sluice-agent", patchNode("agents-0", `{"metadata":{"annotations":{"sluice.dev/notice-answer":"{}"}}}`)},
		{"keep its node from being deleted", "sluice-agent", patchNode("agents-0", `{"metadata":{"finalizers":["example.com/keep"]}}`)},
		{"give its node an owner", "sluice-agent", patchNode("agents-0", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"web","uid":"1"}]}}`)},
		{"say which machine its node is", "sluice-agent", patchNode("agents-0", `{"spec":{"providerID":"azure:///another"}}`)},
		{"taint its node", "sluice-agent", taint("agents-0", corev1.Taint{Key: "example.com/a", Effect: corev1.TaintEffectNoSchedule})},
		{"taint its node for removal", "sluice-agent", taint("agents-0", corev1.Taint{Key: cluster.RemovalTaint, Effect: corev1.TaintEffectNoSchedule})},
		{"evict by a taint", "sluice-agent", taint("agents-0", corev1.Taint{Key: "example.com/a", Effect: corev1.TaintEffectNoExecute})},
		{"evict by its own taint", "sluice-agent", taint("agents-0", corev1.Taint{Key: cluster.NoticeTaint, Effect: corev1.TaintEffectNoExecute})},
		{"evict by a second taint of its own", "sluice-agent", taint("agents-0",
			corev1.Taint{Key: cluster.NoticeTaint, Effect: corev1.TaintEffectNoSchedule}, corev1.Taint{Key: cluster.NoticeTaint, Effect: corev1.TaintEffectNoExecute})},
		{"take a taint off its node", "sluice-agent", patchNode("agents-0", `{"spec":{"taints":null}}`)},
		{"do two things at once", "sluice-agent", patchNode("agents-0", `{"metadata":{"annotations":{"sluice.dev/notice":"{}"},"labels":{"a":"b"}}}`)},
	}
	e.refused(t, own, tries)
	unbound := e.client("sluice-agent", nil)
	e.refused(t, unbound, []harm{{"announce with a token of no node", "sluice-agent", patchNode("agents-0", `{"metadata":{"annotations":{"sluice.dev/notice":"{}"}}}`)}})

	node := e.node("agents-0")
	units := e.client("sluice-agent", &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID})
	for name, api := range map[string]kubernetes.Interface{"a pod's token": own, "a unit's token": units} {
		w := kube.Writer{Client: api}
		notice := cluster.Notice{ID: "e", Kind: "Reboot", Deadline: time.Now().Add(time.Hour).UTC().Truncate(time.Second)}
		if err := w.Announce(t.Context(), node.Name, node.UID, notice); err != nil {
			t.Errorf("%s: announce: %v", name, err)
		}
		if got, stands := cluster.NoticeOf(e.node("agents-0")); !stands || got != notice {
			t.Errorf("%s: the node says %+v (%t)", name, got, stands)
		}
		if _, err := w.Look(t.Context(), node.Name); err != nil {
			t.Errorf("%s: look: %v", name, err)
		}
		if err := w.Withdraw(t.Context(), node.Name, node.UID); err != nil {
			t.Errorf("%s: withdraw: %v", name, err)
		}
		if diff := cmp.Diff(bare(node), bare(e.node("agents-0"))); diff != "" {
			t.Errorf("%s: what is left of it (-before +after):\n%s", name, diff)
		}
	}
}

func (e *estate) sluice(t *testing.T) {
	own := e.client(deploy.ServiceAccount, nil)
	e.until("its role is in force", func(ctx context.Context) bool {
		_, err := own.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err == nil
	})
	e.refused(t, own, append(podHarms(""),
		harm{"take a gate away", "", func(ctx context.Context, api kubernetes.Interface) error {
			return kube.Writer{Client: api}.OpenGate(ctx, "default", "gated", e.podOf("default", "gated").UID)
		}},
		harm{"delete a pod", "", func(ctx context.Context, api kubernetes.Interface) error {
			return api.CoreV1().Pods("default").Delete(ctx, "web", metav1.DeleteOptions{})
		}},
		harm{"read secrets", "", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Secrets("kube-system").List(ctx, metav1.ListOptions{})
			return err
		}},
	))
	w, web := kube.Writer{Client: own}, e.pod("default", "leaves", func(p *corev1.Pod) { p.Spec.NodeName = "agents-1" })
	if err := w.Evict(t.Context(), web.Namespace, web.Name, web.UID, time.Second); err != nil {
		t.Errorf("evict: %v", err)
	}
	node := e.node("agents-1")
	if err := w.AnswerNotice(t.Context(), node.Name, node.UID, cluster.NoticeAnswer{ID: "e", Empty: true}, true); err != nil {
		t.Errorf("answer a notice: %v", err)
	}
	if err := w.ForgetNotice(t.Context(), node.Name, node.UID); err != nil {
		t.Errorf("take the answer back: %v", err)
	}
	if diff := cmp.Diff(bare(node), bare(e.node("agents-1"))); diff != "" {
		t.Errorf("what is left of the answer (-before +after):\n%s", diff)
	}
}

func (e *estate) gatekeeper(t *testing.T) {
	own := e.client(deploy.ServiceAccount, nil)
	e.until("the policy is in force", func(ctx context.Context) bool {
		return by("sluice-capacity-gate", patchPod("default", "web", `{"metadata":{"labels":{"a":"b"}}}`, metav1.DryRunAll)(ctx, own))
	})
	e.refused(t, own, append(podHarms("sluice-capacity-gate"), harm{"delete a pod", "", func(ctx context.Context, api kubernetes.Interface) error {
		return api.CoreV1().Pods("default").Delete(ctx, "web", metav1.DeleteOptions{})
	}}))
	gated := e.podOf("default", "gated")
	if err := (kube.Writer{Client: own}).OpenGate(t.Context(), gated.Namespace, gated.Name, gated.UID); err != nil {
		t.Errorf("take the gate away: %v", err)
	}
	if got := e.podOf("default", "gated").Spec.SchedulingGates; len(got) != 1 || got[0].Name != "example.com/approval" {
		t.Errorf("gates %v are left, want the foreign one", got)
	}
	want := gated.DeepCopy()
	want.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/approval"}}
	if diff := cmp.Diff(want.Spec, e.podOf("default", "gated").Spec); diff != "" {
		t.Errorf("more than the gate is another one (-want +got):\n%s", diff)
	}
}

// podHarms are changes of pods that the API server itself lets people make.
func podHarms(by string) []harm {
	return []harm{
		{"another image", by, patchPod("default", "web", `{"spec":{"containers":[{"name":"c","image":"evil"}]}}`)},
		{"another image in kube-system", by, patchPod("kube-system", "dns", `{"spec":{"containers":[{"name":"c","image":"evil"}]}}`)},
		{"another image to begin with", by, patchPod("default", "web", `{"spec":{"initContainers":[{"name":"i","image":"evil"}]}}`)},
		{"a label", by, patchPod("default", "web", `{"metadata":{"labels":{"app":"other"}}}`)},
		{"an annotation", by, patchPod("kube-system", "dns", `{"metadata":{"annotations":{"a":"b"}}}`)},
		{"a finalizer", by, patchPod("default", "web", `{"metadata":{"finalizers":["example.com/keep"]}}`)},
		{"an owner", by, patchPod("default", "web", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"agents-0","uid":"1"}]}}`)},
		{"a deadline", by, patchPod("default", "web", `{"spec":{"activeDeadlineSeconds":1}}`)},
		{"a toleration", by, jsonPod("default", "web", `[{"op":"add","path":"/spec/tolerations/-","value":{"operator":"Exists"}}]`)},
		{"a node selector", by, patchPod("default", "gated", `{"spec":{"nodeSelector":{"pool":"mine"}}}`)},
		{"an affinity", by, patchPod("default", "gated", `{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"pool","operator":"Exists"}]}]}}}}}`)},
		{"a foreign gate goes", by, jsonPod("default", "gated", `[{"op":"replace","path":"/spec/schedulingGates","value":[{"name":"sluice.dev/capacity"}]}]`)},
		{"all gates go", by, jsonPod("default", "gated", `[{"op":"remove","path":"/spec/schedulingGates"}]`)},
		{"the gate goes with a label", by, jsonPod("default", "gated", `[{"op":"replace","path":"/spec/schedulingGates","value":[{"name":"example.com/approval"}]},{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`)},
		{"the gate goes with another image", by, jsonPod("default", "gated", `[{"op":"replace","path":"/spec/schedulingGates","value":[{"name":"example.com/approval"}]},{"op":"replace","path":"/spec/containers/0/image","value":"evil"}]`)},
	}
}

// furnish makes what tokens could do harm to.
func (e *estate) furnish() {
	e.Helper()
	e.must(e.admin.CoreV1().Namespaces().Create(e.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: deploy.Namespace}}, metav1.CreateOptions{}))
	for _, name := range []string{"agents-0", "agents-1"} {
		e.must(e.admin.CoreV1().Nodes().Create(e.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": "agents"}, Annotations: map[string]string{"example.com/note": "x"}},
			Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "example.com/dedicated", Value: "render", Effect: corev1.TaintEffectNoSchedule}}},
		}, metav1.CreateOptions{}))
	}
	e.pod("default", "web", func(p *corev1.Pod) { p.Spec.NodeName = "agents-0" })
	e.pod("kube-system", "dns", func(p *corev1.Pod) { p.Spec.NodeName = "agents-1" })
	e.pod("default", "gated", func(p *corev1.Pod) {
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: cluster.CapacityGate}, {Name: "example.com/approval"}}
	})
}

// pod makes one, once its namespace has a service account.
func (e *estate) pod(namespace, name string, edit func(*corev1.Pod)) *corev1.Pod {
	e.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "good"}}, InitContainers: []corev1.Container{{Name: "i", Image: "good"}},
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
	}}
	edit(p)
	var made *corev1.Pod
	e.until("pod "+name+" is made", func(ctx context.Context) bool {
		var err error
		made, err = e.admin.CoreV1().Pods(namespace).Create(ctx, p, metav1.CreateOptions{})
		return err == nil
	})
	return made
}

func (e *estate) node(name string) *corev1.Node {
	e.Helper()
	n, err := e.admin.CoreV1().Nodes().Get(e.Context(), name, metav1.GetOptions{})
	if err != nil {
		e.Fatal(err)
	}
	return n
}

func (e *estate) podOf(namespace, name string) *corev1.Pod {
	e.Helper()
	p, err := e.admin.CoreV1().Pods(namespace).Get(e.Context(), name, metav1.GetOptions{})
	if err != nil {
		e.Fatal(err)
	}
	return p
}

// bare is what somebody could have written on a node. The controllers of the control plane taint a node whose kubelet is silent.
func bare(n *corev1.Node) *corev1.Node {
	var taints []corev1.Taint
	for _, t := range n.Spec.Taints {
		if !strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			taints = append(taints, t)
		}
	}
	spec := *n.Spec.DeepCopy()
	spec.Taints = taints
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: n.Labels, Annotations: n.Annotations, Finalizers: n.Finalizers, OwnerReferences: n.OwnerReferences}, Spec: spec}
}

// refused tries each, and holds that all are refused by whom they should be and have changed nothing.
func (e *estate) refused(t *testing.T, api kubernetes.Interface, tries []harm) {
	t.Helper()
	before := e.all()
	for _, h := range tries {
		switch err := h.try(t.Context(), api); {
		case err == nil:
			t.Errorf("%s: nobody refuses it", h.name)
		case h.by == "" && !(apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot ")):
			t.Errorf("%s: %v, want the authorizer's refusal", h.name, err)
		case h.by != "" && !by(h.by, err):
			t.Errorf("%s: %v, want a refusal by policy %s", h.name, err, h.by)
		}
	}
	if diff := cmp.Diff(before, e.all()); diff != "" {
		t.Errorf("what was refused had an effect (-before +after):\n%s", diff)
	}
}

// by says whether the policy has refused something.
func by(policy string, err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+policy+"'")
}

// all is everything that harm could be done to.
func (e *estate) all() map[string]any {
	e.Helper()
	found := map[string]any{}
	for _, name := range []string{"agents-0", "agents-1"} {
		found[name] = bare(e.node(name))
	}
	for _, name := range []string{"default/web", "default/gated", "kube-system/dns"} {
		namespace, name, _ := strings.Cut(name, "/")
		p := e.podOf(namespace, name)
		found[name] = []any{p.Labels, p.Annotations, p.Finalizers, p.OwnerReferences, p.Spec, p.DeletionTimestamp}
	}
	return found
}

// places are where objects of a manifest are created.
var places = map[string]string{
	"ServiceAccount": "/api/v1/namespaces/kube-system/serviceaccounts", "DaemonSet": "/apis/apps/v1/namespaces/kube-system/daemonsets",
	"ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles", "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	"Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles", "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings",
	"ValidatingAdmissionPolicy":        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
	"ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
	"MutatingAdmissionPolicy":          "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
	"MutatingAdmissionPolicyBinding":   "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
}

// apply creates what a manifest describes, as it is. A field that the API server does not know is an error.
func (e *estate) apply(manifest []byte) {
	e.Helper()
	for _, document := range bytes.Split(manifest, []byte("\n---\n")) {
		var is metav1.TypeMeta
		if err := yaml.Unmarshal(document, &is); err != nil {
			e.Fatal(err)
		}
		err := e.admin.CoreV1().RESTClient().Post().AbsPath(places[is.Kind]).Param("fieldValidation", "Strict").SetHeader("Content-Type", "application/yaml").
			Body(document).Do(e.Context()).Error()
		if err != nil {
			e.Fatalf("%s: %v", is.Kind, err)
		}
	}
}

// client has a token of a service account, bound to an object or to none, and nothing else.
func (e *estate) client(account string, bound *authenticationv1.BoundObjectReference) kubernetes.Interface {
	e.Helper()
	token, err := e.admin.CoreV1().ServiceAccounts(deploy.Namespace).CreateToken(e.Context(), account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound},
	}, metav1.CreateOptions{})
	if err != nil {
		e.Fatal(err)
	}
	config := rest.AnonymousClientConfig(e.config)
	config.BearerToken, config.QPS = token.Status.Token, -1
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		e.Fatal(err)
	}
	return api
}

func (e *estate) must(_ any, err error) {
	e.Helper()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		e.Fatal(err)
	}
}

// until waits for what the API server hears of by a watch.
func (e *estate) until(what string, is func(context.Context) bool) {
	e.Helper()
	err := wait.PollUntilContextTimeout(e.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) { return is(ctx), nil })
	if err != nil {
		e.Fatalf("%s: %v", what, err)
	}
}

func evict(namespace, name string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, api kubernetes.Interface) error {
		return api.PolicyV1().Evictions(namespace).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
}

func patchNode(name, patch string, dryRun ...string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, api kubernetes.Interface) error {
		_, err := api.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: dryRun})
		return err
	}
}

// taint adds taints to those that the node has.
func taint(name string, more ...corev1.Taint) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, api kubernetes.Interface) error {
		n, err := api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": slices.Concat(n.Spec.Taints, more)}})
		if err != nil {
			return err
		}
		return patchNode(name, string(patch))(ctx, api)
	}
}

func patchPod(namespace, name, patch string, dryRun ...string) func(context.Context, kubernetes.Interface) error {
	return pod(namespace, name, types.StrategicMergePatchType, patch, dryRun...)
}

func jsonPod(namespace, name, patch string) func(context.Context, kubernetes.Interface) error {
	return pod(namespace, name, types.JSONPatchType, patch)
}

func pod(namespace, name string, kind types.PatchType, patch string, dryRun ...string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, api kubernetes.Interface) error {
		_, err := api.CoreV1().Pods(namespace).Patch(ctx, name, kind, []byte(patch), metav1.PatchOptions{DryRun: dryRun})
		return err
	}
}
