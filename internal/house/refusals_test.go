package house

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// promised are the properties of the safety contract.
var promised = []string{
	"S-01", "S-02", "S-03", "S-04", "S-05", "S-06", "S-10", "S-11", "S-12", "S-13", "S-14", "S-15", "S-16", "S-17", "S-18", "S-19", "S-20", "S-21", "S-22", "S-23", "S-24",
	"S-30", "S-31", "S-32", "S-33", "S-34", "S-35", "S-36", "S-37", "S-38", "S-39", "S-40", "S-41", "S-42", "S-43", "S-44", "S-45",
}

// refusedBy is a line that lists the properties for which a write was refused: internal/proof plays histories until that has been so.
var refusedBy = regexp.MustCompile(`^- (?:guard|provider): (S-[0-9]{2}(?:, S-[0-9]{2})*)$`)

// TestEveryPropertyHasRefusedSomethingOrIsShownOtherwise holds docs/reference/refusals.md to the contract: each property is in its list of those for
// which a write is refused, or in its table with tests and scenarios that are there. internal/proof plays the histories.
func TestEveryPropertyHasRefusedSomethingOrIsShownOtherwise(t *testing.T) {
	const page = "docs/reference/refusals.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	files := scenariosOfTheHouse(t)
	tests := testsOfTheHouse(t)
	told := map[string]int{}
	for line := range strings.SplitSeq(string(text), "\n") {
		if m := refusedBy.FindStringSubmatch(line); m != nil {
			for id := range strings.SplitSeq(m[1], ", ") {
				told[id]++
			}
		}
		if !strings.HasPrefix(line, "| S-") {
			continue
		}
		id := line[2:6]
		told[id]++
		shown := 0
		for _, m := range linkedScenario.FindAllStringSubmatch(line, -1) {
			if shown++; !slices.Contains(files, m[1]) {
				t.Errorf("%s: %s: there is no %s", page, id, m[1])
			}
		}
		for _, m := range namedTest.FindAllStringSubmatch(line, -1) {
			if shown++; !tests[m[1]][m[2]] {
				t.Errorf("%s: %s: %s has no %s", page, id, m[1], m[2])
			}
		}
		if shown == 0 {
			t.Errorf("%s: %s: neither a history, nor a scenario, nor a test shows it", page, id)
		}
	}
	for _, id := range promised {
		if told[id] != 1 {
			t.Errorf("%s tells %d times of %s, want once: say who refuses a write for it, or why nobody does and what shows it", page, told[id], id)
		}
	}
}

// refusals in the guard's source: a function's head, or a property and what is said with it.
var refusals = regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)|refuse(?:For)?\("(S-[0-9]{2})", (.*)\)$`)

// TestEachRefusalIsAmongTheMutations holds docs/reference/mutations.md, which UPDATE=1 make mutations writes, to the guard's source and tests.
func TestEachRefusalIsAmongTheMutations(t *testing.T) {
	const page = "docs/reference/mutations.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("guard/*.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := testsOfTheHouse(t)
	rows := map[string]bool{}
	for line := range strings.SplitSeq(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if strings.HasPrefix(line, "## Guards that stand elsewhere") {
			break
		}
		if !strings.HasPrefix(line, "| S-") || len(cells) < 3 {
			continue
		}
		rows[cells[0]+" "+cells[1]] = true
		if test, _, _ := strings.Cut(strings.Trim(cells[2], "`"), "/"); !tests["guard"][test] {
			t.Errorf("%s: %s is caught by %s, and guard has no such test; run UPDATE=1 make mutations", page, cells[1], cells[2])
		}
	}
	met := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		function := ""
		for _, m := range refusals.FindAllStringSubmatch(string(source), -1) {
			if m[1] != "" {
				function = m[1]
				continue
			}
			row := m[2] + " " + function + ": " + strings.ReplaceAll(m[3], "reason.", "")
			met[row] = true
			if !rows[row] {
				t.Errorf("%s lacks %s; run UPDATE=1 make mutations", page, row)
			}
		}
	}
	for row := range rows {
		if !met[row] {
			t.Errorf("%s tells of %s, and the guard has no such refusal; run UPDATE=1 make mutations", page, row)
		}
	}
}

// mutated are the guards of cmd/mutants: a property, what is taken away, and the file.
var mutated = regexp.MustCompile(`(?m)^\t\t"([SP]-[0-9]+)", "([^"]*)", "([^"]*)",$`)

// mutatedInFleet are those of package fleet.
var mutatedInFleet = regexp.MustCompile(`(?m)^\t(?:refusal\(|\{)"([SP]-[0-9]+)", "([^"]*)", "`)

// TestEachGuardThatStandsElsewhereIsCaught holds the second table of docs/reference/mutations.md to the list of cmd/mutants, and to the scenarios and tests
// that there are.
func TestEachGuardThatStandsElsewhereIsCaught(t *testing.T) {
	const page = "docs/reference/mutations.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("cmd/mutants/table.go")
	if err != nil {
		t.Fatal(err)
	}
	ofFleet, err := os.ReadFile("cmd/mutants/fleet.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Guards that stand elsewhere")
	tests := testsOfTheHouse(t)
	rows := map[string]bool{}
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "| S-") && !strings.HasPrefix(line, "| P-") || len(cells) != 4 {
			continue
		}
		rows[cells[0]+" "+cells[1]+" "+strings.Trim(cells[2], "`")] = true
		by := strings.Trim(cells[3], "`")
		if _, err := os.Stat(by); err == nil {
			continue
		}
		dot := strings.LastIndex(by, ".Test")
		test, _, _ := strings.Cut(by[dot+1:], "/")
		if dot < 0 || !tests[by[:dot]][test] {
			t.Errorf("%s: %s is caught by %s, which is neither a scenario nor a test; run UPDATE=1 make mutations", page, cells[1], by)
		}
	}
	all := mutated.FindAllStringSubmatch(string(list), -1)
	if len(all) < 30 {
		t.Fatalf("cmd/mutants/table.go has %d guards as this test reads it", len(all))
	}
	for _, m := range mutatedInFleet.FindAllStringSubmatch(string(ofFleet), -1) {
		all = append(all, []string{"", m[1], m[2], "fleet/"})
	}
	for _, m := range all {
		if row := m[1] + " " + m[2] + " " + filepath.ToSlash(filepath.Dir(m[3])); !rows[row] {
			t.Errorf("%s lacks %s; run UPDATE=1 make mutations", page, row)
		}
	}
	if len(rows) != len(all) {
		t.Errorf("%s has %d guards that stand elsewhere, cmd/mutants %d", page, len(rows), len(all))
	}
}
