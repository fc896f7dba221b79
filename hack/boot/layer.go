package main

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"sluice.dev/sluice/internal/azuresim/host"
)

// The files of the machine image. That it has them is what distribution.install: image asks of an image.
//
//go:embed image
var imageFiles embed.FS

// places are where in the machine image they are.
var places = map[string]string{
	"kubelet.service":      "etc/systemd/system/kubelet.service",
	"kubelet.conf":         "etc/kubelet.conf.d/10-image.conf",
	"containerd.toml":      "etc/containerd/config.toml",
	"kubeadm.sh":           "usr/bin/kubeadm",
	"pods-network.sh":      "usr/bin/pods-network.sh",
	"pods-network.service": "etc/systemd/system/pods-network.service",
}

// sluiceImage is the name under which the machines' registry would have sluice.
const sluiceImage = "registry.example/sluice:v0.1.0"

// maker makes the machine image: what lies over a root file system.
type maker struct {
	image, root, binaries, work string
	version                     string // of Kubernetes
	cloudProvider               string // version of cloud-provider-azure; "" without
	trusted                     *trusted
	names                       map[string]string // of kubeadm's images, by the last part of the name without the tag
}

// make makes the image, or what of it is not as it should be.
func (m *maker) make(ctx context.Context) error {
	if err := m.readNames(ctx); err != nil {
		return err
	}
	if err := m.files(); err != nil {
		return err
	}
	return m.containers(ctx)
}

// readNames asks kubeadm which images it wants.
func (m *maker) readNames(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, filepath.Join(m.binaries, "kubeadm"), "config", "images", "list", "--kubernetes-version="+m.version).Output()
	if err != nil {
		return fmt.Errorf("ask kubeadm for its images: %w", err)
	}
	m.names = map[string]string{}
	for _, name := range strings.Fields(string(out)) {
		short, _, _ := strings.Cut(path.Base(name), ":")
		m.names[short] = name
	}
	if m.names["pause"] == "" {
		return fmt.Errorf("kubeadm wants no image pause: %s", out)
	}
	return nil
}

// files writes all but the container images.
func (m *maker) files() error {
	put := func(name string, text []byte) error {
		at := filepath.Join(m.image, name)
		// A link to a binary may be there, of an earlier form of the image.
		return errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.RemoveAll(at), os.WriteFile(at, text, 0o755))
	}
	for name, at := range places {
		text, err := imageFiles.ReadFile("image/" + name)
		if err != nil {
			return err
		}
		if err := put(at, []byte(strings.ReplaceAll(string(text), "PAUSE", m.names["pause"]))); err != nil {
			return err
		}
	}
	authorities, err := os.ReadFile(filepath.Join(m.root, "etc/ssl/certs/ca-certificates.crt"))
	if err != nil {
		return err
	}
	if err := put("etc/ssl/certs/ca-certificates.crt", append(authorities, m.trusted.ca...)); err != nil {
		return err
	}
	const wanted = "etc/systemd/system/multi-user.target.wants"
	for _, folder := range []string{"usr/lib/modules", wanted} {
		if err := os.MkdirAll(filepath.Join(m.image, folder), 0o755); err != nil {
			return err
		}
	}
	if err := os.Symlink("../pods-network.service", filepath.Join(m.image, wanted, "pods-network.service")); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for name, folder := range map[string]string{"kubelet": "usr/bin", "kubeadm": "usr/libexec", "kubectl": "usr/bin"} {
		if err := link(filepath.Join(m.binaries, name), filepath.Join(m.image, folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// archives writes the container images as archives: kubeadm's, and sluice's as hack/release makes it, with whom it trusts here.
func (m *maker) archives(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for program, name := range m.names {
		files := map[string]string{}
		if program == "kube-proxy" { // it runs iptables, which is not Go
			var err error
			if files, err = packaged(m.root, "iptables", "libxtables12", "libmnl0", "libnftnl11", "libip4tc2", "libip6tc2", "libnetfilter-conntrack3",
				"libnfnetlink0", "libc6", "conntrack", "netbase"); err != nil {
				return err
			}
		}
		at := "usr/local/bin/" + program
		files[at] = filepath.Join(m.binaries, program)
		run := containerConfig{Env: []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, Entrypoint: []string{"/" + at}}
		if err := writeImage(filepath.Join(dir, program+".tar"), name, run, files); err != nil {
			return err
		}
	}
	if m.cloudProvider != "" {
		for program, name := range cloudPrograms {
			run := containerConfig{Env: []string{"PATH=/usr/local/bin"}, Entrypoint: []string{"/usr/local/bin/" + program}}
			if err := writeImage(filepath.Join(dir, program+".tar"), name+m.cloudProvider, run, map[string]string{
				"usr/local/bin/" + program: filepath.Join(m.binaries, program), "etc/ssl/certs/ca-certificates.crt": m.trusted.caFile,
			}); err != nil {
				return err
			}
		}
	}
	return writeImage(filepath.Join(dir, "sluice.tar"), sluiceImage, containerConfig{User: "65532:65532", Entrypoint: []string{"/sluice"}}, map[string]string{
		"sluice": filepath.Join(m.binaries, "sluice"), "etc/ssl/certs/ca-certificates.crt": m.trusted.caFile, strings.TrimPrefix(rootsFile, "/"): m.trusted.rootsFile,
	})
}

// containers gives the machine image a containerd that has the container images: a machine imports them, and its folder is captured. It is done again
// when a binary or the root file system is another.
func (m *maker) containers(ctx context.Context) error {
	want, err := m.madeOf()
	if err != nil {
		return err
	}
	stamp := filepath.Join(m.image, "containerd.made-of")
	if has, err := os.ReadFile(stamp); err == nil && string(has) == want {
		return nil
	}
	fmt.Println("up: a machine imports the images, once")
	extra := filepath.Join(m.work, "archives")
	defer os.RemoveAll(extra)
	captured := filepath.Join(m.image, "var/lib/containerd")
	if err := errors.Join(os.RemoveAll(stamp), os.RemoveAll(captured), m.archives(filepath.Join(extra, "opt/images"))); err != nil {
		return err
	}
	h, err := host.Open(host.Config{Dir: filepath.Join(m.work, "machines"), Image: []string{extra, m.image, m.root}})
	if err != nil {
		return err
	}
	defer h.Close()
	const id = "/import"
	data, err := imageFiles.ReadFile("image/import.yaml")
	if err != nil {
		return err
	}
	if err := h.PowerOn(host.Machine{
		ID: id, VMID: "11111111-2222-3333-4444-555555555555", Name: "import", Address: netip.MustParseAddr("10.0.0.4"), MAC: "00:0d:0a:00:00:04", Data: data,
	}); err != nil {
		return err
	}
	err = until(ctx, "a machine to import the images", func() (bool, error) { return !h.Running(id), nil })
	if console, _ := h.Console(id); err != nil || !strings.Contains(console, "STORY: the images are there") {
		return errors.Join(fmt.Errorf("the images were not imported:\n%s", console), err)
	}
	if err := h.Capture(id, "var/lib/containerd", captured); err != nil {
		return err
	}
	return os.WriteFile(stamp, []byte(want), 0o644)
}

// madeOf tells binaries and a root file system from others. The times of binaries do not: go build moves them.
func (m *maker) madeOf() (string, error) {
	entries, err := os.ReadDir(m.binaries)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("2 %s %x\n", m.root, sha256.Sum256(append([]byte(nil), append(m.trusted.ca, m.trusted.roots...)...))) // 2: the form of the images
	for _, e := range entries {
		if cloudPrograms[e.Name()] != "" && m.cloudProvider == "" {
			continue // of another story
		}
		id, err := buildID(filepath.Join(m.binaries, e.Name()))
		if err != nil {
			return "", fmt.Errorf("%s is no program of go build: %w", e.Name(), err)
		}
		text += e.Name() + " " + id + "\n"
	}
	return text, nil
}

// buildID is what go build calls a program by what it was made from.
func buildID(program string) (string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return "", err
	}
	defer f.Close()
	note := f.Section(".note.go.buildid")
	if note == nil {
		return "", errors.New("it has no build id")
	}
	data, err := note.Data()
	return fmt.Sprintf("%x", sha256.Sum256(data)), err
}

// link makes one file appear at two places, or copies it where that cannot be.
func link(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(from, to); err == nil {
		return nil
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755)
}
