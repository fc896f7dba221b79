package house_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Bounds of a package, for those that decide. What is above one today is named below, and may only fall.
const (
	mostUpward = 0.20   // of the arrows between the files of a package
	mostCode   = 17_500 // lines of all of them, without comments and blanks: a new rule has room, a second decision has none

	leastComments = 16 // percent of the lines of all of them, blanks apart
)

var overWritten = []string{} // fields

// shape is what a package looks like from outside its functions.
type shape struct {
	name    string
	methods map[string]int             // by receiver
	fields  map[string]int             // by struct with methods
	written map[string]map[string]bool // files that write a field outside of a literal
	arrows  map[[2]string]string       // from a file to one whose declarations it uses, and one of these
}

// TestShapeOfTheDecision holds the packages that decide to bounds, so that each can be read alone. It prints them: make house.
func TestShapeOfTheDecision(t *testing.T) {
	total, said := 0, 0
	for _, p := range load(t, "./plan/...", "./scheduling/...", "./policy") {
		s := shapeOf(p)
		_, up := s.order()
		code, comments := p.lines(t)
		total, said = total+code, said+comments
		t.Logf("%-12s %5d lines of code, %2d %% comments, %2d files, %2d arrows between them, %2d back up; %s", s.name, code, 100*comments/(code+comments), len(p.files), len(s.arrows), len(up), s.largest())
		s.hold(t, up)
	}
	t.Logf("together %d lines of code (limit %d), %d %% comments (limit %d)", total, mostCode, 100*said/(total+said), leastComments)
	if 100*said < leastComments*(total+said) {
		t.Errorf("the packages that decide have %d lines of comments, less than %d %% of %d", said, leastComments, total+said)
	}
	if total > mostCode {
		t.Errorf("the packages that decide have %d lines of code (limit %d)", total, mostCode)
	}
}

// lines counts the lines of code and of comments.
func (p *pack) lines(t *testing.T) (code, comments int) {
	t.Helper()
	for _, f := range p.files {
		src, err := os.ReadFile(p.fset.Position(f.Pos()).Filename)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(src)) {
			switch line = strings.TrimSpace(line); {
			case strings.HasPrefix(line, "//"):
				comments++
			case line != "":
				code++
			}
		}
	}
	return code, comments
}

func (s *shape) hold(t *testing.T, up [][2]string) {
	t.Helper()
	for field, files := range s.written {
		switch known := slices.Contains(overWritten, field); {
		case len(files) > 1 && !known:
			t.Errorf("%s is written in %s: one file is to write a field", field, strings.Join(slices.Sorted(maps.Keys(files)), ", "))
		case len(files) == 1 && known:
			t.Errorf("%s is written in one file now: take it out of overWritten", field)
		}
	}
	if len(s.arrows) > 10 && float64(len(up)) > mostUpward*float64(len(s.arrows)) {
		t.Errorf("%s: %d of %d arrows between files run back up (limit %.0f %%)", s.name, len(up), len(s.arrows), 100*mostUpward)
		for _, a := range up {
			t.Logf("  %s -> %s:%s", a[0], a[1], s.arrows[a])
		}
	}
}

// largest says which receiver has the most methods.
func (s *shape) largest() string {
	if len(s.methods) == 0 {
		return "no methods"
	}
	name := slices.MaxFunc(slices.Sorted(maps.Keys(s.methods)), func(a, b string) int { return s.methods[a] - s.methods[b] })
	return fmt.Sprintf("%s has %d methods, %d fields", name, s.methods[name], s.fields[name])
}

// pack is a package with its types, without its tests.
type pack struct {
	fset  *token.FileSet
	types *types.Package
	info  *types.Info
	files []*ast.File
}

// load type-checks packages against what the compiler exported of those that they import.
func load(t *testing.T, patterns ...string) (all []*pack) {
	t.Helper()
	listed := func(args ...string) [][]string {
		out, err := exec.CommandContext(t.Context(), "go", append(append([]string{"list"}, args...), patterns...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		var rows [][]string
		for line := range strings.Lines(string(out)) {
			rows = append(rows, strings.Fields(line))
		}
		return rows
	}
	exported := map[string]string{}
	for _, row := range listed("-deps", "-export", "-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}") {
		if len(row) == 2 {
			exported[row[0]] = row[1]
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exported[path]) })
	for _, row := range listed("-f", "{{.ImportPath}} {{.Dir}} {{range .GoFiles}} {{.}}{{end}}") {
		p := &pack{fset: fset, info: &types.Info{
			Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{},
		}}
		for _, name := range row[2:] {
			f, err := parser.ParseFile(fset, filepath.Join(row[1], name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			p.files = append(p.files, f)
		}
		var err error
		if p.types, err = (&types.Config{Importer: imports}).Check(row[0], fset, p.files, p.info); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func shapeOf(p *pack) *shape {
	s := &shape{name: p.types.Name(), methods: map[string]int{}, fields: map[string]int{}, written: map[string]map[string]bool{}, arrows: map[[2]string]string{}}
	fileOf := func(n ast.Node) string { return filepath.Base(p.fset.Position(n.Pos()).Filename) }
	home := map[types.Object]string{}
	for id, obj := range p.info.Defs {
		if obj != nil && obj.Pkg() == p.types {
			home[obj] = fileOf(id)
		}
	}
	for _, f := range p.files {
		name := fileOf(f)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil {
					s.methods[p.types.Name()+"."+receiver(n)]++
				}
			case *ast.Ident:
				obj := p.info.Uses[n]
				if fn, ok := obj.(*types.Func); ok {
					obj = fn.Origin()
				}
				if to, here := home[obj]; here && to != name && top(obj) {
					s.arrows[[2]string{name, to}] += " " + obj.Name()
				}
			case *ast.AssignStmt:
				for _, x := range n.Lhs {
					s.writes(p, name, x)
				}
			case *ast.IncDecStmt:
				s.writes(p, name, n.X)
			}
			return true
		})
	}
	for _, name := range p.types.Scope().Names() {
		if st, ok := p.types.Scope().Lookup(name).Type().Underlying().(*types.Struct); ok && s.methods[p.types.Name()+"."+name] > 0 {
			s.fields[p.types.Name()+"."+name] = st.NumFields()
		}
	}
	return s
}

// top says whether something is declared at the top of a file: a function, a method or a type. Fields and constants are not arrows.
func top(obj types.Object) bool {
	switch obj := obj.(type) {
	case *types.Func:
		return true
	case *types.TypeName:
		return obj.Parent() == obj.Pkg().Scope()
	}
	return false
}

func receiver(f *ast.FuncDecl) string {
	x := f.Recv.List[0].Type
	if s, ok := x.(*ast.StarExpr); ok {
		x = s.X
	}
	switch i := x.(type) {
	case *ast.IndexExpr:
		x = i.X
	case *ast.IndexListExpr:
		x = i.X
	}
	return x.(*ast.Ident).Name
}

// writes notes a field that is assigned to, or an element of a map or slice in one.
func (s *shape) writes(p *pack, file string, x ast.Expr) {
	for {
		switch at := x.(type) {
		case *ast.IndexExpr:
			x = at.X
			continue
		case *ast.StarExpr:
			x = at.X
			continue
		case *ast.ParenExpr:
			x = at.X
			continue
		case *ast.SelectorExpr:
			sel := p.info.Selections[at]
			if sel == nil || sel.Kind() != types.FieldVal {
				return
			}
			owner := sel.Recv()
			if ptr, ok := owner.(*types.Pointer); ok {
				owner = ptr.Elem()
			}
			field := sel.Obj().(*types.Var)
			if named, ok := owner.(*types.Named); ok && field.Pkg() == p.types && s.methods[p.types.Name()+"."+named.Obj().Name()] >= 0 {
				key := p.types.Name() + "." + named.Obj().Name() + "." + field.Name()
				if s.written[key] == nil {
					s.written[key] = map[string]bool{}
				}
				s.written[key][file] = true
			}
		}
		return
	}
}

// order puts the files into an order in which few arrows run back up: each file moves to where it has fewest, until none gains by moving; and those arrows.
func (s *shape) order() (files []string, up [][2]string) {
	named := map[string]bool{}
	for a := range s.arrows {
		named[a[0]], named[a[1]] = true, true
	}
	balance := map[string]int{} // what it uses, less what uses it
	for a := range s.arrows {
		balance[a[0]]++
		balance[a[1]]--
	}
	files = slices.SortedFunc(maps.Keys(named), func(a, b string) int { return cmp.Or(balance[b]-balance[a], cmp.Compare(a, b)) })
	for best := len(s.upward(files)); ; {
		before := best
		for _, f := range slices.Clone(files) {
			rest := slices.DeleteFunc(slices.Clone(files), func(g string) bool { return g == f })
			for i := range files {
				if moved := slices.Insert(slices.Clone(rest), i, f); len(s.upward(moved)) < best {
					files, best = moved, len(s.upward(moved))
				}
			}
		}
		if best == before {
			return files, s.upward(files)
		}
	}
}

// upward are the arrows that run back up where files stand in this order.
func (s *shape) upward(files []string) (up [][2]string) {
	at := map[string]int{}
	for i, f := range files {
		at[f] = i
	}
	for a := range s.arrows {
		if at[a[0]] > at[a[1]] {
			up = append(up, a)
		}
	}
	slices.SortFunc(up, func(a, b [2]string) int { return cmp.Compare(a[0]+a[1], b[0]+b[1]) })
	return up
}
