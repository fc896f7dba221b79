package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// incumbentDeployment is a Deployment of cluster-autoscaler as the examples have it, pointed at the farm.
func (f *farm) incumbentDeployment(args ...string) *appsv1.Deployment {
	from := func(name, key string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "cluster-autoscaler-azure"}, Key: key}}}
	}
	for _, flag := range f.flags {
		if strings.HasPrefix(flag, "--azure-") { // where this Azure is
			args = append(args, flag)
		}
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler", Labels: map[string]string{"app": "cluster-autoscaler"}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "cluster-autoscaler"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "cluster-autoscaler"}},
				Spec: corev1.PodSpec{
					ServiceAccountName: "cluster-autoscaler",
					Containers: []corev1.Container{
						{Name: "proxy", Image: "registry.example/proxy:1"},
						{
							Name: "autoscaler", Image: "registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.1", Command: append([]string{"./cluster-autoscaler"}, args...),
							Env: []corev1.EnvVar{
								from("ARM_SUBSCRIPTION_ID", "SubscriptionID"), from("ARM_RESOURCE_GROUP", "ResourceGroup"), from("ARM_VM_TYPE", "VMType"),
								{Name: "GROUP", Value: "agents"},
								{Name: "WEBHOOK_SECRET", Value: "hunter2"},
								{Name: "ARM_USE_MANAGED_IDENTITY_EXTENSION", Value: "true"},
								{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
							},
							VolumeMounts: []corev1.VolumeMount{{Name: "azure", MountPath: "/etc/kubernetes/azure"}},
						},
					},
					Volumes: []corev1.Volume{{Name: "azure", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "azure-file", Items: []corev1.KeyToPath{{Key: "conf", Path: "azure.json"}}}}}},
				},
			},
		},
	}
}

// adopt runs the verb in a new directory, which it returns.
func (f *farm) adopt(d *appsv1.Deployment, more ...string) (said, string) {
	f.t.Helper()
	for name, data := range map[string]map[string][]byte{
		"cluster-autoscaler-azure": {"SubscriptionID": []byte(subscription), "ResourceGroup": []byte("farm"), "VMType": []byte("vmss")},
		"azure-file":               {"conf": []byte(`{"location": "westeurope", "useInstanceMetadata": true}`)},
	} {
		_, err := f.cluster.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Data: data})
		must(f.t, err)
	}
	_, err := f.cluster.Create(d)
	must(f.t, err)
	directory := f.t.TempDir()
	args := []string{"adopt", "--image=registry.example/sluice:v1", "--directory=" + directory}
	for _, flag := range f.flags {
		if strings.HasPrefix(flag, "--kubeconfig=") {
			args = append(args, flag)
		}
	}
	return sluice(f.t.Context(), append(args, more...)...), directory
}

func TestAdoptSaysWhatSettingsBecomeAndPlansWithThem(t *testing.T) {
	f := newFarm(t)
	f.pod("web")
	t.Setenv("ARM_RESOURCE_GROUP", "elsewhere") // of whoever asks: the Deployment's counts
	got, directory := f.adopt(f.incumbentDeployment("--v=4", "--cloud-provider=azure", "--nodes=0:3:$(GROUP)", "--logtostderr=true", "--cloud-config=/etc/kubernetes/azure/azure.json", "--skip_nodes_with_local_storage=false"))
	got.expect(t, exitActs,
		"Deployment kube-system/cluster-autoscaler, container autoscaler, image registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.1",
		"--nodes=[0:3:agents]: the same", "--skip-nodes-with-local-storage=false: the same", "--logtostderr=true: no effect: ",
		"--expander: ", "least-waste there",
		"ARM_SUBSCRIPTION_ID from Secret cluster-autoscaler-azure, key SubscriptionID: the same", "GROUP=agents: no setting of cluster-autoscaler",
		"WEBHOOK_SECRET (not shown)", "NB: environment variable POD is known in the pod alone",
		"sluice doctor with these settings", "sluice plan with these settings", "grow group agents 1 -> 2",
	)
	if strings.Contains(got.out, "hunter2") || strings.Contains(got.out, "ARM_SUBSCRIPTION_ID="+subscription) {
		t.Errorf("what a Secret holds is shown:\n%s", got.out)
	}
	if os.Getenv("ARM_RESOURCE_GROUP") != "elsewhere" || os.Getenv("ARM_SUBSCRIPTION_ID") != "" {
		t.Error("the environment is not what it was")
	}
	f.untouched()

	there, err := os.ReadFile(filepath.Join(directory, wayThere))
	must(t, err)
	back, err := os.ReadFile(filepath.Join(directory, wayBack))
	must(t, err)
	for _, text := range [][]byte{there, back} {
		if strings.Contains(string(text), subscription) {
			t.Errorf("a manifest holds what a Secret holds:\n%s", text)
		}
	}
	images := func(text []byte) string {
		var d appsv1.Deployment
		must(t, yaml.UnmarshalStrict(text, &d))
		if d.Namespace != "kube-system" || d.Name != "cluster-autoscaler" || d.ResourceVersion != "" || d.UID != "" || d.Spec.Template.Spec.Containers[1].Command[0] != "./cluster-autoscaler" {
			t.Errorf("the Deployment is written as %+v", d)
		}
		return d.Spec.Template.Spec.Containers[0].Image + " " + d.Spec.Template.Spec.Containers[1].Image
	}
	documents := strings.Split(string(there), "---\n")
	if got := images([]byte(documents[0])); got != "registry.example/proxy:1 registry.example/sluice:v1" {
		t.Errorf("images of the way there: %s", got)
	}
	if got := images(back); got != "registry.example/proxy:1 registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.1" {
		t.Errorf("images of the way back: %s", got)
	}
	bound := 0
	for _, document := range documents[1:] {
		var b rbacv1.RoleBinding
		must(t, yaml.Unmarshal([]byte(document), &b))
		if strings.HasSuffix(b.Kind, "Binding") {
			bound++
			if len(b.Subjects) != 1 || b.Subjects[0].Name != "cluster-autoscaler" || b.Subjects[0].Namespace != "kube-system" {
				t.Errorf("%s %s is for %+v", b.Kind, b.Name, b.Subjects)
			}
		}
	}
	if bound != 2 {
		t.Errorf("%d bindings are written, want 2", bound)
	}
}

func TestAdoptOverwritesNoWayBack(t *testing.T) {
	f := newFarm(t)
	first, directory := f.adopt(f.incumbentDeployment("--nodes=0:3:agents"))
	if first.code == exitError {
		t.Fatalf("adopt: %s", first.complaint)
	}
	var kubeconfig string
	for _, flag := range f.flags {
		if strings.HasPrefix(flag, "--kubeconfig=") {
			kubeconfig = flag
		}
	}
	sluice(t.Context(), "adopt", "--image=registry.example/sluice:v2", "--directory="+directory, kubeconfig).expect(t, exitError, "Deployment kube-system/cluster-autoscaler")
	back, err := os.ReadFile(filepath.Join(directory, wayThere))
	must(t, err)
	if !strings.Contains(string(back), "registry.example/sluice:v1") {
		t.Error("the file that was there is overwritten")
	}
}

func TestAdoptRefusesInOneSentence(t *testing.T) {
	shell := func(f *farm) *appsv1.Deployment {
		d := f.incumbentDeployment()
		d.Spec.Template.Spec.Containers[1].Command = []string{"/bin/sh", "-c", "./cluster-autoscaler --v=4"}
		return d
	}
	for name, c := range map[string]struct {
		deployment func(f *farm) *appsv1.Deployment
		more       []string
		words      []string
	}{
		"a shell":         {shell, nil, []string{"container autoscaler is started by /bin/sh"}},
		"an unknown flag": {func(f *farm) *appsv1.Deployment { return f.incumbentDeployment("--nodez=1:2:a") }, nil, []string{"arguments of container autoscaler", "nodez"}},
		"another name":    {func(f *farm) *appsv1.Deployment { return f.incumbentDeployment() }, []string{"--deployment=ca"}, []string{"read Deployment kube-system/ca", "--deployment"}},
		"no image":        {func(f *farm) *appsv1.Deployment { return f.incumbentDeployment() }, []string{"--image="}, []string{"--image is empty"}},
		"a Secret that lacks": {func(f *farm) *appsv1.Deployment {
			d := f.incumbentDeployment()
			d.Spec.Template.Spec.Containers[1].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "gone"}}}}
			return d
		}, nil, []string{"read Secret kube-system/gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFarm(t)
			got, _ := f.adopt(c.deployment(f), c.more...)
			got.complains(t, c.words...)
		})
	}
}
