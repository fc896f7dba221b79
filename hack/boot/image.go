package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// containerConfig is how an image is run.
type containerConfig struct {
	User       string   `json:",omitempty"`
	Env        []string `json:",omitempty"`
	Entrypoint []string
}

// writeImage writes an image of one layer as docker save does, which containerd imports. The layer is not compressed: it is read once, on this host.
// Files are by their path in the image; a source that begins with an arrow is a symbolic link.
func writeImage(archive, name string, run containerConfig, files map[string]string) error {
	layer, err := os.CreateTemp(filepath.Dir(archive), "layer")
	if err != nil {
		return err
	}
	defer os.Remove(layer.Name())
	defer layer.Close()
	sum := sha256.New()
	if err := writeLayer(io.MultiWriter(layer, sum), files); err != nil {
		return fmt.Errorf("image %s: %w", name, err)
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	config, err := json.Marshal(map[string]any{
		"architecture": "amd64", "os": "linux", "created": "2026-01-01T00:00:00Z",
		"config": run,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	size, err := layer.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = layer.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	out, err := os.Create(archive + ".half")
	if err != nil {
		return err
	}
	defer out.Close()
	w := tar.NewWriter(out)
	for _, part := range []struct {
		name string
		size int64
		from io.Reader
	}{{"config.json", int64(len(config)), bytes.NewReader(config)}, {"layer.tar", size, layer}, {"manifest.json", int64(len(manifest)), bytes.NewReader(manifest)}} {
		if err := w.WriteHeader(&tar.Header{Name: part.name, Size: part.size, Mode: 0o644}); err != nil {
			return err
		}
		if _, err := io.Copy(w, part.from); err != nil {
			return err
		}
	}
	if err := errors.Join(w.Close(), out.Close()); err != nil {
		return err
	}
	return os.Rename(archive+".half", archive)
}

func writeLayer(to io.Writer, files map[string]string) error {
	w := tar.NewWriter(to)
	made := map[string]bool{".": true}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, dir := range parents(name) {
			if !made[dir] {
				made[dir] = true
				if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}); err != nil {
					return err
				}
			}
		}
		if target, link := strings.CutPrefix(files[name], "->"); link {
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}); err != nil {
				return err
			}
			continue
		}
		if err := writeFile(w, name, files[name]); err != nil {
			return err
		}
	}
	return w.Close()
}

// parents are the folders that a name is in, the outermost first.
func parents(name string) (dirs []string) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		dirs = append([]string{dir}, dirs...)
	}
	return dirs
}

func writeFile(w *tar.Writer, name, source string) error {
	f, err := os.Open(source)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: name, Size: info.Size(), Mode: int64(info.Mode().Perm())}); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

// packaged are the files of Debian packages in a root file system, by their path in an image. Folders that are links there, such as /lib, are left out:
// every path goes through /usr.
func packaged(root string, packages ...string) (map[string]string, error) {
	files := map[string]string{"lib": "->usr/lib", "lib64": "->usr/lib64", "bin": "->usr/bin", "sbin": "->usr/sbin"}
	for _, name := range packages {
		lists, err := filepath.Glob(filepath.Join(root, "var/lib/dpkg/info", name+"*.list"))
		if err != nil {
			return nil, err
		}
		lists = slices.DeleteFunc(lists, func(l string) bool {
			base := strings.TrimSuffix(filepath.Base(l), ".list")
			return base != name && base != name+":amd64"
		})
		if len(lists) != 1 {
			return nil, fmt.Errorf("the root file system has no package %s", name)
		}
		text, err := os.ReadFile(lists[0])
		if err != nil {
			return nil, err
		}
		for _, file := range strings.Split(string(text), "\n") {
			if err := add(files, root, strings.TrimPrefix(file, "/")); err != nil {
				return nil, err
			}
		}
	}
	// A command of a package can be a link to one of its alternatives.
	chosen, err := filepath.Glob(filepath.Join(root, "etc/alternatives/ip*tables*"))
	if err != nil {
		return nil, err
	}
	for _, link := range chosen {
		name := filepath.Base(link)
		files["usr/sbin/"+name] = "->/etc/alternatives/" + name
		if err := add(files, root, "etc/alternatives/"+name); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func add(files map[string]string, root, name string) error {
	for _, merged := range []string{"lib/", "lib64/", "bin/", "sbin/"} {
		if strings.HasPrefix(name, merged) {
			name = "usr/" + name
		}
	}
	info, err := os.Lstat(filepath.Join(root, name))
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.IsDir(): // documentation, which the root file system does without
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(filepath.Join(root, name))
		files[name] = "->" + target
		return err
	}
	files[name] = filepath.Join(root, name)
	return nil
}
