package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Whoever changes a guard learns at once that its mutant has lost its place.
func TestEachMutantStandsInItsFile(t *testing.T) {
	for _, file := range files(mutants) {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mutate(file, text); err != nil {
			t.Error(err)
		}
	}
}
