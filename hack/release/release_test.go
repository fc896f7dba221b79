package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"sigs.k8s.io/krew/pkg/index"
	"sigs.k8s.io/yaml"
)

// example is a build of binaries that are none, in a folder of its own.
func example(t *testing.T) build {
	t.Helper()
	dir := t.TempDir()
	b := build{
		root: filepath.Join(dir, "root"), dist: filepath.Join(dir, "dist"), version: "v1.2.3", revision: strings.Repeat("ab", 20), goes: "go1.26.0", made: time.Unix(1_800_000_000, 0).UTC(),
		url: "https://example.org/v1.2.3/",
	}
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range platforms {
		write(b.of(p, p.binary()), "binary for "+p.architecture)
		write(b.of(p, "sluice.cdx.json"), "{}")
	}
	write(filepath.Join(b.root, "LICENSE"), "licence")
	write(filepath.Join(b.root, "CHANGELOG.md"), "changes")
	write(filepath.Join(b.root, "deploy", "rbac.yaml"), "rights")
	write(filepath.Join(b.root, "deploy", "deploy.go"), "package deploy")
	write(filepath.Join(b.root, "deploy", "chart", "Chart.yaml"), "name: sluice\nversion: 1.2.3\nappVersion: v1.2.3\n")
	if err := os.Symlink("../rbac.yaml", filepath.Join(b.root, "deploy", "chart", "rbac.yaml")); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTheSameBinariesGiveTheSameBytesInEveryFolder(t *testing.T) {
	made := func() map[string]string {
		b := example(t)
		if _, err := b.image(); err != nil {
			t.Fatal(err)
		}
		if _, err := b.assets(); err != nil {
			t.Fatal(err)
		}
		all, err := tree(b.dist, "")
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, e := range all {
			files[e.name] = string(e.content)
		}
		return files
	}
	first, second := made(), made()
	if len(first) != len(second) || len(first) < 15 {
		t.Errorf("%d files and %d", len(first), len(second))
	}
	for name, content := range first {
		if second[name] != content {
			t.Errorf("%s differs", name)
		}
	}
}

// TestTheImageIsWhatAKubeletExpects reads the layout back.
func TestTheImageIsWhatAKubeletExpects(t *testing.T) {
	b := example(t)
	b.version = "v0.0.0-dev+abc"
	digest, err := b.image()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := layout.ImageIndexFromPath(b.layout())
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(whole); err != nil {
		t.Error(err)
	}
	manifest, err := whole.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	entry := manifest.Manifests[0]
	if entry.Digest != digest || entry.Annotations["io.containerd.image.name"] != "docker.io/library/sluice:v0.0.0-dev-abc" {
		t.Errorf("the layout's entry is %+v, want %s", entry, digest)
	}
	index, err := whole.ImageIndex(entry.Digest)
	if err != nil {
		t.Fatal(err)
	}
	platforms, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(platforms.Manifests) != len(architectures) {
		t.Fatalf("%d images, want one for each of %v", len(platforms.Manifests), architectures)
	}
	for i, m := range platforms.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if m.Platform.Architecture != architectures[i] || config.Architecture != architectures[i] || config.Config.User != "65532:65532" || config.Config.WorkingDir != "/" {
			t.Errorf("image %d is %+v for %+v", i, config.Config, m.Platform)
		}
		files := unpack(t, mutate.Extract(image))
		if got := files["sluice"]; got.content != "binary for "+architectures[i] || got.Mode != 0o755 || got.Uid != 0 {
			t.Errorf("/sluice is %+v", got)
		}
		if got := files["cluster-autoscaler"]; got.Typeflag != tar.TypeLink || got.Linkname != "sluice" {
			t.Errorf("/cluster-autoscaler is %+v, want a link to the binary", got)
		}
		if got := files["tmp"]; got.Mode != 0o1777 {
			t.Errorf("/tmp has mode %o", got.Mode)
		}
		if got := files["etc/passwd"]; !strings.Contains(got.content, "\nsluice:x:65532:65532:") {
			t.Errorf("/etc/passwd is %q", got.content)
		}
	}
}

func TestTheStatementOfProvenanceNamesEveryFile(t *testing.T) {
	b := example(t)
	if _, err := b.image(); err != nil {
		t.Fatal(err)
	}
	names, err := b.assets()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(b.dist, "assets", "provenance.intoto.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Subject []struct {
			Name   string
			Digest map[string]string
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(b.dist, "assets", "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, f := range s.Subject {
		lines.WriteString(f.Digest["sha256"] + "  " + f.Name + "\n")
	}
	if lines.String() != string(sums) || len(s.Subject) != len(names)-2 {
		t.Errorf("provenance is about\n%sand the checksums about\n%s", lines.String(), sums)
	}
	archive, err := os.ReadFile(filepath.Join(b.dist, "assets", "sluice_1.2.3_linux_arm64.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := unpack(t, plain)
	if got := files["sluice_1.2.3_linux_arm64/sluice"]; got.content != "binary for arm64" || got.Mode != 0o755 {
		t.Errorf("the archive's binary is %+v", got)
	}
	if _, ok := files["sluice_1.2.3_linux_arm64/deploy/rbac.yaml"]; !ok || len(files) != 4 {
		t.Errorf("the archive has %v, want binary, licence, changelog and rights", files)
	}
}

func TestAChartOfAnotherVersionIsNotReleased(t *testing.T) {
	b := example(t)
	b.version = "v1.2.4"
	if _, err := b.chart("1.2.4"); err == nil || !strings.Contains(err.Error(), `no line "version: 1.2.4"`) {
		t.Errorf("it says %v", err)
	}
	for version, want := range map[string]string{"v0.0.0-dev+abc": "is no release", "": "give --version"} {
		if err := run([]string{"--version=" + version, "--revision=x", "--epoch=1", "assets"}, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("version %q: it says %v", version, err)
		}
	}
}

// packedFile is a file of an archive.
type packedFile struct {
	tar.Header
	content string
}

func unpack(t *testing.T, r io.Reader) map[string]packedFile {
	t.Helper()
	files := map[string]packedFile{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = packedFile{*h, string(content)}
	}
}

// TestKrewAcceptsTheManifest by its own rules, and knows every field of it. Each archive has what the manifest takes from it, under the digest that it names.
func TestKrewAcceptsTheManifest(t *testing.T) {
	b := example(t)
	if _, err := b.image(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.assets(); err != nil {
		t.Fatal(err)
	}
	assets := filepath.Join(b.dist, "assets")
	manifest := filepath.Join(assets, krewFile)
	validate := exec.CommandContext(t.Context(), "go", "tool", "validate-krew-manifest", "-manifest", manifest, "-skip-install")
	if said, err := validate.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var plugin index.Plugin
	if err := yaml.UnmarshalStrict(text, &plugin); err != nil {
		t.Fatal(err)
	}
	if len(plugin.Spec.Platforms) != len(platforms) || plugin.Spec.Version != b.version {
		t.Errorf("%d platforms of version %s", len(plugin.Spec.Platforms), plugin.Spec.Version)
	}
	for i, p := range plugin.Spec.Platforms {
		if is := (platform{p.Selector.MatchLabels["os"], p.Selector.MatchLabels["arch"]}); is != platforms[i] || p.Bin != is.binary() {
			t.Errorf("platform %d is %s for %v, want %v", i, p.Bin, is, platforms[i])
		}
		name, below := strings.CutPrefix(p.URI, "https://example.org/v1.2.3/")
		archive, err := os.ReadFile(filepath.Join(assets, name))
		if err != nil || !below || !strings.HasSuffix(name, "_"+p.Selector.MatchLabels["os"]+"_"+p.Selector.MatchLabels["arch"]+".tar.gz") {
			t.Fatalf("%s for %v: %v", p.URI, p.Selector.MatchLabels, err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(archive)); sum != p.Sha256 {
			t.Errorf("%s has %s, and the manifest %s", name, sum, p.Sha256)
		}
		unzipped, err := gzip.NewReader(bytes.NewReader(archive))
		if err != nil {
			t.Fatal(err)
		}
		inside := unpack(t, io.NopCloser(unzipped))
		for _, f := range p.Files {
			if _, has := inside[f.From]; !has {
				t.Errorf("%s has no %s", name, f.From)
			}
		}
		if got := inside[p.Files[0].From]; path.Base(p.Files[0].From) != p.Bin || got.Mode != 0o755 {
			t.Errorf("%s is linked, and %s taken with mode %o", p.Bin, p.Files[0].From, got.Mode)
		}
	}
}
