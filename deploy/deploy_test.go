package deploy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// TestRBACGrantsWhatIsListedHereAndNoMore makes every change of sluice's rights a change in two places: whoever grants one says so
// twice. That none is missing is shown by the playground, where sluice has these and no others.
func TestRBACGrantsWhatIsListedHereAndNoMore(t *testing.T) {
	got := map[string][]string{}
	want := map[string][]string{
		"ClusterRole sluice-viewer":        {"get /metrics", "get /sluice/api/v1/*"},
		"ClusterRole sluice-agent":         {"get nodes", "patch nodes"},
		"ClusterRole sluice-capacity-gate": {"patch pods"},
		"ClusterRole sluice-join": {
			"approve signers.certificates.k8s.io named kubernetes.io/kube-apiserver-client-kubelet", "approve signers.certificates.k8s.io named kubernetes.io/kubelet-serving", "get nodes", "list certificatesigningrequests.certificates.k8s.io",
			"update certificatesigningrequests/approval.certificates.k8s.io",
		},
		"ClusterRole sluice-join-machine": {"get nodes"},
		"Role sluice-join":                {"create configmaps", "create events", "delete configmaps", "get configmaps", "list configmaps", "update configmaps"},
		"Role sluice-join-server":         {"get endpointslices.discovery.k8s.io named kubernetes"},
		"Role sluice-join-tokens":         {"create secrets", "delete secrets"},
		"Role sluice-join-machine":        {"get configmaps named kube-proxy", "get configmaps named kubeadm-config", "get configmaps named kubelet-config"},
		"ClusterRole sluice": {
			"create events", "create pods/eviction", "delete nodes", "delete volumeattachments.storage.k8s.io", "get capacitybuffers.autoscaling.x-k8s.io", "get nodes", "get pods",
			"get provisioningrequests.autoscaling.x-k8s.io", "list capacitybuffers.autoscaling.x-k8s.io",
			"list csidrivers.storage.k8s.io", "list csinodes.storage.k8s.io", "list csistoragecapacities.storage.k8s.io",
			"list daemonsets.apps", "list deviceclasses.resource.k8s.io", "list namespaces", "list nodes", "list nodes.metrics.k8s.io", "list persistentvolumeclaims",
			"list persistentvolumes", "list poddisruptionbudgets.policy", "list podgroups.scheduling.k8s.io",
			"list podgroups.scheduling.x-k8s.io", "list pods", "list podtemplates", "list provisioningrequests.autoscaling.x-k8s.io",
			"list replicasets.apps", "list replicationcontrollers", "list resourceclaims.resource.k8s.io", "list resourceslices.resource.k8s.io", "list statefulsets.apps", "list storageclasses.storage.k8s.io",
			"list volumeattachments.storage.k8s.io", "patch capacitybuffers/status.autoscaling.x-k8s.io", "patch nodes",
			"patch provisioningrequests/status.autoscaling.x-k8s.io", "watch capacitybuffers.autoscaling.x-k8s.io",
			"watch csidrivers.storage.k8s.io", "watch csinodes.storage.k8s.io", "watch csistoragecapacities.storage.k8s.io",
			"watch daemonsets.apps", "watch deviceclasses.resource.k8s.io", "watch namespaces", "watch nodes", "watch persistentvolumeclaims",
			"watch persistentvolumes", "watch poddisruptionbudgets.policy", "watch podgroups.scheduling.k8s.io",
			"watch podgroups.scheduling.x-k8s.io", "watch pods", "watch podtemplates", "watch provisioningrequests.autoscaling.x-k8s.io",
			"watch replicasets.apps", "watch replicationcontrollers", "watch resourceclaims.resource.k8s.io", "watch resourceslices.resource.k8s.io", "watch statefulsets.apps", "watch storageclasses.storage.k8s.io",
			"watch volumeattachments.storage.k8s.io",
		},
		"Role sluice": {
			"create configmaps", "create leases.coordination.k8s.io", "delete secrets", "get configmaps named cluster-autoscaler-status",
			"get leases.coordination.k8s.io named cluster-autoscaler", "list configmaps named cluster-autoscaler-priority-expander", "update configmaps named cluster-autoscaler-status",
			"update leases.coordination.k8s.io named cluster-autoscaler", "watch configmaps named cluster-autoscaler-priority-expander",
		},
	}
	for kind, documents := range map[string][]byte{"sluice": RBAC, "agent": Agent, "gate": CapacityGate, "readers": WebAuthorization, "join": Join} {
		for _, document := range split(t, documents) {
			var role rbacv1.Role // a ClusterRole has the same fields
			if err := yaml.Unmarshal(document, &role); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			if len(role.Rules) > 0 {
				got[role.Kind+" "+role.Name] = rights(role.Rules)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rights (-want +got):\n%s", diff)
	}
}

// TestTheDeploymentIsWhoItsRightsAreFor: its pods run under the account that rbac.yaml gives its rights to, are found by its own selector, and every probe
// names a port that there is. Unknown fields fail.
func TestTheDeploymentIsWhoItsRightsAreFor(t *testing.T) {
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict(split(t, Deployment)[0], &d); err != nil {
		t.Fatal(err)
	}
	pod := d.Spec.Template
	if d.Namespace != Namespace || pod.Spec.ServiceAccountName != ServiceAccount {
		t.Errorf("it runs as %s/%s, want %s/%s", d.Namespace, pod.Spec.ServiceAccountName, Namespace, ServiceAccount)
	}
	if diff := cmp.Diff(d.Spec.Selector.MatchLabels, pod.Labels); diff != "" {
		t.Errorf("labels of its pods (-selector +labels):\n%s", diff)
	}
	c := pod.Spec.Containers[0]
	for name, probe := range map[string]*corev1.Probe{"liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Port.StrVal != c.Ports[0].Name {
			t.Errorf("%s probe %+v does not ask port %q", name, probe, c.Ports[0].Name)
		}
	}
}

// split is a YAML stream's documents.
func split(t *testing.T, stream []byte) [][]byte {
	t.Helper()
	var all [][]byte
	for documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(stream))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, document)
	}
}

// TestPodsKeepToTheRestrictedProfile asks Kubernetes' own Pod Security admission about every pod that the manifests describe, and holds besides
// what the profile leaves open: a file system that cannot be written, and a limit of memory.
func TestPodsKeepToTheRestrictedProfile(t *testing.T) {
	judge, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Glob("examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pods := 0
	for _, name := range slices.Concat(files, examples) {
		manifest, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range split(t, manifest) {
			var workload struct {
				Kind string
				Spec struct{ Template *corev1.PodTemplateSpec }
			}
			if err := yaml.Unmarshal(document, &workload); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			pod := workload.Spec.Template
			if pod == nil {
				continue
			}
			pods++
			for _, result := range judge.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
				if !result.Allowed {
					t.Errorf("%s: the profile forbids %s: %s", name, result.ForbiddenReason, result.ForbiddenDetail)
				}
			}
			for _, c := range pod.Spec.Containers {
				if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
					t.Errorf("%s: container %s can write to its file system", name, c.Name)
				}
				if c.Resources.Limits.Memory().IsZero() {
					t.Errorf("%s: container %s has no limit of memory", name, c.Name)
				}
			}
		}
	}
	if want := 2 + len(examples); pods != want || len(examples) == 0 {
		t.Errorf("manifests describe %d pods, want those of sluice and its agent and %d examples", pods, len(examples))
	}
}

// TestExamplesKeepTheirNode: an example stands on nodes that sluice does not remove, or has its pods keep the node they are on. All else but arguments,
// environment, place and volumes is that of deployment.yaml.
func TestExamplesKeepTheirNode(t *testing.T) {
	read := func(document []byte) (d appsv1.Deployment, place corev1.PodSpec) {
		if err := yaml.UnmarshalStrict(document, &d); err != nil {
			t.Fatal(err)
		}
		pod := &d.Spec.Template.Spec
		place = *pod.DeepCopy()
		pod.Affinity, pod.Tolerations, pod.Volumes, d.Spec.Template.Annotations = nil, nil, nil, nil
		c := &pod.Containers[0]
		c.Image, c.Args, c.Env, c.VolumeMounts = "", nil, nil, nil
		return d, place
	}
	want, home := read(Deployment)
	examples, err := filepath.Glob("examples/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatal("no examples: ", err)
	}
	for _, name := range examples {
		manifest, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, place := read(manifest)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-deployment.yaml +example):\n%s", name, diff)
		}
		keeps := bytes.Contains(manifest, []byte("\n        cluster-autoscaler.kubernetes.io/safe-to-evict: \"false\"\n"))
		if !keeps && cmp.Diff(home.Affinity, place.Affinity) != "" {
			t.Errorf("%s: it may stand on a node that sluice removes", name)
		}
		if len(place.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) != 1 {
			t.Errorf("%s: both replicas may stand on one node", name)
		}
	}
}

// TestSupportIsWhatIsTested holds docs/reference/support.md and the chart to the Kubernetes that the tests run.
func TestSupportIsWhatIsTested(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, tested, _ := strings.Cut(read("../go.mod"), "\n\tk8s.io/kubernetes v")
	tested = strings.Join(strings.Split(tested, ".")[:2], ".")
	page, chart := read("../docs/reference/support.md"), read("chart/Chart.yaml")
	rows := []string{"\n| " + tested + " | everything |", "\n| 1.30, "}
	played, err := filepath.Glob("../hack/skew/*/go.mod")
	if err != nil || len(played) == 0 {
		t.Fatalf("make skew plays nothing: %v", err)
	}
	for _, module := range played {
		_, version, _ := strings.Cut(read(module), "k8s.io/kubernetes v")
		version, _, _ = strings.Cut(version, "\n")
		rows = append(rows, "\n| "+version+" | control plane | ", "\n| "+version+" | shipped manifests and chart | ")
	}
	for _, row := range rows {
		if !strings.Contains(page, row) {
			t.Errorf("docs/reference/support.md has no row %q", row)
		}
	}
	if !strings.Contains(chart, "\nkubeVersion: \">=1.30.0-0\"\n") {
		t.Error("the chart installs on other versions than the page says")
	}
}

// TestTheChartHasTheManifestsThemselves: what the chart reads of this folder is linked, so that it cannot differ.
func TestTheChartHasTheManifestsThemselves(t *testing.T) {
	files, err := filepath.Glob("chart/files/*")
	if err != nil || len(files) != 9 {
		t.Fatalf("the chart has %q, want nine files: %v", files, err)
	}
	dashboards, err := filepath.Glob("monitoring/*.json")
	if err != nil || len(dashboards) == 0 {
		t.Fatal(dashboards, err)
	}
	for _, name := range dashboards {
		if !slices.Contains(files, "chart/files/"+filepath.Base(name)) {
			t.Errorf("the chart has no link to %s", name)
		}
	}
	for _, name := range files {
		if to, err := os.Readlink(name); err != nil || !slices.Contains([]string{"../../" + filepath.Base(name), "../../monitoring/" + filepath.Base(name)}, to) {
			t.Errorf("%s leads to %q, want the file of its name in this folder: %v", name, to, err)
		}
	}
}

// rights are the rules one by one, sorted.
func rights(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, r := range rules {
		names := r.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, verb := range r.Verbs {
			for _, url := range r.NonResourceURLs {
				all = append(all, verb+" "+url)
			}
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, name := range names {
						right := verb + " " + resource
						if group != "" {
							right += "." + group
						}
						if name != "" {
							right += " named " + name
						}
						all = append(all, right)
					}
				}
			}
		}
	}
	slices.Sort(all)
	return all
}
