package house

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// catalogue is the page that lists all scenarios.
const catalogue = "docs/reference/scenarios.md"

var (
	linkedScenario = regexp.MustCompile(`\]\(\.\./\.\./(testdata/[^)]*)\)`)
	namedTest      = regexp.MustCompile("`([a-z/]+)\\.(Test\\w+)(?:/([^`]+))?`")
)

// scenariosOfTheHouse are the paths of all scenarios.
func scenariosOfTheHouse(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no scenario: %v", err)
	}
	return files
}

// fewestOfATopic is how many scenarios whose names begin with the same word have a section of their own.
const fewestOfATopic = 4

// TestTheCatalogueOfScenariosIsCurrent makes the list of scenarios, each with its prose, in sections by the first word of their names.
func TestTheCatalogueOfScenariosIsCurrent(t *testing.T) {
	topics, lines := map[string]int{}, map[string][]string{}
	for _, file := range scenariosOfTheHouse(t) {
		topics[topicOf(file)]++
	}
	for _, file := range scenariosOfTheHouse(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		prose := proseOf(string(text))
		if prose == "" {
			t.Errorf("%s: it begins with no sentence that says what it shows", file)
		}
		topic := topicOf(file)
		if topics[topic] < fewestOfATopic {
			topic = "others"
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		lines[topic] = append(lines[topic], fmt.Sprintf("| [%s](../../%s) | %s |\n", name, file, strings.ReplaceAll(prose, "|", "\\|")))
	}
	var b strings.Builder
	for i, topic := range slices.Sorted(maps.Keys(lines)) {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString("### " + strings.ToUpper(topic[:1]) + topic[1:] + "\n\n| scenario | what it shows |\n|---|---|\n" + strings.Join(lines[topic], ""))
	}
	current(t, catalogue, "## Scenarios", b.String(), "CatalogueOfScenarios")
}

// topicOf is the first word of a scenario's name.
func topicOf(file string) string {
	topic, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txtar"), "-")
	return topic
}

// proseOf is what a scenario says of itself, in one line, without what peers state.
func proseOf(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		said, prose := strings.CutPrefix(line, "#")
		if !prose {
			break
		}
		if !strings.HasPrefix(line, "# peer:") {
			words = append(words, strings.Fields(said)...)
		}
	}
	return strings.Join(words, " ")
}

// testsOfTheHouse are the tests of each package, by its directory.
func testsOfTheHouse(t *testing.T) map[string]map[string]bool {
	tests := map[string]map[string]bool{}
	for _, f := range parseHouse(t) {
		if !f.test {
			continue
		}
		if tests[f.room] == nil {
			tests[f.room] = map[string]bool{}
		}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				tests[f.room][fn.Name.Name] = true
			}
		}
	}
	return tests
}
