package house

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// catalogue is the page that says which scenario or test shows what.
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

// TestTheCatalogueOfScenariosIsTrue holds the page to what there is: each scenario and each test that it names is there. Of a line about growing
// and of one about limits it must say what shows it. That each scenario is named is asked beside the scenarios, in internal/world.
func TestTheCatalogueOfScenariosIsTrue(t *testing.T) {
	text, err := os.ReadFile(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	files := scenariosOfTheHouse(t)
	tests, cases := testsOfTheHouse(t)
	section := ""
	for i, line := range strings.Split(string(text), "\n") {
		at := catalogue + ":" + strconv.Itoa(i+1)
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			section = heading
		}
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what happens ") {
			continue
		}
		shown := false
		for _, m := range linkedScenario.FindAllStringSubmatch(line, -1) {
			shown = true
			if !slices.Contains(files, m[1]) {
				t.Errorf("%s: there is no %s", at, m[1])
			}
		}
		for _, m := range namedTest.FindAllStringSubmatch(line, -1) {
			shown = true
			if !tests[m[1]][m[2]] {
				t.Errorf("%s: %s has no %s", at, m[1], m[2])
			}
			if m[3] != "" && !cases[m[1]][m[3]] {
				t.Errorf("%s: %s has no case %q", at, m[1], m[3])
			}
		}
		if !shown && (section == "Growing" || section == "Limits") {
			t.Errorf("%s: nothing shows this line; write a scenario for it", at)
		}
	}
}

// testsOfTheHouse are the tests of each package, by its directory, and the texts in its test files, which are the keys of their tables among others.
func testsOfTheHouse(t *testing.T) (tests, texts map[string]map[string]bool) {
	tests, texts = map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, f := range parseHouse(t) {
		if !f.test {
			continue
		}
		if tests[f.room] == nil {
			tests[f.room], texts[f.room] = map[string]bool{}, map[string]bool{}
		}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				tests[f.room][fn.Name.Name] = true
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok {
				if text, err := strconv.Unquote(l.Value); err == nil {
					texts[f.room][text] = true
				}
			}
			return true
		})
	}
	return tests, texts
}
