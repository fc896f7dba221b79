package main

import (
	"regexp"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryLinkedModuleIsInTheBill(t *testing.T) {
	b := billOf(&debug.BuildInfo{
		GoVersion: "go1.26.0", Main: debug.Module{Path: "sluice.dev/sluice", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "k8s.io/api", Version: "v0.36.3", Sum: "h1:x="},
			{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.0.1"}},
		},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "-ldflags", Value: "-X main.secret=x"}},
	}, [32]byte{1, 2, 3})
	var got []string
	for _, c := range b.Components {
		got = append(got, c.PackageURL)
	}
	if diff := cmp.Diff([]string{"pkg:golang/example.com/fork@v1.0.1", "pkg:golang/k8s.io/api@v0.36.3", "pkg:golang/std@1.26.0"}, got); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, b.Dependencies[0].DependsOn); diff != "" {
		t.Errorf("what the binary depends on (-want +got):\n%s", diff)
	}
	if !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(b.SerialNumber) {
		t.Errorf("serial number %q", b.SerialNumber)
	}
	for _, p := range b.Metadata.Component.Properties {
		if p.Name == "go:-ldflags" {
			t.Error("the bill tells how the binary was linked, which may hold what is nobody's business")
		}
	}
}
