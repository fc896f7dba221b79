package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is set by the Makefile. Another build has that of its sources, as far as Go knows it.
var version = ""

func init() {
	if b, ok := debug.ReadBuildInfo(); ok && version == "" {
		version = strings.Trim(b.Main.Version, "()")
	}
	version = cmp.Or(version, unknown)
}

const unknown = "unknown"

// build is what the program is made of, as a report of a fault should say it.
type build struct {
	Version    string `json:"version"`
	Commit     string `json:"commit"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
	Kubernetes string `json:"kubernetes"` // whose scheduler's code judges pods
}

// made reads what the linker has written down. A build without version control has the commit in its version, if anywhere.
func made(info *debug.BuildInfo, version string) build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Kubernetes: unknown}
	if _, commit, found := strings.Cut(version, "+"); found {
		b.Commit = strings.TrimSuffix(commit, ".dirty")
	}
	if info != nil {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = s.Value
			}
		}
		for _, d := range info.Deps {
			if d.Path == "k8s.io/kubernetes" {
				b.Kubernetes = d.Version
			}
		}
	}
	b.Commit = cmp.Or(b.Commit, unknown)
	return b
}

func versionCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and what it was built from",
		Example: "  sluice version\n  sluice version -o json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			info, _ := debug.ReadBuildInfo() // nil where there is none
			b := made(info, version)
			if format == "json" {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(b)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "sluice %s\ncommit      %s\ngo          %s\nplatform    %s\nkubernetes  %s (its scheduler's code judges pods)\n",
				b.Version, b.Commit, b.Go, b.Platform, b.Kubernetes)
			return err
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "text", "text or json")
	return cmd
}
