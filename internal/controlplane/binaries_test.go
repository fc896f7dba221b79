package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain makes this binary a program that stands for one of Kubernetes' where it bears such a name: it says its arguments, and ends when it is told so,
// or not.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "kube-scheduler":
		_, _ = fmt.Fprintln(os.Stdout, "told", strings.Join(os.Args[1:], " "))
		time.Sleep(time.Hour)
	case "kube-apiserver":
		_, _ = fmt.Fprint(os.Stdout, "no such flag")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// told is a log that hands its lines on.
type told chan string

func (l told) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func TestAProgramIsAComponent(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"kube-apiserver", "kube-scheduler"} {
		if err := os.Symlink(own, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Start(t.Context(), Options{Binaries: folder}); err == nil || !strings.Contains(err.Error(), folder+" has no program kube-controller-manager: build it with make skew") {
		t.Errorf("a folder that lacks a program: %v", err)
	}

	said := make(told, 10)
	active.set(said)
	defer active.set(nil)
	runs := runProgram(folder, "kube-scheduler", []string{"--a", "--b"})
	if line := <-said; line != "kube-scheduler: told --a --b\n" {
		t.Errorf("the log has %q", line)
	}
	if err := runs.stop(); err != nil {
		t.Error("a program that runs until it is stopped: ", err)
	}
	fails := runProgram(folder, "kube-apiserver", nil)
	err = fails.await(t.Context(), "ready", func(context.Context) error { return errors.New("no answer") })
	if err == nil || !strings.HasPrefix(err.Error(), "kube-apiserver: ended before ready: ") {
		t.Errorf("a program that ends: %v", err)
	}
	if line := <-said; line != "kube-apiserver: no such flag\n" {
		t.Errorf("the log has %q", line)
	}
}

func TestLinesAreToldOneByOne(t *testing.T) {
	var log bytes.Buffer
	active.set(&log)
	defer active.set(nil)
	l := lines{prefix: "p: "}
	for _, part := range []string{"a", "b\nc", "\n\nd"} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Error(n, err)
		}
	}
	l.flush()
	l.flush()
	if got, want := log.String(), "p: ab\np: c\np: \np: d\n"; got != want {
		t.Errorf("the log has %q, want %q", got, want)
	}
}

func TestOnlyKnownControllersAreLeftOut(t *testing.T) {
	given := []string{"--a=-x", "--controllers=*,-node-ipam-controller,-service-lb-controller"}
	got := onlyKnown(given, "All controllers: deployment-controller, node-ipam-controller")
	if want := []string{"--a=-x", "--controllers=*,-node-ipam-controller"}; !slices.Equal(got, want) {
		t.Errorf("it is given %q, want %q", got, want)
	}
	if given[1] != "--controllers=*,-node-ipam-controller,-service-lb-controller" {
		t.Errorf("what it was made of is now %q", given)
	}
}
