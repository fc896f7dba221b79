package house

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// asked is the guard's type of the write that was allowed before the node is reached, "" when none was for certain: in the same function,
// a statement before it, or before one that it stands in, asks the guard and returns unless the answer is nil. A function literal is run who
// knows when, so that a question before it counts for nothing, unless it is handed to a function that asks right before it runs it.
func asked(u *unit, n ast.Node, stack []ast.Node, senders map[string]bool) string {
	inner := n
	for i := len(stack) - 1; i >= 0; i-- {
		var list []ast.Stmt
		switch outer := stack[i].(type) {
		case *ast.FuncLit:
			return handed(u, outer, stack[:i], senders)
		case *ast.BlockStmt:
			list = outer.List
		case *ast.CaseClause:
			list = outer.Body
		case *ast.CommClause:
			list = outer.Body
		case *ast.GoStmt, *ast.DeferStmt:
			return "" // later
		}
		at := slices.IndexFunc(list, func(s ast.Stmt) bool { return s == inner })
		if write := allowed(u, list[:max(at, 0)]); write != "" {
			return write
		}
		inner = stack[i]
	}
	return ""
}

// allowed is the write that the last of the statements' questions to the guard is about, when they return unless it was allowed.
func allowed(u *unit, list []ast.Stmt) string {
	write := ""
	var answer types.Object
	for i, s := range list {
		switch s := s.(type) {
		case *ast.IfStmt:
			w, o := question(u, s.Init)
			if w != "" && refuses(u, s, o) {
				write, answer = w, nil
			}
			if answer != nil && s.Init == nil && refuses(u, s, answer) {
				write, _ = question(u, list[slices.IndexFunc(list[:i], func(s ast.Stmt) bool { w, _ := question(u, s); return w != "" })])
				answer = nil
			}
		case *ast.AssignStmt:
			if w, o := question(u, s); w != "" {
				answer = o
			} else if answer != nil && slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool { return object(u, e) == answer }) {
				answer = nil
			}
		}
	}
	return write
}

// question is the type of write that a statement asks the guard about, and the variable that has the answer.
func question(u *unit, s ast.Stmt) (string, types.Object) {
	assign, ok := s.(*ast.AssignStmt)
	if !ok || len(assign.Rhs) != 1 || len(assign.Lhs) != 1 {
		return "", nil
	}
	call, ok := assign.Rhs[0].(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", nil
	}
	verb, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", nil
	}
	f, ok := u.info.Uses[verb.Sel].(*types.Func)
	if !ok || pathOf(f) != module+"guard" || !strings.HasPrefix(f.Name(), "Check") {
		return "", nil
	}
	return writeOf(u, call.Args[0]), object(u, assign.Lhs[0])
}

// writeOf is the name of the guard's type of an expression: "Write" for one that is known to be a write alone.
func writeOf(u *unit, e ast.Expr) string {
	w := types.TypeString(u.info.TypeOf(e), nil)
	return w[strings.LastIndex(w, ".")+1:]
}

// refuses says whether the statement returns whenever the answer is not nil.
func refuses(u *unit, s *ast.IfStmt, answer types.Object) bool {
	cond, ok := s.Cond.(*ast.BinaryExpr)
	if !ok || cond.Op != token.NEQ || answer == nil || object(u, cond.X) != answer || len(s.Body.List) == 0 {
		return false
	}
	if none, ok := cond.Y.(*ast.Ident); !ok || none.Name != "nil" {
		return false
	}
	_, returns := s.Body.List[len(s.Body.List)-1].(*ast.ReturnStmt)
	return returns
}

// object is the variable that an expression names, nil for anything else.
func object(u *unit, e ast.Expr) types.Object {
	id, ok := e.(*ast.Ident)
	if !ok {
		return nil
	}
	if o := u.info.Defs[id]; o != nil {
		return o
	}
	return u.info.Uses[id]
}

// handed is the write that a function literal is about which is an argument of a sender, "" for any other.
func handed(u *unit, literal *ast.FuncLit, stack []ast.Node, senders map[string]bool) string {
	call, ok := stack[len(stack)-1].(*ast.CallExpr)
	if !ok || !slices.Contains(call.Args, ast.Expr(literal)) {
		return ""
	}
	verb, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	f, ok := u.info.Uses[verb.Sel].(*types.Func)
	if !ok || !senders[name(f)] {
		return ""
	}
	return writeOf(u, call.Args[writeAt(f.Signature().Params())])
}

// writeAt is where parameters have a write that stands first, or first behind a context; -1 when none does.
func writeAt(params *types.Tuple) int {
	for i := range min(2, params.Len()) {
		switch types.TypeString(params.At(i).Type(), nil) {
		case module + "guard.Write":
			return i
		case "context.Context":
		default:
			return -1
		}
	}
	return -1
}

// sends says whether a function takes a write first and a function besides, which it only ever calls after the guard allowed the write.
func sends(u *unit, fn *ast.FuncDecl) bool {
	params := u.info.Defs[fn.Name].(*types.Func).Signature().Params()
	if writeAt(params) < 0 {
		return false
	}
	takes, good := false, true
	inspect(fn.Body, func(n ast.Node, stack []ast.Node) {
		id, ok := n.(*ast.Ident)
		if !ok {
			return
		}
		o := u.info.Uses[id]
		for i := range params.Len() {
			if _, function := params.At(i).Type().Underlying().(*types.Signature); !function || o != params.At(i) {
				continue
			}
			takes = true
			call, called := stack[len(stack)-1].(*ast.CallExpr)
			good = good && called && call.Fun == ast.Expr(id) && asked(u, n, stack, nil) == "Write"
		}
	})
	return takes && good
}
