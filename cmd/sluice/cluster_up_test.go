package main

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/lifecycle"
)

// rising is an up of a cluster of the example's, on a clock that goes by waiting.
func rising(t *testing.T, more ...string) (*riser, *pen) {
	t.Helper()
	nowhere(t)
	text, err := os.ReadFile(begin(t, more...))
	must(t, err)
	f, problems := clusterfile.Parse(text)
	must(t, problems.Err())
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	sim := &azuresim.Server{Now: func() time.Time { return now }, AnyToken: true, TenantID: tenant}
	must(t, sim.AddMachine(azuresim.Machine{Subscription: subscription, ResourceGroup: "office", Name: "desk", Location: f.Region, SystemAssigned: true}))
	wait := func(ctx context.Context, d time.Duration) error { now = now.Add(d); return ctx.Err() }
	r, err := azure.NewResources(t.Context(), azure.Options{
		Config:    config.Config{Subscription: subscription, ResourceGroup: f.ResourceGroup, Location: f.Region, Cloud: "AzurePublicCloud"},
		Transport: &azuresim.Transport{Server: sim, Machine: "desk"}, Now: sim.Now, Log: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	r.Wait = wait
	var out pen
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	cmd.SetIn(strings.NewReader(""))
	cmd.SetContext(t.Context())
	u := &riser{
		Cluster: &lifecycle.Cluster{File: &f, Cloud: r, Wait: wait, Say: func(s string) { _, _ = out.Write([]byte(s + "\n")) }},
		cmd:     cmd, now: func() time.Time { return now }, wait: defaultWait, kubeconfig: filepath.Join(t.TempDir(), "render.kubeconfig"),
	}
	return u, &out
}

func TestUpTellsTheWayBySSHWhereItDoesNotWait(t *testing.T) {
	u, out := rising(t)
	u.wait = 0
	must(t, u.up())
	said := out.String()
	for _, word := range []string{
		"cluster render is deployed", "ssh sluice@10.10.0.4 sudo cat /etc/rancher/k3s/k3s.yaml", "https://10.10.0.4:6443",
		"10.10.0.4 is private: it is reached from the cluster's network",
		") > " + u.kubeconfig + "\n", "kubectl --kubeconfig=" + u.kubeconfig + " get nodes",
	} {
		if !strings.Contains(said, word) {
			t.Errorf("it does not say %q:\n%s", word, said)
		}
	}
}

// TestTheKubeconfigThatSSHFetchesMayBeWrittenAnew runs the printed commands with others in the place of ssh and kubectl: the next up writes
// over the file.
func TestTheKubeconfigThatSSHFetchesMayBeWrittenAnew(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh here")
	}
	u, out := rising(t, "--allow-from=203.0.113.0/24")
	u.bySSH("sluice@203.0.113.9", "203.0.113.9")
	if strings.Contains(out.String(), "private") {
		t.Errorf("of a public address it says:\n%s", out)
	}
	bin := t.TempDir()
	must(t, os.WriteFile(filepath.Join(bin, "ssh"), []byte("#!/bin/sh\necho '    server: https://127.0.0.1:6443'\n"), 0o700))
	must(t, os.WriteFile(filepath.Join(bin, "kubectl"), []byte("#!/bin/sh\n"), 0o700))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", out.String())
	cmd.Env = []string{"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH")}
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	text, err := os.ReadFile(u.kubeconfig)
	must(t, err)
	if string(text) != u.headline()+"    server: https://203.0.113.9:6443\n" {
		t.Errorf("%s", text)
	}
	if ok, err := u.mayWrite(); !ok || err != nil {
		t.Errorf("%t, %v", ok, err)
	}
}

// TestUpThatWaitsInVainActsPartly has a server that never answers: the exit code tells scripts, and the sentence what is missing.
func TestUpThatWaitsInVainActsPartly(t *testing.T) {
	u, out := rising(t)
	err := u.up()
	if code, is := err.(exit); !is || int(code) != exitActs {
		t.Errorf("%v, want exit %d", err, exitActs)
	}
	for _, word := range []string{"the API server does not answer: the cause is said above", "20m0s is over; run the command again to wait on"} {
		if !strings.Contains(out.String(), word) {
			t.Errorf("it does not say %q:\n%s", word, out)
		}
	}
}

// TestAKubeconfigOfOthersIsNeverWrittenOver writes over its own alone.
func TestAKubeconfigOfOthersIsNeverWrittenOver(t *testing.T) {
	u, _ := rising(t)
	for _, text := range []string{"one", "two"} {
		if ok, err := u.mayWrite(); err != nil || !ok {
			t.Fatalf("its own may not be written: %v", err)
		}
		must(t, u.keep([]byte(text)))
	}
	at, err := os.Stat(u.kubeconfig)
	must(t, err)
	if text, err := os.ReadFile(u.kubeconfig); err != nil || !strings.HasSuffix(string(text), "\ntwo") || at.Mode() != fs.FileMode(0o600) {
		t.Errorf("%s of mode %s: %v", text, at.Mode(), err)
	}
	for name, text := range map[string]string{"others": "apiVersion: v1\n", "another cluster": strings.Replace(u.headline(), "render", "frames", 1)} {
		must(t, os.WriteFile(u.kubeconfig, []byte(text), 0o600))
		for _, u.yes = range []bool{false, true} {
			if ok, err := u.mayWrite(); ok || err == nil || !strings.Contains(err.Error(), "move it away, or give another file") {
				t.Errorf("%s, yes=%t: %t, %v", name, u.yes, ok, err)
			}
		}
	}
	u.kubeconfig = filepath.Join(t.TempDir(), "absent", "k")
	if _, err := u.mayWrite(); err == nil || !strings.Contains(err.Error(), "there is no folder") {
		t.Errorf("%v", err)
	}
}

// TestNodesAreReadFromTheAPIServer reads a Ready node and one that is not, and says so where nobody answers.
func TestNodesAreReadFromTheAPIServer(t *testing.T) {
	f := newFarm(t)
	_, err := f.cluster.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "render-agents-000001"}})
	must(t, err)
	var path string
	for _, flag := range f.flags {
		if at, is := strings.CutPrefix(flag, "--kubeconfig="); is {
			path = at
		}
	}
	text, err := os.ReadFile(path)
	must(t, err)
	nodes, err := readNodes(t.Context(), text)
	must(t, err)
	if want := []lifecycle.Node{{Name: "agents000000", Ready: true}, {Name: "render-agents-000001"}}; !slices.Equal(nodes, want) {
		t.Errorf("%+v, want %+v", nodes, want)
	}
	text = []byte(strings.Replace(string(text), "http://127.0.0.1:", "http://127.0.0.1:1", 1))
	if _, err := readNodes(t.Context(), text); err == nil {
		t.Error("nobody answers, and nodes are read")
	}
}

// TestACheckSaysWhatItLeavesOpen has no resource group, in which Azure would look at the template, and then another size of the server.
func TestACheckSaysWhatItLeavesOpen(t *testing.T) {
	u, out := rising(t)
	check := func(want, never string) {
		t.Helper()
		before := len(out.String())
		if ok, err := checkCluster(u.cmd, u.Cluster); !ok || err != nil {
			t.Errorf("%t, %v", ok, err)
		}
		if said := out.String()[before:]; !strings.HasPrefix(said, want) || strings.Contains(said, never) {
			t.Errorf("it says, where %q is wanted and %q never:\n%s", want, never, said)
		}
	}
	check("later    resource group render is not there yet: Azure checks the template when up has made it\n", "template are right")
	u.wait = 0
	must(t, u.up())
	check("15 checks: rights, providers, sizes, quota and template are right\n", "stays")
	u.File.Server.Size = "Standard_D4s_v5"
	check("stays    server.size is Standard_D4s_v5, and the machine has Standard_D2s_v5: up leaves", "wrong")
}

// TestACostThatIsNotKnownIsNotNothing has a region without list prices.
func TestACostThatIsNotKnownIsNotNothing(t *testing.T) {
	u, _ := rising(t)
	var out pen
	u.File.Region = "nowhere"
	tellCost(&out, u.Cluster)
	if want := "what the machines cost is not known: there is no list price of their sizes in nowhere\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	var more pen
	u.File.Region, u.File.Pools[0].Size = "westeurope", "Standard_ND96asr_v4"
	tellCost(&more, u.Cluster)
	if said := more.String(); !strings.Contains(said, "machines cost at least ") || strings.Contains(said, "at most") || !strings.Contains(said, "no price is known of pool agents") {
		t.Errorf("with a pool of unknown price: %q", said)
	}
}

// TestUpSaysWhatItChangesBeforeItAsks calls up for the first time, without a change, and with one.
func TestUpSaysWhatItChangesBeforeItAsks(t *testing.T) {
	u, out := rising(t)
	u.wait = 0
	step := func(asks, tells string, never ...string) {
		t.Helper()
		before := out.String()
		question, err := u.announce()
		must(t, err)
		must(t, u.up())
		said := strings.TrimPrefix(out.String(), before)
		if !strings.HasPrefix(question, asks) || !strings.Contains(said, tells) {
			t.Errorf("asks %q, want %q; says %q\n%s", question, asks, tells, said)
		}
		for _, word := range never {
			if strings.Contains(said, word) {
				t.Errorf("says %q:\n%s", word, said)
			}
		}
	}
	const where = "cluster render in resource group render of subscription " + subscription
	step("Make "+where+"?", "virtualMachineScaleSets render-agents is ready", "change ")
	step("Deploy "+where+" again?", "other resources are as the file says", " is ready")
	u.File.Pools[0].Max = 12
	step("Change "+where+" so?", "change   virtualMachineScaleSets render-agents\n         tags.max: \"10\" -> \"12\"\n", "disks render-server-data is ready")
	u.File.Pools = nil // as a pool remove leaves it that is interrupted
	step("Deploy "+where+" again?", "stays    virtualMachineScaleSets render-agents\n         the file has no pool agents: sluice cluster pool remove agents --yes ")
}

// TestADeploymentThatSomebodyCancelsNamesNothingToCorrect has it canceled while up follows it.
func TestADeploymentThatSomebodyCancelsNamesNothingToCorrect(t *testing.T) {
	u, _ := rising(t)
	u.wait = 0
	say := u.Say
	u.Cluster.Say = func(s string) {
		if say(s); strings.Contains(s, "is ready") {
			at := "/subscriptions/" + subscription + "/resourceGroups/render/providers/Microsoft.Resources/deployments/render/cancel"
			_ = u.Cloud.Post(t.Context(), at, "2021-04-01", nil, nil) // the second time it has ended
		}
	}
	if err := u.up(); err == nil || strings.Count(err.Error(), "run the command again") != 1 || strings.Contains(err.Error(), "correct") {
		t.Errorf("it ends with %v", err)
	}
}

// TestAFolderThatCannotKeepTheKubeconfigIsToldBefore has a folder where no file can be made.
func TestAFolderThatCannotKeepTheKubeconfigIsToldBefore(t *testing.T) {
	u, _ := rising(t)
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("this system has no /proc")
	}
	u.kubeconfig = "/proc/self/fd/render.kubeconfig"
	if ok, err := u.mayWrite(); ok || err == nil || !strings.Contains(err.Error(), "in folder /proc/self/fd no file can be made") {
		t.Errorf("%t, %v", ok, err)
	}
}

// TestTheKeyOfTheDoorIsNeverReplaced calls up again from the first folder, from one without the key, and from one with another key.
func TestTheKeyOfTheDoorIsNeverReplaced(t *testing.T) {
	u, out := rising(t)
	u.File.Secrets, u.wait = clusterfile.SecretsFile, 0
	const kept = "render-join.pem"
	const install = "sudo install -D -m 600 /dev/stdin /etc/sluice/join/tls.pem' < " + kept
	first := t.TempDir()
	t.Chdir(first)
	must(t, u.up())
	must(t, u.up())
	key, err := os.ReadFile(kept)
	must(t, err)
	if n := strings.Count(out.String(), install); n != 2 {
		t.Errorf("the command that puts the key on the server is told %d times of 2", n)
	}
	t.Chdir(t.TempDir())
	must(t, u.up())
	if _, err := os.Stat(kept); err == nil {
		t.Error("beside the cluster's key there is another one")
	}
	if said := out.String(); strings.Count(said, install) != 2 || !strings.Contains(said, "sudo cat /etc/sluice/join/tls.pem > "+kept) {
		t.Errorf("without the key it says:\n%s", said)
	}
	other, err := lifecycle.NewDoor(u.now())
	must(t, err)
	must(t, os.WriteFile(kept, []byte(other.PEM), 0o600))
	before := out.String()
	if err := u.up(); err == nil || !strings.HasPrefix(err.Error(), kept+" has the key of another join door (") || out.String() != before {
		t.Errorf("with the key of another door: %v, and it says %q", err, strings.TrimPrefix(out.String(), before))
	}
	must(t, os.WriteFile(kept, key, 0o600))
	must(t, u.up())
}

// TestTheKeyOfAnUpThatIsUnderWayIsNotReplaced has a first up go on without its server in Azure yet.
func TestTheKeyOfAnUpThatIsUnderWayIsNotReplaced(t *testing.T) {
	u, _ := rising(t)
	u.File.Secrets, u.wait = clusterfile.SecretsFile, 0
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	u.cmd.SetContext(ctx)
	say := u.Say
	u.Cluster.Say = func(s string) {
		if say(s); strings.Contains(s, "is ready") {
			cancel()
		}
	}
	if err := u.up(); err == nil {
		t.Fatal("it is not interrupted: this shows nothing")
	}
	u.cmd.SetContext(t.Context())
	t.Chdir(t.TempDir())
	must(t, u.up())
	if _, err := os.Stat("render-join.pem"); err == nil {
		t.Error("a second key is made while the deployment with the first is under way")
	}
}

// TestOfTwoFirstUpsOneKeepsItsKey has another up be first, after this one has written its key: the key is of no use, and would be put on
// the server.
func TestOfTwoFirstUpsOneKeepsItsKey(t *testing.T) {
	u, out := rising(t)
	u.File.Secrets, u.wait = clusterfile.SecretsFile, 0
	t.Chdir(t.TempDir())
	say, first := u.Say, true
	u.Cluster.Say = func(s string) {
		say(s)
		if !first {
			return
		}
		first = false
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		other := *u.Cluster
		other.Say = func(string) { cancel() }
		door, err := lifecycle.NewDoor(u.now())
		must(t, err)
		if _, err := other.Up(ctx, door); err == nil {
			t.Error("the other up is over: this shows nothing")
		}
	}
	err := u.up()
	if err == nil || err.Error() != "another deployment of render is under way: wait for it, and run the command again" {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat("render-join.pem"); err == nil || !strings.Contains(out.String(), "render-join.pem is removed") {
		t.Errorf("the key is kept: %s", out.String())
	}
}

// TestACertificateWithoutItsKeyIsRefused has a file whose private key was left out, and one that was emptied.
func TestACertificateWithoutItsKeyIsRefused(t *testing.T) {
	whole, err := lifecycle.NewDoor(time.Now())
	must(t, err)
	path := filepath.Join(t.TempDir(), "render-join.pem")
	certificate, _, _ := strings.Cut(whole.PEM, "-----BEGIN PRIVATE KEY")
	for text, why := range map[string]string{certificate: "it has not the private key of its certificate", "": "it does not begin with a certificate in PEM"} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := bringDoor(path, "", whole)
		if err == nil || err.Error() != path+": "+why+"; put back the file that up has written, or move it away" {
			t.Errorf("%v, want %s", err, why)
		}
	}
	must(t, os.WriteFile(path, []byte(whole.PEM), 0o600))
	if door, err := bringDoor(path, "", lifecycle.Door{}); err != nil || door != whole {
		t.Errorf("a whole file: %v", err)
	}
}

// TestASecretIsWrittenWholeOrNotAtAll keeps the file before by a second name: who writes into it would empty it first.
func TestASecretIsWrittenWholeOrNotAtAll(t *testing.T) {
	folder := t.TempDir()
	path, before := filepath.Join(folder, "a.pem"), filepath.Join(folder, "b.pem")
	must(t, writeSecret(path, []byte("first")))
	must(t, os.Link(path, before))
	must(t, writeSecret(path, []byte("second")))
	for at, want := range map[string]string{path: "second", before: "first"} {
		if got, err := os.ReadFile(at); err != nil || string(got) != want {
			t.Errorf("%s has %q, want %q: %v", at, got, want, err)
		}
	}
	if about, err := os.Stat(path); err != nil || about.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v: %v", about.Mode(), err)
	}
	must(t, os.MkdirAll(filepath.Join(folder, "c.pem", "full"), 0o700))
	if err := writeSecret(filepath.Join(folder, "c.pem"), []byte("third")); err == nil {
		t.Error("over a folder it is written")
	}
	if all, err := os.ReadDir(folder); err != nil || len(all) != 3 {
		t.Errorf("a draft is left: %v, %v", all, err)
	}
}
