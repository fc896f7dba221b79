package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A file is one Go file of the house, parsed with its comments.
type file struct {
	path   string // from the module's root, with slashes
	room   string // its directory, "" for the root
	test   bool
	source []byte
	syntax *ast.File
	fset   *token.FileSet
}

// at is where a node stands, as path:line.
func (f *file) at(n ast.Node) string {
	return f.path + ":" + strconv.Itoa(f.fset.Position(n.Pos()).Line)
}

// parseHouse reads every Go file of the module. Like the go command it leaves out testdata and names that begin with a dot or
// an underscore.
func parseHouse(t *testing.T) []*file {
	t.Helper()
	var files []*file
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != "." && (base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(base) != ".go" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		slashed := filepath.ToSlash(name)
		files = append(files, &file{
			path: slashed, room: strings.TrimPrefix(path.Dir(slashed), "."), test: strings.HasSuffix(base, "_test.go"),
			source: source, syntax: syntax, fset: fset,
		})
		return nil
	})
	if err != nil {
		t.Fatalf("read the house: %v", err)
	}
	return files
}

// unclean are imports that a pure package does not have: clocks, chance, the outside, loggers.
var unclean = []string{
	"crypto/rand", "io/ioutil", "log", "math/rand", "net", "os", "syscall",
	"github.com/go-logr/logr", "k8s.io/client-go", "k8s.io/klog", "k8s.io/utils/clock", "k8s.io/apimachinery/pkg/util/rand", "k8s.io/apimachinery/pkg/util/wait",
}

// clocks are functions that read or turn a clock, by the package they belong to.
var clocks = map[string][]string{
	"time":                                 {"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"},
	"k8s.io/apimachinery/pkg/apis/meta/v1": {"Now", "NowMicro"},
}

// excused are the exceptions to [unclean], each with its reason: "room imports path".
var excused = map[string]string{
	"internal/clusterfile imports net/netip":                                            "addresses are values: it opens no socket",
	"scheduling imports github.com/go-logr/logr":                                        "a function of the scheduler takes a logger: it gets one that discards",
	"scheduling/internal/devices imports github.com/go-logr/logr":                       "as there",
	"scheduling/internal/fit imports github.com/go-logr/logr":                           "as there",
	"scheduling/internal/plugins imports github.com/go-logr/logr":                       "as there",
	"scheduling/internal/storage imports github.com/go-logr/logr":                       "as there",
	"scheduling/internal/devices imports k8s.io/client-go/informers":                    "the plugin for devices indexes a factory's pods when it is made: it has no client and nothing runs",
	"scheduling/internal/storage imports k8s.io/client-go/informers":                    "plugins take their listers from a factory: it has no client and nothing runs",
	"scheduling/internal/storage imports k8s.io/client-go/informers/core":               "a group of that factory",
	"scheduling/internal/storage imports k8s.io/client-go/informers/internalinterfaces": "names a function type of that factory",
	"scheduling/internal/storage imports k8s.io/client-go/informers/storage":            "a group of that factory",
	"scheduling/internal/storage imports k8s.io/client-go/tools/cache":                  "the stores that listers read",
}

// TestCoreHasNoClock keeps the pure packages functions of their arguments: same snapshot, same plan, today and on replay.
func TestCoreHasNoClock(t *testing.T) {
	found := map[string]int{}
	used := map[string]bool{}
	for _, f := range parseHouse(t) {
		if f.test || !slices.Contains(pure, f.room) {
			continue
		}
		found[f.room]++
		for _, spec := range f.syntax.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			if !slices.ContainsFunc(unclean, func(root string) bool { return under(imported, root) }) {
				continue
			}
			pair := f.room + " imports " + imported
			used[pair] = true
			if _, ok := excused[pair]; !ok {
				t.Errorf("%s: %s, but a pure package has no clock, no chance, no logger and nothing outside it", f.at(spec), pair)
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				of, ok := n.X.(*ast.Ident)
				for from, names := range clocks {
					if ok && of.Name == f.imported(from) && slices.Contains(names, n.Sel.Name) {
						t.Errorf("%s: %s.%s: the only clock of a pure package is the snapshot's time", f.at(n), of.Name, n.Sel.Name)
					}
				}
			case *ast.GoStmt:
				t.Errorf("%s: a pure package starts no goroutine", f.at(n))
			case *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
				t.Errorf("%s: a pure package has no channels", f.at(n))
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					t.Errorf("%s: a pure package waits for nothing", f.at(n))
				}
			}
			return true
		})
	}
	for _, room := range pure {
		if found[room] == 0 {
			t.Errorf("found no file of %s, so nothing of it was checked", room)
		}
	}
	for pair := range excused {
		if !used[pair] {
			t.Errorf("%q is excused and does not happen: take the excuse away", pair)
		}
	}
}

// TestEveryPackageIntroducesItself wants one package comment in each package, in the file that bears its name; for a main that
// is main.go.
func TestEveryPackageIntroducesItself(t *testing.T) {
	type pkg struct {
		name     string
		comments []string
	}
	packages := map[string]*pkg{}
	files := parseHouse(t)
	for _, f := range files {
		if !f.test && packages[f.room] == nil {
			packages[f.room] = &pkg{name: f.syntax.Name.Name}
		}
	}
	for _, f := range files {
		p := packages[f.room]
		if f.syntax.Doc == nil || p == nil {
			continue
		}
		p.comments = append(p.comments, f.path)
		if opening := "Package " + p.name + " "; p.name != "main" && !strings.HasPrefix(f.syntax.Doc.Text(), opening) {
			t.Errorf("%s: the package comment begins with %q", f.path, opening)
		}
	}
	for room, p := range packages {
		want := []string{room + "/" + p.name + ".go"}
		if !slices.Equal(p.comments, want) {
			t.Errorf("%s: package comments in %q, want one in %q", room, p.comments, want)
		}
	}
}

// mostLines is the length at which a file has stopped being one idea.
const mostLines = 600

// TestFilesStayShort refuses files that nobody reads to their end.
func TestFilesStayShort(t *testing.T) {
	for _, f := range parseHouse(t) {
		if n := bytes.Count(f.source, []byte("\n")); n > mostLines {
			t.Errorf("%s has %d lines (most %d): is each part of it one idea?", f.path, n, mostLines)
		}
	}
}

// promise finds words that put work off. They are written in halves here so that this file passes.
var promise = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)

// TestNothingIsPutOff refuses notes to finish something later: it works, or it is not there.
func TestNothingIsPutOff(t *testing.T) {
	for _, f := range parseHouse(t) {
		for i, line := range bytes.Split(f.source, []byte("\n")) {
			if word := promise.Find(line); word != nil {
				t.Errorf("%s:%d: %s", f.path, i+1, word)
			}
		}
	}
}

// property is the id of a promise in the safety contract.
var property = regexp.MustCompile(`\bS-[0-9]{2}\b`)

// TestCitedPropertiesAreWrittenDown wants every property of the safety contract that code speaks of explained to its readers.
func TestCitedPropertiesAreWrittenDown(t *testing.T) {
	contract, err := os.ReadFile("docs/safety.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range parseHouse(t) {
		for i, line := range bytes.Split(f.source, []byte("\n")) {
			for _, id := range property.FindAll(line, -1) {
				if !bytes.Contains(contract, []byte("| "+string(id)+" |")) && !bytes.Contains(contract, []byte("\n- "+string(id)+": ")) {
					t.Errorf("%s:%d: %s is not in docs/safety.md", f.path, i+1, id)
				}
			}
		}
	}
}
