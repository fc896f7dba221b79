package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mostOfReadme is how many lines README may have: it is read at one sitting.
const mostOfReadme = 150

// linked is a link in Markdown, its target captured.
var linked = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// heading is a heading in Markdown, its text captured.
var heading = regexp.MustCompile(`(?m)^#+ (.+)$`)

// TestEveryLinkLeadsSomewhere follows the links between the pages of the tree, to headings as well. Links to the outside are not followed.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	links := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range linked.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			target, fragment, _ := strings.Cut(m[1], "#")
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
				continue
			}
			if fragment != "" && !anchors(t, file)[fragment] {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("found %d links, too few to have read the pages", links)
	}
}

// TestEveryPageIsInTheIndex keeps docs/README.md whole. Decisions are named by their folder.
func TestEveryPageIsInTheIndex(t *testing.T) {
	const index = "docs/README.md"
	text, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{index: true}
	for _, m := range linked.FindAllStringSubmatch(string(text), -1) {
		named[filepath.ToSlash(filepath.Join("docs", m[1]))] = true
	}
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "docs/") && !strings.HasPrefix(page, "docs/decisions/") && !named[page] {
			t.Errorf("%s does not name %s", index, page)
		}
	}
}

// TestNamedTestsAreThere follows the tests that pages name as evidence.
func TestNamedTestsAreThere(t *testing.T) {
	tests := testsOfTheHouse(t)
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "docs/decisions/") {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range namedTest.FindAllStringSubmatch(string(text), -1) {
			if !tests[m[1]][m[2]] {
				t.Errorf("%s: %s has no %s", page, m[1], m[2])
			}
		}
	}
}

func TestReadmeStaysShort(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(text), "\n"); lines > mostOfReadme {
		t.Errorf("README.md has %d lines (most %d): what does a newcomer not need?", lines, mostOfReadme)
	}
}

// pages are all Markdown files of the tree, with slashes.
func pages(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "bin" || name != "." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case filepath.Ext(name) == ".md":
			all = append(all, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// notInAnchor is what a heading loses on its way to an anchor, besides its spaces, which become dashes.
var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchors are the fragments by which the headings of a page are linked to.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		all[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return all
}
