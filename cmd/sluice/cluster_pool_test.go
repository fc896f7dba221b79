package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
)

// TestAPoolIsAddedToTheFileAlone writes a pool, and one that cannot be.
func TestAPoolIsAddedToTheFileAlone(t *testing.T) {
	path := begin(t)
	sluice(t.Context(), "cluster", "pool", "add", "gpu", "--file="+path, "--size=Standard_NC4as_T4_v3", "--max=2", "--zones=1,2", "--labels=a=b", "--taints=x=y:NoSchedule", "--spot").
		expect(t, exitNothing, "pool gpu is written into "+path+". Next: sluice cluster up")
	text, err := os.ReadFile(path)
	must(t, err)
	if !strings.Contains(string(text), "\n  - name: gpu\n    size: Standard_NC4as_T4_v3\n    min: 0\n    max: 2\n    zones: [\"1\", \"2\"]\n    labels:\n      a: b\n") {
		t.Errorf("%s", text)
	}
	for _, args := range [][]string{
		{"gpu", "--size=Standard_D4s_v5", "--max=1"},
		{"big", "--size=Standard_D4s_v5", "--min=3", "--max=1"},
		{"big", "--size=Standard_D4s_v5", "--max=1", "--max-price=0.1"}, // a price alone makes no spot pool
	} {
		got := sluice(t.Context(), append([]string{"cluster", "pool", "add", "--file=" + path}, args...)...)
		if again, err := os.ReadFile(path); got.code != exitError || err != nil || string(again) != string(text) {
			t.Errorf("%v: exit %d, said %q", args, got.code, got.complaint)
		}
	}
}

// pooled is a farm whose scale set is that of pool agents in a cluster file.
func pooled(t *testing.T) (f *farm, path string, flags []string) {
	t.Helper()
	f = newFarm(t)
	must(t, f.azure.SetTags("agents", map[string]string{"min": "0"}))
	must(t, f.azure.AddScaleSet(azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: "render", Name: "render-agents", Location: "westeurope", Size: "Standard_D4s_v5", VCPUs: 4, Family: "standardDSv5Family",
		Capacity: 2, Tags: map[string]string{"sluice-cluster": "render", "min": "1", "max": "10"},
	}))
	must(t, f.azure.AddRoleAssignment(azuresim.RoleAssignment{Role: "Contributor", Principal: identity, Scope: "/subscriptions/" + subscription}))
	path = begin(t)
	flags = []string{"--file=" + path, "--sign-in=machine", "--subscription=" + subscription}
	for _, flag := range f.flags {
		if strings.HasPrefix(flag, "--azure-") || strings.HasPrefix(flag, "--kubeconfig=") {
			flags = append(flags, flag)
		}
	}
	return f, path, flags
}

// TestAPoolsLimitsChangeInAzureAndInTheFile lowers max below the machines that are there: the sentence says what becomes of them, and they stay.
func TestAPoolsLimitsChangeInAzureAndInTheFile(t *testing.T) {
	f, path, flags := pooled(t)
	flags = flags[:len(flags):len(flags)]
	for i, flag := range flags {
		if strings.HasPrefix(flag, "--kubeconfig=") {
			flags = append(flags[:i:i], flags[i+1:]...)
		}
	}
	before, err := os.ReadFile(path)
	must(t, err)
	scale := append([]string{"cluster", "pool", "scale", "agents", "--min=0", "--max=1"}, flags...)
	sluice(t.Context(), scale...).expect(t, exitActs, "it has 2 machines: sluice adds none, and removes them as they become idle; busy ones stay", "nothing was changed")
	if text, err := os.ReadFile(path); err != nil || string(text) != string(before) {
		t.Errorf("without --yes the file changes: %s", text)
	}
	sluice(t.Context(), append(scale, "--yes")...).expect(t, exitNothing, "the scale set and "+path+" have it")
	text, err := os.ReadFile(path)
	must(t, err)
	if want := strings.Replace(strings.Replace(string(before), "min: 1", "min: 0", 1), "max: 10", "max: 1", 1); string(text) != want {
		t.Errorf("%s", text)
	}
	if n := machinesIn(f, "render-agents"); n != 2 {
		t.Errorf("%d machines are left of 2", n)
	}
	f.azure.Quota = map[string]int{"cores": 100, "standardDSv5Family": 22}
	const says = "the quota of standardDSv5Family in westeurope has room for 2 machines more: so it can have 4 (max 5)"
	more := append([]string{"cluster", "pool", "scale", "agents", "--max=5"}, flags...)
	sluice(t.Context(), more...).expect(t, exitActs, says, "nothing was changed")
	more[4] = "--max=4"
	if got := sluice(t.Context(), more...); strings.Contains(got.out, "quota") {
		t.Errorf("with room for all: %s", got.out)
	}
	got := sluice(t.Context(), append([]string{"cluster", "pool", "scale", "agents"}, flags...)...)
	if got.code != exitError || !strings.Contains(got.complaint, "neither --min nor --max is given") {
		t.Errorf("exit %d, said %q", got.code, got.complaint)
	}
}

func machinesIn(f *farm, set string) (n int) {
	for _, m := range f.azure.Machines() {
		if m.ScaleSet == set {
			n++
		}
	}
	return n
}

// TestAnAzWithNobodySignedInIsPassedOverOnAMachineOfAzures has such an az first in PATH.
func TestAnAzWithNobodySignedInIsPassedOverOnAMachineOfAzures(t *testing.T) {
	_, _, flags := pooled(t)
	bin := t.TempDir()
	must(t, os.WriteFile(filepath.Join(bin, "az"), []byte("#!/bin/sh\necho 'Please run az login' >&2\nexit 1\n"), 0o700))
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	args := []string{"cluster", "pool", "scale", "agents", "--max=7"}
	for _, flag := range flags {
		if !strings.HasPrefix(flag, "--sign-in=") && !strings.HasPrefix(flag, "--kubeconfig=") {
			args = append(args, flag)
		}
	}
	sluice(t.Context(), args...).expect(t, exitActs, "pool agents: min 1, max 7")
	for i, flag := range args {
		if strings.HasPrefix(flag, "--azure-metadata-endpoint=") {
			args[i] = "--azure-metadata-endpoint=http://" + freeAddress(t)
		}
	}
	if got := sluice(t.Context(), args...); got.code != exitError || !strings.Contains(got.complaint, "az has nobody signed in: run az login") {
		t.Errorf("exit %d, said %q", got.code, got.complaint)
	}
}

// TestAPoolIsRemovedByAskingSluice asks for the drain of the pool's nodes alone, and deletes nothing while there are machines.
func TestAPoolIsRemovedByAskingSluice(t *testing.T) {
	f, path, flags := pooled(t)
	group := "azure:///subscriptions/" + subscription + "/resourceGroups/render/providers/Microsoft.Compute/"
	for name, id := range map[string]string{
		"render-agents-000000":   "virtualMachineScaleSets/render-agents/virtualMachines/0",
		"render-agents-000009":   "virtualMachineScaleSets/render-agents/virtualMachines/9", // gone in Azure
		"render-agents-b-000000": "virtualMachineScaleSets/render-agents-b/virtualMachines/0",
		"render-server":          "virtualMachines/render-server",
	} {
		_, err := f.cluster.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: group + id}})
		must(t, err)
	}
	sluice(t.Context(), "cluster", "pool", "add", "agents-b", "--file="+path, "--size=Standard_D4s_v5", "--max=1").expect(t, exitNothing)
	remove := append([]string{"cluster", "pool", "remove", "agents", "--wait=0"}, flags...)
	sluice(t.Context(), remove...).expect(t, exitActs, "pool agents has 2 machines", "nothing was changed")
	for range 2 { // the second goes on
		sluice(t.Context(), append(remove, "--yes")...).expect(t, exitActs, "scale set render-agents is not deleted: it has machines (2)", "run the command again")
	}
	text, err := os.ReadFile(path)
	must(t, err)
	if strings.Contains(string(text), "name: agents\n") || !strings.Contains(string(text), "name: agents-b\n") {
		t.Errorf("%s", text)
	}
	asked := map[string]bool{}
	for _, r := range f.cluster.Log() {
		if r.Verb == "patch" {
			asked[r.Name] = true
		}
	}
	if len(asked) != 1 || !asked["render-agents-000000"] {
		t.Errorf("the drain is asked of %v by %s", asked, cluster.DrainAnnotation)
	}
	if n := machinesIn(f, "render-agents"); n != 2 {
		t.Errorf("%d machines are left of 2", n)
	}
}

// TestNodesOfAnotherClusterAreNeverDrained has an API server whose nodes have the pool's names, and other machines: nothing is changed.
func TestNodesOfAnotherClusterAreNeverDrained(t *testing.T) {
	const machine = "/providers/Microsoft.Compute/virtualMachineScaleSets/render-agents/virtualMachines/0"
	const prod = "azure:///subscriptions/" + subscription + "/resourceGroups/prod" + machine
	const beyond = "azure:///subscriptions/11111111-1111-1111-1111-111111111119/resourceGroups/render" + machine
	const foreign = "it is another cluster's: nothing was changed; give the kubeconfig of cluster render"
	for name, c := range map[string]struct{ node, id, want string }{
		"another group": {
			"render-agents-000000", prod, "node render-agents-000000 is no machine of scale set render-agents: its provider id is " + prod,
		},
		"another subscription": {"render-agents-000000", beyond, "its provider id is " + beyond},
		"no id":                {"render-agents-000000", "", "its provider id is none"},
		"other names": {
			"kind-control-plane", "kind://docker/kind/kind-control-plane",
			"the API server has no node in resource group render, where scale set render-agents has 2 machines",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, path, flags := pooled(t)
			before, err := os.ReadFile(path)
			must(t, err)
			_, err = f.cluster.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.node}, Spec: corev1.NodeSpec{ProviderID: c.id}})
			must(t, err)
			got := sluice(t.Context(), append([]string{"cluster", "pool", "remove", "agents", "--wait=0", "--yes"}, flags...)...)
			if got.code != exitError || !strings.Contains(got.complaint, c.want) || !strings.Contains(got.complaint, foreign) {
				t.Errorf("exit %d, said %q, want %q", got.code, got.complaint, c.want)
			}
			for _, r := range f.cluster.Log() {
				if r.Verb == "patch" {
					t.Errorf("node %s is changed", r.Name)
				}
			}
			for _, s := range f.azure.ScaleSets() {
				if s.Name == "render-agents" && s.Tags["max"] != "10" {
					t.Errorf("its max is %s", s.Tags["max"])
				}
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != string(before) {
				t.Errorf("the file changes: %s", text)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".cluster-*")); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// TestABadKubeconfigIsRefusedInASentence changes nothing where sluice cannot be asked by what was given.
func TestABadKubeconfigIsRefusedInASentence(t *testing.T) {
	_, path, flags := pooled(t)
	before, err := os.ReadFile(path)
	must(t, err)
	for name, tc := range map[string]struct{ kubeconfig, want string }{
		"not there":          {"absent.kubeconfig", "it cannot be read (no such file or directory); "},
		"nothing":            {file(t, "none", ""), "it is no kubeconfig of an API server; "},
		"no YAML of its own": {file(t, "text", "render\n"), "it is no kubeconfig of an API server; "},
		"no server":          {file(t, "empty", "apiVersion: v1\nkind: Config\n"), "it is no kubeconfig of an API server; "},
	} {
		args := append([]string{"cluster", "pool", "remove", "agents", "--wait=0", "--yes"}, flags...)
		got := sluice(t.Context(), append(args, "--kubeconfig="+tc.kubeconfig)...)
		want := "sluice: --kubeconfig=" + tc.kubeconfig + ": " + tc.want + "give the file that sluice cluster up has written\n"
		if got.code != exitError || got.complaint != want {
			t.Errorf("%s: exit %d, said %q, want %q", name, got.code, got.complaint, want)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != string(before) {
		t.Errorf("the file changes: %s", text)
	}
}

// TestALimitThatTheFileCannotKeepIsNotWritten has a file in a folder where no file can be made: Azure stays as it is.
func TestALimitThatTheFileCannotKeepIsNotWritten(t *testing.T) {
	f, path, flags := pooled(t)
	open, err := os.Open(path)
	must(t, err)
	defer func() { _ = open.Close() }()
	must(t, os.Remove(path))
	sealed := fmt.Sprintf("/proc/self/fd/%d", open.Fd())
	if _, err := os.Stat(sealed); err != nil {
		t.Skip("this system has no /proc")
	}
	for _, args := range [][]string{{"scale", "agents", "--max=7", "--yes"}, {"remove", "agents", "--wait=0", "--yes"}} {
		all := append([]string{"cluster", "pool"}, args...)
		for _, flag := range flags {
			switch {
			case strings.HasPrefix(flag, "--file="):
				all = append(all, "--file="+sealed)
			case args[0] == "remove" || !strings.HasPrefix(flag, "--kubeconfig="):
				all = append(all, flag)
			}
		}
		got := sluice(t.Context(), all...)
		const want = "nothing was changed: in folder /proc/self/fd no file can be made"
		if got.code != exitError || !strings.Contains(got.complaint, want) || strings.Contains(got.out, "taken out of") || strings.Contains(got.out, "deleted") {
			t.Errorf("%v: exit %d, said %q, %q", args, got.code, got.out, got.complaint)
		}
	}
	for _, s := range f.azure.ScaleSets() {
		if strings.HasSuffix(s.Name, "render-agents") && s.Tags["max"] != "10" {
			t.Errorf("the scale set has max %s", s.Tags["max"])
		}
	}
}

// TestWhoInterruptsHearsWhatIsNext keeps other errors.
func TestWhoInterruptsHearsWhatIsNext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	other := errors.New("no route")
	if err := interrupted(ctx, other, "go on"); err != other {
		t.Errorf("%v", err)
	}
	cancel()
	if err := interrupted(ctx, ctx.Err(), "go on"); err == nil || err.Error() != "interrupted: go on" {
		t.Errorf("%v", err)
	}
	if err := interrupted(ctx, nil, "go on"); err != nil {
		t.Errorf("%v", err)
	}
}

// TestAnUpThatIsInterruptedIsFollowedLater does not tell anybody to correct a canceled context.
func TestAnUpThatIsInterruptedIsFollowedLater(t *testing.T) {
	u, _ := rising(t)
	ctx, cancel := context.WithCancel(t.Context())
	u.cmd.SetContext(ctx)
	say := u.Say
	u.Cluster.Say = func(s string) { say(s); cancel() }
	if err := u.up(); err == nil || !strings.HasPrefix(err.Error(), "interrupted: what is under way goes on in Azure") {
		t.Errorf("%v", err)
	}
}
