package house

import (
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// avoided are the words in the last column of the glossary, each with the word to use instead.
func avoided(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("docs/reference/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	instead, terms := map[string]string{}, 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.TrimSpace(cells[1]) == "word" || strings.HasPrefix(cells[1], "--") {
			continue
		}
		terms++
		for word := range strings.SplitSeq(cells[3], ",") {
			if word = strings.TrimSpace(word); word != "" {
				instead[word] = strings.TrimSpace(cells[1])
			}
		}
	}
	if terms < 40 || len(instead) < 20 {
		t.Fatalf("found %d words in the glossary and %d that they stand for: the table was not read", terms, len(instead))
	}
	return instead
}

// parts are the words of an identifier in lower case: of "drainDeadline" drain and deadline.
func parts(name string) []string {
	var out []string
	last := rune('_')
	for _, r := range name {
		switch {
		case r == '_':
		case len(out) == 0 || last == '_' || unicode.IsUpper(r) && !unicode.IsUpper(last):
			out = append(out, string(unicode.ToLower(r)))
		default:
			out[len(out)-1] += string(unicode.ToLower(r))
		}
		last = r
	}
	return out
}

// TestNamesAreInTheGlossary holds names of the product to the words of the glossary. Codes of reasons are exempt: operators' queries have them.
func TestNamesAreInTheGlossary(t *testing.T) {
	instead := avoided(t)
	for _, f := range parseHouse(t) {
		if f.test || f.room == "reason" || f.room == "internal/doctor" || simulates(f.room) {
			continue
		}
		for _, id := range declaredIn(f.syntax) {
			for _, word := range parts(id.Name) {
				if say := instead[strings.TrimSuffix(word, "s")]; say != "" || instead[word] != "" {
					t.Errorf("%s: %s has the word %s: the glossary says %q", f.at(id), id.Name, word, say+instead[word])
				}
			}
		}
	}
}

// TestCommentsAreInTheGlossary does the same for comments of the packages that decide, whose readers have no dictionary.
func TestCommentsAreInTheGlossary(t *testing.T) {
	instead := avoided(t)
	word := regexp.MustCompile(`\b[a-z]+\b`)
	for _, f := range parseHouse(t) {
		if f.test || !slices.Contains(pure, f.room) || f.room == "reason" {
			continue
		}
		for _, group := range f.syntax.Comments {
			for _, w := range word.FindAllString(group.Text(), -1) {
				if say := instead[w]; say != "" {
					t.Errorf("%s: %q in a comment: the glossary says %q", f.at(group), w, say)
				}
			}
		}
	}
}

// TestTheHarnessIsNoPartOfTheProduct holds that the product does not ask whether it is simulated: what simulations need they bring through
// interfaces that a user has a use for as well. Only the command that plays scenarios speaks of them.
func TestTheHarnessIsNoPartOfTheProduct(t *testing.T) {
	harness := []string{"simulate", "simulated", "simulation", "inject", "injected", "tempt", "fake", "mock", "untimed", "testing"}
	for _, f := range parseHouse(t) {
		if f.test || f.room == "cmd/sluice" || simulates(f.room) {
			continue
		}
		for _, id := range declaredIn(f.syntax) {
			for _, word := range parts(id.Name) {
				if slices.Contains(harness, word) && id.Name != "podsInjected" { // which is a condition's reason by the API of buffers
					t.Errorf("%s: %s has the word %s: the product knows of no simulation", f.at(id), id.Name, word)
				}
			}
		}
	}
}

// simulates says whether a room plays the world around the product or judges it.
func simulates(room string) bool {
	return within(room, "internal/azuresim", "internal/azuresim/template", "internal/kubesim", "internal/world", "internal/observer", "internal/proof", "internal/controlplane",
		"internal/fidelity", "internal/bench", "internal/economics", "internal/traces", "internal/house", "cluster/clustertest", "fleet/fleettest",
		"cloud/cloudtest", "cmd/azuresim", "cmd/bench", "cmd/economics", "cmd/mutants", "cmd/playground", "cmd/proof", "cmd/sbom")
}

// declaredIn are the names that a file declares: functions, types, fields, parameters, constants and variables.
func declaredIn(f *ast.File) (all []*ast.Ident) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			all = append(all, n.Name)
		case *ast.TypeSpec:
			all = append(all, n.Name)
		case *ast.Field:
			all = append(all, n.Names...)
		case *ast.ValueSpec:
			all = append(all, n.Names...)
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				if id, ok := x.(*ast.Ident); ok && n.Tok.String() == ":=" {
					all = append(all, id)
				}
			}
		}
		return true
	})
	return all
}
