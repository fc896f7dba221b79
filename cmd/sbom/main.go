// Command sbom says what a Go binary is made of, as a software bill of materials in CycloneDX 1.6 JSON. It reads what the Go linker wrote into
// the binary and asks nobody.
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// bom is the document; see https://cyclonedx.org/docs/1.6/json.
type bom struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	SerialNumber string       `json:"serialNumber"` // of the binary: the same for the same bytes
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"` // by name
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PackageURL string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

func main() {
	if err := write(os.Args[1:]); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(2)
	}
}

func write(args []string) error {
	f := flag.NewFlagSet("sbom", flag.ContinueOnError)
	version := f.String("version", "", "version of the binary, where Go does not know it")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return errors.New("name one Go binary, such as bin/sluice")
	}
	info, err := buildinfo.ReadFile(f.Arg(0))
	if err != nil {
		return err
	}
	info.Main.Version = cmp.Or(*version, info.Main.Version)
	content, err := os.ReadFile(f.Arg(0))
	if err != nil {
		return err
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(billOf(info, sha256.Sum256(content)))
}

// billOf lists the modules that a binary with this sum links, and Go's own library.
func billOf(info *debug.BuildInfo, sum [sha256.Size]byte) bom {
	main := module(&info.Main)
	main.Type = "application"
	for _, s := range info.Settings {
		if s.Key == "CGO_ENABLED" || s.Key == "GOARCH" || s.Key == "GOOS" || strings.HasPrefix(s.Key, "vcs") {
			main.Properties = append(main.Properties, property{"go:" + s.Key, s.Value})
		}
	}
	main.Properties = append(main.Properties, property{"sha256", fmt.Sprintf("%x", sum)})
	std := component{Type: "library", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"), PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}
	std.Ref = std.PackageURL
	b := bom{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: metadata{main}, Components: []component{std},
		SerialNumber: fmt.Sprintf("urn:uuid:%x-%x-5%s-8%s-%x", sum[:4], sum[4:6], fmt.Sprintf("%x", sum[6:8])[1:], fmt.Sprintf("%x", sum[8:10])[1:], sum[10:16]),
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, module(m))
	}
	slices.SortFunc(b.Components, func(x, y component) int { return strings.Compare(x.Name, y.Name) })
	whole := dependency{Ref: main.Ref}
	for _, c := range b.Components {
		whole.DependsOn = append(whole.DependsOn, c.Ref)
	}
	b.Dependencies = []dependency{whole}
	return b
}

// module is one module of the binary, with the sum that go.sum has for it.
func module(m *debug.Module) component {
	c := component{Type: "library", Name: m.Path, Version: m.Version, PackageURL: "pkg:golang/" + m.Path}
	if m.Version != "" && m.Version != "(devel)" {
		c.PackageURL += "@" + m.Version
	}
	c.Ref = c.PackageURL
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}
