package world_test

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
			if diff := cmp.Diff(r.Expected, r.Transcript); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}
