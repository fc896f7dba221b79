package world

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/tools/txtar"
)

// many is a number that makes a world too large to try thousands of.
var many = regexp.MustCompile(`[0-9]{3}`)

// FuzzScenario reads any script, and builds the world that it describes as long as no time passes: a scenario is built, or an error names the line.
func FuzzScenario(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		f.Fatalf("found no scenario: %v", err)
	}
	for i, name := range files {
		if i%4 != 0 {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(txtar.Parse(text).Comment)
	}
	for _, seed := range []string{"try", `try "`, `""`, "group", "group a machines=-1", "group a a", "pod p cpu=1e999999999", "pod p cpu=1 on=nowhere", "pods p count=3 cpu=1", "apply x", "node n taint=:"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		statements, err := parse(script)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a sentence")
			}
			return
		}
		w := newWorld(Options{NoJournal: true}, map[string][]byte{"objects.yaml": script}, io.Discard)
		defer w.close()
		install(w.cluster, w.fixtures, statements)
		for _, s := range statements {
			if s.verb.time || many.MatchString(s.text) {
				continue
			}
			if err := w.perform(context.Background(), s); err != nil && err.Error() == "" {
				t.Errorf("line %d: an error without a sentence", s.line)
			}
		}
	})
}
