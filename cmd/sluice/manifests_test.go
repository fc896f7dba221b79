package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"sluice.dev/sluice/deploy"
)

// TestManifestsUseFlagsThatExist parses the arguments of every container that the manifests describe, as the process would.
func TestManifestsUseFlagsThatExist(t *testing.T) {
	seen := 0
	documents := append(bytes.Split(deploy.Agent, []byte("\n---\n")), deploy.Deployment)
	examples, err := filepath.Glob("../../deploy/examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range examples {
		example, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, example)
	}
	for _, document := range documents {
		var workload struct {
			Spec struct{ Template *corev1.PodTemplateSpec }
		}
		if err := utilyaml.Unmarshal(document, &workload); err != nil {
			t.Fatal(err)
		}
		if workload.Spec.Template == nil {
			continue
		}
		for _, c := range workload.Spec.Template.Spec.Containers {
			seen++
			cmd, flags, err := root().Find(c.Args)
			if err == nil {
				err = cmd.ParseFlags(flags)
			}
			if err != nil || cmd == cmd.Root() {
				t.Errorf("container %s: sluice %q: %v", c.Name, c.Args, err)
			}
		}
	}
	if want := 2 + len(examples); seen != want || len(examples) == 0 {
		t.Errorf("%d containers were looked at, want the autoscaler's, the agent's and those of %d examples", seen, len(examples))
	}
}
