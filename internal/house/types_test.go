package house

import (
	"go/ast"
	"testing"
)

const (
	mostMethods = 60 // of one receiver
	mostFields  = 20 // of one struct that its methods change; a record that they only read may have more
)

// What is above a bound today, with what it has, which may only fall.
var (
	overMethods = map[string]int{}
	overFields  = map[string]int{"internal/azuresim.Server": 44} // 29 of them are what its users set
)

// A kind is a struct of one package, with what hangs on it.
type kind struct {
	at                      string
	methods, fields, writes int // writes: the statements of its methods that change a field of it
}

// TestTypesAreSmall has each type be small enough to be read as one thing, in all packages of the module.
func TestTypesAreSmall(t *testing.T) {
	kinds := map[string]*kind{}
	of := func(f *file, name string) *kind {
		key := f.room + "." + name
		if kinds[key] == nil {
			kinds[key] = &kind{}
		}
		return kinds[key]
	}
	for _, f := range parseHouse(t) {
		if f.test {
			continue
		}
		for _, decl := range f.syntax.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if name, self := receiver(decl); name != "" {
					k := of(f, name)
					k.methods++
					if _, pointed := decl.Recv.List[0].Type.(*ast.StarExpr); pointed {
						k.writes += writes(decl.Body, self)
					}
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						k := of(f, spec.Name.Name)
						k.at = f.at(spec)
						if s, ok := spec.Type.(*ast.StructType); ok {
							k.fields = s.Fields.NumFields()
						}
					}
				}
			}
		}
	}
	for name, k := range kinds {
		bound(t, name, k, "methods", k.methods, mostMethods, overMethods)
		if k.writes > 0 {
			bound(t, name, k, "fields", k.fields, mostFields, overFields)
		}
	}
	for _, over := range []map[string]int{overMethods, overFields} {
		for name := range over {
			if kinds[name] == nil {
				t.Errorf("%s is named here, and is not there", name)
			}
		}
	}
}

func bound(t *testing.T, name string, k *kind, what string, n, most int, over map[string]int) {
	t.Helper()
	if known, is := over[name]; is {
		most = known
		if n < known {
			t.Errorf("%s: %s is named with %d %s, and has %d: write that", k.at, name, known, what, n)
		}
	}
	if n > most {
		t.Errorf("%s: %s has %d %s (limit %d): give some of them a type of their own", k.at, name, n, what, most)
	}
}

// receiver is the type that a method is of, and what the method calls it; "" for what is no method.
func receiver(f *ast.FuncDecl) (name, self string) {
	if f.Recv == nil {
		return "", ""
	}
	if names := f.Recv.List[0].Names; len(names) > 0 {
		self = names[0].Name
	}
	id, _ := root(f.Recv.List[0].Type).(*ast.Ident)
	return id.Name, self
}

// writes counts the statements that change a field of self, or what it holds.
func writes(body ast.Node, self string) (n int) {
	changes := func(x ast.Expr) {
		field := false
		for {
			if sel, ok := x.(*ast.SelectorExpr); ok {
				x, field = sel.X, true
			} else if id, ok := root(x).(*ast.Ident); ok {
				if field && id.Name == self {
					n++
				}
				return
			} else if x = root(x); x == nil {
				return
			} else if _, ok := x.(*ast.SelectorExpr); !ok {
				return
			}
		}
	}
	ast.Inspect(body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.AssignStmt:
			for _, x := range node.Lhs {
				changes(x)
			}
		case *ast.IncDecStmt:
			changes(node.X)
		}
		return true
	})
	return n
}

// root is what stands under stars, brackets and type arguments.
func root(x ast.Expr) ast.Expr {
	for {
		switch at := x.(type) {
		case *ast.StarExpr:
			x = at.X
		case *ast.ParenExpr:
			x = at.X
		case *ast.IndexExpr:
			x = at.X
		case *ast.IndexListExpr:
			x = at.X
		default:
			return x
		}
	}
}
