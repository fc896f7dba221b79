package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// believers are the rooms that ask the ledger of machines what is so.
var believers = []string{"guard", "cluster", "plan", "plan/memory", "plan/node", "plan/place", "plan/grow", "plan/claim", "plan/remove", "internal/actuate", "internal/azure"}

// known are their fields that hold something of each machine by its unique id, and why that is no second ledger.
var known = map[string]string{
	"cluster.Group.Departed":           "of one snapshot, as the ledger has it",
	"cluster.joins.parked":             "of one snapshot",
	"cluster.joins.missing":            "of one snapshot, as the ledger has it",
	"cluster.joins.departed":           "of one snapshot, as the ledger has it",
	"internal/azure.away.departed":     "of one answer, as the ledger has it",
	"internal/azure.away.missing":      "of one answer, as the ledger has it",
	"internal/azure.writing.unstarted": "when Azure refused to start it",
	"internal/azure.addresses.of":      "its addresses",
	"internal/azure.diagnostics.of":    "what it says of itself, by which nothing is decided",
	"internal/azure.standard.removing": "what this process does at the moment",
	"internal/azure.sweeper.untagging": "what this process does at the moment",
	"plan/memory.Growing.Taken":        "what has counted already",
	"plan/node.View.lost":              "of one cycle, as the ledger has it",
	"plan/memory.Breaker.Kept":         "which one people are to look at",
}

var byMachine = regexp.MustCompile(`(?i)\bUIDs?\b|unique ids?\b`)

// TestBeliefAboutMachinesIsInTheLedger finds every field of those rooms that is kept by the unique id of a machine: package fleet alone remembers what is so of machines,
// and whoever wants to remember more says here what it is.
func TestBeliefAboutMachinesIsInTheLedger(t *testing.T) {
	found := map[string]bool{}
	for _, room := range believers {
		files, err := filepath.Glob(filepath.Join(room, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", room, len(files), err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			for field := range machineFields(t, name) {
				found[room+"."+field] = true
			}
		}
	}
	for field := range found {
		if known[field] == "" {
			t.Errorf("%s is kept by the unique ids of machines: what is so of a machine is for package fleet to remember", field)
		}
	}
	for field := range known {
		if !found[field] {
			t.Errorf("%s is gone: take it off the list", field)
		}
	}
}

// machineFields are the struct fields of a file, as Type.field, that hold more than one value or a name and whose comment speaks of unique ids; pods have some, too.
func machineFields(t *testing.T, name string) map[string]bool {
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		body, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, f := range body.Fields.List {
			words := f.Doc.Text() + f.Comment.Text()
			if !byMachine.MatchString(words) || strings.Contains(words, "pod") {
				continue
			}
			if _, array := f.Type.(*ast.ArrayType); !array {
				if _, keyed := f.Type.(*ast.MapType); !keyed && !strings.Contains(words, "by its UID") {
					continue
				}
			}
			for _, id := range f.Names {
				all[spec.Name.Name+"."+id.Name] = true
			}
		}
		return true
	})
	return all
}
