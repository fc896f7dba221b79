package azuresim_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"sluice.dev/sluice/internal/azuresim"
)

var update = flag.Bool("update", false, "write the page of faults")

// TestThePageOfFaultsIsCurrent makes docs/reference/azuresim-faults.md of the comments on the fields of Fault.
func TestThePageOfFaultsIsCurrent(t *testing.T) {
	syntax, err := parser.ParseFile(token.NewFileSet(), "fault.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# The faults of azuresim\n\nThis page is made by `go test ./internal/azuresim -run PageOfFaults -update`. " +
		"[How they are used](../how-to/azuresim.md#faults). Durations are written as `20m`; the server's clock counts them.\n")
	fields := 0
	ast.Inspect(syntax, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != "Fault" {
			return true
		}
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			if f.Doc != nil {
				fmt.Fprintf(&b, "\n%s\n\n| field | |\n|---|---|\n", plain(f.Doc.Text()))
			} else if fields == 0 {
				b.WriteString("\n| field | |\n|---|---|\n")
			}
			for _, name := range f.Names {
				fields++
				fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ToLower(name.Name[:1])+name.Name[1:], plain(f.Comment.Text()))
			}
		}
		return false
	})
	if want := reflect.TypeFor[azuresim.Fault]().NumField(); fields != want {
		t.Errorf("the page has %d fields, a fault %d", fields, want)
	}
	const page = "../../docs/reference/azuresim-faults.md"
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(page); err != nil || string(have) != b.String() {
		t.Errorf("%s is not current (%v): run go test ./internal/azuresim -run PageOfFaults -update", page, err)
	}
}

// plain is a comment in one line, without the brackets of its links.
func plain(comment string) string {
	return regexp.MustCompile(`\[([A-Z][\w.]*)\]`).ReplaceAllString(strings.Join(strings.Fields(comment), " "), "`$1`")
}

// TestThePageKnowsEveryFieldAndAct keeps docs/how-to/azuresim.md complete, and its example in force.
func TestThePageKnowsEveryFieldAndAct(t *testing.T) {
	raw, err := os.ReadFile("../../docs/how-to/azuresim.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ToLower(string(raw))
	named := func(word string) bool {
		return regexp.MustCompile(`\b` + regexp.QuoteMeta(strings.ToLower(word)) + `\b`).MatchString(page)
	}
	for _, of := range []reflect.Type{reflect.TypeFor[azuresim.World]()} {
		for _, f := range reflect.VisibleFields(of) {
			if unicode.IsUpper(rune(f.Name[0])) && !named(f.Name) {
				t.Errorf("docs/how-to/azuresim.md does not name %s of %s", f.Name, of.Name())
			}
		}
	}
	names, _ := azuresim.ActNames()
	for _, name := range names {
		if !named(name) {
			t.Errorf("docs/how-to/azuresim.md does not name the act %s", name)
		}
	}
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(raw)
	w, err := azuresim.ParseWorld(example[1], time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Faults) == 0 {
		t.Error("the page shows no fault")
	}
}
