package house

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"
)

// Verbs of clients, by the names that their libraries give them.
var (
	kubernetesWrites = []string{
		"Create", "Update", "UpdateStatus", "Patch", "PatchStatus", "Delete", "DeleteCollection", "Apply", "ApplyStatus", "Evict", "EvictV1", "EvictV1beta1", "Bind",
		"ApplyScale", "UpdateScale", "CreateToken", "UpdateApproval", "UpdateEphemeralContainers", "UpdateResize", "Finalize",
	}
	restWrites  = []string{"Post", "Put", "Patch", "Delete", "Verb"}
	azureReads  = []string{"Get", "List", "New"}
	writeOption = []string{"meta/v1.CreateOptions", "meta/v1.UpdateOptions", "meta/v1.PatchOptions", "meta/v1.DeleteOptions", "meta/v1.ApplyOptions", "client-go/rest.Request"}
)

// writers are packages that write or run something when one asks them to, as a whole.
var writers = []string{
	"k8s.io/client-go/tools/leaderelection", "k8s.io/client-go/tools/record", "k8s.io/client-go/tools/events", "k8s.io/client-go/dynamic", "k8s.io/client-go/scale",
	"k8s.io/kubectl", "os/exec", "plugin", "net/rpc", "net/smtp",
}

// primitive says what a use of a function that is not ours can change outside of this process, "" for nothing. A request is known by its
// making: sending one that only reads is reading.
func primitive(u *unit, f *types.Func, stack []ast.Node) string {
	path, method := pathOf(f), f.Name()
	switch {
	case slices.ContainsFunc(writers, func(w string) bool { return under(path, w) }):
		return path + "." + method
	case under(path, "k8s.io/client-go/rest") && slices.Contains(restWrites, method):
		return "a request of client-go"
	case slices.Contains(kubernetesWrites, method) && f.Signature().Recv() != nil && containsAny(signature(f), writeOption...):
		return "Kubernetes " + method // by its signature, so that an interface of anybody's with this method counts, too
	case slices.Contains(restWrites, method) && f.Signature().Recv() != nil && strings.HasSuffix(signature(f), "*k8s.io/client-go/rest.Request"):
		return "a request of client-go"
	case makes(f):
		if !asksOnly(u, stack) {
			return "an HTTP request"
		}
	case path == "net/http" && (method == "Post" || method == "PostForm"), strings.HasSuffix(path, "/azcore/runtime") && method == "NewRequestFromRequest":
		return "an HTTP request"
	case path == "net" && strings.HasPrefix(method, "Dial"), path == "crypto/tls" && strings.HasPrefix(method, "Dial"):
		return "a connection"
	case path == "google.golang.org/grpc" && (method == "Invoke" || method == "NewStream"):
		return "a gRPC call"
	case strings.Contains(path, "/sdk/resourcemanager/") && f.Signature().Recv() != nil && strings.HasSuffix(types.TypeString(f.Signature().Recv().Type(), nil), "Client"):
		if !slices.ContainsFunc(azureReads, func(verb string) bool { return strings.HasPrefix(method, verb) }) && !resumes(stack) {
			return "Azure " + method
		}
	case path == "reflect" && (strings.HasPrefix(method, "Method") || strings.HasPrefix(method, "Call")):
		return "a call by reflection"
	case path == "syscall" && (method == "Exec" || method == "ForkExec" || method == "StartProcess"), path == "os" && method == "StartProcess":
		return "a process"
	}
	return ""
}

// makes says whether a function makes an HTTP request with the method that it is given.
func makes(f *types.Func) bool {
	path := pathOf(f)
	return path == "net/http" && (f.Name() == "NewRequest" || f.Name() == "NewRequestWithContext") || strings.HasSuffix(path, "/azcore/runtime") && f.Name() == "NewRequest"
}

// carries says whether a function only makes HTTP requests with a method that is one of its own parameters: who calls it says what they are.
func carries(u *unit, fn *ast.FuncDecl) bool {
	params := u.info.Defs[fn.Name].(*types.Func).Signature().Params()
	some, all := false, true
	inspect(fn.Body, func(n ast.Node, stack []ast.Node) {
		id, ok := n.(*ast.Ident)
		if !ok {
			return
		}
		f, ok := u.info.Uses[id].(*types.Func)
		if !ok || !makes(f) || asksOnly(u, stack) {
			return
		}
		some = true
		call := callOf(stack)
		all = all && call != nil && slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
			for p := range params.Variables() {
				if object(u, arg) == p && types.TypeString(p.Type(), nil) == "string" {
					return true
				}
			}
			return false
		})
	})
	return some && all
}

// asksOnly says whether the call that a function's name stands in makes a request with the constant method GET or HEAD.
func asksOnly(u *unit, stack []ast.Node) bool {
	call := callOf(stack)
	if call == nil {
		return false
	}
	for _, arg := range call.Args {
		if v := u.info.Types[arg].Value; v != nil && v.Kind() == constant.String {
			return constant.StringVal(v) == "GET" || constant.StringVal(v) == "HEAD"
		}
	}
	return false
}

// resumes says whether the call only takes up again, by its token, what was asked for before: the SDK then sends nothing but questions.
func resumes(stack []ast.Node) bool {
	call := callOf(stack)
	if call == nil || len(call.Args) == 0 {
		return false
	}
	options, ok := call.Args[len(call.Args)-1].(*ast.UnaryExpr)
	if !ok {
		return false
	}
	literal, ok := options.X.(*ast.CompositeLit)
	return ok && slices.ContainsFunc(literal.Elts, func(e ast.Expr) bool {
		pair, ok := e.(*ast.KeyValueExpr)
		return ok && types.ExprString(pair.Key) == "ResumeToken"
	})
}

// callOf is the call whose function the innermost selector of the stack names, nil when it is named without being called.
func callOf(stack []ast.Node) *ast.CallExpr {
	for i := len(stack) - 1; i > 0; i-- {
		switch n := stack[i].(type) {
		case *ast.SelectorExpr, *ast.IndexExpr, *ast.IndexListExpr:
			if call, ok := stack[i-1].(*ast.CallExpr); ok && call.Fun == n {
				return call
			}
		default:
			return nil
		}
	}
	return nil
}

// madeByHand says whether a node makes or changes a request without a function's help: the method would go unseen.
func madeByHand(u *unit, n ast.Node) bool {
	is := func(e ast.Expr) bool {
		t := u.info.TypeOf(e)
		return t != nil && strings.TrimPrefix(types.TypeString(t, nil), "*") == "net/http.Request"
	}
	switch n := n.(type) {
	case *ast.CompositeLit:
		return is(n)
	case *ast.AssignStmt:
		return slices.ContainsFunc(n.Lhs, func(e ast.Expr) bool {
			field, ok := e.(*ast.SelectorExpr)
			return ok && field.Sel.Name == "Method" && is(field.X)
		})
	}
	return false
}
