package lifecycle_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/lifecycle"
)

var update = flag.Bool("update", false, "write what import makes of testdata/import")

const theirs = "/subscriptions/" + subscription + "/resourceGroups/theirs"

// deployTheirs makes a group with what a template has, as other tools do.
func (w *world) deployTheirs(template []byte) {
	w.Helper()
	w.must(w.sim.AddResourceGroup(azuresim.ResourceGroup{Subscription: subscription, Name: "theirs", Location: "westeurope"}))
	at := theirs + "/providers/Microsoft.Resources/deployments/tool"
	w.must(w.Cloud.Put(w.Context(), at, "2021-04-01", map[string]any{"properties": map[string]any{"mode": "Incremental", "template": json.RawMessage(template)}}))
	var d struct {
		Properties struct {
			State string `json:"provisioningState"`
			Error any    `json:"error"`
		} `json:"properties"`
	}
	for d.Properties.State != "Succeeded" {
		_, err := w.Cloud.Get(w.Context(), at, "2021-04-01", &d)
		w.must(err)
		if d.Properties.State == "Failed" {
			w.Fatalf("their template: %v", d.Properties.Error)
		}
		w.must(w.Wait(w.Context(), 5e9))
	}
}

// heard reads what an API server says in a test. The machines of flexible sets have names of Azure's choice: FIRST and SECOND stand for them.
func (w *world) heard(text []byte) lifecycle.Kubernetes {
	w.Helper()
	if len(text) == 0 {
		return lifecycle.Kubernetes{}
	}
	var names []string
	for _, m := range w.sim.Machines() {
		if name := m.ID[strings.LastIndexByte(m.ID, '/')+1:]; strings.Contains(name, "agents_") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	said := strings.NewReplacer("FIRST", names[0], "SECOND", names[1]).Replace(string(text))
	var h struct {
		Nodes             []corev1.Node
		Kubeadm           string
		Services, Drivers []string
	}
	w.must(yaml.UnmarshalStrict([]byte(said), &h))
	return lifecycle.Understand(lifecycle.Heard{Nodes: h.Nodes, Kubeadm: h.Kubeadm, Services: h.Services, Drivers: h.Drivers})
}

// TestAGroupOfOthersBecomesAFile imports groups as other tools make them, and holds the whole file. The file parses once what it asks for is filled in.
func TestAGroupOfOthersBecomesAFile(t *testing.T) {
	paths, err := filepath.Glob("testdata/import/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			story, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]*txtar.File{}
			for i := range story.Files {
				parts[story.Files[i].Name] = &story.Files[i]
			}
			w := newWorld(t, "k3s")
			w.deployTheirs(parts["template.json"].Data)
			var asked []byte
			if k := parts["kubernetes.yaml"]; k != nil {
				asked = k.Data
			}
			before := len(w.writes())
			got, err := lifecycle.Import(t.Context(), w.Cloud, "theirs", "", w.heard(asked))
			w.must(err)
			if wrote := w.writes()[before:]; len(wrote) > 0 {
				t.Errorf("an import writes: %v", wrote)
			}
			said := ""
			for _, s := range got.Absent {
				said += "to fill in: " + s + "\n"
			}
			for _, s := range got.Wrong {
				said += "to correct: " + s + "\n"
			}
			for name, text := range map[string]string{"cluster.yaml": got.Text, "said": said} {
				if *update {
					parts[name].Data = []byte(text)
				} else if d := cmp.Diff(string(parts[name].Data), text); d != "" {
					t.Errorf("%s (-want +got; -update writes it):\n%s", name, d)
				}
			}
			if *update {
				w.must(os.WriteFile(path, txtar.Format(story), 0o600))
			}
			if len(got.Wrong) == 0 {
				filled := blank.ReplaceAllString(got.Text, "$1$2")
				filled = strings.Replace(filled, "ssh-ed25519 AAAA... you@example", w.File.SSH.PublicKey, 1)
				if _, problems := clusterfile.Parse([]byte(filled)); len(problems) > 0 {
					t.Errorf("filled in as it says it is no cluster file: %v\n%s", problems.Err(), filled)
				}
			}
			if again, err := lifecycle.Import(t.Context(), w.Cloud, "theirs", "", w.heard(asked)); err != nil || again.Text != got.Text {
				t.Errorf("the second import is another: %v", err)
			}
		})
	}
}

// blank is a line that a person fills in by taking its # away.
var blank = regexp.MustCompile(`(?m)^( *)# (.*# FILL IN: )`)

// writes are the requests so far that were no reads.
func (w *world) writes() (all []string) {
	for _, r := range w.sim.Requests() {
		if r.Method != http.MethodGet {
			all = append(all, r.Method+" "+r.Kind)
		}
	}
	return all
}

// TestAnImportedFileOverwritesNothing deploys an imported file on the group that it came from: the check names each thing that is in its way, and up by
// another name and address makes its own.
func TestAnImportedFileOverwritesNothing(t *testing.T) {
	story, err := txtar.ParseFile("testdata/import/terraform-k3s.txtar")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "k3s")
	w.deployTheirs(story.Files[0].Data)
	got, err := lifecycle.Import(t.Context(), w.Cloud, "theirs", "", lifecycle.Kubernetes{})
	w.must(err)
	f, problems := clusterfile.Parse([]byte(blank.ReplaceAllString(got.Text, "$1$2")))
	w.must(problems.Err())
	w.File = &f
	wrong := w.check()
	var said []string
	for _, one := range wrong {
		said = append(said, one.Wrong)
	}
	want := []string{
		"virtualMachines k3s-server in resource group theirs is there already and was not made by this file",
		"virtualMachineScaleSets k3s-agents in resource group theirs is there already and was not made by this file",
		"server.address 10.1.1.4 of networkInterfaces k3s-server-nic is there already and was not made by this file",
	}
	if d := cmp.Diff(want, said); d != "" {
		t.Errorf("the check (-want +got):\n%s", d)
	}

	f.Name, f.Server.Address = "beside", "10.1.1.100"
	if wrong := w.check(); len(wrong) > 0 {
		t.Errorf("by another name: %v", wrong)
	}
	w.up()
	again, err := lifecycle.Import(t.Context(), w.Cloud, "theirs", "", lifecycle.Kubernetes{})
	if err != nil || !again.Recorded || !strings.Contains(again.Text, "name: beside") {
		t.Errorf("after up: %v\n%s", err, again.Text)
	}
	if wrong := w.check(); len(wrong) > 0 {
		t.Errorf("the second time: %v", wrong)
	}
	f.Name = "bes"
	f.Pools[0].Name = "ide-agents"
	f.Server.Address = "10.1.1.101"
	if wrong := w.check(); len(wrong) != 1 || wrong[0].Wrong != "resource group theirs has cluster beside already" {
		t.Errorf("names that only look alike: %v, want the group alone", wrong)
	}
}

// TestTwoClustersDoNotShareAName has the storage of one cluster, and a scale set of it, in the way of another.
func TestTwoClustersDoNotShareAName(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	other := *w.File
	other.Name, other.ResourceGroup = "second", "second"
	w.File = &other
	wrong := w.check()
	if len(wrong) != 1 || !strings.HasPrefix(wrong[0].Wrong, "disks assets in resource group render-storage is there already and is of cluster render") {
		t.Errorf("%v, want the disk of the first alone", wrong)
	}
}

// TestWhatIsNoClusterIsRefused asks for groups that have nothing to import.
func TestWhatIsNoClusterIsRefused(t *testing.T) {
	w := newWorld(t, "k3s")
	w.must(w.sim.AddResourceGroup(azuresim.ResourceGroup{
		Subscription: subscription, Name: "MC_a_b_westeurope", Location: "westeurope", Tags: map[string]string{"aks-managed-cluster-name": "b"},
	}))
	for group, want := range map[string]string{
		"nowhere":           "resource group nowhere is not there",
		"shared":            "resource group shared has no machine and no scale set",
		"MC_a_b_westeurope": "is that of AKS cluster b",
	} {
		if _, err := lifecycle.Import(t.Context(), w.Cloud, group, "", lifecycle.Kubernetes{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", group, err, want)
		}
	}
}

// TestADeploymentOfOthersIsNotOurs has a deployment in the group that bears the cluster's name and was not made from a cluster file: down must not take
// what it made for the cluster's.
func TestADeploymentOfOthersIsNotOurs(t *testing.T) {
	story, err := txtar.ParseFile("testdata/import/terraform-k3s.txtar")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "k3s")
	w.deployTheirs(story.Files[0].Data)
	w.File.Name, w.File.ResourceGroup = "tool", "theirs"
	d, err := w.Demolish(t.Context())
	w.must(err)
	if len(d.Goes) > 0 {
		t.Errorf("down would delete %v", d.Goes)
	}
	if wrong := w.check(); len(wrong) != 1 || wrong[0].Wrong != "deployment tool in resource group theirs is there already and was not made by this file" {
		t.Errorf("the check says %v", wrong)
	}
}

// TestWhatAnAPIServerSaysIsUnderstood reads what distributions write about themselves.
func TestWhatAnAPIServerSaysIsUnderstood(t *testing.T) {
	node := func(version string, labels, annotations map[string]string) corev1.Node {
		n := corev1.Node{}
		n.Name, n.Labels, n.Annotations = "n", labels, annotations
		n.Status.NodeInfo.KubeletVersion = version
		return n
	}
	control := map[string]string{"node-role.kubernetes.io/control-plane": ""}
	for name, c := range map[string]struct {
		heard lifecycle.Heard
		want  lifecycle.Kubernetes
	}{
		"nothing": {},
		"kubeadm, without a network of flannel": {
			lifecycle.Heard{
				Nodes: []corev1.Node{node("v1.35.1", control, nil)}, Services: []string{"10.96.0.0/12"},
				Kubeadm: "kubernetesVersion: v1.35.1\nnetworking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.0.0.0/12}\netcd: {external: {endpoints: [https://a]}}\napiServer: {extraArgs: {a: b}}\n",
			},
			lifecycle.Kubernetes{
				Kind: "kubeadm", Version: "v1.35.1", CNI: "none", Pods: "10.244.0.0/16", Services: "10.96.0.0/12",
				Odd: []string{"etcd runs elsewhere; the file's server runs it itself", "kubeadm gives the API server arguments or volumes that the file does not have"},
			},
		},
		"two families of addresses": {
			lifecycle.Heard{Nodes: []corev1.Node{node("v1.35.1", control, nil)}, Kubeadm: "networking: {podSubnet: \"fd00::/48,10.244.0.0/16\"}"},
			lifecycle.Kubernetes{
				Kind: "kubeadm", Version: "v1.35.1", CNI: "none", Pods: "10.244.0.0/16",
				Odd: []string{"the range of pods is fd00::/48,10.244.0.0/16, and the file has one IPv4 range"},
			},
		},
		"K3s as it comes": {
			lifecycle.Heard{Nodes: []corev1.Node{node("v1.33.5+k3s1", control, map[string]string{"k3s.io/node-args": `["server"]`})}},
			lifecycle.Kubernetes{Kind: "k3s", Version: "v1.33.5+k3s1", CNI: "flannel", Pods: "10.42.0.0/16", Services: "10.43.0.0/16"},
		},
		"K3s without flannel, and with a database": {
			lifecycle.Heard{Nodes: []corev1.Node{node("v1.33.5+k3s1", control, map[string]string{
				"k3s.io/node-args": `["server","--flannel-backend","none","--datastore-endpoint","********","--cluster-cidr=10.1.0.0/16","--token","********"]`,
			})}},
			lifecycle.Kubernetes{
				Kind: "k3s", Version: "v1.33.5+k3s1", CNI: "none", Pods: "10.1.0.0/16", Services: "10.43.0.0/16",
				Odd: []string{"K3s keeps its data in a database elsewhere; the file's server keeps it on its own disk"},
			},
		},
		"RKE2": {
			lifecycle.Heard{Nodes: []corev1.Node{node("v1.33.5+rke2r1", control, nil)}},
			lifecycle.Kubernetes{Version: "v1.33.5+rke2r1", CNI: "none", Odd: []string{"the cluster is RKE2 v1.33.5+rke2r1, which the file does not make"}},
		},
		"something else": {
			lifecycle.Heard{Nodes: []corev1.Node{node("v1.33.5", nil, nil)}},
			lifecycle.Kubernetes{
				Version: "v1.33.5", CNI: "none",
				Odd: []string{"the nodes run v1.33.5, and there is no ConfigMap kubeadm-config: it is neither K3s nor made by kubeadm"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := lifecycle.Understand(c.heard)
			got.Nodes = nil
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestTagsOfOthersStayValues has tags that would be lines, comments and fields of the file if they were written as they are.
func TestTagsOfOthersStayValues(t *testing.T) {
	story, err := txtar.ParseFile("testdata/import/aks-engine.txtar")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "k3s")
	evil := strings.NewReplacer(`"min": "0"`, `"min": "0\nname: evil"`, `"poolName": "gpu"`, `"poolName": "x\nname: evil"`, `"orchestrator": "Kubernetes:1.19.1"`, `"orchestrator": "\nname: evil"`,
		`"gpu:NoSchedule"`, `"a\"]\nname: evil # :NoSchedule"`, `_label_example.com_kind": "gpu"`, `_label_example.com_kind": "\"}\nname: evil"`)
	w.deployTheirs([]byte(evil.Replace(string(story.Files[0].Data))))
	got, err := lifecycle.Import(t.Context(), w.Cloud, "theirs", "", lifecycle.Kubernetes{})
	w.must(err)
	f, problems := clusterfile.Parse([]byte(blank.ReplaceAllString(got.Text, "$1$2")))
	if f.Name != "theirs" || len(f.Pools) != 2 || strings.Contains(got.Text, "\nname: evil") {
		t.Errorf("a tag became part of the file: %v\n%s", problems, got.Text)
	}
	for _, p := range problems {
		if !strings.HasPrefix(p.Field, "pools[1].") {
			t.Errorf("%v", p)
		}
	}
	if len(got.Wrong) == 0 {
		t.Error("nobody is told that the tags make no sense")
	}
}

// TestOfTwoClustersInAGroupOneIsChosen has sets of two clusters and one of none: the file has those of one cluster, and says what it leaves out.
func TestOfTwoClustersInAGroupOneIsChosen(t *testing.T) {
	w := newWorld(t, "k3s")
	w.must(w.sim.AddResourceGroup(azuresim.ResourceGroup{Subscription: subscription, Name: "theirs", Location: "westeurope"}))
	for name, tags := range map[string]map[string]string{
		"workers-prod": {"kubernetes.io_cluster_alpha": "owned"}, "workers-staging": {"kubernetes.io_cluster_beta": "owned"}, "github-runners": nil,
	} {
		w.must(w.sim.AddScaleSet(azuresim.ScaleSet{
			Subscription: subscription, ResourceGroup: "theirs", Name: name, Location: "westeurope", Size: "Standard_D4s_v5", VCPUs: 4, Capacity: 1, Tags: tags,
		}))
	}
	for name, want := range map[string]string{
		"":      "resource group theirs has machines of 2 clusters, by their tags: choose one by --name=alpha or --name=beta",
		"gamma": "resource group theirs has no cluster gamma: its tags name alpha, beta",
	} {
		if _, err := lifecycle.Import(t.Context(), w.Cloud, "theirs", name, lifecycle.Kubernetes{}); err == nil || err.Error() != want {
			t.Errorf("--name=%s: %v, want %q", name, err, want)
		}
	}
	got, err := lifecycle.Import(t.Context(), w.Cloud, "theirs", "beta", lifecycle.Kubernetes{})
	w.must(err)
	if n := strings.Count(got.Text, "\n  - name: "); n != 1 || !strings.Contains(got.Text, "\nname: beta ") || !strings.Contains(got.Text, "# scale set workers-staging") {
		t.Errorf("%d pools in the file of beta:\n%s", n, got.Text)
	}
	for _, want := range []string{
		"scale set workers-prod is of cluster alpha, and is not in the file", "scale set github-runners has no tag of cluster beta, and is not in the file: it may be of something else",
	} {
		if !slices.Contains(got.Lost, want) {
			t.Errorf("it says %q, not %q", got.Lost, want)
		}
	}
	runner := lifecycle.Kubernetes{Nodes: []lifecycle.Member{{Name: "runner", ProviderID: "azure://" + theirs + "/providers/Microsoft.Compute/virtualMachineScaleSets/github-runners/virtualMachines/0"}}}
	if got, err = lifecycle.Import(t.Context(), w.Cloud, "theirs", "beta", runner); err != nil || strings.Count(got.Text, "\n  - name: ") != 2 {
		t.Errorf("a set whose machine is a node is left out: %v\n%s", err, got.Text)
	}
}
