package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

const samplePublicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHNhbXBsZXNhbXBsZXNhbXBsZXNhbXBsZXNhbXBsZXNh sample@example"

// begin writes a cluster file as init does, and returns its path.
func begin(t *testing.T, more ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	args := append([]string{
		"cluster", "init", "--name=render", "--region=westeurope", "--file=" + path, "--ssh-public-key=" + file(t, "key.pub", samplePublicKey+"\n"),
	}, more...)
	sluice(t.Context(), args...).expect(t, exitNothing, "is written", "Next: sluice cluster check --file="+path)
	return path
}

func TestAClusterFileIsBegunAndRendered(t *testing.T) {
	path := begin(t, "--allow-from=203.0.113.0/24")
	got := sluice(t.Context(), "cluster", "render", "--file="+path)
	got.expect(t, exitNothing, "-- template.json --", "203.0.113.0/24")
	var names []string
	for _, f := range txtar.Parse([]byte(got.out)).Files {
		names = append(names, f.Name)
	}
	want := "template.json parameters.json first.parameters.json cloud-init/server.yaml cloud-init/agents.yaml cloud-init/burst.yaml"
	if strings.Join(names, " ") != want {
		t.Errorf("files %q, want %q", names, want)
	}
	one := sluice(t.Context(), "cluster", "render", "--file="+path, "--only=template.json")
	if !json.Valid([]byte(one.out)) {
		t.Error("the template alone is no JSON")
	}

	images := sluice(t.Context(), "cluster", "render", "--file="+path, "--images")
	images.expect(t, exitNothing, "registry.example/sluice:v0.1.0\n", "mcr.microsoft.com/oss/v2/kubernetes-csi/azuredisk-csi:v1.34.0\n")
	if !strings.Contains(images.complaint, "/k3s-images.txt\n") || strings.Contains(images.out, "k3s pulls") {
		t.Errorf("K3s's own are not where they should be: %s", images.complaint)
	}

	out := t.TempDir()
	sluice(t.Context(), "cluster", "render", "--file="+path, "--out="+out).expect(t, exitNothing, filepath.Join(out, "cloud-init", "burst.yaml"))
	text, err := os.ReadFile(path)
	must(t, err)
	before, _, _ := strings.Cut(string(text), "  - name: burst")
	_, after, _ := strings.Cut(string(text), "\nsluice:")
	must(t, os.WriteFile(path, []byte(before+"\nsluice:"+after), 0o600))
	sluice(t.Context(), "cluster", "render", "--file="+path, "--out="+out).expect(t, exitNothing)
	if _, err := os.Stat(filepath.Join(out, "cloud-init", "burst.yaml")); err == nil {
		t.Error("the cloud-init of a pool that is gone stays")
	}
}

// TestWhatIsOpenToAllIsSaidOnce writes it as it is asked for, and says it.
func TestWhatIsOpenToAllIsSaidOnce(t *testing.T) {
	for _, tc := range []struct {
		from []string
		want int
	}{{[]string{"--allow-from=0.0.0.0/0", "--allow-from=10.0.0.0/8"}, 1}, {[]string{"--allow-from=203.0.113.0/24"}, 0}, {nil, 0}} {
		path := filepath.Join(t.TempDir(), "cluster.yaml")
		key := file(t, "k.pub", samplePublicKey)
		args := []string{"cluster", "init", "--name=a", "--region=westeurope", "--file=" + path, "--ssh-public-key=" + key}
		got := sluice(t.Context(), append(args, tc.from...)...)
		if n := strings.Count(got.out, "the whole internet reaches SSH (22) and the API server (6443)"); got.code != exitNothing || n != tc.want {
			t.Errorf("%q: exit %d, said %d times: %s%s", tc.from, got.code, n, got.out, got.complaint)
		}
	}
}

func TestTheSchemaStandsBesideTheFileThatNamesIt(t *testing.T) {
	path := begin(t)
	schema, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cluster.schema.json"))
	must(t, err)
	if got := sluice(t.Context(), "cluster", "schema"); got.out != string(schema) || !json.Valid(schema) {
		t.Error("the schema beside the file is another one than cluster schema prints")
	}
	text, err := os.ReadFile(path)
	must(t, err)
	if !strings.HasPrefix(string(text), "# yaml-language-server: $schema=cluster.schema.json\n") {
		t.Errorf("the file does not name it: %.80s", text)
	}
}

func TestTheVerbsOfAClusterRefuseInSentences(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	path := begin(t)
	text, err := os.ReadFile(path)
	must(t, err)
	bad := file(t, "bad.yaml", strings.Replace(string(text), "\nname:", "\nnaame:", 1))
	key := "--ssh-public-key=" + file(t, "k.pub", samplePublicKey)
	flag := file(t, "flag.yaml", strings.Replace(string(text), "  # settings:", "  settings: {expander: fastest}\n  # settings:", 1))
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no file":     {[]string{"render", "--file=absent.yaml"}, "sluice: there is no absent.yaml; sluice cluster init writes one, --file names another\n"},
		"problems":    {[]string{"render", "--file=" + bad}, bad + ": line 6: naame: there is no such field; did you mean name?\n"},
		"a setting":   {[]string{"render", "--file=" + flag}, flag + ": sluice.settings: --expander=fastest: "},
		"not there":   {[]string{"render", "--file=" + path, "--only=x"}, "--only=x: give one of template.json"},
		"both":        {[]string{"render", "--file=" + path, "--only=x", "--out=y"}, "--out and --only: give one of them"},
		"no name":     {[]string{"init"}, "--name is not given: give it, such as --name=render"},
		"there":       {[]string{"init", "--name=a", "--region=b1x", "--file=" + path, "--ssh-public-key=" + file(t, "k", samplePublicKey)}, "is there already; move it away"},
		"no key":      {[]string{"init", "--name=a", "--region=westeurope"}, "~/.ssh has no public key"},
		"a bad key":   {[]string{"init", "--name=a", "--region=westeurope", "--ssh-public-key=" + bad}, "sluice: --ssh-public-key: has several lines; give one key"},
		"a bad name":  {[]string{"init", "--name=A_b", "--region=westeurope", key}, "sluice: --name: \"A_b\" is no such name; give 1 to 30 of "},
		"a region":    {[]string{"init", "--name=a", "--region=West Europe", key}, "sluice: --region: \"West Europe\" is no such name; give"},
		"no such":     {[]string{"rendr"}, `"rendr" is no command of sluice cluster: there are`},
		"other linux": {[]string{"init", "--name=a", "--region=westeurope", "--distribution=rke2"}, "--distribution=rke2: give k3s or kubeadm"},
		"a range": {
			[]string{"init", "--name=a", "--region=westeurope", key, "--allow-from=10.0.0.0/8", "--allow-from=1.2.3.4/8"},
			"sluice: --allow-from: \"1.2.3.4/8\" is an address in a range",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := sluice(t.Context(), append([]string{"cluster"}, tc.args...)...)
			lined := tc.args[0] == "init" && strings.Contains(got.complaint, "line ")
			if got.code != exitError || !strings.Contains(got.complaint, tc.want) || lined {
				t.Errorf("exit %d, said %q, want %q", got.code, got.complaint, tc.want)
			}
		})
	}
}
