package app

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/controlplane/controlplanetest"
	"sluice.dev/sluice/internal/controlplane/kubelets"
)

// incumbent is one Deployment of cluster-autoscaler's in testdata/incumbent, and what comes of it.
type incumbent struct {
	manifest string
	groups   []group
	pools    bool   // the groups are pools of virtual machines, else scale sets
	moot     string // its flags that have no effect, as the log names them
	debug    bool   // its log has what is of that level
	local    bool   // local data of a pod keeps a node
	handBack bool   // it is given --hand-back besides
	servers  bool   // the groups are in the resource group of the control plane
}

// group is a node group of a manifest, at its least size.
type group struct {
	name string
	min  int
	tags map[string]string
}

var incumbents = []incumbent{
	{manifest: "aks", moot: "--logtostderr", groups: []group{{name: "nodepool1", min: 3}}},
	{manifest: "autodiscover", moot: "--logtostderr", groups: []group{{name: "found", min: 1, tags: map[string]string{
		"cluster-autoscaler-enabled": "true", "cluster-autoscaler-name": "<YOUR CLUSTER NAME>", "min": "1", "max": "10",
	}}}},
	{manifest: "standard-control-plane", moot: "--logtostderr", pools: true, groups: []group{{name: "agentpool1", min: 1}, {name: "agentpool2", min: 1}}},
	{manifest: "standard-msi", moot: "--logtostderr", pools: true, groups: []group{{name: "agentpool1", min: 1}, {name: "agentpool2", min: 1}}},
	{manifest: "standard", moot: "--logtostderr", pools: true, groups: []group{{name: "agentpool1", min: 1}, {name: "agentpool2", min: 1}}},
	{manifest: "vmss-control-plane", moot: "--logtostderr", groups: []group{{name: "vmss1", min: 1}, {name: "vmss2", min: 1}}},
	{manifest: "vmss-msi", moot: "--logtostderr", groups: []group{{name: "vmss1", min: 1}, {name: "vmss2", min: 1}}},
	{manifest: "vmss", moot: "--logtostderr", handBack: true, groups: []group{{name: "vmss1", min: 1}, {name: "vmss2", min: 1}}},
	{manifest: "chart", moot: "--logtostderr --stderrthreshold", debug: true, local: true, handBack: true, groups: []group{{name: "vmss1", min: 1}}},
}

// hastened are the cycle times that each of them is given besides: with the defaults a removal takes half an hour.
var hastened = []string{
	"--scan-interval=1s", "--scale-down-unneeded-time=1s", "--scale-down-delay-after-add=1s", "--emptied-window=0",
	"--node-delete-delay-after-taint=1s", "--load-balancer-exclusion-delay=1s",
}

// TestTheirManifestsRun keeps cluster-autoscaler's eight examples for Azure and the Deployment of its chart as they are, but for the image: a real control
// plane makes their pods, with the service accounts and rights of their own roles and no others. The built program is started in them by their commands,
// with their environments, Secrets and mounts. It buys a machine for a pod, moves a pod off that machine when it is underused, and deletes it. The Node
// object stays, which the roles let it not delete, until a cloud controller takes it away.
//
// Only what a manifest cannot know is added, and logged: cycle times, an address that is free on this machine, and the way to the simulated Azure.
func TestTheirManifestsRun(t *testing.T) {
	f := newTakeover(t)
	for _, m := range incumbents {
		t.Run(m.manifest, func(t *testing.T) { f.play(t, m) })
	}
}

// takeover is a cluster on the simulated Azure whose autoscaler is another one from case to case.
type takeover struct {
	config   *rest.Config
	admin    kubernetes.Interface
	azure    *simulated
	binary   string
	kubelets *kubelets.Kubelets
	joined   map[string]bool
	running  *container // whose end is an error; nil for none
}

// server is the machine of the control plane, and its node.
const server = "server-0"

func newTakeover(t *testing.T) *takeover {
	t.Helper()
	f := &takeover{config: controlplanetest.Start(t), binary: build(t), joined: map[string]bool{}}
	var err error
	if f.admin, err = kubernetes.NewForConfig(f.config); err != nil {
		t.Fatal(err)
	}
	f.azure = newSimulated(t)
	f.kubelets = &kubelets.Kubelets{Client: f.admin}
	beside(t, f.kubelets.Run)
	if _, err := f.admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "autoscaling"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, roles := range []string{"roles.yaml", "chart-roles.yaml"} {
		grant(t, f.admin, manifest(t, roles))
	}
	// What some of the examples select and tolerate.
	f.join(t, azuresim.MachineState{ComputerName: server}, kubelets.Machine{
		Labels: map[string]string{"kubernetes.io/role": "control-plane", "node-role.kubernetes.io/control-plane": ""},
		Taints: []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Value: "true", Effect: corev1.TaintEffectNoSchedule}},
	})
	return f
}

// manifest reads a file of cluster-autoscaler's.
func manifest(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "incumbent", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// play has one manifest through its story.
func (f *takeover) play(t *testing.T, m incumbent) {
	ctx := t.Context()
	text := manifest(t, m.manifest+".yaml")
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := decoded.(*appsv1.Deployment)
	f.azure.build(t, m)
	t.Cleanup(func() { f.clear(t, of.Namespace) })
	f.until(t, m, "its machines are nodes", func() bool { return len(f.names(m)) == len(f.nodes(t, m)) })
	before := f.names(m)
	for _, name := range before {
		f.pod(t, "base-"+name, name)
	}

	c := f.start(t, m, f.deploy(t, m, of, text))
	f.until(t, m, "it is healthy", func() bool { status, _ := c.get(t, "/health-check"); return status == http.StatusOK })

	node := f.growth(t, m, "web-0")
	if slices.Contains(before, node) || len(f.names(m)) != len(before)+1 {
		t.Fatalf("web-0 runs on %s; there are %v, want one more than %v", node, f.names(m), before)
	}
	f.small(t, m, node)
	f.end(t, "web-0")
	f.until(t, m, "a small pod with local data runs on the machine", func() bool { return f.at(t) == node })
	if m.local {
		f.until(t, m, "the local data keeps the node", func() bool {
			_, why := c.get(t, "/api/v1/explain?kind=node&name="+node)
			return strings.Contains(why, "PodLocalStorage")
		})
		if err := f.admin.AppsV1().ReplicaSets("default").Delete(ctx, "small", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}); err != nil {
			t.Fatal(err)
		}
	} else {
		f.until(t, m, "the small pod has moved", func() bool { at := f.at(t); return slices.Contains(before, at) })
	}
	f.until(t, m, "the machine is gone again", func() bool { return !slices.Contains(f.names(m), node) })
	if left := f.names(m); !slices.Equal(left, before) {
		t.Errorf("there are %v, want %v", left, before)
	}

	f.stays(t, m, of.Namespace, node)
	f.examined(t, of.Namespace, c.token)
	if m.handBack {
		other := f.growth(t, m, "web-1")
		f.end(t, "web-1")
		f.until(t, m, "the node is marked", func() bool { return f.owner(t, other) != "" })
		f.stop(t)
		if left := f.owner(t, other); left != "" {
			t.Errorf("node %s still bears the name %s", other, left)
		}
	}
	f.stop(t)
	m.heard(t, c.said.String())
}

// lacks is what is said once of the Node object of a machine that is gone.
const lacks = "sluice may not delete nodes: Node objects of deleted machines stay until a cloud controller deletes them"

// stays holds that the Node object of a machine that is gone is there, and that status and Events say why.
func (f *takeover) stays(t *testing.T, m incumbent, namespace, node string) {
	t.Helper()
	f.until(t, m, "the status says what is not done", func() bool {
		status, err := f.admin.CoreV1().ConfigMaps(namespace).Get(t.Context(), cluster.StatusName, metav1.GetOptions{})
		return err == nil && strings.Contains(status.Data["status"], "sluice may not delete nodes")
	})
	f.until(t, m, "an Event says it", func() bool {
		events, err := f.admin.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=RightMissing"})
		return err == nil && slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return e.Message == lacks && e.Source.Component == "cluster-autoscaler" })
	})
	if _, err := f.admin.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{}); err != nil {
		t.Errorf("node %s: %v, want it to be there", node, err)
	}
}

// examined holds what doctor says of the account whose token that is, and that the lease is held where the manifest wants it.
func (f *takeover) examined(t *testing.T, namespace, token string) {
	t.Helper()
	lease, err := f.admin.CoordinationV1().Leases(namespace).Get(t.Context(), "cluster-autoscaler", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		t.Errorf("lease %v, %v", lease, err)
	}
	own := rest.AnonymousClientConfig(f.config)
	own.BearerToken = token
	client, err := kubernetes.NewForConfig(own)
	if err != nil {
		t.Fatal(err)
	}
	denied, without, _, err := examineRights(t.Context(), client, Election{Namespace: namespace, Name: "cluster-autoscaler"})
	if err != nil || len(denied) > 0 || !without.Has(cluster.DeleteNodes) || without.Has(cluster.PatchNode) {
		t.Errorf("doctor misses %v and does without %v, %v", denied, without, err)
	}
}

// heard holds what the log has said, and what not.
func (m incumbent) heard(t *testing.T, log string) {
	t.Helper()
	for _, vain := range []string{"action failed", "action refused", "list and watch", "report failed"} {
		if strings.Contains(log, vain) {
			t.Errorf("something was tried in vain: %q", vain)
		}
	}
	if n := strings.Count(log, lacks); n != 1 {
		t.Errorf("the log says %d times what is not done, want once", n)
	}
	if want := fmt.Sprintf("flags=%s\n", m.moot); !strings.Contains(strings.ReplaceAll(log, `"`, ""), want) {
		t.Errorf("the log does not say which flags have no effect: %s", want)
	}
	if !strings.Contains(log, "(max 10)") {
		t.Error("the log knows of no group with a max of 10")
	}
	if have := strings.Contains(log, "level=DEBUG"); have != m.debug {
		t.Errorf("the log has lines of level debug: %v", have)
	}
	if t.Failed() {
		t.Log(log)
	}
}

// deploy makes the manifest's Secrets and Deployment, and returns the pod that came of it once it runs.
func (f *takeover) deploy(t *testing.T, m incumbent, of *appsv1.Deployment, text []byte) *corev1.Pod {
	t.Helper()
	for _, s := range f.azure.secrets(t, m, of) {
		if _, err := f.admin.CoreV1().Secrets(of.Namespace).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create := f.admin.AppsV1().RESTClient().Post().Namespace(of.Namespace).Resource("deployments").Param("fieldValidation", "Strict")
	if err := create.SetHeader("Content-Type", "application/yaml").Body(text).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	var pod *corev1.Pod
	f.until(t, m, "its pod runs", func() bool {
		all, err := f.admin.CoreV1().Pods(of.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(of.Spec.Selector)})
		if err != nil || len(all.Items) != int(*cmp.Or(of.Spec.Replicas, new(int32(1)))) {
			return false
		}
		pod = &all.Items[0]
		return !slices.ContainsFunc(all.Items, func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
	})
	return pod
}

// growth creates a pod that fits on no node, and returns the node on which it runs.
func (f *takeover) growth(t *testing.T, m incumbent, name string) (node string) {
	t.Helper()
	f.pod(t, name, "")
	f.until(t, m, name+" runs", func() bool {
		p, err := f.admin.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || p.Status.Phase != corev1.PodRunning {
			return false
		}
		node = p.Spec.NodeName
		return true
	})
	return node
}

// pod creates one that takes three of a machine's four cores, on a node if one is named.
func (f *takeover) pod(t *testing.T, name, node string) {
	t.Helper()
	if _, err := f.admin.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Name: "main", Image: "registry.example/main:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}},
		}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// small makes one small pod with local data, which the scheduler prefers to put on a node.
func (f *takeover) small(t *testing.T, m incumbent, node string) {
	t.Helper()
	labels := map[string]string{"app": "small"}
	if _, err := f.admin.AppsV1().ReplicaSets("default").Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "small"},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
					Weight: 100, Preference: corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}},
				}}}},
				Volumes: []corev1.Volume{{Name: "local", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
				Containers: []corev1.Container{{
					Name: "main", Image: "registry.example/main:1", VolumeMounts: []corev1.VolumeMount{{Name: "local", MountPath: "/local"}},
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}},
				}},
			},
		}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.until(t, m, "the small pod runs", func() bool { return f.at(t) != "" })
}

// at is the node on which the small pod runs, "" for none.
func (f *takeover) at(t *testing.T) string {
	t.Helper()
	all, err := f.admin.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=small"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all.Items {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			return p.Spec.NodeName
		}
	}
	return ""
}

// end deletes a pod.
func (f *takeover) end(t *testing.T, pod string) {
	t.Helper()
	if err := f.admin.CoreV1().Pods("default").Delete(t.Context(), pod, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// owner is whose name a node bears.
func (f *takeover) owner(t *testing.T, node string) string {
	t.Helper()
	n, err := f.admin.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return cluster.OwnerOf(n)
}

// names are the machines of the manifest's groups, in order.
func (f *takeover) names(m incumbent) (all []string) {
	for _, s := range f.azure.machines(m) {
		all = append(all, s.ComputerName)
	}
	slices.Sort(all)
	return all
}

// nodes are those that are Ready of its machines.
func (f *takeover) nodes(t *testing.T, m incumbent) (all []string) {
	t.Helper()
	list, err := f.admin.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := f.names(m)
	for _, n := range list.Items {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && slices.Contains(names, n.Name) {
				all = append(all, n.Name)
			}
		}
	}
	return all
}

// join has a machine be a node of four cores.
func (f *takeover) join(t *testing.T, s azuresim.MachineState, as kubelets.Machine) {
	t.Helper()
	as.Name, as.SystemUUID, as.InternalIP = s.ComputerName, s.VMID, s.PrivateIP
	if s.ID != "" {
		as.ProviderID = "azure://" + s.ID
		as.Labels = map[string]string{corev1.LabelInstanceTypeStable: s.Size, corev1.LabelTopologyRegion: s.Location, corev1.LabelTopologyZone: "0"}
	}
	as.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi")}
	if err := f.kubelets.Join(t.Context(), as); err != nil {
		t.Fatal(err)
	}
	f.joined[as.Name] = true
}

// until waits until that is so. Kubelets begin and end with their machines.
func (f *takeover) until(t *testing.T, m incumbent, what string, so func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		there := map[string]bool{server: true}
		for _, s := range f.azure.machines(m) {
			if there[s.ComputerName] = true; !f.joined[s.ComputerName] && !s.BootedAt.IsZero() {
				f.join(t, s, kubelets.Machine{})
			}
		}
		for name := range f.joined {
			if !there[name] {
				f.kubelets.Leave(name)
				delete(f.joined, name)
				if err := f.silence(ctx, name); err != nil {
					return false, err
				}
			}
		}
		if err := f.running.failed(); err != nil {
			return false, err
		}
		return so(), nil
	}); err != nil {
		t.Fatalf("%s: %v; there are %v\n%s", what, err, f.names(m), f.running.log())
	}
}

// silence says of a node what the node lifecycle controller says of one whose kubelet has not reported for a while. One that is gone is nil.
func (f *takeover) silence(ctx context.Context, node string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		n, err := f.admin.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		}
		for i := range n.Status.Conditions {
			if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
				c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionUnknown, "NodeStatusUnknown", metav1.Now()
			}
		}
		_, err = f.admin.CoreV1().Nodes().UpdateStatus(ctx, n, metav1.UpdateOptions{})
		return err
	})
}

// clear takes away everything of a case but the roles.
func (f *takeover) clear(t *testing.T, namespace string) {
	t.Helper()
	f.stop(t)
	ctx := context.WithoutCancel(t.Context())
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), PropagationPolicy: new(metav1.DeletePropagationBackground)}
	all := metav1.ListOptions{}
	for name := range f.joined {
		if name != server {
			f.kubelets.Leave(name)
			delete(f.joined, name)
		}
	}
	for _, err := range []error{
		f.admin.AppsV1().Deployments(namespace).DeleteCollection(ctx, now, all),
		f.admin.AppsV1().ReplicaSets("default").DeleteCollection(ctx, now, all),
		f.admin.CoreV1().Nodes().DeleteCollection(ctx, now, metav1.ListOptions{FieldSelector: "metadata.name!=" + server}),
		f.admin.CoreV1().Secrets(namespace).DeleteCollection(ctx, now, all),
		f.admin.CoreV1().Events(namespace).DeleteCollection(ctx, now, all),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if err := f.admin.CoreV1().ConfigMaps(namespace).Delete(ctx, cluster.StatusName, now); err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		left := 0
		for _, in := range []string{"default", namespace} {
			if err := f.admin.CoreV1().Pods(in).DeleteCollection(ctx, now, all); err != nil {
				return false, err
			}
			pods, err := f.admin.CoreV1().Pods(in).List(ctx, all)
			if err != nil {
				return false, err
			}
			left += len(pods.Items)
		}
		return left == 0, nil
	}); err != nil {
		t.Errorf("remove the pods: %v", err)
	}
}
