package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A unit is one package of the program, parsed and type-checked without its tests.
type unit struct {
	room  string
	files []*ast.File
	info  *types.Info
}

// A program is what a main of ours links of our own packages. Objects of different units are different values even where they are the same
// thing: compare their full names.
type program struct {
	fset  *token.FileSet
	units []*unit
}

// at is where something stands, as path:line from the module's root.
func (p *program) at(pos token.Pos) string {
	at := p.fset.Position(pos)
	if here, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(here, at.Filename); err == nil {
			at.Filename = filepath.ToSlash(short)
		}
	}
	at.Column = 0
	return at.String()
}

// loadProgram type-checks our packages that a main links, but for the rooms left out. What they import is read from the compiler's export
// data, which the build cache has.
func loadProgram(t *testing.T, main string, without ...string) *program {
	t.Helper()
	parseHouse(t) // tells the test cache that the answer depends on all of the tree
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles", "./"+main)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("go list -export ./%s: %v\n%s", main, err, stderr.String())
	}
	type compiled struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
	}
	exports := map[string]string{}
	var ours []compiled
	for d := json.NewDecoder(&stdout); ; {
		var c compiled
		if err := d.Decode(&c); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("read the answer of go list: %v", err)
		}
		exports[c.ImportPath] = c.Export
		if room, ok := strings.CutPrefix(c.ImportPath, module); ok && !within(room, without...) {
			ours = append(ours, c)
		}
	}
	p := &program{fset: token.NewFileSet()}
	from := importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, c := range ours {
		u := &unit{room: strings.TrimPrefix(c.ImportPath, module), info: &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		}}
		for _, name := range c.GoFiles {
			f, err := parser.ParseFile(p.fset, filepath.Join(c.Dir, name), nil, parser.SkipObjectResolution|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			u.files = append(u.files, f)
		}
		if _, err := (&types.Config{Importer: from}).Check(c.ImportPath, p.fset, u.files, u.info); err != nil {
			t.Fatalf("type-check %s: %v", u.room, err)
		}
		p.units = append(p.units, u)
	}
	return p
}

// name is a function's full name without the module's path, such as "(*internal/actuate.Actuator).grow".
func name(f *types.Func) string { return strings.ReplaceAll(f.Origin().FullName(), module, "") }

// signature is what a method takes and returns, without its receiver: two methods with one name and one signature can stand for each other
// behind an interface.
func signature(f *types.Func) string {
	s := f.Origin().Signature()
	unnamed := func(of *types.Tuple) *types.Tuple {
		var vars []*types.Var
		for v := range of.Variables() {
			vars = append(vars, types.NewParam(v.Pos(), nil, "", v.Type()))
		}
		return types.NewTuple(vars...)
	}
	return types.TypeString(types.NewSignatureType(nil, nil, nil, unnamed(s.Params()), unnamed(s.Results()), s.Variadic()), nil)
}

// pathOf is the import path of a function's package, "" for the universe's.
func pathOf(f *types.Func) string {
	if f.Pkg() == nil {
		return ""
	}
	return f.Pkg().Path()
}

// inspect walks a tree and hands each node over with those that it stands in, the innermost last.
func inspect(root ast.Node, visit func(n ast.Node, stack []ast.Node)) {
	var stack []ast.Node
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		visit(n, stack)
		stack = append(stack, n)
		return true
	})
}

// interfaceMethod says whether an object is a method of an interface.
func interfaceMethod(f *types.Func) bool {
	recv := f.Signature().Recv()
	return recv != nil && types.IsInterface(recv.Type())
}

// containsAny says whether any of the words is in s.
func containsAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}
