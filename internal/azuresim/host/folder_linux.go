package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// folders are those of a machine that an overlay cannot hold, because another overlay or a database is kept there: by path in the machine. A machine
// begins with what its image has there.
var folders = []string{"var/lib/containerd", "var/lib/kubelet", "var/lib/etcd", "var/lib/rancher"}

// fillFolder gives a machine's folder what the uppermost layer of its image that has it holds there.
func fillFolder(image []string, name, to string) error {
	for _, layer := range image {
		from := filepath.Join(layer, name)
		switch entries, err := os.ReadDir(from); {
		case errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0:
		case err != nil:
			return err
		default:
			return copyFolder(from, to)
		}
	}
	return nil
}

// unwritten reports whether nobody writes to a file that containerd keeps: content goes by its digest, and what a layer holds is only ever read through
// an overlay. Such files are shared with the image.
func unwritten(name string) bool {
	return strings.Contains(name, "/blobs/") || strings.Contains(name, "/snapshots/")
}

func copyFolder(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch mode := info.Mode(); {
		case mode.IsDir():
			err = os.MkdirAll(target, 0o700)
		case mode&fs.ModeSymlink != 0:
			var text string
			if text, err = os.Readlink(path); err == nil {
				return os.Symlink(text, target)
			}
		case mode.IsRegular() && unwritten(path) && os.Link(path, target) == nil:
			return nil
		case mode.IsRegular():
			err = copyFile(path, target)
		default:
			return fmt.Errorf("%s of the image is no file, folder or link", path)
		}
		if err != nil {
			return err
		}
		owner := info.Sys().(*syscall.Stat_t)
		return errors.Join(os.Lchown(target, int(owner.Uid), int(owner.Gid)), os.Chmod(target, info.Mode()))
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Capture moves one of the folders of a machine that is off away, to become part of an image. The machine is of no more use.
func (h *Host) Capture(id, folder, to string) error {
	m := h.machine(id)
	if m == nil || m.running() {
		return fmt.Errorf("capture %s: the machine %s is not there, or not off", folder, id)
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.Rename(filepath.Join(m.dir, folder), to)
}
