package house

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice.dev/sluice/setting"
)

// settingsOf are the structs of package policy whose fields are settings.
var settingsOf = []string{"Policy", "Growth", "Removal", "Health", "Balance", "Requests", "Buffers", "Consolidation", "Schedulers",
	"Skip", "Drain", "Max", "NodeTimes", "Backoff", "Utilization", "Busy", "Delay", "Keep", "WorkRules", "Emptied", "Unregistered"}

// verbsOwn are flags that a verb declares for itself although run has one of that name, since it means something else there.
var verbsOwn = map[string]string{
	"cmd/sluice/agent.go address":           "the agent answers nowhere unless it is told where",
	"cmd/sluice/join.go address":            "the door has no page: metrics and health alone, where it is told to",
	"cmd/sluice/explain.go namespace":       "of the pod that is asked about",
	"cmd/sluice/history.go namespace":       "of the pod that is asked about",
	"cmd/sluice/adopt.go namespace":         "of cluster-autoscaler's Deployment",
	"cmd/sluice/cluster_up.go kubeconfig":   "it is written, not read",
	"cmd/sluice/cluster_pool.go kubeconfig": "of this cluster alone: that of another must not be taken",
}

// otherTags are texts that begin as the tags of settings do and are none.
var otherTags = map[string]string{
	"sluice.dev_delete-with": "sluice puts it on what goes with a machine",
}

// TestSettingsStandInTheTableAlone holds that no flag of sluice run, no default, no key of the policy in a journal and no tag that overrides a
// flag is declared beside the table of settings. Sentences may name flags.
func TestSettingsStandInTheTableAlone(t *testing.T) {
	flags, keys, helps := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for row := range setting.All() {
		flags[row.Flag], keys[row.Key] = row.Flag != "", row.Key != ""
		if len(row.Help) > 20 {
			helps[row.Usage()] = true
		}
	}
	own := map[string]bool{}
	declared := 0
	for _, f := range parseHouse(t) {
		if f.test || f.room == "setting" || within(f.room, "internal/world", "internal/observer") { // the latter play Azure and its judge
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				of, isStruct := n.Type.(*ast.StructType)
				if f.room != "policy" || !isStruct || !slices.Contains(settingsOf, n.Name.Name) {
					break
				}
				declared++
				for _, field := range of.Fields.List {
					if field.Tag != nil {
						t.Errorf("%s: %s has a key in a journal by %s: its row in the table of settings has it", f.at(field), field.Names[0], field.Tag.Value)
					}
				}
			case *ast.CompositeLit:
				name := literalOf(n.Type)
				if len(n.Elts) > 0 && slices.Contains(settingsOf, strings.TrimPrefix(name, "policy.")) && (f.room == "policy") != strings.HasPrefix(name, "policy.") {
					t.Errorf("%s: values of %s: the defaults are those of the table of settings", f.at(n), name)
				}
			case *ast.BasicLit:
				if n.Kind != token.STRING {
					break
				}
				switch text, _ := strconv.Unquote(n.Value); {
				case strings.HasPrefix(text, setting.Own) && otherTags[text] == "", strings.HasPrefix(text, setting.Option):
					t.Errorf("%s: the tag %s stands beside the table of settings", f.at(n), text)
				case keys[text] || helps[text]:
					t.Errorf("%s: %q is in the table of settings", f.at(n), text)
				}
			case *ast.CallExpr:
				flag := declaredBy(n)
				if !flags[flag] {
					break
				}
				if at := f.path + " " + flag; verbsOwn[at] != "" {
					own[at] = true
				} else if within(f.room, "cmd/sluice", "internal/app") {
					t.Errorf("%s: --%s is declared beside the table of settings: bind its row", f.at(n), flag)
				}
			}
			return true
		})
	}
	if declared != len(settingsOf) {
		t.Errorf("found %d of the structs %v", declared, settingsOf)
	}
	for at := range verbsOwn {
		if !own[at] {
			t.Errorf("%q is excused and does not happen: take the excuse away", at)
		}
	}
}

// literalOf is the name of a composite literal's type as it is written.
func literalOf(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.Ident:
		return of.Name
	case *ast.SelectorExpr:
		if from, ok := of.X.(*ast.Ident); ok {
			return from.Name + "." + of.Sel.Name
		}
	}
	return ""
}

// declarers are the endings of the methods by which package pflag declares flags.
var declarers = []string{"Bool", "String", "Int", "Int32", "Int64", "Uint64", "Float64", "Duration", "StringArray", "StringSlice", "Count"}

// declaredBy is the flag that a call declares, "" when it declares none or its name is no literal.
func declaredBy(call *ast.CallExpr) string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	name := strings.TrimSuffix(method.Sel.Name, "P")
	kind, variable := strings.CutSuffix(name, "Var")
	if !slices.Contains(declarers, kind) && !(kind == "" && variable) {
		return ""
	}
	at := 0
	if variable {
		at = 1
	}
	if len(call.Args) <= at+1 {
		return ""
	}
	if text, ok := call.Args[at].(*ast.BasicLit); ok && text.Kind == token.STRING {
		flag, _ := strconv.Unquote(text.Value)
		return flag
	}
	return ""
}
