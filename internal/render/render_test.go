package render_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/render"
)

var update = flag.Bool("update", false, "write the renderings in testdata")

// names are the cluster files in testdata.
var names = []string{"k3s", "k3s-user", "kubeadm", "kubeadm-user"}

func load(t *testing.T, name string) *clusterfile.File {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	f, problems := clusterfile.Parse(text)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return &f
}

func rendered(t *testing.T, f *clusterfile.File) *render.Rendering {
	t.Helper()
	r, err := render.Render(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// cloudConfig is a cloud-init as cloud-init reads it.
type cloudConfig struct {
	WriteFiles []struct{ Path, Permissions, Content string } `json:"write_files"`
	RunCmd     [][]string                                    `json:"runcmd"`
}

func read(t *testing.T, text []byte) cloudConfig {
	t.Helper()
	var c cloudConfig
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// short is a rendered file as the goldens have it: what is a file of this package is named in place of its text.
func short(t *testing.T, file render.File) string {
	t.Helper()
	if strings.HasPrefix(file.Path, "cloud-init/") {
		var b strings.Builder
		c := read(t, file.Text)
		for _, f := range c.WriteFiles {
			fmt.Fprintf(&b, "--- %s %s\n", f.Path, f.Permissions)
			if from := source(t, f.Content); from != "" {
				b.WriteString("(" + from + ")\n")
			} else {
				b.WriteString(f.Content)
			}
		}
		for _, command := range c.RunCmd {
			fmt.Fprintln(&b, "$", strings.Join(command, " "))
		}
		return b.String()
	}
	if file.Path != "template.json" {
		return string(file.Text)
	}
	var lines []string
	for _, line := range strings.Split(string(file.Text), "\n") {
		if before, _, found := strings.Cut(line, `"#cloud-config`); found {
			line = before + `"(cloud-init)",`
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// source is the file of this package, or of deploy, that has a text, "" for none.
func source(t *testing.T, text string) (from string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && !slices.Contains([]string{".", "deploy", "internal", "internal/render", "internal/render/machine"}, path) {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		have, err := os.ReadFile("../../" + path)
		if err == nil && strings.TrimRight(string(have), "\n") == strings.TrimRight(text, "\n") {
			from = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return from
}

func TestRenderingsAreAsTheyWere(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			f := load(t, name)
			r := rendered(t, f)
			if again := rendered(t, f); !bytes.Equal(r.Template, again.Template) {
				t.Error("a second rendering has other bytes")
			}
			for _, file := range r.Files() {
				golden := filepath.Join("testdata", name, strings.ReplaceAll(strings.TrimSuffix(file.Path, ".yaml"), "/", "-"))
				if strings.HasPrefix(file.Path, "cloud-init/") {
					golden += ".txt"
				}
				have := short(t, file)
				if *update {
					if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil { //nolint:gosec // the tree's own mode
						t.Fatal(err)
					}
					if err := os.WriteFile(golden, []byte(have), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), have); diff != "" {
					t.Errorf("%s (-want +got), go test -update when it is right:\n%s", golden, diff)
				}
			}
		})
	}
}

// TestWhatCloudInitWritesIsWhatWasMeant reads each machine's files back: a script that lost a line or its indentation would fail on the machine alone.
func TestWhatCloudInitWritesIsWhatWasMeant(t *testing.T) {
	for _, name := range names {
		f := load(t, name)
		r := rendered(t, f)
		if uses := strings.Count(string(r.Template), "parameters('joinKey')"); uses != 2 && f.Secrets == clusterfile.KeyVault || uses != 0 && f.Secrets == clusterfile.SecretsFile {
			t.Errorf("%s: the key is used %d times: in the secret's condition and value, and nowhere else", name, uses)
		}
		all := map[string][]byte{"server": r.Server}
		for pool, text := range r.Pools {
			all[pool] = text
		}
		for machine, text := range all {
			scripts := 0
			for _, file := range read(t, text).WriteFiles {
				if strings.HasPrefix(file.Path, "/usr/local/") {
					if scripts++; source(t, file.Content) == "" {
						t.Errorf("%s, %s: %s is no file of this package", name, machine, file.Path)
					}
				}
			}
			if scripts < 4 {
				t.Errorf("%s, %s: %d scripts", name, machine, scripts)
			}
		}
	}
}

func TestTheCustomRoleHasTheActionsOfTheOneFile(t *testing.T) {
	var role struct{ Actions []string }
	text, err := os.ReadFile("../../deploy/azure-role.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &role); err != nil {
		t.Fatal(err)
	}
	template := string(rendered(t, load(t, "k3s")).Template)
	for _, action := range role.Actions {
		want := !strings.HasSuffix(action, "/assign/action")
		if has := strings.Contains(template, `"`+action+`"`); has != want {
			t.Errorf("%s: in the template: %v", action, has)
		}
	}
}

func TestAPoolsModelTagChangesWithWhatItsMachinesAreTold(t *testing.T) {
	tag := func(change func(f *clusterfile.File)) string {
		f := load(t, "k3s")
		change(f)
		_, after, _ := strings.Cut(string(rendered(t, f).Template), `"sluice.dev_model": "`)
		return after[:12]
	}
	was := tag(func(*clusterfile.File) {})
	if now := tag(func(f *clusterfile.File) { f.Pools[0].Max = 7 }); now != was {
		t.Error("another max makes no other machines")
	}
	if now := tag(func(f *clusterfile.File) { f.Distribution.Version = "v1.36.4+k3s1" }); now == was {
		t.Error("another version makes other machines")
	}
}

// TestTheCloudControllerIsTheOneThatIsPlayed holds the version that is installed against the one that make up boots with -cloud-provider.
func TestTheCloudControllerIsTheOneThatIsPlayed(t *testing.T) {
	module, err := os.ReadFile("../../hack/boot/cloudprovider/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	images := strings.Join(render.Images(load(t, "kubeadm-user")), " ")
	for _, name := range []string{"azure-cloud-controller-manager", "azure-cloud-node-manager"} {
		_, version, found := strings.Cut(images, "/"+name+":")
		version, _, _ = strings.Cut(version, " ")
		if !found || !strings.Contains(string(module), "\tsigs.k8s.io/cloud-provider-azure "+version+" ") {
			t.Errorf("%s is installed in version %q, and hack/boot/cloudprovider/go.mod has another", name, version)
		}
	}
}

// TestImagesAreAllThatAServersManifestsName reads what cloud-init writes, and wants each image of it in the list, under the name that the file gives it.
func TestImagesAreAllThatAServersManifestsName(t *testing.T) {
	line := regexp.MustCompile(`(?m)^ *(?:- )?image: (.+)$`)
	for _, name := range names {
		f := load(t, name)
		all := render.Images(f)
		if len(all) < 3 {
			t.Fatalf("%s: %q", name, all)
		}
		f.Images = map[string]string{}
		for _, image := range all {
			if !strings.HasPrefix(image, "registry.k8s.io/pause:") {
				f.Images[image] = "mirror.example/" + strings.NewReplacer(":", "-", "/", "-").Replace(image) + "@sha256:" + strings.Repeat("0", 64)
			}
		}
		for _, file := range read(t, rendered(t, f).Server).WriteFiles {
			for _, m := range line.FindAllStringSubmatch(file.Content, -1) {
				if !strings.HasPrefix(m[1], "mirror.example/") || !slices.Contains(render.Images(f), m[1]) {
					t.Errorf("%s: %s has the image %s", name, file.Path, m[1])
				}
			}
		}
		f.Images = map[string]string{all[0] + "0": f.Images[all[0]]}
		if _, err := render.Render(f); err == nil || !strings.Contains(err.Error(), "no machine pulls "+all[0]+"0; sluice cluster render --images") {
			t.Errorf("%s: a name of nothing: %v", name, err)
		}
	}
}

func TestCustomDataThatAzureDoesNotTakeIsRefused(t *testing.T) {
	f := load(t, "k3s")
	f.Pools[0].Labels = map[string]string{"a": strings.Repeat("x", 70_000)}
	if _, err := render.Render(f); err == nil || !strings.Contains(err.Error(), "cloud-init/agents.yaml") {
		t.Errorf("got %v", err)
	}
}
