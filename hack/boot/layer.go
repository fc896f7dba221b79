package main

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"sluice.dev/sluice/internal/azuresim/host"
)

//go:embed kubelet.service
var kubeletUnit []byte

//go:embed node.sh
var nodeScript []byte

//go:embed kubeadm.sh
var kubeadmScript []byte

// layer makes the folder that is laid over the root file system: a machine image with Kubernetes in it. Binaries are those of a folder.
func layer(dir, binaries string) error {
	for name, text := range map[string][]byte{"etc/systemd/system/kubelet.service": kubeletUnit, "usr/bin/node.sh": nodeScript, "usr/bin/kubeadm.sh": kubeadmScript} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o755); err != nil {
			return err
		}
	}
	for _, folder := range []string{"usr/lib/modules", "etc/systemd/system/multi-user.target.wants", "etc/kubernetes/manifests"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return err
		}
	}
	enabled := filepath.Join(dir, "etc/systemd/system/multi-user.target.wants/kubelet.service")
	if err := os.Symlink("../kubelet.service", enabled); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, name := range []string{"kubelet", "kubeadm"} {
		if err := link(filepath.Join(binaries, name), filepath.Join(dir, "usr/bin", name)); err != nil {
			return err
		}
	}
	return nil
}

// archives writes the images of the cluster as archives.
func archives(dir, binaries, root, version string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tags := map[string]string{
		"pause": "1", "etcd": "1", "kube-apiserver": version, "kube-controller-manager": version, "kube-scheduler": version, "kube-proxy": version,
	}
	for name, tag := range tags {
		files := map[string]string{}
		if name == "kube-proxy" { // it runs iptables, which is not Go
			var err error
			if files, err = packaged(root, "iptables", "libxtables12", "libmnl0", "libnftnl11", "libip4tc2", "libip6tc2", "libnetfilter-conntrack3",
				"libnfnetlink0", "libc6", "conntrack", "netbase"); err != nil {
				return err
			}
		}
		files["usr/local/bin/"+name] = filepath.Join(binaries, name)
		if err := writeImage(filepath.Join(dir, name+".tar"), "sluice.dev/boot/"+name+":"+tag, name, files); err != nil {
			return err
		}
	}
	return nil
}

//go:embed import.yaml
var importData []byte

// images gives the machine image a containerd that has the cluster's images: a machine imports them, and its folder is captured. It is done again when
// a binary or the root file system is another.
func images(ctx context.Context, image, binaries, root, version, work string) error {
	want, err := made(binaries, root)
	if err != nil {
		return err
	}
	stamp := filepath.Join(image, "containerd.made-of")
	if has, err := os.ReadFile(stamp); err == nil && string(has) == want {
		return nil
	}
	fmt.Println("boot: a machine imports the images, once")
	extra := filepath.Join(work, "archives")
	defer os.RemoveAll(extra)
	captured := filepath.Join(image, "var/lib/containerd")
	if err := errors.Join(os.RemoveAll(stamp), os.RemoveAll(captured), archives(filepath.Join(extra, "opt/images"), binaries, root, version)); err != nil {
		return err
	}
	h, err := host.Open(host.Config{Dir: filepath.Join(work, "machines"), Image: []string{extra, image, root}})
	if err != nil {
		return err
	}
	defer h.Close()
	const id = "/import"
	if err := h.PowerOn(host.Machine{
		ID: id, VMID: "11111111-2222-3333-4444-555555555555", Name: "import", Address: netip.MustParseAddr("10.0.0.4"), MAC: "00:0d:0a:00:00:04", Data: importData,
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

// made tells binaries and a root file system from others. The times of binaries do not: go build moves them.
func made(binaries, root string) (string, error) {
	entries, err := os.ReadDir(binaries)
	if err != nil {
		return "", err
	}
	text := "1 " + root + "\n" // 1: the form of the images
	for _, e := range entries {
		id, err := buildID(filepath.Join(binaries, e.Name()))
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
