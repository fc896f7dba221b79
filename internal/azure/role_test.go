package azure_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
)

// shipped are the role definitions that sluice comes with: for scale sets, and besides for availability sets.
func shipped(t *testing.T) []azuresim.Role {
	t.Helper()
	roles := make([]azuresim.Role, 2) // its fields are those of az role definition create
	for i, definition := range [][]byte{deploy.AzureRole, deploy.AzureRolePools} {
		if err := json.Unmarshal(definition, &roles[i]); err != nil {
			t.Fatal(err)
		}
		for j, scope := range roles[i].AssignableScopes {
			roles[i].AssignableScopes[j] = strings.Replace(scope, "00000000-0000-0000-0000-000000000000", subscription, 1)
		}
	}
	return roles
}

// shippedFor are those of the roles that the kind of group needs.
func shippedFor(t *testing.T, kind groupKind) []azuresim.Role {
	t.Helper()
	if kind.file == standardFile {
		return shipped(t)
	}
	return shipped(t)[:1]
}

// may lets the process do what the roles say at a scope, and nothing else.
func (w *wired) may(scope string, roles ...azuresim.Role) {
	w.t.Helper()
	for _, role := range roles {
		w.must(w.sim.AddRole(role))
		w.must(w.sim.AddRoleAssignment(azuresim.RoleAssignment{Role: role.Name, Principal: farmHand, Scope: scope}))
	}
}

// used are the actions that the process needed since the n-th request, by their lower-case spelling.
func (w *wired) used(n int) map[string]string {
	needed := map[string]string{}
	for _, r := range w.sim.Requests()[n:] {
		if r.Principal != farmHand || r.Action == "" {
			continue
		}
		needed[strings.ToLower(r.Action)] = r.Action
		for _, l := range r.Linked {
			needed[strings.ToLower(l.Action)] = l.Action
		}
	}
	return needed
}

// TestTheShippedRolesAreExactlyWhatIsNeeded lives the life of every kind of group with its roles and nothing else: scale sets with the first alone.
func TestTheShippedRolesAreExactlyWhatIsNeeded(t *testing.T) {
	needed, asked := map[string]string{}, map[string]string{}
	bySets := map[string]bool{} // needed by a scale set
	for _, kind := range groupKinds {
		t.Run(kind.name, func(t *testing.T) {
			w := wire(t, kind, bySecret)
			w.may("/subscriptions/"+subscription, shippedFor(t, kind)...)
			w.live(kind)
			if len(w.heard) > 0 || strings.Contains(w.log.String(), "level=WARN") {
				t.Errorf("complaints: %s\n%s", strings.Join(w.heard, "\n"), w.log.String())
			}
			for _, r := range w.sim.Requests() {
				if r.Status == http.StatusForbidden {
					t.Errorf("%s %s is refused (%s): the role lacks %s or one of %v", r.Method, r.Path, r.Code, r.Action, r.Linked)
				}
			}
			used := w.used(0)
			maps.Copy(needed, used)
			if kind.file != standardFile {
				for action := range used {
					bySets[action] = true
				}
			}
			for _, action := range w.Needs() {
				asked[strings.ToLower(action)] = action
				delete(used, strings.ToLower(action))
			}
			for action := range used {
				if strings.HasPrefix(action, "microsoft.compute/virtualmachine") && !strings.HasSuffix(action, "/networkinterfaces/read") &&
					!strings.HasSuffix(action, "/retrievebootdiagnosticsdata/action") {
					t.Errorf("sluice doctor does not ask for %s", action)
				}
			}
		})
	}
	for action := range asked {
		if needed[action] == "" {
			t.Errorf("sluice doctor asks for %s, which is never used", action)
		}
	}
	granted := map[string]string{}
	for i, role := range shipped(t) {
		for _, a := range role.Actions {
			if strings.Contains(a, "*") {
				t.Errorf("%s grants more than one action", a)
			}
			if bySets[strings.ToLower(a)] != (i == 0) {
				t.Errorf("role %q has %s, which scale sets need: %t", role.Name, a, bySets[strings.ToLower(a)])
			}
			granted[strings.ToLower(a)] = a
		}
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(needed)), slices.Sorted(maps.Keys(granted))); d != "" {
		t.Errorf("actions of the role (-needed +granted):\n%s", d)
	}
}

// TestTheRoleOnTheResourceGroupDoesAllButListSizes: sizes belong to the subscription, and the table stands in for their list.
func TestTheRoleOnTheResourceGroupDoesAllButListSizes(t *testing.T) {
	for _, kind := range groupKinds {
		t.Run(kind.name, func(t *testing.T) {
			w := wire(t, kind, bySecret)
			w.may("/subscriptions/"+subscription+"/resourceGroups/"+resourceGroup, shippedFor(t, kind)...)
			w.live(kind)
			if len(w.heard) > 0 {
				t.Errorf("complaints: %s", strings.Join(w.heard, "\n"))
			}
			for _, r := range w.sim.Requests() {
				if r.Status == http.StatusForbidden && r.Kind != "LIST skus" {
					t.Errorf("%s %s is refused for %s", r.Method, r.Path, r.Action)
				}
			}
			if said := w.log.String(); strings.Count(said, "level=WARN") != processes ||
				!strings.Contains(said, "the identity may not perform Microsoft.Compute/skus/read over /subscriptions/"+subscription+": give it sluice's role") {
				t.Errorf("each process should say once that it cannot list sizes:\n%s", said)
			}
		})
	}
}

// TestEveryMissingActionIsNamed takes one action at a time out of the role.
func TestEveryMissingActionIsNamed(t *testing.T) {
	uses := map[string][]groupKind{} // by lower-case action
	for _, kind := range groupKinds {
		w := wire(t, kind, bySecret)
		w.live(kind)
		for action := range w.used(0) {
			uses[action] = append(uses[action], kind)
		}
	}
	for _, action := range slices.Concat(shipped(t)[0].Actions, shipped(t)[1].Actions) {
		for _, kind := range uses[strings.ToLower(action)] {
			t.Run(action+"/"+kind.name, func(t *testing.T) {
				roles := shippedFor(t, kind)
				for i := range roles {
					roles[i].Actions = slices.DeleteFunc(roles[i].Actions, func(a string) bool { return a == action })
				}
				w := wire(t, kind, bySecret)
				w.may("/subscriptions/"+subscription, roles...)
				w.live(kind)
				refusals := 0
				for _, r := range w.sim.Requests() {
					if r.Status != http.StatusForbidden {
						continue
					}
					refusals++
					linked := slices.ContainsFunc(r.Linked, func(l azuresim.Linked) bool { return strings.EqualFold(l.Action, action) })
					want := "AuthorizationFailed"
					switch {
					case r.Kind == "PUT deployments" && linked:
						want = "InvalidTemplateDeployment"
					case linked:
						want = "LinkedAuthorizationFailed"
					}
					if r.Code != want || !linked && !strings.EqualFold(r.Action, action) {
						t.Errorf("%s %s is refused with %s for %s, want %s for the action that is missing", r.Method, r.Path, r.Code, r.Action, want)
					}
				}
				if refusals == 0 {
					t.Error("nothing is refused")
				}
				said := strings.ToLower(strings.Join(w.heard, "\n") + w.log.String())
				if !strings.Contains(said, "the identity may not perform "+strings.ToLower(action)+" over /subscriptions/") || !strings.Contains(said, "give it sluice's role ("+azure.RoleFor(action)+")") {
					t.Errorf("the action and its role are not named in a sentence:\n%s", said)
				}
			})
		}
	}
}
