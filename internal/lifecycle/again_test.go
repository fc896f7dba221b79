package lifecycle_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/lifecycle"
)

// down takes the cluster down.
func (w *world) down() {
	w.Helper()
	d, err := w.Demolish(w.Context())
	w.must(err)
	w.must(w.Down(w.Context(), d))
}

// assignments are the role assignments in a resource group and below it.
func (w *world) assignments(group string) (principals map[string]string) {
	w.Helper()
	scope := "/subscriptions/" + subscription + "/resourceGroups/" + group
	raw, err := w.Cloud.List(w.Context(), scope+"/providers/Microsoft.Authorization/roleAssignments", "2022-04-01", nil)
	w.must(err)
	principals = map[string]string{}
	for _, one := range raw {
		var a struct {
			ID         string `json:"id"`
			Properties struct {
				Principal string `json:"principalId"`
			} `json:"properties"`
		}
		w.read(one, &a)
		if strings.HasPrefix(strings.ToLower(a.ID), strings.ToLower(scope)+"/") {
			principals[a.ID] = a.Properties.Principal
		}
	}
	return principals
}

// TestUpAfterDownOfTheSameName has Azure keep the vault's name: down purges the vault, or up brings it back.
func TestUpAfterDownOfTheSameName(t *testing.T) {
	purge := "POST deletedVaults/purge"
	for name, c := range map[string]struct {
		refused int // purges
		want    string
	}{
		"down purges":                       {0, ""},
		"down may not, and it is recovered": {1, "which was deleted before, is recovered"},
		"nobody may, and it is recovered":   {-1, "which was deleted before, is recovered"},
	} {
		for _, file := range []string{"k3s", "k3s-user", "kubeadm"} {
			t.Run(name+" "+file, func(t *testing.T) {
				w := newWorld(t, file)
				first := w.up()
				if c.refused != 0 {
					w.sim.Inject(azuresim.Fault{Kind: purge, Status: 403, Code: "AuthorizationFailed", Times: max(c.refused, 0)})
				}
				w.down()
				w.said = nil
				if wrong := w.check(); len(wrong) > 0 {
					t.Errorf("the check says %v", wrong)
				}
				second := w.up()
				if second.Fingerprint == first.Fingerprint || second.PEM == "" {
					t.Error("the second cluster has the door of the first")
				}
				all := strings.Join(w.said, "\n")
				if c.want != "" && w.File.Secrets == "keyVault" && !strings.Contains(all, c.want) {
					t.Errorf("nothing says %q in:\n%s", c.want, all)
				}
				if changes, err := w.Diff(t.Context()); err != nil || len(changes) > 0 {
					t.Errorf("after the second up: %v, %v", changes, err)
				}
			})
		}
	}
}

// TestAVaultOfOthersIsNotPurged has a deleted vault with another cluster's tag.
func TestAVaultOfOthersIsNotPurged(t *testing.T) {
	w := newWorld(t, "k3s")
	at := "/subscriptions/" + subscription + "/resourceGroups/shared/providers/Microsoft.KeyVault/vaults/theirs"
	w.must(w.Cloud.Put(t.Context(), at, "2023-07-01", map[string]any{"location": "westeurope", "tags": map[string]string{"sluice-cluster": "render"}, "properties": map[string]any{
		"tenantId": tenant, "sku": map[string]any{"family": "A", "name": "standard"},
	}}))
	w.must(w.Cloud.Delete(t.Context(), at, "2023-07-01"))
	w.up()
	raw, err := w.Cloud.List(t.Context(), "/subscriptions/"+subscription+"/providers/Microsoft.KeyVault/deletedVaults", "2023-07-01", nil)
	if w.must(err); len(raw) != 1 {
		t.Errorf("%d deleted vaults are left of 1", len(raw))
	}
}

// TestDownTakesTheRightsInTheStorageGroupBack leaves the storage and takes the server's rights on it.
func TestDownTakesTheRightsInTheStorageGroupBack(t *testing.T) {
	for _, file := range []string{"k3s", "kubeadm", "kubeadm-user"} {
		w := newWorld(t, file)
		w.up()
		before := 0
		groups := []string{w.File.Storage.ResourceGroup, "shared", "images"}
		for _, group := range groups {
			if group != "" {
				before += len(w.assignments(group))
			}
		}
		if before == 0 {
			t.Errorf("%s: up gives no rights in other groups: this shows nothing", file)
		}
		w.down()
		for _, group := range groups {
			if group == "" {
				continue
			}
			if left := w.assignments(group); len(left) > 0 {
				t.Errorf("%s: after down there are in %s %v", file, group, left)
			}
		}
	}
}

// TestTheRightsOfAServerThatIsGoneAreTakenBack deletes the server: the next one is another identity, and gets the rights.
func TestTheRightsOfAServerThatIsGoneAreTakenBack(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	server := "/subscriptions/" + subscription + "/resourceGroups/render/providers/Microsoft.Compute/virtualMachines/render-server"
	principal := func() string {
		var m struct {
			Identity struct {
				Principal string `json:"principalId"`
			} `json:"identity"`
		}
		_, err := w.Cloud.Get(t.Context(), server, computeVersion, &m)
		w.must(err)
		return m.Identity.Principal
	}
	count := func() int { return len(w.assignments("render")) + len(w.assignments("render-storage")) }
	before, rights := principal(), count()
	w.must(w.Cloud.Delete(t.Context(), server, computeVersion))
	w.said = nil
	door, err := lifecycle.NewDoor(w.time())
	w.must(err)
	if _, err = w.Up(t.Context(), door); err != nil {
		t.Fatal(err)
	}
	w.told("of identity " + before + ", which is the server's no more, is deleted")
	if principal() == before {
		t.Fatal("the new server is the same identity: this shows nothing")
	}
	for _, group := range []string{"render", "render-storage"} {
		for id, who := range w.assignments(group) {
			if who != principal() {
				t.Errorf("%s is of %s", id, who)
			}
		}
	}
	if n := count(); n != rights {
		t.Errorf("%d rights after %d", n, rights)
	}
	w.said = nil
	w.up()
	if all := strings.Join(w.said, "\n"); strings.Contains(all, "no more") {
		t.Errorf("without a change rights are taken back:\n%s", all)
	}
}

const (
	rights         = "/providers/Microsoft.Authorization/"
	recordOfRender = "/subscriptions/" + subscription + "/resourceGroups/render/providers/Microsoft.Resources/deployments/render"
)

// roles are the custom roles of the subscription.
func (w *world) roles() []json.RawMessage {
	w.Helper()
	custom := url.Values{"$filter": {"type eq 'CustomRole'"}}
	all, err := w.Cloud.List(w.Context(), "/subscriptions/"+subscription+rights+"roleDefinitions", "2022-04-01", custom)
	w.must(err)
	return all
}

// TestDownWithoutARecordTakesTheRightsBack has somebody delete Azure's record, or move the storage, before the cluster goes: no right
// outlives it, and the next one of its name is made.
func TestDownWithoutARecordTakesTheRightsBack(t *testing.T) {
	for name, before := range map[string]func(w *world){
		"no record": func(w *world) {
			w.must(w.Cloud.Delete(w.Context(), recordOfRender, "2021-04-01"))
		},
		"another storage group": func(w *world) {
			w.File.Storage.ResourceGroup = "elsewhere"
			w.up()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "k3s")
			w.up()
			theirs := "/subscriptions/" + subscription + "/resourceGroups/shared" + rights + "roleAssignments/55555555-5555-5555-5555-555555555555"
			var server struct {
				Identity struct {
					Principal string `json:"principalId"`
				} `json:"identity"`
			}
			_, err := w.Cloud.Get(t.Context(), w.server(), computeVersion, &server)
			w.must(err)
			w.must(w.Cloud.Put(t.Context(), theirs, "2022-04-01", map[string]any{"properties": map[string]any{
				"roleDefinitionId": "/subscriptions/" + subscription + rights + "roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7",
				"principalId":      server.Identity.Principal, "principalType": "ServicePrincipal", "description": "a person gave it",
			}}))
			before(w)
			w.down()
			if left := w.left(); len(left) != 1 || left[0] != theirs {
				t.Errorf("down leaves %v", left)
			}
			if roles := w.roles(); len(roles) > 0 {
				t.Errorf("down leaves %s", roles)
			}
			w.File.Storage.ResourceGroup = "render-storage"
			w.up()
		})
	}
}

// TestAnImportWithoutARecordDoesNotDenyItsMaker has somebody delete the record of a cluster that up has made.
func TestAnImportWithoutARecordDoesNotDenyItsMaker(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	w.must(w.Cloud.Delete(t.Context(), recordOfRender, "2021-04-01"))
	got, err := lifecycle.Import(t.Context(), w.Cloud, "render", "", lifecycle.Kubernetes{})
	w.must(err)
	if got.Recorded || !strings.Contains(got.Text, "from resource group render, which has no record of what sluice made there.") {
		t.Errorf("%.300s", got.Text)
	}
}
