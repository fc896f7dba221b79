package main

import (
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed kubelet.service
var kubeletUnit []byte

//go:embed node.sh
var nodeScript []byte

//go:embed kubeadm.sh
var kubeadmScript []byte

// layer makes the folder that is laid over the root file system: a machine image with Kubernetes in it. Binaries are those of a folder; archives of
// images that are newer than what is in them stay.
func layer(dir, binaries, root, version string) error {
	for name, text := range map[string][]byte{"etc/systemd/system/kubelet.service": kubeletUnit, "usr/bin/node.sh": nodeScript, "usr/bin/kubeadm.sh": kubeadmScript} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o755); err != nil {
			return err
		}
	}
	for _, folder := range []string{"opt/images", "usr/lib/modules", "etc/systemd/system/multi-user.target.wants", "etc/kubernetes/manifests"} {
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
	tags := map[string]string{
		"pause": "1", "etcd": "1", "kube-apiserver": version, "kube-controller-manager": version, "kube-scheduler": version, "kube-proxy": version,
	}
	for name, tag := range tags {
		archive, binary := filepath.Join(dir, "opt/images", name+".tar"), filepath.Join(binaries, name)
		if newer(archive, binary) && newer(archive, "/proc/self/exe") {
			continue
		}
		files := map[string]string{}
		if name == "kube-proxy" { // it runs iptables, which is not Go
			var err error
			if files, err = packaged(root, "iptables", "libxtables12", "libmnl0", "libnftnl11", "libip4tc2", "libip6tc2", "libnetfilter-conntrack3",
				"libnfnetlink0", "libc6", "conntrack", "netbase"); err != nil {
				return err
			}
		}
		files["usr/local/bin/"+name] = binary
		if err := writeImage(archive, "sluice.dev/boot/"+name+":"+tag, name, files); err != nil {
			return err
		}
	}
	return nil
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

func newer(file, than string) bool {
	a, err := os.Stat(file)
	b, is := os.Stat(than)
	return err == nil && is == nil && a.ModTime().After(b.ModTime())
}
