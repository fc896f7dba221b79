package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// build is what kubectl apply -k applies of a folder.
func build(t *testing.T, folder string) []byte {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestKubectlAppliesTheFolder builds deploy/ by kustomize's own code and has the API server look at it.
func TestKubectlAppliesTheFolder(t *testing.T) {
	text := build(t, "../../deploy")
	objects := parse(t, text)
	for _, want := range []string{"ServiceAccount sluice", "ClusterRole sluice", "ClusterRoleBinding sluice", "Role sluice", "RoleBinding sluice", "Deployment sluice", "Service sluice", "PodDisruptionBudget sluice"} {
		if !slices.Contains(names(objects), want) {
			t.Errorf("kubectl apply -k deploy makes no %s, only %q", want, names(objects))
		}
	}
	for _, refusal := range connect(t).accepts(objects) {
		t.Error(refusal)
	}
	if image := "image: sluice:v" + version(t); !strings.Contains(string(text), image+"\n") {
		t.Errorf("the pod does not run %s", image)
	}
}

// TestEveryManifestIsAccepted has the API server look at each manifest of deploy/ and deploy/examples by itself.
func TestEveryManifestIsAccepted(t *testing.T) {
	c := connect(t)
	gates := c.gates()
	var files []string
	for _, pattern := range []string{"../../deploy/*.yaml", "../../deploy/examples/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		files = append(files, found...)
	}
	var examples []string
	for _, file := range files {
		name := filepath.Base(file)
		if name == "kustomization.yaml" || name == "scheduler-most-allocated.yaml" {
			continue // no objects of a cluster
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		objects := parse(t, text)
		if name == "capacity-gate.yaml" && !gates {
			objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
				return strings.HasPrefix(o.GetKind(), "MutatingAdmissionPolicy")
			})
		}
		for _, refusal := range c.accepts(objects) {
			t.Errorf("%s: %s", name, refusal)
		}
		if strings.Contains(file, "examples") {
			examples = append(examples, strings.TrimSuffix(name, ".yaml"))
			if image := "image: sluice:v" + version(t) + " "; !strings.Contains(string(text), image) {
				t.Errorf("%s does not run %s", name, image)
			}
		}
	}
	slices.Sort(examples)
	if diff := cmp.Diff([]string{"standard", "standard-msi", "vmss", "vmss-autodiscover", "vmss-control-plane", "vmss-msi"}, examples); diff != "" {
		t.Errorf("examples (-want +got):\n%s", diff)
	}
}

// TestAnUnknownFieldIsRefused shows that the two tests above can fail.
func TestAnUnknownFieldIsRefused(t *testing.T) {
	text, err := os.ReadFile("../../deploy/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Replace(string(text), "replicas: 2", "replica: 2", 1)
	if refusals := connect(t).accepts(parse(t, []byte(wrong))); len(refusals) != 1 || !strings.Contains(refusals[0], `unknown field "spec.replica"`) {
		t.Errorf("it says %q", refusals)
	}
}
