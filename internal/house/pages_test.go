package house

import (
	"fmt"
	"go/doc"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const (
	// mostWords is how many words the pages may have that people write and operators read: see [written].
	mostWords = 20_000

	// mostWordsWithMade is how many they may have with what programs write.
	mostWordsWithMade = 60_000
)

// A made page is written by a program, all of it or from a heading on.
type made struct {
	page    string
	from    string // the heading from which on it is made; "" for all of it
	command string // the page says it
}

var madePages = []made{
	{"docs/architecture.md", "## Packages", "go test ./internal/house -run Packages -update"},
	{"docs/reference/alerts.md", "## Recording rules", "go test ./deploy -run PageOfAlerts -update"},
	{"docs/reference/azure-config.md", "", "go test ./internal/azure/config -run Documentation -update"},
	{"docs/reference/azure-facts.md", "", "go test ./internal/certify -run PageOfAzureFacts -update"},
	{"docs/reference/azure-role.md", "## Actions", "go test ./internal/azure -run PageOfTheRole -update"},
	{"docs/reference/azuresim-faults.md", "", "go test ./internal/azuresim -run PageOfFaults -update"},
	{"docs/reference/blocking.md", "## Settings and commands of the operator", "go test ./internal/world -run ReasonThatKeeps -update"},
	{"docs/reference/cluster-file.md", "", "go test ./internal/clusterfile -run PageOfFields -update"},
	{"docs/reference/flags.md", "", "go test ./cmd/sluice -run PageOfFlags -update"},
	{"docs/reference/join.md", "", "go test ./internal/doctor -run PageOfJoinTraps -update"},
	{"docs/reference/metrics.md", "## Families of sluice", "go test ./internal/report -run PageOfMetrics -update"},
	{"docs/reference/mutations.md", "## Refusals of the guard", "UPDATE=1 make mutations"},
	{"docs/reference/peers.md", "", "go test ./internal/house -run Peers -update"},
	{"docs/reference/reasons.md", "", "go test ./reason -run ListOfReasons -update"},
	{"docs/reference/scenarios.md", "## Scenarios", "go test ./internal/house -run CatalogueOfScenarios -update"},
}

// TestHandWrittenPagesStayShort counts the words that people write for operators. A reader finds nothing in a book.
func TestHandWrittenPagesStayShort(t *testing.T) {
	sum, all := 0, 0
	var counts []string
	for _, page := range pages(t) {
		if !strings.HasPrefix(page, "docs/") && !slices.Contains([]string{"README.md", "SCOPE.md", "SECURITY.md"}, page) || strings.HasPrefix(page, "docs/decisions/") {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		words := wordsOf(written(page, string(text)))
		sum += words
		all += wordsOf(string(text))
		counts = append(counts, fmt.Sprintf("%6d %s", words, page))
	}
	slices.Sort(counts)
	t.Logf("%d words, %d with what programs write:\n%s", sum, all, strings.Join(counts, "\n"))
	if sum > mostWords {
		t.Errorf("%d words are written by hand (most %d): say it in fewer, link instead of repeating, or make the table from the code", sum, mostWords)
	}
	if all > mostWordsWithMade {
		t.Errorf("%d words are in all pages (most %d): let a program write less", all, mostWordsWithMade)
	}
}

// wordsOf counts what has a letter or a digit: the bars of tables are no words.
func wordsOf(text string) (words int) {
	for _, field := range strings.Fields(text) {
		if strings.ContainsFunc(field, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			words++
		}
	}
	return words
}

// written is what of a page no program makes.
func written(page, text string) string {
	for _, m := range madePages {
		if m.page != page {
			continue
		}
		if m.from == "" {
			return ""
		}
		text, _, _ = strings.Cut(text, "\n"+m.from+"\n")
	}
	return text
}

// TestMadePagesSayWhatMakesThem wants the command on each page that a program makes, in what is read first, and the test that it runs to be there.
func TestMadePagesSayWhatMakesThem(t *testing.T) {
	tests := testsOfTheHouse(t)
	for _, m := range madePages {
		text, err := os.ReadFile(m.page)
		if err != nil {
			t.Fatal(err)
		}
		before := string(text)
		if m.from != "" {
			found := false
			if before, _, found = strings.Cut(before, "\n"+m.from+"\n"); !found {
				t.Errorf("%s has no heading %q", m.page, m.from)
			}
		}
		if !strings.Contains(before, "`"+m.command+"`") {
			t.Errorf("%s does not say that %s makes it", m.page, m.command)
		}
		words := strings.Fields(m.command)
		if words[0] != "go" {
			continue
		}
		if !slices.ContainsFunc(keys(tests[strings.TrimPrefix(words[2], "./")]), func(name string) bool { return strings.Contains(name, words[4]) }) {
			t.Errorf("%s: no test of %s is named for %s", m.page, words[2], words[4])
		}
	}
}

func keys(m map[string]bool) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

// current holds what follows a heading of a page to what it should be, and writes it with -update.
func current(t *testing.T, page, heading, want, run string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	prose, have, _ := strings.Cut(string(text), "\n"+heading+"\n\n")
	if *update && !t.Failed() {
		if err := os.WriteFile(page, []byte(prose+"\n"+heading+"\n\n"+want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != want {
		t.Errorf("%s is not current: run go test ./internal/house -run %s -update", page, run)
	}
}

// TestTheTableOfPackagesIsCurrent makes the table of all packages: the first sentence of each one's comment. What each may import stands in [rooms].
func TestTheTableOfPackagesIsCurrent(t *testing.T) {
	says := map[string]string{"internal/house": "holds nothing but tests: the tree and its pages keep to their own rules."}
	for _, f := range parseHouse(t) {
		if f.syntax.Doc == nil || says[f.room] != "" {
			continue
		}
		words := strings.Fields(new(doc.Package).Synopsis(f.syntax.Doc.Text()))
		if len(words) > 2 {
			says[f.room] = strings.Join(words[2:], " ")
		}
	}
	var b strings.Builder
	b.WriteString("| package | kind | what it does |\n|---|---|---|\n")
	var names []string
	for name := range rooms {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(kindOf(a)+a, kindOf(b)+b) })
	for _, name := range names {
		if says[name] == "" {
			t.Errorf("package %s has no comment", name)
		}
		_, kind, _ := strings.Cut(kindOf(name), " ")
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, kind, strings.ReplaceAll(says[name], "|", "\\|"))
	}
	current(t, filepath.Join("docs", "architecture.md"), "## Packages", b.String(), "Packages")
}

// kindOf is a number to sort by, and what a package is.
func kindOf(room string) string {
	switch {
	case slices.Contains(pure, room):
		return "1 pure"
	case slices.Contains(contract, room):
		return "2 contract"
	case strings.HasPrefix(room, "cmd/"):
		return "5 program"
	case within(room, "internal/azuresim/...", "internal/kubesim", "internal/controlplane/...", "internal/world", "internal/observer", "internal/proof", "internal/fidelity", "internal/bench/...", "internal/traces", "internal/economics", "internal/house"):
		return "4 test or simulator"
	}
	return "3 shell"
}
