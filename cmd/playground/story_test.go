package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// shortStory is the story with machines in a hurry, fewer bursts and a short rest.
func shortStory() script {
	s := fullStory()
	s.boot, s.remove = azuresim.Lognormal(2*time.Second, 0.2), azuresim.Lognormal(2*time.Second, 0.2)
	s.join = 100 * time.Millisecond
	s.unneeded, s.afterAdd, s.afterTaint = 4*time.Second, time.Second, time.Second
	s.bursts, s.job, s.quiet = 4, 40*time.Second, 5*time.Second
	return s
}

// TestStory plays the story on the real control plane, shortened, by the code that main runs.
func TestStory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "playground")
	var told bytes.Buffer
	n := newNarrator(&told)
	p, ctx, err := open(t.Context(), options{dir: dir, script: shortStory()}, n)
	closed := false
	end := func() {
		if !closed {
			closed = true
			if err := p.close(true); err != nil {
				t.Errorf("clean up: %v", err)
			}
		}
	}
	defer end()
	defer func() {
		if t.Failed() {
			t.Log(told.String())
			logTail(t, filepath.Join(dir, sluiceLog))
		}
	}()
	if err != nil {
		t.Fatal(err)
	}
	f, err := p.play(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	f.summarize(&told)
	judge(&told, f.checks())
	for _, c := range f.checks() {
		switch {
		case c.ok:
		case c.hurried:
			t.Logf("not on this machine, which may be busy: %s: %s", c.promise, c.found)
		default:
			t.Errorf("%s: %s", c.promise, c.found)
		}
	}
	if strings.Contains(told.String(), "\x1b") {
		t.Error("what is told to something that is no terminal holds control codes")
	}
	end()
	for _, url := range []string{p.sluiceURL + "/metrics", p.managerURL, p.metadataURL} {
		if ok, err := answers(context.Background(), url); err == nil {
			t.Errorf("%s still answers (ok=%t) after the end", url, ok)
		}
	}
}

// logTail shows the last lines of a log.
func logTail(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Log(err)
		return
	}
	lines := strings.Split(string(text), "\n")
	t.Log(strings.Join(lines[max(0, len(lines)-60):], "\n"))
}

func TestInterruptedStoryLeavesNothingBehind(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	told := &listener{heard: func(line string) {
		if strings.Contains(line, "kubeconfig") {
			interrupt()
		}
	}}
	cmd := root()
	cmd.SetOut(told)
	var complaint bytes.Buffer
	cmd.SetErr(&complaint)
	if code := execute(ctx, cmd, nil); code != exitInterrupted {
		t.Errorf("exit code %d, want %d; it said %q", code, exitInterrupted, complaint.String())
	}
	if got := complaint.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "interrupted") {
		t.Errorf("it said %q, want one sentence that it was interrupted", got)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// listener is told everything that is written.
type listener struct{ heard func(string) }

func (l *listener) Write(p []byte) (int, error) {
	l.heard(string(p))
	return len(p), nil
}

func TestBadInputGetsOneSentence(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		args []string
		want string
	}{
		"an unknown flag":              {[]string{"--fast"}, "unknown flag: --fast; see playground --help"},
		"an argument":                  {[]string{"fast"}, `unknown command "fast"`},
		"a directory that holds files": {[]string{"--dir=" + full}, "it is not empty; name a new or an empty directory"},
		"a directory that is a file":   {[]string{"--dir=" + filepath.Join(full, "thesis.txt")}, "not a directory"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := root()
			var out, complaint bytes.Buffer
			cmd.SetOut(&out)
			cmd.SetErr(&complaint)
			if code := execute(t.Context(), cmd, c.args); code != exitError {
				t.Errorf("exit code %d, want %d", code, exitError)
			}
			if got := complaint.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, c.want) {
				t.Errorf("it said %q, want one line with %q", got, c.want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(full, "thesis.txt")); err != nil {
		t.Errorf("the user's file: %v", err)
	}
}
