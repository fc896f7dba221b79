package house

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// simulators are the rooms of the product's binary that play the world: what they write, they write to themselves. Only cmd/sluice imports
// them, for sluice simulate.
var simulators = []string{"internal/world", "internal/observer", "internal/proof", "internal/azuresim/...", "internal/kubesim"}

// verbs are the functions by which sluice changes a cloud or a cluster, with the writes that the guard is asked about before.
var verbs = map[string][]string{
	"(cloud.Provider).SetCapacity":               {"Grow"},
	"(cloud.Provider).DeleteInstances":           {"Delete"},
	"(*internal/azure.Provider).SetCapacity":     {"Grow"},
	"(*internal/azure.Provider).DeleteInstances": {"Delete"},
	"(internal/kube.Writer).Cordon":              {"Cordon"},
	"(internal/kube.Writer).Mark":                {"Mark"},
	"(internal/kube.Writer).Uncordon":            {"Uncordon"},
	"(internal/kube.Writer).CandidateTaint":      {"CandidateTaint"},
	"(internal/kube.Writer).CandidateUntaint":    {"CandidateUntaint"},
	"(internal/kube.Writer).Evict":               {"Evict", "Expel"},
	"(internal/kube.Writer).DeleteNode":          {"DeleteNode"},
	"(internal/kube.Writer).OpenGate":            {"OpenGate"},
	"(internal/kube.Writer).AnswerRequest":       {"Answer"},
	"(internal/kube.Writer).AnswerBuffer":        {"Answer"},
	"(internal/kube.Writer).Announce":            {"Announce"},
	"(internal/kube.Writer).AnswerNotice":        {"AnswerNotice"},
	"(internal/kube.Writer).ForgetNotice":        {"AnswerNotice"},
	"(internal/kube.Writer).Withdraw":            {"Withdraw"},
	"(internal/agent.Metadata).Agree":            {"Agree"},
	"(*internal/imds.Client).Agree":              {"Agree"},
}

// hands are functions that write and ask no guard, each with its reason. They are no decisions about machines.
var hands = map[string]string{
	"(internal/kube.Operator).Pause":       "a person's own annotation, with that person's rights: sluice pause and resume",
	"(internal/kube.Operator).Hold":        "a person's own annotation: sluice hold and release",
	"(internal/kube.Operator).Drain":       "a person's own annotation: sluice drain and undrain; the leader's guard judges what comes of it",
	"(internal/kube.Operator).Acknowledge": "a person's own annotation: sluice acknowledge; the leader's guard judges what comes of it",
	"(internal/kube.Operator).Release":     "a person's sluice uninstall, or the end of a process that hands back: marks go, nothing is taken from anybody",
	"(internal/kube.Operator).unpause":     "sluice uninstall takes pauses and acknowledgements away",
	"(internal/kube.Operator).clearStatus": "sluice uninstall takes the status ConfigMap away",
	"(internal/kube.Operator).dropLease":   "sluice uninstall takes a lease away that nobody holds",
	"internal/kube.Granted":                "the API server is asked what sluice may do; the question is not kept",
	"(*internal/report.Events).create":     "Events tell what was done",
	"(*internal/report.Status).put":        "the status ConfigMap tells how things stand",
	"internal/app.term":                    "the Lease by which replicas choose the one that acts",
	"(*internal/app.dated).Get":            "the same Lease, read",
	"(*internal/app.dated).Create":         "the same Lease, with the time at which it ends (S-23)",
	"(*internal/app.dated).Update":         "the same Lease, renewed",
	"(*internal/app.dated).release":        "the same Lease, given back",
	"internal/app.whoAsks":                 "doctor asks the API server who is asking; the question is not kept",
	"(*internal/app.access).ask":           "the API server is asked whom a token belongs to and what he may read; neither question is kept",
	"(*internal/join.cluster).keep":        "the record of a machine that joins: what it was given",
	"(*internal/join.cluster).create":      "a bootstrap token for one machine that has proved which it is",
	"(*internal/join.cluster).end":         "the same token, at its end",
	"(*internal/join.cluster).forget":      "the record of a machine that is too old to be given anything",
	"(*internal/join.cluster).approve":     "the decision on a request for the certificate of a machine's own node",
	"(*internal/join.cluster).tell":        "an Event tells a person why machines do not join",
	"(*internal/expander.Client).Best":     "a question to the operator's own expander",
	"(*internal/azure.diagnostics).logAt":  "Azure is asked where a machine's boot log is read, which it counts as an action; nothing changes",
	"(*internal/azure.Resources).once":     "a person's sluice cluster, with that person's rights: the loop has no Resources",
	"(*internal/azure.Resources).whole":    "the same, followed to its end",
	"(*internal/certify.Lab).once":         "a person's sluice certify, with that person's rights, in a resource group of its own: the loop has no Resources",
	"cmd/sluice.azAccount":                 "az is asked whom it has signed in",
	"(*cmd/sluice.builder).found":          "az is looked for on this machine",
	"(*internal/azure.standard).carryOn":   "what a removal that the guard allowed has left: tagged interfaces and disks without a machine, records of old deployments (S-37)",
}

// askers are the only rooms that may hold a verb.
var askers = []string{"internal/actuate", "internal/agent"}

// A use is one mention of a function in the body of another one.
type use struct {
	by, of string // names
	at     string
	write  string // the guard's type of write that was asked about before, "" when the guard was not asked
}

// A call graph of our own packages by names, with what can change the outside.
type graph struct {
	uses    []use
	doors   map[string]string   // functions that use something that writes, with what and where
	carries map[string]bool     // functions that make a request with the method that they are given
	methods map[string][]string // concrete methods by name and signature
	behind  map[string]string   // methods of interfaces, by name, with name and signature
	rooms   map[string]string   // where a function stands
}

// TestThereIsOneDoor shows over the type-checked program that nothing that can change Azure or Kubernetes is reachable but through verbs
// that actuate or the agent uses, each right after the guard allowed a write of that kind; and through the named hands. A use is a mention:
// a method value that is handed on, a method behind an interface of any package, and a request built by hand count as a call does.
func TestThereIsOneDoor(t *testing.T) {
	p := loadProgram(t, "cmd/sluice", simulators...)
	g := newGraph(t, p)
	open := g.reach()
	met := map[string]bool{}
	for _, f := range slices.Sorted(maps.Keys(open)) {
		switch _, verb := verbs[f]; {
		case verb:
			met[f] = true
		case within(g.rooms[f], "internal/kube", "internal/azure", "internal/imds") && !exported(f):
			// how a verb does it
		default:
			t.Errorf("%s writes, and nobody asked the guard: %s", f, open[f])
		}
	}
	for f := range verbs {
		if !met[f] {
			t.Errorf("%s is listed as a verb and changes nothing: take it off the list", f)
		}
	}
	for f := range hands {
		if !g.used(f) {
			t.Errorf("%s is listed as a hand and writes nothing: take it off the list", f)
		}
	}
	for _, u := range g.uses {
		if u.write == "" {
			continue
		}
		if _, verb := verbs[u.of]; verb && !slices.Contains(verbs[u.of], u.write) {
			t.Errorf("%s: %s is sent after the guard was asked about a write of another kind, %s", u.at, u.of, u.write)
		}
		if _, verb := verbs[u.of]; verb && !within(g.rooms[u.by], askers...) {
			t.Errorf("%s: %s holds the verb %s; only %v do", u.at, u.by, u.of, askers)
		}
	}
}

// TestNoWriteIsReachableFromTheWeb follows everything that the web's functions mention, and those of the agent's port, through interfaces as well, to the end: there is no function that
// writes, guarded or not, but for the question who may read.
func TestNoWriteIsReachableFromTheWeb(t *testing.T) {
	g := newGraph(t, loadProgram(t, "cmd/sluice", simulators...))
	var next []string
	way := map[string]string{}
	for f, room := range g.rooms {
		if room == "internal/web" || f == "(*internal/agent.Metrics).Handler" {
			way[f], next = f, append(next, f)
		}
	}
	for len(next) > 0 {
		f := next[0]
		next = next[1:]
		_, verb := verbs[f]
		switch {
		case f == "(*internal/app.access).ask":
			continue
		case verb, hands[f] != "", g.doors[f] != "":
			t.Errorf("the web can write: %s (%s)", way[f], g.doors[f])
			continue
		}
		mentioned := slices.Clone(g.methods[g.behind[f]])
		for _, u := range g.uses {
			if u.by == f {
				mentioned = append(mentioned, u.of)
			}
		}
		for _, m := range mentioned {
			if way[m] == "" {
				way[m], next = way[f]+" > "+m, append(next, m)
			}
		}
	}
	if way["(*internal/app.access).ask"] == "" {
		t.Error("the way to the question who may read is not seen: this shows nothing")
	}
}

// used says whether a function writes or uses something that does.
func (g *graph) used(f string) bool {
	if _, door := g.doors[f]; door {
		return true
	}
	open := g.reach()
	return slices.ContainsFunc(g.uses, func(u use) bool { return u.by == f && open[u.of] != "" })
}

// reach are the functions from which something that writes is reached with no question to the guard on the way, with that way.
func (g *graph) reach() map[string]string {
	open := map[string]string{}
	for f, what := range g.doors {
		if hands[f] == "" {
			open[f] = what
		}
	}
	for more := true; more; {
		more = false
		for m, key := range g.behind {
			for _, f := range g.methods[key] {
				if open[m] == "" && open[f] != "" {
					open[m], more = "as "+f+", "+open[f], true
				}
			}
		}
		for _, u := range g.uses {
			if open[u.by] == "" && open[u.of] != "" && u.write == "" && hands[u.by] == "" {
				open[u.by], more = u.at+" uses "+u.of+": "+open[u.of], true
			}
		}
	}
	return open
}

// newGraph reads the program's functions.
func newGraph(t *testing.T, p *program) *graph {
	t.Helper()
	g := &graph{doors: map[string]string{}, carries: map[string]bool{}, methods: map[string][]string{}, behind: map[string]string{}, rooms: map[string]string{}}
	senders := map[string]bool{}
	for _, u := range p.units {
		for _, f := range u.files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				o := u.info.Defs[fn.Name].(*types.Func)
				g.rooms[name(o)] = u.room
				if fn.Recv != nil {
					key := o.Name() + signature(o)
					g.methods[key] = append(g.methods[key], name(o))
				}
				g.carries[name(o)] = carries(u, fn)
				if sends(u, fn) {
					senders[name(o)] = true
				}
			}
			for _, group := range f.Comments {
				if strings.Contains(group.List[0].Text, "//go:linkname") {
					t.Errorf("%s: a name is linked past the type checker", p.at(group.Pos()))
				}
			}
			for _, i := range f.Imports {
				if i.Path.Value == `"unsafe"` {
					t.Errorf("%s: unsafe goes past the type checker", p.at(i.Pos()))
				}
			}
		}
	}
	for _, u := range p.units {
		for _, f := range u.files {
			for _, d := range f.Decls {
				g.read(p, u, d, senders)
			}
		}
	}
	return g
}

// read enters what one declaration uses. What stands outside of functions is of the package's init.
func (g *graph) read(p *program, u *unit, d ast.Decl, senders map[string]bool) {
	by := u.room + ".init"
	if fn, ok := d.(*ast.FuncDecl); ok {
		by = name(u.info.Defs[fn.Name].(*types.Func))
	}
	g.rooms[by] = u.room
	inspect(d, func(n ast.Node, stack []ast.Node) {
		if madeByHand(u, n) {
			g.doors[by] = "an HTTP request made by hand at " + p.at(n.Pos())
		}
		id, ok := n.(*ast.Ident)
		if !ok {
			return
		}
		f, ok := u.info.Uses[id].(*types.Func)
		if !ok {
			return
		}
		what := primitive(u, f, stack)
		if g.carries[name(f)] && !asksOnly(u, stack) {
			what = "an HTTP request"
		}
		if what != "" && !(g.carries[by] && makes(f)) {
			g.doors[by] = what + " at " + p.at(n.Pos())
			return
		}
		if !strings.HasPrefix(pathOf(f)+"/", module) {
			return
		}
		if interfaceMethod(f) {
			g.behind[name(f)] = f.Name() + signature(f)
			g.rooms[name(f)] = strings.TrimPrefix(pathOf(f), module)
		}
		g.uses = append(g.uses, use{by: by, of: name(f), at: p.at(n.Pos()), write: asked(u, n, stack, senders)})
	})
}

// exported says whether a function can be used by other packages: its own name, and its receiver's type, are exported.
func exported(f string) bool { return ast.IsExported(f[strings.LastIndex(f, ".")+1:]) }
