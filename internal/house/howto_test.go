package house

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// k3sPage tells how to run sluice with K3s.
const k3sPage = "docs/how-to/k3s.md"

// shellBlock is a block of shell in Markdown, indented or not, its text captured.
var shellBlock = regexp.MustCompile("(?ms)^ *```sh\n(.*?\n) *```$")

// shellBlocks are those of the page.
func shellBlocks(t *testing.T, page string) (text string, blocks []string) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range shellBlock.FindAllStringSubmatch(string(data), -1) {
		blocks = append(blocks, m[1])
	}
	return string(data), blocks
}

// resourceID is that of a machine of a scale set.
const resourceID = "/subscriptions/s/resourceGroups/farm/providers/Microsoft.Compute/virtualMachineScaleSets/agents/virtualMachines/3"

// TestTheCustomDataWritesWhatMachinesReadToJoin runs the script of each page with instance metadata in its place, and reads what it writes.
func TestTheCustomDataWritesWhatMachinesReadToJoin(t *testing.T) {
	labels := []any{"node.kubernetes.io/instance-type=Standard_D4s_v5", "topology.kubernetes.io/region=westeurope", "topology.kubernetes.io/zone=westeurope-2"}
	agent := func(server, folder string) map[string]any {
		return map[string]any{
			"server": server, "token-file": folder + "/agent-token", "node-label": labels, "kubelet-arg": []any{"provider-id=azure://" + resourceID},
		}
	}
	argument := func(name, value string) map[string]any { return map[string]any{"name": name, "value": value} }
	for _, c := range []struct {
		page, folder, file string
		want               map[string]any
		runs               string // the program that starts, and how
	}{
		{k3sPage, "/etc/rancher/k3s", "config.yaml", agent("https://10.0.0.4:6443", "/etc/rancher/k3s"), "systemctl enable --now k3s-agent"},
		{"docs/how-to/rke2.md", "/etc/rancher/rke2", "config.yaml", agent("https://10.0.0.4:9345", "/etc/rancher/rke2"), "systemctl enable --now rke2-agent"},
		{"docs/how-to/kubeadm.md", "/etc/kubernetes", "join.yaml", map[string]any{
			"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "JoinConfiguration",
			"discovery": map[string]any{"bootstrapToken": map[string]any{
				"apiServerEndpoint": "10.0.0.4:6443", "token": "abcdef.0123456789abcdef", "caCertHashes": []any{"sha256:" + strings.Repeat("0", 64)},
			}},
			"nodeRegistration": map[string]any{"kubeletExtraArgs": []any{
				argument("provider-id", "azure://"+resourceID), argument("node-labels", fmt.Sprint(labels[0], ",", labels[1], ",", labels[2])),
			}},
		}, "kubeadm join --config /etc/kubernetes/join.yaml"},
	} {
		t.Run(c.page, func(t *testing.T) { joins(t, c.page, c.folder, c.file, c.want, c.runs) })
	}
}

// joins runs the first script of a page, and compares the file that it writes into the folder, and what it starts.
func joins(t *testing.T, page, folder, file string, want map[string]any, runs string) {
	t.Helper()
	_, blocks := shellBlocks(t, page)
	if len(blocks) == 0 {
		t.Fatalf("%s has no script", page)
	}
	script := blocks[0]
	if !strings.HasPrefix(script, "#!/bin/sh\n") {
		t.Errorf("cloud-init runs custom data as a script only if it begins with #!: %.40q", script)
	}
	etc, bin := t.TempDir(), t.TempDir()
	// Metadata as Azure has it: text of one field, for those who send the header.
	tool(t, bin, "curl", `for last; do :; done
case "$*" in *"Metadata:true"*) ;; *) exit 22 ;; esac
case "$last" in
http://169.254.169.254/metadata/instance/compute/vmSize\?api-version=2021-02-01\&format=text) printf Standard_D4s_v5 ;;
http://169.254.169.254/metadata/instance/compute/location\?api-version=2021-02-01\&format=text) printf westeurope ;;
http://169.254.169.254/metadata/instance/compute/zone\?api-version=2021-02-01\&format=text) printf 2 ;;
http://169.254.169.254/metadata/instance/compute/resourceId\?api-version=2021-02-01\&format=text) printf `+resourceID+` ;;
*) exit 22 ;;
esac
`)
	program, _, _ := strings.Cut(runs, " ")
	tool(t, bin, program, `echo `+program+` "$@" > `+etc+"/started\n")
	sh := exec.CommandContext(t.Context(), "sh", "-eu", "-c", strings.ReplaceAll(script, folder, etc+"/of"))
	sh.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("the script of %s: %v\n%s", page, err, out)
	}
	data, err := os.ReadFile(filepath.Join(etc, "of", file))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(string(data), etc+"/of", folder)), &got); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is read to join (-want +got):\n%s", diff)
	}
	started, err := os.ReadFile(filepath.Join(etc, "started"))
	if err != nil || strings.ReplaceAll(string(started), etc+"/of", folder) != runs+"\n" {
		t.Errorf("the script has started %q (%v)", started, err)
	}
}

// tool puts a program of that name, a script, into a folder.
func tool(t *testing.T, folder, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
}

// othersFlags are flags of other programs that how-to pages name in running text.
var othersFlags = []string{
	"--agent-token", "--disable", "--disable-agent", "--disable-cloud-controller", "--kubelet-arg", "--node-name", "--with-node-id", // of K3s
	"--ttl",             // of kubeadm
	"--eviction-policy", // of az
	"--beside", "--yes", // of sluice uninstall
	"--at", // of sluice explain
}

// TestHowToPagesNameWhatThereIs holds commands to the shell's grammar, and files and flags to those of the tree.
func TestHowToPagesNameWhatThereIs(t *testing.T) {
	flags, err := os.ReadFile("docs/reference/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/how-to/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("found %d pages: %v", len(pages), err)
	}
	blocksOfAll, flagsOfAll := 0, 0
	for _, page := range pages {
		text, blocks := shellBlocks(t, page)
		blocksOfAll += len(blocks)
		for _, block := range blocks {
			if out, err := exec.CommandContext(t.Context(), "sh", "-n", "-c", block).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s in\n%s", page, err, out, block)
			}
		}
		for _, file := range regexp.MustCompile(`deploy/[\w.-]+\.\w+`).FindAllString(text, -1) {
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s names %s: %v", page, file, err)
			}
		}
		if page == "docs/how-to/azuresim.md" {
			continue // its flags are those of another program
		}
		for _, m := range regexp.MustCompile("`(--[a-z-]+)").FindAllStringSubmatch(text, -1) {
			if slices.Contains(othersFlags, m[1]) {
				continue
			}
			if flagsOfAll++; !strings.Contains(string(flags), "`"+m[1]+"`") {
				t.Errorf("%s names %s, which is a flag neither of sluice nor, as far as is known here, of another program", page, m[1])
			}
		}
	}
	if blocksOfAll < 8 || flagsOfAll < 20 {
		t.Errorf("found %d blocks of shell and %d flags in all pages, too few to have read them", blocksOfAll, flagsOfAll)
	}
}

// unitKeys are the settings of systemd that the units may have, by section.
var unitKeys = map[string][]string{
	"Unit": {"Description", "After", "Wants"},
	"Service": {
		"ExecStart", "Restart", "RestartSec", "DynamicUser", "LoadCredential", "Environment", "EnvironmentFile", "NoNewPrivileges", "ProtectSystem", "ProtectHome",
		"PrivateTmp", "MemoryMax",
	},
	"Install": {"WantedBy"},
}

// TestUnitsHaveSettingsThatSystemdKnows reads each unit by systemd's grammar: systemd ignores a setting that it does not know, and one in the wrong section.
func TestUnitsHaveSettingsThatSystemdKnows(t *testing.T) {
	units, err := filepath.Glob("deploy/*.service")
	if err != nil || len(units) == 0 {
		t.Fatalf("found no unit: %v", err)
	}
	for _, unit := range units {
		data, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		section, seen := "", map[string]bool{}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(line)
			name, isSection := strings.CutPrefix(line, "[")
			key, value, isSetting := strings.Cut(line, "=")
			switch {
			case line == "" || strings.HasPrefix(line, "#"):
			case isSection && strings.HasSuffix(name, "]"):
				if section = strings.TrimSuffix(name, "]"); unitKeys[section] == nil {
					t.Errorf("%s: there is no section %s; there are %v", unit, line, slices.Sorted(maps.Keys(unitKeys)))
				}
			case !isSetting || value == "" || !slices.Contains(unitKeys[section], key):
				t.Errorf("%s: %q is no setting of [%s] that is known here", unit, line, section)
			default:
				seen[section+"."+key] = true
			}
		}
		for _, needed := range []string{"Service.ExecStart", "Service.Restart", "Install.WantedBy"} {
			if !seen[needed] {
				t.Errorf("%s lacks %s", unit, needed)
			}
		}
	}
}
