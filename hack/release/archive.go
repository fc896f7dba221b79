package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An entry is one file of an archive.
type entry struct {
	name    string
	mode    int64
	content []byte
}

// packed is a gzipped tar of the entries by name, with one time for all of them.
func packed(entries []entry, made time.Time) ([]byte, error) {
	plain, err := tarOf(entries, made)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression) // its header stays empty: no name, no time
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

func tarOf(entries []entry, made time.Time) ([]byte, error) {
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: made, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// tree is every file below a folder, under prefix. A symbolic link is the file that it leads to: an archive stands alone.
func tree(folder, prefix string) ([]entry, error) {
	var all []entry
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		all = append(all, entry{prefix + filepath.ToSlash(inside), 0o644, content})
		return nil
	})
	return all, err
}

// assets writes all files of a release into dist/assets and returns their names.
func (b build) assets() ([]string, error) {
	folder := filepath.Join(b.dist, "assets")
	if err := os.RemoveAll(folder); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	files, err := b.contents()
	if err != nil {
		return nil, err
	}
	var sums strings.Builder
	for _, e := range files {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(e.content), e.name)
	}
	statement, err := b.provenance(files)
	if err != nil {
		return nil, err
	}
	files = append(files, entry{name: "SHA256SUMS", content: []byte(sums.String())}, entry{name: "provenance.intoto.json", content: statement})
	var names []string
	for _, e := range files {
		if err := os.WriteFile(filepath.Join(folder, e.name), e.content, 0o644); err != nil {
			return nil, err
		}
		names = append(names, e.name)
	}
	return names, nil
}

// contents are the files that the checksums and the provenance are about, by name.
func (b build) contents() ([]entry, error) {
	number := strings.TrimPrefix(b.version, "v")
	var files []entry
	add := func(name string, content []byte, err error) error {
		files = append(files, entry{name: name, content: content})
		return err
	}
	archives := map[platform]entry{}
	for _, p := range platforms {
		name := "sluice_" + number + "_" + p.os + "_" + p.architecture
		bill, err := os.ReadFile(b.of(p, "sluice.cdx.json"))
		if err := add(name+".cdx.json", bill, err); err != nil {
			return nil, err
		}
		archive, err := b.archive(p, name+"/")
		if err := add(name+".tar.gz", archive, err); err != nil {
			return nil, err
		}
		archives[p] = files[len(files)-1]
	}
	parts, err := tree(b.layout(), "")
	if err != nil {
		return nil, err
	}
	image, err := tarOf(parts, b.made)
	if err := add("sluice_"+number+"_image.tar", image, err); err != nil {
		return nil, err
	}
	chart, err := b.chart(number)
	if err := add("sluice-"+number+".tgz", chart, err); err != nil {
		return nil, err
	}
	if b.url != "" {
		files = append(files, entry{name: krewFile, content: b.krew(archives)})
	}
	slices.SortFunc(files, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// archive holds a binary with its licence, and the manifests.
func (b build) archive(p platform, prefix string) ([]byte, error) {
	entries, err := tree(filepath.Join(b.root, "deploy"), prefix+"deploy/")
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool {
		return strings.HasSuffix(e.name, ".go") || strings.HasPrefix(e.name, prefix+"deploy/chart/")
	})
	for _, f := range []struct {
		name, from string
		mode       int64
	}{
		{p.binary(), b.of(p, p.binary()), 0o755}, {"LICENSE", filepath.Join(b.root, "LICENSE"), 0o644}, {"CHANGELOG.md", filepath.Join(b.root, "CHANGELOG.md"), 0o644},
	} {
		content, err := os.ReadFile(f.from)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{prefix + f.name, f.mode, content})
	}
	return packed(entries, b.made)
}

// chart is the chart as helm package writes it, with the same bytes each time. Its own version must be that of the release.
func (b build) chart(number string) ([]byte, error) {
	entries, err := tree(filepath.Join(b.root, "deploy", "chart"), "sluice/")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.name != "sluice/Chart.yaml" {
			continue
		}
		for _, line := range []string{"version: " + number, "appVersion: v" + number} {
			if !slices.Contains(strings.Split(string(e.content), "\n"), line) {
				return nil, fmt.Errorf("deploy/chart/Chart.yaml has no line %q: set it before the tag", line)
			}
		}
	}
	return packed(entries, b.made)
}
