package chart

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const folder = "../../deploy/chart"

type values = map[string]any

func load(t *testing.T) *v2.Chart {
	t.Helper()
	c, err := loader.LoadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// version is that of the chart, and of sluice in it.
func version(t *testing.T) string {
	t.Helper()
	c := load(t)
	if c.Metadata.AppVersion != "v"+c.Metadata.Version {
		t.Errorf("the chart has version %s and installs %s", c.Metadata.Version, c.Metadata.AppVersion)
	}
	return c.Metadata.Version
}

// render is helm template.
func render(t *testing.T, name, namespace string, v values) ([]*unstructured.Unstructured, error) {
	t.Helper()
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy, install.ReleaseName, install.Namespace = action.DryRunClient, name, namespace
	install.KubeVersion = &common.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
	made, err := install.Run(load(t), v)
	if err != nil {
		return nil, err
	}
	a, err := release.NewAccessor(made)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, []byte(a.Manifest())), nil
}

func mustRender(t *testing.T, name, namespace string, v values) []*unstructured.Unstructured {
	t.Helper()
	objects, err := render(t, name, namespace, v)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// find is the one object of a kind and name.
func find(t *testing.T, objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	t.Fatalf("there is no %s %s, only %q", kind, name, names(objects))
	return nil
}

func manifest(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile("../../deploy/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}

// everything switches on all that the chart can do.
func everything() values {
	return values{
		"autoscalingGroups":   []any{values{"name": "agents", "minSize": 1, "maxSize": 10}, values{"name": "render", "minSize": 0, "maxSize": 1000000}},
		"azureSubscriptionID": "11111111-1111-1111-1111-111111111111", "azureResourceGroup": "farm", "azureTenantID": "t", "azureClientID": "c", "azureClientSecret": "s",
		"azureVMType": "vmss", "azureDeploymentParametersSecret": "parameters", "azureEnableForceDelete": true, "azureEnableVMSSEtag": true,
		"extraArgs":          values{"expander": "priority", "max-nodes-total": 1000000, "dry-run": nil, "daemon-work_1": "a/b=c", "daemon-work_2": "d/e=f", "scale-down-utilization-threshold": 0.5},
		"customArgs":         []any{"--log-format=json"},
		"expanderPriorities": values{"10": []any{".*"}}, "priorityConfigMapAnnotations": values{"a": "b"},
		"extraEnv": values{"A": 1}, "extraEnvConfigMaps": values{"B": values{"name": "m", "key": "k"}}, "extraEnvSecrets": values{"C": values{"key": "k"}},
		"envFromConfigMap": "m", "envFromSecret": "s",
		"extraVolumes": []any{values{"name": "more", "emptyDir": values{}}}, "extraVolumeMounts": []any{values{"name": "more", "mountPath": "/more"}},
		"extraVolumeSecrets": values{"certificate": values{"mountPath": "/tls", "items": []any{values{"key": "k", "path": "p"}}}},
		"initContainers": []any{values{"name": "first", "image": "sluice", "args": []any{"version"}, "securityContext": values{
			"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": values{"drop": []any{"ALL"}},
		}}},
		"extraObjects":     []any{values{"apiVersion": "v1", "kind": "ConfigMap", "metadata": values{"name": "{{ .Release.Name }}-more", "namespace": "{{ .Release.Namespace }}"}}},
		"journal":          values{"enabled": true},
		"agent":            values{"enabled": true, "nodeSelector": values{"a": "b"}},
		"capacityGate":     values{"enabled": true},
		"webAuthorization": values{"enabled": true},
		"reader":           values{"enabled": true},
		"image":            values{"pullSecrets": []any{"pull"}},
		"updateStrategy":   values{"type": "RollingUpdate"},
		"nodeSelector":     values{"a": "b"},
		"dnsPolicy":        "None", "dnsConfig": values{"nameservers": []any{"10.0.0.10"}},
		"topologySpreadConstraints": []any{values{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": values{"matchLabels": values{"app.kubernetes.io/name": "sluice"}}}},
		"additionalLabels":          values{"team": "farm"}, "podAnnotations": values{"a": "b"}, "podLabels": values{"a": "b"}, "deployment": values{"annotations": values{"a": "b"}},
		"rbac":           values{"additionalRules": []any{values{"apiGroups": []any{""}, "resources": []any{"services"}, "verbs": []any{"list"}}}, "serviceAccount": values{"annotations": values{"a": "b"}}},
		"service":        values{"labels": values{"a": "b"}, "type": "NodePort"},
		"networkPolicy":  values{"from": []any{values{"namespaceSelector": values{"matchLabels": values{"kubernetes.io/metadata.name": "monitoring"}}}}},
		"serviceMonitor": values{"enabled": true, "selector": values{"release": "prometheus"}, "annotations": values{"a": "b"}, "relabelings": []any{values{"action": "drop"}}, "metricRelabelings": []any{values{"action": "drop"}}},
		"prometheusRule": values{"enabled": true, "additionalLabels": values{"a": "b"}, "interval": "1m", "rules": []any{values{"alert": "SluiceAway", "expr": `absent(up{job="{{ .Release.Name }}"} == 1)`}}},
		"dashboards":     values{"enabled": true, "annotations": values{"grafana_folder": "sluice"}},
		"vpa":            values{"enabled": true, "containerPolicy": values{"minAllowed": values{"cpu": "10m"}}},
	}
}

func TestHelmsLinterHasNothingToSay(t *testing.T) {
	for name, v := range map[string]values{"defaults": {}, "everything": everything(), "the door": theDoor()} {
		for _, m := range lint.RunAll(folder, v, "kube-system", lint.WithKubeVersion(&common.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"})).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("with %s: %s", name, m)
			}
		}
	}
}

// bare is an object without what every object of a release has and no manifest.
func bare(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	o.SetLabels(nil)
	return o.Object
}

// TestRightsAreThoseOfTheManifests: what deploy/rbac.yaml and the other manifests grant is what the chart grants, object by object, under their names in
// kube-system. Elsewhere the rules are the same.
func TestRightsAreThoseOfTheManifests(t *testing.T) {
	here := mustRender(t, "sluice", "kube-system", values{"capacityGate": values{"enabled": true}, "webAuthorization": values{"enabled": true}, "agent": values{"enabled": true}})
	there := mustRender(t, "farm", "scaling", values{"capacityGate": values{"enabled": true}, "webAuthorization": values{"enabled": true}, "agent": values{"enabled": true}})
	objects := 0
	for _, file := range []string{"rbac.yaml", "capacity-gate.yaml", "web-authorization.yaml", "agent.yaml"} {
		for _, want := range manifest(t, file) {
			if want.GetKind() == "DaemonSet" {
				continue
			}
			objects++
			got := find(t, here, want.GetKind(), want.GetName())
			if want.GetKind() == "ServiceAccount" && want.GetName() == "sluice" {
				want.Object["automountServiceAccountToken"] = true
			}
			if diff := cmp.Diff(bare(want), bare(got)); diff != "" {
				t.Errorf("%s: %s %s (-manifest +chart):\n%s", file, want.GetKind(), want.GetName(), diff)
			}
			if rules := want.Object["rules"]; rules != nil {
				name := strings.Replace(want.GetName(), "sluice", "farm-sluice", 1)
				if diff := cmp.Diff(rules, find(t, there, want.GetKind(), name).Object["rules"]); diff != "" {
					t.Errorf("%s: rules of %s (-manifest +chart):\n%s", file, name, diff)
				}
			}
		}
	}
	if objects < 12 {
		t.Errorf("compared %d objects, too few", objects)
	}
	for _, o := range there {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "kube-system") {
			t.Errorf("%s %s speaks of kube-system in another namespace:\n%s", o.GetKind(), o.GetName(), text)
		}
	}
}

// TestFlagsThatNameObjectsMoveTheirRights: the lease and the status may have other names.
func TestFlagsThatNameObjectsMoveTheirRights(t *testing.T) {
	objects := mustRender(t, "sluice", "kube-system", values{"extraArgs": values{"leader-elect-resource-name": "mine", "status-config-map-name": "my-status"}})
	text, err := json.Marshal(find(t, objects, "Role", "sluice").Object["rules"])
	if err != nil {
		t.Fatal(err)
	}
	for want, is := range map[string]bool{`["mine"]`: true, `["my-status"]`: true, `"cluster-autoscaler"`: false, `"cluster-autoscaler-status"`: false, `"cluster-autoscaler-priority-expander"`: true} {
		if strings.Contains(string(text), want) != is {
			t.Errorf("rights of %s: %v, want %v: %s", want, !is, is, text)
		}
	}
}

// TestReadersReachTheServiceOfTheRelease, and read the lease, by the names that these have.
func TestReadersReachTheServiceOfTheRelease(t *testing.T) {
	want := manifest(t, "reader.yaml")[0]
	if diff := cmp.Diff(bare(want), bare(find(t, mustRender(t, "sluice", "kube-system", values{"reader": values{"enabled": true}}), "Role", "sluice-reader"))); diff != "" {
		t.Errorf("(-manifest +chart):\n%s", diff)
	}
	objects := mustRender(t, "farm", "scaling", values{"reader": values{"enabled": true}, "service": values{"servicePort": 80}, "extraArgs": values{"leader-elect-resource-name": "mine"}})
	role, service := find(t, objects, "Role", "farm-sluice-reader"), find(t, objects, "Service", "farm-sluice")
	text, err := json.Marshal(role.Object["rules"])
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range []string{`["http:farm-sluice:80","https:farm-sluice:80"]`, `["mine"]`} {
		if !strings.Contains(string(text), names) {
			t.Errorf("rights to %s are missing: %s", names, text)
		}
	}
	if role.GetNamespace() != "scaling" || service.GetNamespace() != "scaling" {
		t.Errorf("the role is in %s, the service in %s", role.GetNamespace(), service.GetNamespace())
	}
}

// TestThePodIsThatOfTheManifest holds the chart's defaults to deploy/deployment.yaml.
func TestThePodIsThatOfTheManifest(t *testing.T) {
	normal := func(o *unstructured.Unstructured) map[string]any {
		text, err := json.Marshal(o.Object["spec"])
		if err != nil {
			t.Fatal(err)
		}
		var spec map[string]any
		// The chart's selector also names the release, and what a default says need not be said.
		for _, pair := range [][2]string{{`"app.kubernetes.io/instance":"sluice",`, ""}, {`,"scheme":"HTTP"`, ""}, {`"imagePullPolicy":"IfNotPresent",`, ""}, {`"image":"sluice:v` + version(t) + `"`, `"image":"sluice"`}} {
			text = []byte(strings.ReplaceAll(string(text), pair[0], pair[1]))
		}
		if err := json.Unmarshal(text, &spec); err != nil {
			t.Fatal(err)
		}
		delete(spec, "revisionHistoryLimit")
		c := spec["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
		delete(c, "args")
		if c["env"] == nil {
			delete(c, "env")
		}
		return spec
	}
	got := normal(find(t, mustRender(t, "sluice", "kube-system", nil), "Deployment", "sluice"))
	if diff := cmp.Diff(normal(manifest(t, "deployment.yaml")[0]), got); diff != "" {
		t.Errorf("the pod (-manifest +chart):\n%s", diff)
	}
}

// TestTheReleaseHasTheDashboardsAndTheRules, as the files of deploy/monitoring have them, and says where they can be looked for. Without being asked to, it has
// none.
func TestTheReleaseHasTheDashboardsAndTheRules(t *testing.T) {
	v := values{
		"dashboards":     values{"enabled": true, "namespace": "monitoring", "labels": values{"board": "yes", "grafana_dashboard": nil}, "annotations": values{"grafana_folder": "sluice"}},
		"prometheusRule": values{"enabled": true, "namespace": "monitoring", "additionalLabels": values{"release": "prometheus"}},
	}
	objects := mustRender(t, "farm", "scaling", v)
	boards, rules := find(t, objects, "ConfigMap", "farm-sluice-dashboards"), find(t, objects, "PrometheusRule", "farm-sluice")
	if boards.GetNamespace() != "monitoring" || rules.GetNamespace() != "monitoring" {
		t.Errorf("dashboards are in %s, rules in %s", boards.GetNamespace(), rules.GetNamespace())
	}
	if l := boards.GetLabels(); l["board"] != "yes" || l["grafana_dashboard"] != "" || l["app.kubernetes.io/name"] != "sluice" || boards.GetAnnotations()["grafana_folder"] != "sluice" {
		t.Errorf("the dashboards have labels %v, annotations %v", l, boards.GetAnnotations())
	}
	if rules.GetLabels()["release"] != "prometheus" {
		t.Errorf("the rules have labels %v", rules.GetLabels())
	}
	byDefault := find(t, mustRender(t, "sluice", "kube-system", values{"dashboards": values{"enabled": true}}), "ConfigMap", "sluice-dashboards")
	if byDefault.GetNamespace() != "kube-system" || byDefault.GetLabels()["grafana_dashboard"] != "1" {
		t.Errorf("by default the dashboards are in %s with labels %v", byDefault.GetNamespace(), byDefault.GetLabels())
	}
	files, err := filepath.Glob("../../deploy/monitoring/*.json")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	want := map[string]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want[filepath.Base(file)] = string(text)
	}
	if diff := cmp.Diff(want, boards.Object["data"]); diff != "" {
		t.Errorf("dashboards (-files +release):\n%s", diff)
	}
	file := manifest(t, "monitoring/alerts.yaml")[0].Object["groups"].([]any)[0].(map[string]any)
	groups := rules.Object["spec"].(map[string]any)["groups"].([]any)
	if len(groups) != 1 {
		t.Fatalf("%d groups of rules", len(groups))
	}
	if diff := cmp.Diff(file["rules"], groups[0].(map[string]any)["rules"]); diff != "" {
		t.Errorf("rules (-file +release):\n%s", diff)
	}
	for _, o := range mustRender(t, "farm", "scaling", nil) {
		if o.GetKind() == "PrometheusRule" || strings.HasSuffix(o.GetName(), "-dashboards") {
			t.Errorf("by default there is %s %s", o.GetKind(), o.GetName())
		}
	}
}

// args are the container's arguments.
func args(t *testing.T, v values) string {
	t.Helper()
	all, _, err := unstructured.NestedSlice(find(t, mustRender(t, "sluice", "kube-system", v), "Deployment", "sluice").Object, "spec", "template", "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(fmt.Sprint(all[0].(map[string]any)["args"]), "[]")
}

func TestValuesBecomeFlags(t *testing.T) {
	const always = "run --address=:8085 --cloud-provider=azure --namespace=kube-system"
	for want, v := range map[string]values{
		"": nil,
		" --node-group-auto-discovery=label:cluster-autoscaler-enabled=true,cluster-autoscaler-name=prod": {"autoDiscovery": values{"clusterName": "prod"}},
		" --node-group-auto-discovery=label:a=b,c=prod":                                                   {"autoDiscovery": values{"clusterName": "prod", "tags": []any{"a=b", "c={{ .Values.autoDiscovery.clusterName }}"}}},
		" --nodes=1:10:agents --nodes=0:1000000:render --web-authorization --journal=/journal/sluice.jsonl --journal-max-bytes=67108864 --journal-keep-bytes=268435456" +
			" --daemon-work=a/b=c --daemon-work=d/e=f --dry-run --expander=priority --max-nodes-total=1000000 --scale-down-utilization-threshold=0.5 --log-format=json": everything(),
	} {
		if got := args(t, v); got != always+want {
			t.Errorf("args\n%s, want\n%s", got, always+want)
		}
	}
}

// TestAMisspeltValueIsRefused adds a name that there is not, in every place where values have names of their own.
func TestAMisspeltValueIsRefused(t *testing.T) {
	text, err := os.ReadFile(folder + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	defaults := load(t).Values
	places := 0
	var visit func(schema map[string]any, at []string, value any)
	visit = func(schema map[string]any, at []string, value any) {
		properties, ok := schema["properties"].(map[string]any)
		if !ok {
			return
		}
		places++
		wrong := values{"replicaCuont": 3}
		for _, key := range slices.Backward(at) {
			wrong = values{key: wrong}
		}
		if _, err := render(t, "sluice", "kube-system", wrong); err == nil || !strings.Contains(err.Error(), "replicaCuont") {
			t.Errorf("a misspelt value in %q is taken: %v", at, err)
		}
		has, _ := value.(map[string]any)
		for key := range has {
			if properties[key] == nil {
				t.Errorf("the schema has no %q in %q", key, at)
			}
		}
		for key, inner := range properties {
			visit(inner.(map[string]any), append(slices.Clone(at), key), has[key])
		}
	}
	visit(whole, nil, defaults)
	if places < 10 {
		t.Errorf("tried %d places, too few", places)
	}
	for want, v := range map[string]values{
		"replicaCount": {"replicaCount": "two"}, "cloudProvider": {"cloudProvider": "aws"}, "maxSize": {"autoscalingGroups": []any{values{"name": "a", "minSize": 1}}},
		"azureVMType": {"azureVMType": "aks"}, "tags": {"autoDiscovery": values{"tags": []any{"k8s.io/cluster-autoscaler/enabled"}}},
	} {
		if _, err := render(t, "sluice", "kube-system", v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v is taken: %v", v, err)
		}
	}
}

func TestOlderKubernetesIsRefused(t *testing.T) {
	for _, c := range []struct {
		minor string
		gate  bool
		want  string
	}{
		{"29", false, "incompatible with Kubernetes v1.29.0"}, {"30", false, ""}, {"35", true, "needs Kubernetes 1.36 or later, and this is v1.35.0"}, {"36", true, ""},
	} {
		install := action.NewInstall(action.NewConfiguration())
		install.DryRunStrategy, install.ReleaseName, install.Namespace = action.DryRunClient, "sluice", "kube-system"
		install.KubeVersion = &common.KubeVersion{Version: "v1." + c.minor + ".0", Major: "1", Minor: c.minor}
		_, err := install.Run(load(t), values{"capacityGate": values{"enabled": c.gate}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("Kubernetes 1.%s, gate %v: it says %v, want %q", c.minor, c.gate, err, c.want)
		}
	}
}

// TestInstallUpgradeUninstall goes through a release's life on the real API server, in a namespace that enforces the restricted Pod Security profile: its pods
// are made, the API server takes every field, and nothing is left.
func TestInstallUpgradeUninstall(t *testing.T) {
	const namespace = "scaling"
	c := connect(t)
	ctx := t.Context()
	c.customResources(ctx)
	if _, err := c.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the namespace's account", func() (bool, string) {
		_, err := c.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		_, err = c.client.CoreV1().ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	before := c.all(ctx)
	all := everything()
	if !c.gates() {
		all["capacityGate"] = values{"enabled": false}
	}

	for _, v := range []values{{}, all} {
		for _, refusal := range c.accepts(mustRender(t, "farm", namespace, v)) {
			t.Error(refusal)
		}
	}
	if t.Failed() {
		t.FailNow()
	}

	settings := cli.New()
	settings.KubeConfig = kubeconfig
	settings.SetNamespace(namespace)
	conf := action.NewConfiguration()
	if err := conf.Init(settings.RESTClientGetter(), namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(conf)
	install.ReleaseName, install.Namespace, install.WaitStrategy = "farm", namespace, kube.HookOnlyStrategy
	if _, err := install.Run(load(t), values{}); err != nil {
		t.Fatal("install: ", err)
	}
	pods := func(want int) {
		t.Helper()
		c.eventually(fmt.Sprintf("%d pods", want), func() (bool, string) {
			list, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err.Error()
			}
			events, err := c.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedCreate"})
			if err == nil && len(events.Items) > 0 {
				return len(list.Items) == want, events.Items[0].Message
			}
			return len(list.Items) == want, fmt.Sprint(len(list.Items), " pods")
		})
	}
	pods(2)
	upgrade := action.NewUpgrade(conf)
	upgrade.Namespace, upgrade.WaitStrategy = namespace, kube.HookOnlyStrategy
	all["replicaCount"] = 3
	if _, err := upgrade.Run("farm", load(t), all); err != nil {
		t.Fatal("upgrade: ", err)
	}
	c.eventually("an agent's DaemonSet and three replicas", func() (bool, string) {
		d, err := c.client.AppsV1().Deployments(namespace).Get(ctx, "farm-sluice", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		_, err = c.client.AppsV1().DaemonSets(namespace).Get(ctx, "farm-sluice-agent", metav1.GetOptions{})
		return err == nil && *d.Spec.Replicas == 3, fmt.Sprint(err, *d.Spec.Replicas)
	})
	down := action.NewUpgrade(conf)
	down.Namespace, down.WaitStrategy, down.ResetValues = namespace, kube.HookOnlyStrategy, true
	if _, err := down.Run("farm", load(t), values{}); err != nil {
		t.Fatal("back to the defaults: ", err)
	}
	if _, err := c.client.AppsV1().DaemonSets(namespace).Get(ctx, "farm-sluice-agent", metav1.GetOptions{}); err == nil {
		t.Error("the agent stays when it is switched off")
	}
	uninstall := action.NewUninstall(conf)
	uninstall.WaitStrategy, uninstall.DeletionPropagation = kube.HookOnlyStrategy, "background"
	if _, err := uninstall.Run("farm"); err != nil {
		t.Fatal("uninstall: ", err)
	}
	c.eventually("an end without remains", func() (bool, string) {
		diff := cmp.Diff(before, c.all(ctx))
		return diff == "", diff
	})
}

// customResources defines the kinds of others that the chart can make, with any fields.
func (c cluster) customResources(ctx context.Context) {
	c.t.Helper()
	for _, r := range []struct{ group, version, kind, plural string }{
		{"monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors"}, {"monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules"},
		{"autoscaling.k8s.io", "v1", "VerticalPodAutoscaler", "verticalpodautoscalers"},
	} {
		definition := parse(c.t, fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[4]s.%[1]s
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: %[3]s, plural: %[4]s}
  versions: [{name: %[2]s, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, r.group, r.version, r.kind, r.plural))[0]
		definition.SetAnnotations(map[string]string{"api-approved.kubernetes.io": "unapproved, for a test"})
		to, err := c.resource(definition)
		if err != nil {
			c.t.Fatal(err)
		}
		if _, err := to.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
			c.t.Fatal(err)
		}
		c.eventually("kind "+r.kind, func() (bool, string) {
			list, err := c.client.Discovery().ServerResourcesForGroupVersion(r.group + "/" + r.version)
			if err != nil {
				return false, err.Error()
			}
			for _, known := range list.APIResources {
				if known.Name == r.plural {
					return true, ""
				}
			}
			return false, "not served"
		})
	}
}
