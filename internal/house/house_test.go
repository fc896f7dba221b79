package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestMain goes to the root of the module: all paths here begin there.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		log.Fatal(err)
	}
	os.Exit(m.Run())
}

// module is the import path that all packages of the house begin with.
const module = "sluice.dev/sluice/"

// pure packages decide. They have no clock, no client, no logger and no goroutine: see [TestCoreHasNoClock].
var pure = []string{
	"calendar", "cluster", "cluster/clustertest", "deploy", "diagnosis", "fleet", "fleet/fleettest", "guard", "internal/attest", "internal/azuresim/template", "internal/clusterfile", "internal/render", "journal", "packing", "plan",
	"plan/action", "plan/claim", "plan/grow", "plan/memory", "plan/node", "plan/place", "plan/remove", "policy", "reason", "scheduling",
	"scheduling/internal/classes", "scheduling/internal/devices", "scheduling/internal/fit", "scheduling/internal/journal",
	"scheduling/internal/nodes", "scheduling/internal/plugins", "scheduling/internal/relations", "scheduling/internal/resources", "scheduling/internal/storage",
	"scheduling/internal/whatif", "setting",
}

// contract packages may be imported from outside as the pure ones may, and are what a cloud has to keep.
var contract = []string{"cloud", "cloud/cloudtest"}

// rooms is the import table: which of our packages each of our packages may import outside its tests. A package without a row
// fails; "..." stands for all packages that no rule of [borders] forbids. docs/architecture.md says why.
var rooms = map[string][]string{
	"reason":   {},
	"calendar": {},
	"cluster":  {"calendar", "fleet", "reason"},
	"policy":   {"cluster", "fleet", "reason", "setting"},
	"setting":  {}, // a table: it knows no policy and no flag
	"cloud":    {"cluster"},
	"guard":    {"cluster", "fleet", "policy", "reason", "scheduling"},
	"scheduling": {
		"cluster", "reason",
		"scheduling/internal/classes", "scheduling/internal/devices", "scheduling/internal/fit", "scheduling/internal/journal", "scheduling/internal/nodes",
		"scheduling/internal/relations", "scheduling/internal/resources", "scheduling/internal/storage", "scheduling/internal/whatif",
	},
	"fleet":   {"reason"}, // ids, times and counts: it knows no pod and no cloud
	"packing": {},         // vectors and counts: it knows no pod and no node
	"plan":    {"cluster", "fleet", "plan/action", "plan/claim", "plan/grow", "plan/memory", "plan/node", "plan/place", "plan/remove", "policy", "reason", "scheduling"},
	"journal": {"cluster", "fleet", "plan", "plan/action", "plan/memory", "policy", "reason"},

	// Each phase of a decision imports those before it.
	"plan/action": {"cluster", "reason"},
	"plan/memory": {"cluster", "plan/action", "policy", "reason"},
	"plan/node":   {"cluster", "fleet", "plan/action", "plan/memory", "policy", "reason", "scheduling"},
	"plan/place":  {"cluster", "plan/action", "plan/memory", "plan/node", "policy", "reason", "scheduling"},
	"plan/grow":   {"cluster", "fleet", "packing", "plan/action", "plan/memory", "plan/node", "plan/place", "policy", "reason", "scheduling"},
	"plan/claim":  {"cluster", "plan/action", "plan/grow", "plan/node", "plan/place", "reason", "scheduling"},
	"plan/remove": {"cluster", "fleet", "plan/action", "plan/grow", "plan/memory", "plan/node", "plan/place", "policy", "reason", "scheduling"},

	"cloud/cloudtest":     {"cloud", "cluster"},
	"cluster/clustertest": {"cluster", "fleet"}, // builders for tests: no other row has it
	"fleet/fleettest":     {"fleet"},

	"scheduling/internal/resources": {},
	"scheduling/internal/plugins":   {},
	"scheduling/internal/journal":   {},
	"scheduling/internal/nodes":     {"cluster", "scheduling/internal/plugins", "scheduling/internal/resources"},
	"scheduling/internal/relations": {"scheduling/internal/journal", "scheduling/internal/nodes"},
	"scheduling/internal/storage":   {"cluster", "scheduling/internal/journal", "scheduling/internal/nodes", "scheduling/internal/plugins"},
	"scheduling/internal/devices":   {"cluster", "scheduling/internal/nodes", "scheduling/internal/plugins", "scheduling/internal/resources"},
	"scheduling/internal/classes": {
		"cluster", "scheduling/internal/devices", "scheduling/internal/journal", "scheduling/internal/nodes", "scheduling/internal/relations",
		"scheduling/internal/resources", "scheduling/internal/storage",
	},
	"scheduling/internal/fit":    {"cluster", "reason", "scheduling/internal/classes", "scheduling/internal/nodes", "scheduling/internal/resources"},
	"scheduling/internal/whatif": {"scheduling/internal/devices", "scheduling/internal/fit", "scheduling/internal/journal", "scheduling/internal/nodes", "scheduling/internal/storage"},

	"internal/ledger":                 {"cluster", "fleet", "policy"},
	"internal/imds":                   {},
	"internal/attest":                 {},
	"internal/join":                   {"cloud", "internal/attest", "internal/azure"},
	"internal/azure/catalog":          {},
	"internal/azure/catalog/generate": {"internal/azure/catalog"},
	"internal/azure/config":           {},
	"diagnosis":                       {}, // texts of others: it knows no machine and no cloud
	"internal/azure":                  {"cloud", "cluster", "diagnosis", "fleet", "internal/ledger", "internal/azure/catalog", "internal/azure/config", "internal/imds", "policy", "reason", "setting"},
	"internal/kube":                   {"cluster", "guard", "plan", "reason"},
	"internal/expander":               {"cluster"},
	"internal/actuate":                {"cloud", "cluster", "fleet", "guard", "internal/ledger", "internal/expander", "internal/kube", "plan", "plan/action", "plan/memory", "policy", "reason"},
	"internal/agent":                  {"cluster", "guard", "internal/imds", "internal/kube"},
	"internal/report":                 {"cluster", "journal", "plan", "plan/action", "plan/grow", "plan/memory", "policy", "reason", "scheduling"},
	"internal/doctor":                 {"cluster", "diagnosis"},
	"internal/timeline":               {"cluster", "internal/history", "internal/report", "journal", "plan/action", "plan/memory", "plan/node", "policy", "reason"},
	"internal/top":                    {"internal/history", "internal/report", "internal/timeline", "internal/view", "journal", "plan/action", "reason"},
	"internal/view":                   {"cluster", "internal/report", "journal", "plan/action", "policy", "reason", "scheduling"},
	"internal/web":                    {"cluster", "internal/report", "internal/timeline", "internal/view", "internal/web/page", "journal", "plan", "plan/action", "plan/memory", "reason"},
	"internal/web/page":               {"cluster", "internal/report", "internal/timeline", "internal/view", "journal", "plan/action", "plan/memory", "reason", "scheduling"},
	"internal/history":                {"journal"},
	"internal/progress":               {}, // of any work
	"internal/app": {
		"cloud", "cluster", "fleet", "guard", "journal", "plan", "plan/action", "plan/memory", "policy", "reason", "scheduling", "setting",
		"deploy", "internal/actuate", "internal/azure", "internal/doctor", "internal/expander", "internal/history", "internal/imds", "internal/kube", "internal/ledger", "internal/report", "internal/timeline", "internal/web",
		"internal/attest", "internal/join",
	},

	"internal/certify": {"cloud", "internal/azure", "internal/azure/catalog", "internal/doctor"},

	"internal/clusterfile": {"internal/azure/catalog", "setting"}, // a description: it knows no Azure and no cluster
	"internal/lifecycle":   {"cloud", "cluster", "internal/azure/catalog", "internal/clusterfile", "internal/doctor", "internal/render"},
	"internal/render":      {"deploy", "internal/azure/catalog", "internal/clusterfile", "setting"},

	"internal/azuresim":                      {"internal/azuresim/template"},
	"internal/azuresim/host":                 {"internal/azuresim"}, // Linux alone: nobody imports it but programs that boot machines
	"internal/proof":                         {"internal/observer", "internal/world"},
	"internal/observer":                      {"internal/azuresim", "internal/kubesim"}, // nothing of what it judges
	"internal/azuresim/template":             {},
	"internal/kubesim":                       {},
	"internal/k3sim":                         {},
	"internal/k3sim/trial":                   {},
	"internal/controlplane":                  {},
	"internal/controlplane/kubelets":         {},
	"internal/controlplane/process":          {"internal/controlplane"},
	"internal/controlplane/controlplanetest": {},
	"internal/fidelity":                      {"cluster"}, // nothing of what it judges
	"internal/house":                         {},          // nothing but tests
	"internal/world": {
		"cloud", "cluster", "fleet", "fleet/fleettest", "guard", "journal", "plan", "plan/action", "plan/memory", "policy", "reason", "scheduling",
		"internal/agent", "internal/app", "internal/azure", "internal/azuresim", "internal/expander", "internal/imds", "internal/kube", "internal/kubesim", "internal/ledger", "internal/observer",
	},
	"deploy": {},

	"internal/bench":          {"cluster", "internal/bench/workload", "internal/history", "internal/kube", "internal/report", "internal/timeline", "internal/web", "journal", "plan", "plan/action", "plan/memory", "policy", "reason"},
	"internal/bench/workload": {"cluster"},
	"internal/bench/resident": {"cloud", "cluster", "internal/app", "internal/bench", "internal/bench/workload", "journal", "policy"},
	"internal/traces":         {},
	"internal/economics":      {"cluster", "internal/traces", "packing", "plan", "plan/action", "plan/memory", "policy"},

	"cmd/azuresim":   {"internal/azuresim"},
	"cmd/bench":      {"internal/app", "internal/bench", "internal/bench/resident"},
	"cmd/economics":  {"internal/economics", "internal/progress", "internal/traces"},
	"cmd/sbom":       {}, // of any binary
	"cmd/mutants":    {}, // of this tree
	"cmd/proof":      {"internal/progress", "internal/proof", "internal/world"},
	"cmd/sluice":     {"..."},
	"cmd/playground": {"..."},
}

// border keeps an import path, and everything below it, to a few of our packages.
type border struct {
	path    string
	code    []string // packages that may import it; with "/..." also those below
	tests   []string // packages whose tests may import it too
	because string
}

var borders = []border{
	{
		path: "k8s.io/kubernetes", code: []string{"scheduling/...", "internal/controlplane/...", "internal/fidelity"},
		because: "only scheduling asks kube-scheduler's plugins, only controlplane runs Kubernetes, and only fidelity compares the two",
	},
	{
		path: "go.etcd.io/etcd/server", code: []string{"internal/controlplane/..."},
		because: "only controlplane runs an etcd",
	},
	{
		path: "github.com/Azure/azure-sdk-for-go", code: []string{"internal/azure", "internal/imds"}, tests: []string{"internal/azuresim"},
		because: "Azure's words stay in azure and imds; azuresim is tested by the real client",
	},
	{
		path: "k8s.io/client-go/kubernetes",
		code: []string{
			"internal/kube", "internal/agent", "internal/join", "internal/report", "internal/app", "internal/bench/resident", "internal/world", "internal/controlplane/...",
			"internal/k3sim/...", "cmd/playground", "cmd/sluice",
		},
		tests:   []string{"internal/actuate", "internal/kubesim"},
		because: "actuate and the agent change Kubernetes through kube.Writer alone, and nobody else has a client in hand",
	},
	{
		path: "sluice.dev/sluice/internal/azuresim", code: []string{"internal/azuresim/...", "internal/observer", "internal/world", "cmd/azuresim", "cmd/playground"},
		tests:   []string{"internal/actuate", "internal/agent", "internal/app", "internal/azure", "internal/certify", "internal/imds", "internal/join", "internal/lifecycle", "internal/render", "cmd/sluice"},
		because: "what runs in a user's cluster holds no simulator",
	},
	{
		path: "sluice.dev/sluice/internal/kubesim", code: []string{"internal/observer", "internal/world"},
		tests:   []string{"internal/actuate", "internal/agent", "internal/app", "internal/kube", "internal/report", "cmd/sluice"},
		because: "what runs in a user's cluster holds no simulator",
	},
	{
		path: "sluice.dev/sluice/internal/controlplane", code: []string{"internal/controlplane/...", "cmd/playground"},
		tests:   []string{"cmd/sluice", "internal/app", "internal/join", "internal/k3sim", "internal/kube", "internal/report", "scheduling"},
		because: "the product binary links no Kubernetes API server",
	},
	{
		path: "sluice.dev/sluice/internal/k3sim", code: []string{"internal/k3sim/..."}, tests: []string{"cluster", "cmd/sluice", "internal/app", "internal/doctor", "internal/join", "internal/kube"},
		because: "what runs in a user's cluster holds no simulator",
	},
	{
		path: "sluice.dev/sluice/internal/fidelity", tests: []string{"internal/fidelity", "plan", "scheduling"},
		because: "it is the proof of scheduling and plan and no part of them",
	},
}

// tethers name what a main must not link, however far down it is imported.
var tethers = map[string][]string{
	"cmd/sluice": {"k8s.io/kubernetes/cmd", "go.etcd.io/etcd/server", "sluice.dev/sluice/internal/controlplane"},
}

// A listed package is one of ours as go list describes it.
type listed struct {
	ImportPath                               string
	Imports, TestImports, XTestImports, Deps []string
}

// room is the package's path inside the module, "" for the root.
func (p listed) room() string {
	return strings.TrimSuffix(strings.TrimPrefix(p.ImportPath+"/", module), "/")
}

// TestImportsPointInward holds the import table. A package enters it in the commit that creates the package.
func TestImportsPointInward(t *testing.T) {
	for _, p := range listPackages(t) {
		room := p.room()
		allowed, known := rooms[room]
		if !known {
			t.Errorf("%s is not in the import table: say in house_test.go what it may import", room)
			continue
		}
		if !within(room, "internal/...", "cmd/...") && !slices.Contains(pure, room) && !slices.Contains(contract, room) {
			t.Errorf("%s can be imported by others and is not pure: move it under internal/", room)
		}
		for _, path := range p.Imports {
			if ours, ok := strings.CutPrefix(path, module); ok && !slices.Contains(allowed, ours) && !slices.Contains(allowed, "...") {
				t.Errorf("%s imports %s: the table allows it only %v", room, ours, allowed)
			}
			for _, b := range borders {
				if under(path, b.path) && !within(room, b.code...) {
					t.Errorf("%s imports %s: %s", room, path, b.because)
				}
			}
		}
		for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
			if path == p.ImportPath {
				continue
			}
			for _, b := range borders {
				if under(path, b.path) && !within(room, b.code...) && !within(room, b.tests...) {
					t.Errorf("the tests of %s import %s: %s", room, path, b.because)
				}
			}
		}
		for _, path := range p.Deps {
			for _, heavy := range tethers[room] {
				if under(path, heavy) {
					t.Errorf("%s links %s", room, path)
				}
			}
		}
	}
}

// listPackages asks the go command for every package of the module. It also walks the tree, so that the go command's test
// cache, which sees what a test opens but not what a child of it opens, knows that the answer depends on all of it.
func listPackages(t *testing.T) []listed {
	t.Helper()
	parseHouse(t)
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports,Deps", "./...")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("go list ./...: %v\n%s", err, stderr.String())
	}
	var all []listed
	for d := json.NewDecoder(&stdout); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("read the answer of go list: %v", err)
		}
		all = append(all, p)
	}
	if len(all) < len(pure) {
		t.Fatalf("go list found %d packages, fewer than the pure ones alone", len(all))
	}
	return all
}

// under says whether an import path is root or lies below it.
func under(importPath, root string) bool {
	return importPath == root || strings.HasPrefix(importPath, root+"/")
}

// within says whether a room is one of those named; "x/..." names x and all below it.
func within(room string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		root, tree := strings.CutSuffix(name, "/...")
		return room == root || tree && under(room, root)
	})
}

// imported is the name by which the file calls an import path, "" when it does not import it.
func (f *file) imported(importPath string) string {
	for _, spec := range f.syntax.Imports {
		if strings.Trim(spec.Path.Value, `"`) != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}
