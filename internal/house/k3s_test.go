package house

import (
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

// TestTheCustomDataForK3sWritesWhatAnAgentReads runs the script with instance metadata in its place, and reads what it writes.
func TestTheCustomDataForK3sWritesWhatAnAgentReads(t *testing.T) {
	_, blocks := shellBlocks(t, k3sPage)
	if len(blocks) == 0 {
		t.Fatalf("%s has no script", k3sPage)
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
http://169.254.169.254/metadata/instance/compute/resourceId\?api-version=2021-02-01\&format=text) printf /subscriptions/s/resourceGroups/farm/providers/Microsoft.Compute/virtualMachineScaleSets/agents/virtualMachines/3 ;;
*) exit 22 ;;
esac
`)
	tool(t, bin, "systemctl", `echo "$@" > `+etc+"/started\n")
	sh := exec.CommandContext(t.Context(), "sh", "-eu", "-c", strings.ReplaceAll(script, "/etc/rancher/k3s", etc+"/k3s"))
	sh.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("the script of %s: %v\n%s", k3sPage, err, out)
	}
	data, err := os.ReadFile(filepath.Join(etc, "k3s", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.UnmarshalStrict(data, &got); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	want := map[string]any{
		"server": "https://10.0.0.4:6443", "token-file": "/etc/rancher/k3s/agent-token",
		"node-label": []any{
			"node.kubernetes.io/instance-type=Standard_D4s_v5", "topology.kubernetes.io/region=westeurope", "topology.kubernetes.io/zone=westeurope-2",
		},
		"kubelet-arg": []any{"provider-id=azure:///subscriptions/s/resourceGroups/farm/providers/Microsoft.Compute/virtualMachineScaleSets/agents/virtualMachines/3"},
	}
	got["token-file"] = strings.ReplaceAll(got["token-file"].(string), etc+"/k3s", "/etc/rancher/k3s")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what an agent reads (-want +got):\n%s", diff)
	}
	if started, err := os.ReadFile(filepath.Join(etc, "started")); err != nil || string(started) != "enable --now k3s-agent\n" {
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

// TestThePageOnK3sNamesWhatThereIs holds the page's commands to the shell's grammar, and its files and flags to those of the tree.
func TestThePageOnK3sNamesWhatThereIs(t *testing.T) {
	text, blocks := shellBlocks(t, k3sPage)
	if len(blocks) < 3 {
		t.Fatalf("%s has %d blocks of shell", k3sPage, len(blocks))
	}
	for _, block := range blocks {
		if out, err := exec.CommandContext(t.Context(), "sh", "-n", "-c", block).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s in\n%s", k3sPage, err, out, block)
		}
	}
	for _, file := range regexp.MustCompile(`deploy/[\w.-]+\.\w+`).FindAllString(text, -1) {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s names %s: %v", k3sPage, file, err)
		}
	}
	flags, err := os.ReadFile("docs/reference/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	ofK3s := []string{"--agent-token", "--disable", "--disable-agent", "--disable-cloud-controller", "--kubelet-arg", "--node-name", "--with-node-id"}
	named := 0
	for _, m := range regexp.MustCompile("`(--[a-z-]+)").FindAllStringSubmatch(text, -1) {
		if slices.Contains(ofK3s, m[1]) {
			continue
		}
		if named++; !strings.Contains(string(flags), "`"+m[1]+"`") {
			t.Errorf("%s names %s, which is a flag neither of sluice nor, as far as is known here, of K3s", k3sPage, m[1])
		}
	}
	if named < 2 {
		t.Errorf("found %d flags of sluice in %s, too few to have read it", named, k3sPage)
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
