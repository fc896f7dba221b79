package chart

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// theDoor has machines join by proof.
func theDoor() values {
	return values{"join": values{
		"enabled": true, "port": 7444, "distribution": "kubeadm", "server": "https://10.10.0.4:6443", "resourceGroups": []any{"farm", "more"}, "pools": []any{"agents", "burst"},
	}}
}

// TestTheDoorIsAnOption: switched on, the release has the rights of deploy/join.yaml in the namespaces where these count, and a pod that machines reach. Switched
// off, nothing speaks of it.
func TestTheDoorIsAnOption(t *testing.T) {
	for _, o := range mustRender(t, "farm", "scaling", nil) {
		if text, err := yaml.Marshal(o.Object); err != nil || strings.Contains(string(text), "join") {
			t.Errorf("%s %s speaks of joining: %v", o.GetKind(), o.GetName(), err)
		}
	}
	objects := mustRender(t, "farm", "scaling", theDoor())
	rights := manifest(t, "join.yaml")
	if len(rights) < 10 {
		t.Fatalf("deploy/join.yaml has %d objects", len(rights))
	}
	for _, want := range rights {
		subjects, _, err := unstructured.NestedSlice(want.Object, "subjects")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range subjects {
			if s := s.(map[string]any); s["kind"] == "ServiceAccount" {
				s["name"], s["namespace"] = "farm-sluice", "scaling"
			}
		}
		if subjects != nil {
			want.Object["subjects"] = subjects
		}
		at := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
			return o.GetKind() == want.GetKind() && o.GetName() == want.GetName() && o.GetNamespace() == want.GetNamespace()
		})
		if at < 0 {
			t.Errorf("there is no %s %s in %q", want.GetKind(), want.GetName(), want.GetNamespace())
		} else if diff := cmp.Diff(bare(want), bare(objects[at])); diff != "" {
			t.Errorf("%s %s (-manifest +chart):\n%s", want.GetKind(), want.GetName(), diff)
		}
	}
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(find(t, objects, "Deployment", "farm-sluice").Object, &d); err != nil {
		t.Fatal(err)
	}
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	const flags = "--join-address=:7444 --join-distribution=kubeadm --join-server=https://10.10.0.4:6443 --join-resource-groups=farm,more --join-pools=agents,burst"
	if !strings.Contains(strings.Join(c.Args, " "), flags) {
		t.Errorf("args %q", c.Args)
	}
	if !pod.HostNetwork || pod.DNSPolicy != corev1.DNSDefault || d.Spec.Strategy.RollingUpdate.MaxSurge.IntValue() != 0 || d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 1 {
		t.Errorf("hostNetwork %v, dnsPolicy %s, strategy %v", pod.HostNetwork, pod.DNSPolicy, d.Spec.Strategy)
	}
	if v := pod.Volumes[0].Secret; v == nil || v.SecretName != "sluice-join" || !*v.Optional || c.VolumeMounts[0].MountPath != "/etc/sluice/join" {
		t.Errorf("the key comes from %v, at %v", pod.Volumes, c.VolumeMounts)
	}
	policy, err := json.Marshal(find(t, objects, "NetworkPolicy", "farm-sluice").Object["spec"])
	if err != nil || !strings.Contains(string(policy), `{"ports":[{"port":"join","protocol":"TCP"}]}`) {
		t.Errorf("machines do not reach it: %s %v", policy, err)
	}
	for _, refusal := range connect(t).accepts(mustRender(t, "sluice", "kube-system", theDoor())) {
		t.Error(refusal)
	}
	without := theDoor()
	without["rbac"] = values{"create": false}
	for _, o := range mustRender(t, "farm", "scaling", without) {
		if strings.Contains(o.GetName(), "join") {
			t.Errorf("without rbac.create there is %s %s", o.GetKind(), o.GetName())
		}
	}
}
