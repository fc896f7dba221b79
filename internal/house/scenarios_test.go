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

// TestTheCatalogueOfScenariosIsCurrent makes the list of scenarios, each with how its prose begins, in sections by the first word of their names.
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
		lines[topic] = append(lines[topic], fmt.Sprintf("- [%s](../../%s): %s\n", name, file, beginningOf(prose)))
	}
	var b strings.Builder
	for i, topic := range slices.Sorted(maps.Keys(lines)) {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString("### " + strings.ToUpper(topic[:1]) + topic[1:] + "\n\n" + strings.Join(lines[topic], ""))
	}
	current(t, catalogue, "## Scenarios", b.String(), "CatalogueOfScenarios")
}

// topicOf is the first word of a scenario's name.
func topicOf(file string) string {
	topic, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txtar"), "-")
	return topic
}

// longBeginning is how many words of a first sentence are shown, where it has a colon to end at before.
const longBeginning = 12

// beginningOf is the first sentence of prose, or what stands before its colon where the sentence is long.
func beginningOf(prose string) string {
	first, _, more := strings.Cut(prose, ". ")
	if clause, _, colon := strings.Cut(first, ": "); colon && len(strings.Fields(first)) > longBeginning {
		return clause + "."
	}
	if more {
		return first + "."
	}
	return first
}

// TestACatalogueShowsHowProseBegins holds the list to one short sentence for each scenario.
func TestACatalogueShowsHowProseBegins(t *testing.T) {
	long := strings.Repeat("one ", longBeginning-1)
	for prose, want := range map[string]string{
		"A machine is slow. It joins late.":  "A machine is slow.",
		"A machine is slow.":                 "A machine is slow.",
		"A short one: it stays whole. More.": "A short one: it stays whole.",
		long + "end: and the rest. More.":    long + "end.",
	} {
		if have := beginningOf(prose); have != want {
			t.Errorf("%q begins with %q, not %q", prose, have, want)
		}
	}
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
