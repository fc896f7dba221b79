package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

func TestEveryFlagStandsInOneSection(t *testing.T) {
	f := runCommand().Flags()
	for _, other := range []*cobra.Command{agentCommand(), planCommand(), explainCommand(), doctorCommand()} {
		other.Flags().VisitAll(func(g *pflag.Flag) {
			if f.Lookup(g.Name) == nil {
				g.Shorthand = "" // explain's -n is another one's
				f.AddFlag(g)
			}
		})
	}
	seen := map[string]bool{}
	for _, s := range sections {
		for _, row := range s.Rows {
			name := row.Flag
			if name == "" {
				continue
			}
			if seen[name] {
				t.Errorf("--%s stands in two sections", name)
			}
			if f.Lookup(name) == nil {
				t.Errorf("section %s names --%s, which no command has", s.Title, name)
			}
			seen[name] = true
		}
	}
	titles, flags := inSections(f)
	for i, title := range titles {
		if title == "Other" {
			t.Errorf("--%s stands in no section", flags[i][0].Name)
		}
	}
}

func TestHelpShowsFlagsInSections(t *testing.T) {
	var out bytes.Buffer
	cmd := root()
	cmd.SetOut(&out)
	if code := execute(t.Context(), cmd, []string{"run", "--help"}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	help := out.String()
	for _, before := range [][2]string{{"Usage:", "Node groups:"}, {"Node groups:", "      --nodes"}, {"Which group grows:", "--expander"}, {"--expander", "Accepted, without effect:"}, {"Accepted, without effect:", "--parallel-scale-up"}} {
		first, second := strings.Index(help, before[0]), strings.Index(help, before[1])
		if first < 0 || second < first {
			t.Errorf("%q does not stand before %q:\n%s", before[0], before[1], help)
		}
	}
	for _, says := range []string{"Run the autoscaler until it is told to stop", "sluice run --nodes=1:10:agents"} {
		if !strings.Contains(help, says) {
			t.Errorf("help does not say %q", says)
		}
	}
}
