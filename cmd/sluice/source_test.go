package main

import (
	"strings"
	"testing"
)

func TestEventsComeFromClusterAutoscalerInItsPlace(t *testing.T) {
	for line, want := range map[string]string{
		"/usr/bin/sluice": "", "sluice --compat": "cluster-autoscaler", "sluice --compat=false": "",
		"./cluster-autoscaler": "cluster-autoscaler", "cluster-autoscaler.exe": "cluster-autoscaler", "/cluster-autoscaler/sluice": "",
	} {
		words := strings.Fields(line)
		f := runCommand().Flags()
		if err := f.Parse(words[1:]); err != nil {
			t.Fatal(err)
		}
		if got := eventSource(words[0], f); got != want {
			t.Errorf("%s: events come from %q, want %q", line, got, want)
		}
	}
}
