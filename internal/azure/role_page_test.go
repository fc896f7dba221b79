package azure_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var roleRow = regexp.MustCompile("(?m)^\\| `(Microsoft[^`]+)` \\| ([^|]*) \\| ([^|]*) \\| ([^|]+) \\|$")

// TestThePageOfTheRoleSaysWhoNeedsWhat holds the columns of docs/reference/azure-role.md against what lives need. -update rewrites them.
func TestThePageOfTheRoleSaysWhoNeedsWhat(t *testing.T) {
	const file = "../../docs/reference/azure-role.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// By lower-case action: the kinds of groups, any of them when it only looks, and whether models of scale sets may refer to it.
	in, plans, modelled := map[string][]bool{}, map[string]bool{}, map[string]bool{}
	for i, kind := range groupKinds {
		w := wire(t, kind, bySecret)
		w.live(kind)
		for action := range w.used(0) {
			if in[action] == nil {
				in[action] = make([]bool, len(groupKinds))
			}
			in[action][i] = true
		}
		for _, r := range w.sim.Requests() {
			for _, l := range r.Linked {
				modelled[strings.ToLower(l.Action)] = modelled[strings.ToLower(l.Action)] || r.Kind == "PATCH virtualMachineScaleSets"
			}
		}
		w = wire(t, kind, bySecret)
		w.options.ReadOnly = true
		w.must(w.start())
		w.pass(settle)
		for action := range w.used(0) {
			if !strings.HasSuffix(action, "/read") {
				t.Errorf("%s: %s is needed to look", kind.name, action)
			}
			plans[action] = true
		}
	}
	var actions []string
	right := roleRow.ReplaceAllStringFunc(string(page), func(row string) string {
		cells := roleRow.FindStringSubmatch(row)
		actions = append(actions, cells[1])
		action := strings.ToLower(cells[1])
		groups, plan := who(in[action]), ""
		if modelled[action] {
			groups = "by model"
		}
		if plans[action] {
			plan = "yes"
		}
		return fmt.Sprintf("| %#q | %s | %s | %s |", cells[1], groups, plan, cells[4])
	})
	if d := cmp.Diff(slices.Concat(shipped(t)[0].Actions, shipped(t)[1].Actions), actions); d != "" {
		t.Errorf("rows of %s (-role +page):\n%s", file, d)
	}
	if *update {
		if err := os.WriteFile(file, []byte(right), 0o644); err != nil {
			t.Fatal(err)
		}
		page = []byte(right)
	}
	if d := cmp.Diff(strings.Split(right, "\n"), strings.Split(string(page), "\n")); d != "" {
		t.Errorf("%s (-needed +said):\n%s", file, d)
	}
}

// who names the kinds of groups that need an action, given in the order of [groupKinds].
func who(needs []bool) string {
	if needs == nil {
		return "none"
	}
	if !slices.Contains(needs, false) {
		return "all"
	}
	var words []string
	for i, pair := range [][2]int{{0, 2}, {1, 3}, {4, 5}} {
		name := []string{"uniform", "flexible", "availability sets"}[i]
		switch deletes, parks := needs[pair[0]], needs[pair[1]]; {
		case parks && !deletes:
			words = append(words, name+" (parking)")
		case deletes:
			words = append(words, name)
		}
	}
	return strings.Join(words, ", ")
}
