package world_test

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/world"
)

var update = flag.Bool("update", false, "rewrite the transcripts of the scenarios")

// scenarios are the files of the product's specification.
func scenarios(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("there is no scenario in testdata")
	}
	return files
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestScenarios plays every scenario: its transcript is the one that the file holds, and no promise was broken on the way.
func TestScenarios(t *testing.T) {
	for _, file := range scenarios(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text := read(t, file)
			r, err := world.Run(context.Background(), text, io.Discard, world.Options{})
			if err != nil {
				t.Fatalf("%v\n%s", err, r.Transcript)
			}
			for _, b := range r.Broken {
				t.Error(b)
			}
			if *update {
				if err := os.WriteFile(file, world.Update(text, r.Transcript), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := world.Diff(r.Expected, r.Transcript); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSameFileSameTranscript plays scenarios again and in other company: not a byte of transcript and journal differs.
func TestSameFileSameTranscript(t *testing.T) {
	for _, name := range []string{"load-leaves", "underused-node-drained", "restart-mid-removal", "grow-two-groups"} {
		t.Run(name, func(t *testing.T) {
			text := read(t, "../../testdata/"+name+".txtar")
			first, err := world.Run(context.Background(), text, io.Discard, world.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				again, err := world.Run(context.Background(), text, io.Discard, world.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if diff := world.Diff(first.Transcript, again.Transcript); diff != "" {
					t.Fatalf("transcript (-first +again):\n%s", diff)
				}
				if string(first.Journal) != string(again.Journal) {
					t.Fatal("the journals differ")
				}
			}
		})
	}
}

// TestUpdateKeepsEverythingElse rewrites a transcript and leaves prose, script and fixtures as they are.
func TestUpdateKeepsEverythingElse(t *testing.T) {
	const file = "# prose\nadvance 1m\n-- transcript --\nold\n-- pods.yaml --\nkind: Pod\n"
	want := "# prose\nadvance 1m\n-- transcript --\nnew\n-- pods.yaml --\nkind: Pod\n"
	if got := string(world.Update([]byte(file), "new\n")); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := string(world.Update([]byte("advance 1m\n"), "new\n")); got != "advance 1m\n-- transcript --\nnew\n" {
		t.Errorf("a file without a transcript became %q", got)
	}
}

// TestStopsWhenAsked ends with the context, in the middle of a scenario.
func TestStopsWhenAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := writer(func(string) { cancel() })
	_, err := world.Run(ctx, read(t, "../../testdata/load-leaves.txtar"), w, world.Options{})
	if err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("the error is %v, want %v", err, context.Canceled)
	}
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}
