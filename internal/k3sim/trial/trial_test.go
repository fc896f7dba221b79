//go:build boot

package trial

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim/host"
)

func TestMain(m *testing.M) {
	if host.Stage() { // a machine begins here
		os.Exit(1)
	}
	if err := host.Able(); errors.Is(err, errors.ErrUnsupported) && os.Getenv("ALLOW_SKIP") != "" {
		fmt.Fprintf(os.Stderr, "LEFT OUT, as ALLOW_SKIP allows: no machine booted, nothing was tried.\n%v\n", err)
		return
	}
	os.Exit(m.Run())
}

// TestOnARealK3s tries the K3s binary of the environment variable SLUICE_K3S. Without one nothing here was ever tried on K3s, and make says that.
func TestOnARealK3s(t *testing.T) {
	binary := os.Getenv("SLUICE_K3S")
	if info, err := os.Stat(binary); err != nil || info.IsDir() {
		t.Fatalf("SLUICE_K3S=%s: name a file, the k3s binary of a release (%v)", binary, err)
	}
	machines := boot(t)
	from := machines.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, binary) }))
	Try(t, Trial{Machines: machines, From: from + "/k3s"})
}

// TestMachinesForATrial has machines do what a trial wants of them, with a shell script as the binary.
func TestMachinesForATrial(t *testing.T) {
	machines := boot(t)
	from := machines.serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("#!/bin/sh\necho begins as $1\ncp /etc/hostname /root/began\nsleep 9999\n"))
	}))
	r := &run{T: t, Trial: Trial{Machines: machines, From: from + "/k3s", Patience: 3 * time.Minute}}
	r.powerOn("server", "server", "token: one\n")
	r.powerOn("agent-1", "agent", "token: two\n")
	r.await("the server begins", r.logs("server", "begins as server"))
	r.await("the agent begins", r.logs("agent-1", "begins as agent"))

	r.must(machines.PowerOff(t.Context(), "agent-1"))
	r.must(machines.PowerOn(t.Context(), "agent-1", nil))
	if text, err := machines.Run(t.Context(), "agent-1", "cat /root/began "+Config); err != nil || text != "agent-1\ntoken: two\n" {
		t.Errorf("after it was off the agent's disk has %q, %v", text, err)
	}
	if text, err := machines.Run(t.Context(), "agent-1", "rm "+Log+"; "+Starter+"; sleep 1; cat "+Log); err != nil || !strings.Contains(text, "begins as agent") {
		t.Errorf("started by hand it says %q, %v", text, err)
	}

	r.must(machines.PowerOff(t.Context(), "agent-1"))
	r.must(machines.Discard(t.Context(), "agent-1"))
	r.powerOn("agent-1", "agent", "token: three\n")
	r.await("a new machine of that name begins", r.logs("agent-1", "begins as agent"))
	if text, err := machines.Run(t.Context(), "agent-1", "cat "+Config); err != nil || text != "token: three\n" {
		t.Errorf("a new machine has %q, %v", text, err)
	}
	if _, err := machines.Run(t.Context(), "agent-1", "exit 3"); err == nil {
		t.Error("a command that fails is none")
	}
}
