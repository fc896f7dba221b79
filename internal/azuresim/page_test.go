package azuresim_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"sluice.dev/sluice/internal/azuresim"
)

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
	for _, of := range []reflect.Type{reflect.TypeFor[azuresim.Fault](), reflect.TypeFor[azuresim.World]()} {
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
