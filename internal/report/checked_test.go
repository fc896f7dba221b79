package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// propertiesOf are the properties that functions of a package refuse by, with those that these call, by the function's name.
func propertiesOf(t *testing.T, folder string) func(roots ...string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: %v", files, err)
	}
	calls, by := map[string][]string{}, map[string][]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, is := n.(*ast.CallExpr)
				if !is {
					return true
				}
				switch called := call.Fun.(type) {
				case *ast.Ident:
					calls[f.Name.Name] = append(calls[f.Name.Name], called.Name)
				case *ast.SelectorExpr:
					calls[f.Name.Name] = append(calls[f.Name.Name], called.Sel.Name)
				}
				for _, arg := range call.Args {
					if l, is := arg.(*ast.BasicLit); is && strings.HasPrefix(l.Value, `"S-`) {
						by[f.Name.Name] = append(by[f.Name.Name], strings.Trim(l.Value, `"`))
					}
				}
				return true
			})
		}
	}
	return func(roots ...string) []string {
		seen, found := map[string]bool{}, map[string]bool{}
		for len(roots) > 0 {
			name := roots[0]
			roots = roots[1:]
			if seen[name] {
				continue
			}
			seen[name] = true
			for _, p := range by[name] {
				found[p] = true
			}
			roots = append(roots, calls[name]...)
		}
		return slices.Sorted(maps.Keys(found))
	}
}

// TestTheChecksThatAreShownAreThoseOfTheGuard reads in the guard, and in the ledger that it asks, by which properties each write can be refused.
func TestTheChecksThatAreShownAreThoseOfTheGuard(t *testing.T) {
	guards, ledgers := propertiesOf(t, "../../guard"), propertiesOf(t, "../../fleet")
	for kind, want := range map[string][]string{
		"DeleteInstances": append(guards("checkDelete", "checkPair", "checkView"), ledgers("MayRemove")...),
		"Cordon":          guards("checkCordon", "checkPair", "checkView"),
		"Evict":           guards("checkEvict", "checkPair", "checkView"),
		"DeleteNode":      guards("checkDeleteNode", "checkPair", "checkView"),
	} {
		var got []string
		for _, c := range (Deed{Action: kind, Result: &memory.Result{Status: memory.Accepted}}).Checks() {
			got = append(got, c.Property)
		}
		slices.Sort(got)
		slices.Sort(want)
		if want = slices.Compact(want); !slices.Equal(got, want) {
			t.Errorf("%s shows %v, and the guard can refuse it by %v", kind, got, want)
		}
	}
	for _, status := range []memory.Status{memory.Refused, memory.Skipped, memory.Deferred} {
		if all := (Deed{Action: "Cordon", Result: &memory.Result{Status: status}}).Checks(); all != nil {
			t.Errorf("what was %s is said to have held: %v", status, all)
		}
	}
}

// TestAPodThatWaitsIsToldWhatEachGroupWouldCost has one group grow beside a dearer one, one without a price, and two that cannot hold the pod.
func TestAPodThatWaitsIsToldWhatEachGroupWouldCost(t *testing.T) {
	w := newWorld()
	w.group("cheap", 0, 3, 0).PriceUSDPerHour = .2
	w.group("dear", 0, 3, 0).PriceUSDPerHour = .9
	w.group("full", 0, 0, 0).PriceUSDPerHour = .1
	w.group("small", 0, 3, 0).PriceUSDPerHour = .05
	w.group("blind", 0, 3, 0).Template = nil
	small := w.groups[3].Template.DeepCopy()
	small.Status.Allocatable["cpu"] = resource.MustParse("500m")
	w.groups[3].Template = small
	w.pod("web-0", "2", "")
	x, err := NewExplanation(w.decide(accepted()), reason.Pod("default", "web-0"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range x.Choices {
		got = append(got, string(c.Group)+": "+c.Cost()+"; "+c.words())
	}
	want := []string{
		"cheap: 0.200 USD an hour; 1 machine for 0.20 USD an hour; against full: at least 1 for 0.10 but may not grow",
		"full: 0.100 USD an hour; ", "dear: 0.900 USD an hour; ", "small: 0.050 USD an hour; Insufficient cpu", "blind: price unknown; nothing is known of its machines",
	}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
	for _, about := range []string{"busy", "huge-0"} {
		if x, err := NewExplanation(growing().decide(accepted()), reason.Pod("default", about)); err != nil || x.Choices != nil {
			t.Errorf("%s has the choices %+v (%v)", about, x.Choices, err)
		}
	}
}
