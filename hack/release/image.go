package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is whom the image runs as, as the manifests say it, too.
const user = "65532:65532"

// image writes the OCI layout with an image for each architecture, and returns the digest of their index.
func (b build) image() (v1.Hash, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range architectures {
		image, err := b.imageOf(architecture)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("image for %s: %w", architecture, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	index = mutate.Annotations(index, b.labels()).(v1.ImageIndex)
	if err := os.RemoveAll(b.layout()); err != nil {
		return v1.Hash{}, err
	}
	path, err := layout.Write(b.layout(), empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name": b.reference(), "org.opencontainers.image.ref.name": b.tag(),
	})); err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}

// labels say what the image is, in OCI's own names.
func (b build) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "sluice",
		"org.opencontainers.image.description": "node autoscaler for self-managed Kubernetes on Azure",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     b.version,
		"org.opencontainers.image.revision":    b.revision,
		"org.opencontainers.image.created":     b.made.Format(time.RFC3339),
		"org.opencontainers.image.url":         "https://sluice.dev/sluice",
	}
}

func (b build) imageOf(architecture string) (v1.Image, error) {
	content, err := b.layer(architecture)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching,
	)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: b.made}, CreatedBy: "make image"},
	})
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, &v1.ConfigFile{
		OS: "linux", Architecture: architecture, Created: v1.Time{Time: b.made},
		Config: v1.Config{
			User: user, WorkingDir: "/", Entrypoint: []string{"/sluice"}, Labels: b.labels(),
			Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		},
		RootFS:  must(image.ConfigFile()).RootFS,
		History: must(image.ConfigFile()).History,
	})
}

// must is for what an image in memory can always tell.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// layer is all that the image holds, as a tar: the binary under its two names, who runs it, a place for temporary files, the licence and what the
// binary is made of. CA roots and time zones are in the binary.
func (b build) layer(architecture string) ([]byte, error) {
	license, err := os.ReadFile(filepath.Join(b.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	binary, err := os.ReadFile(b.of(platform{"linux", architecture}, "sluice"))
	if err != nil {
		return nil, err
	}
	bill, err := os.ReadFile(b.of(platform{"linux", architecture}, "sluice.cdx.json"))
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	for _, e := range []struct {
		name, link string
		mode       int64
		content    []byte
	}{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nsluice:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/:/sbin/nologin\nsluice:x:65532:65532:sluice:/tmp:/sbin/nologin\n")},
		{name: "sluice", mode: 0o755, content: binary},
		{name: "cluster-autoscaler", mode: 0o755, link: "sluice"}, // after what it links to
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755},
		{name: "usr/share/", mode: 0o755},
		{name: "usr/share/doc/", mode: 0o755},
		{name: "usr/share/doc/sluice/", mode: 0o755},
		{name: "usr/share/doc/sluice/LICENSE", mode: 0o644, content: license},
		{name: "usr/share/doc/sluice/sluice.cdx.json", mode: 0o644, content: bill},
	} {
		h := &tar.Header{Name: e.name, Linkname: e.link, Mode: e.mode, Size: int64(len(e.content)), ModTime: b.made, Format: tar.FormatUSTAR, Typeflag: tar.TypeReg}
		switch {
		case e.link != "":
			h.Typeflag = tar.TypeLink
		case e.content == nil:
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return content.Bytes(), err
}
