// Command release makes what is published of a built sluice: an image, archives, checksums, the chart and a statement of provenance. All of it is
// a function of its inputs: the same binaries, version, revision and time give the same bytes. hack/image builds the binaries.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// architectures are those of the image, which is for Linux.
var architectures = []string{"amd64", "arm64"}

// platform is an operating system with an architecture. Each has a folder OS-ARCHITECTURE in dist with the binary and its bill of materials.
type platform struct{ os, architecture string }

// platforms are those of archives: what the image is for, and where people run kubectl.
var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}

// binary is the name of the program.
func (p platform) binary() string {
	if p.os == "windows" {
		return "sluice.exe"
	}
	return "sluice"
}

// build is what a release is made of.
type build struct {
	root     string // of the repository
	dist     string // where binaries are read, and all is written
	version  string // such as v0.1.0
	revision string // the commit
	goes     string // the version of Go that built the binaries
	made     time.Time
	url      string // where the files are published, "" where nobody knows: krew's manifest names it
}

// released is the form of a version that has a tag.
var released = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(2)
	}
}

func run(args []string, out io.Writer) error {
	b := build{goes: runtime.Version()}
	var epoch int64
	f := flag.NewFlagSet("release", flag.ContinueOnError)
	f.StringVar(&b.root, "root", ".", "root of the repository")
	f.StringVar(&b.dist, "dist", "bin/dist", "folder with OS-ARCH/sluice and OS-ARCH/sluice.cdx.json")
	f.StringVar(&b.version, "version", "", "version, such as v0.1.0")
	f.StringVar(&b.revision, "revision", "", "commit that was built")
	f.StringVar(&b.url, "url", "", "https address of the folder where the files are published; without one there is no manifest for krew")
	f.Int64Var(&epoch, "epoch", 0, "time of that commit in seconds since 1970")
	f.Usage = func() {
		_, _ = fmt.Fprintln(f.Output(), "usage: release [flags] image | assets")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	b.made = time.Unix(epoch, 0).UTC()
	if b.version == "" || b.revision == "" || epoch == 0 {
		return errors.New("give --version, --revision and --epoch")
	}
	if b.url != "" && !strings.HasPrefix(b.url, "https://") {
		return fmt.Errorf("--url=%s: give an https address", b.url)
	}
	switch f.Arg(0) {
	case "image":
		digest, err := b.image()
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "%s  %s  %s\n", b.layout(), b.reference(), digest)
		return nil
	case "assets":
		if !released.MatchString(b.version) {
			return fmt.Errorf("version %s is no release: tag the commit, such as v0.1.0, and change nothing after it", b.version)
		}
		names, err := b.assets()
		for _, name := range names {
			_, _ = fmt.Fprintln(out, filepath.Join(b.dist, "assets", name))
		}
		return err
	}
	return fmt.Errorf("%q is nothing to make: say image or assets", f.Arg(0))
}

// layout is the folder of the image.
func (b build) layout() string { return filepath.Join(b.dist, "image") }

// tag is the version as an image's tag, which has no plus sign.
func (b build) tag() string { return strings.ReplaceAll(b.version, "+", "-") }

// reference is the name that a container engine gives the image when it imports it: that of "image: sluice" in a manifest.
func (b build) reference() string { return "docker.io/library/sluice:" + b.tag() }

// of is the path of a file for one platform.
func (b build) of(p platform, name string) string {
	return filepath.Join(b.dist, p.os+"-"+p.architecture, name)
}
