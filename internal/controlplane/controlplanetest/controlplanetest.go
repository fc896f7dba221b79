// Package controlplanetest gives a test a real Kubernetes control plane in a process of its own. A test that links no API server builds in
// seconds under the race detector, and its binary holds no code of Kubernetes' that it would watch as well. The environment variable SLUICE_KUBERNETES
// names a folder with the programs of another version of Kubernetes, which is met in place of the one that sluice is built with.
package controlplanetest

import (
	"bufio"
	"bytes"
	"context"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Start builds and starts a control plane, and stops it with the test. It returns an administrator's client configuration without client-side
// rate limits.
func Start(t testing.TB) *rest.Config {
	t.Helper()
	return start(t)
}

func start(t testing.TB, args ...string) *rest.Config {
	t.Helper()
	// It ends with its input, which ends with this process at the latest, and not with the test's context: what it says of its end is read.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "go", append([]string{"run", "sluice.dev/sluice/internal/controlplane/process"}, args...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // the flags of every other build, whose build cache has it
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the control plane ended with %v: %s", err, complaint.String())
		}
	})
	kubeconfig, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal("the control plane did not start: ", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", strings.TrimSuffix(kubeconfig, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = -1, math.MaxInt32
	return config
}
