package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/reference/flags.md")

// TestThePageOfFlagsIsCurrent keeps docs/reference/flags.md, which is made here, true.
func TestThePageOfFlagsIsCurrent(t *testing.T) {
	var page bytes.Buffer
	cmd, _, err := root().Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	writeFlags(&page, cmd)
	path := filepath.Join("..", "..", "docs", "reference", "flags.md")
	if *update {
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, page.Bytes()) {
		t.Error("docs/reference/flags.md is not current: run go test ./cmd/sluice -update")
	}
}
