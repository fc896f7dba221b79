package reason_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice.dev/sluice/reason"
)

func TestEveryCodeHasASentence(t *testing.T) {
	declared := 0
	for _, name := range sources(t, "*.go") {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Code" {
				return true
			}
			code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			declared++
			if code != spec.Names[0].Name {
				t.Errorf("code %q is declared as %s", code, spec.Names[0].Name)
			}
			if template, _ := reason.Template(reason.Code(code)); template == "" {
				t.Errorf("code %s has no sentence", code)
			}
			return true
		})
	}
	if got := len(reason.Codes()); got != declared {
		t.Errorf("%d codes have sentences, %d are declared", got, declared)
	}
}

// sources lists the product's files that a pattern matches.
func sources(t *testing.T, glob string) []string {
	t.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		t.Fatalf("no file matches %s: %v", glob, err)
	}
	return slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
}

// refusalSources are the packages whose refusals are read by operators at night.
var refusalSources = []string{"../guard/*.go", "../fleet/*.go"}

// idiom is what sentences of refusals do without: words that only those who wrote sluice know, or that have two meanings.
var idiom = regexp.MustCompile(`(?i)\b(growths?|removals?|ladder|rungs?|climbs?|bur(y|ied)|exhumed?|laid|slept|rested|rests?|refuges?|hosts|annex|` +
	`berths?|seats?|lodges?|sight|stance|roll|nodeless|strays?|never joined|runs? dry|ran dry|shun(ned)?|soft taint|pretended|foretell|` +
	`heed(ed)?|asked|told|heard|turn|doubt|unheard|mute|notices?|errands?|chores?|hands?|vain|spares?|tempt|somebody|nobody|others|ledger)\b`)

// TestRefusalsAreReadAtNight holds every code that package guard or fleet names to at most 20 words, subject and property included, and to
// plain ones.
func TestRefusalsAreReadAtNight(t *testing.T) {
	codes := map[reason.Code]bool{}
	for _, glob := range refusalSources {
		for _, file := range sources(t, glob) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`\breason\.([A-Z]\w+)`).FindAllStringSubmatch(string(source), -1) {
				if _, is := reason.Template(reason.Code(m[1])); is {
					codes[reason.Code(m[1])] = true
				}
			}
		}
	}
	if len(codes) < 50 {
		t.Fatalf("only %d codes were found in %q", len(codes), refusalSources)
	}
	for code := range codes {
		template, _ := reason.Template(code)
		if n := len(strings.Fields("group a: " + template + " (S-01)")); n > 20 {
			t.Errorf("%s has %d words (limit 20): %s", code, n, template)
		}
		if word := idiom.FindString(template); word != "" {
			t.Errorf("%s says %q, for which there is a plainer word: %s", code, word, template)
		}
	}
}

func TestSentences(t *testing.T) {
	cases := map[string]struct {
		reason reason.Reason
		want   string
	}{
		"facts fill their places": {reason.New(reason.InsufficientResource, reason.Ref{}, "resource", "cpu", "needs", 3, "free", "1"), "Insufficient cpu (needs 3, free 1)"},
		"the subject leads":       {reason.New(reason.GroupAtMax, reason.Group("a"), "capacity", 5, "max", 5), "group a: max node group size reached (capacity 5, max 5)"},
		"a subject that the sentence names does not lead as well": {reason.New(reason.PodBare, reason.Pod("d", "x"), "pod", "d/x"), "pod d/x has no controller that would make it again"},
		"a code of a newer version is shown":                      {reason.New("Novel", reason.Node("n"), "b", 2, "a", 1), "node n: Novel a=1 b=2"},
	}
	for name, c := range cases {
		if got := c.reason.String(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestTerseHasTheFactsOfTheSentence prints code and facts in the sentence's order, what has spaces quoted, what is empty left out.
func TestTerseHasTheFactsOfTheSentence(t *testing.T) {
	for _, c := range []struct {
		reason reason.Reason
		want   string
	}{
		{reason.New(reason.NodeIdle, reason.Node("n"), "limit", "10m0s", "idle", "1m0s", "pods", "daemons"), "NodeIdle pods=daemons idle=1m0s limit=10m0s"},
		{reason.New(reason.NodeIdle, reason.Node("n"), "limit", "10m0s", "idle", "", "pods", "no; pods", "besides", "x"), `NodeIdle pods="no; pods" limit=10m0s`},
		{reason.New("Novel", reason.Node("n"), "b", 2, "a", 1), "Novel a=1 b=2"},
	} {
		if got := c.reason.Terse(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestPaperCarriesTheSentence(t *testing.T) {
	r := reason.New(reason.PodOfJob, reason.Pod("default", "x"), "pod", "default/x")
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var view struct{ Code, Sentence string }
	if err := json.Unmarshal(data, &view); err != nil {
		t.Fatal(err)
	}
	if view.Code != "PodOfJob" || view.Sentence != "pod default/x belongs to a Job and runs to its end" {
		t.Errorf("paper says %+v", view)
	}
	var back reason.Reason
	if err := json.Unmarshal(data, &back); err != nil || back.String() != r.String() {
		t.Errorf("read back %v (%v), want %v", back, err, r)
	}
}

var update = flag.Bool("update", false, "rewrite docs/reference/reasons.md")

// TestTheListOfReasonsIsCurrent keeps docs/reference/reasons.md, which is made here, true.
func TestTheListOfReasonsIsCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Reasons\n\nThis page is made by `go test ./reason -run ListOfReasons -update`.\n\nEvery verdict, refusal, Event and log line of sluice carries one of these codes. A code is never reused for another meaning.\n")
	b.WriteString("Words in braces are facts: the numbers and names that were compared. In JSON they stand under `facts` by these names.\n\n")
	b.WriteString("| code | sentence |\n|---|---|\n")
	for _, c := range reason.Codes() {
		template, _ := reason.Template(c)
		fmt.Fprintf(&b, "| `%s` | %s |\n", c, template)
	}
	path := filepath.Join("..", "docs", "reference", "reasons.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != b.String() {
		t.Errorf("docs/reference/reasons.md is not current: run go test ./reason -update")
	}
}
