package lifecycle_test

import (
	"strings"
	"testing"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/lifecycle"
)

// vault is the id of the cluster's vault.
func (w *world) vault() string {
	w.Helper()
	for _, id := range w.left() {
		if strings.Contains(id, "/Microsoft.KeyVault/vaults/") && !strings.Contains(id, "/roleAssignments/") {
			return id
		}
	}
	w.Fatal("the cluster has no vault")
	return ""
}

// stored is the fingerprint of the door whose key the vault has, and known that of the door which the server tells; "" for none.
func (w *world) stored() (stored, known string) {
	w.Helper()
	var secret, server struct {
		Tags map[string]string `json:"tags"`
	}
	_, err := w.Cloud.Get(w.Context(), w.vault()+"/secrets/sluice-join", "2023-07-01", &secret)
	w.must(err)
	at := "/subscriptions/" + subscription + "/resourceGroups/render/providers/Microsoft.Compute/virtualMachines/render-server"
	_, err = w.Cloud.Get(w.Context(), at, "2024-07-01", &server)
	w.must(err)
	return secret.Tags["sluice-join"], server.Tags["sluice-join"]
}

// tells is what the check says of what is missing or wrong, and what diff says.
func (w *world) tells() (check, diff string) {
	w.Helper()
	_, err := w.Check(w.Context(), func(f lifecycle.Finding) {
		if f.Wrong+f.Missing+f.Stays != "" {
			check += f.Wrong + f.Missing + f.Stays + "; " + f.Remedy + "\n"
		}
	})
	w.must(err)
	changes, err := w.Diff(w.Context())
	w.must(err)
	for _, c := range changes {
		diff += c.Verb + " " + c.String() + ": " + strings.Join(c.Fields, "; ") + "\n"
	}
	return check, diff
}

// TestADeletedVaultIsRecoveredWithTheKey has a person delete the vault, whose secret is the only copy of the key.
func TestADeletedVaultIsRecoveredWithTheKey(t *testing.T) {
	w := newWorld(t, "k3s")
	first := w.up()
	w.must(w.Cloud.Delete(t.Context(), w.vault(), "2023-07-01"))
	const want = "was deleted: up recovers it with the key of the join door"
	if check, diff := w.tells(); !strings.Contains(check, want) || !strings.Contains(diff, want) {
		t.Errorf("the check says %q, and diff %q", check, diff)
	}
	if again := w.up(); again.Fingerprint != first.Fingerprint {
		t.Errorf("the door is %s, want %s", again.Fingerprint, first.Fingerprint)
	}
	if stored, _ := w.stored(); stored != first.Fingerprint {
		t.Errorf("the vault has the key of %q, want %s", stored, first.Fingerprint)
	}
	if check, diff := w.tells(); check+diff != "" {
		t.Errorf("afterwards the check says %q, and diff %q", check, diff)
	}
}

// TestAKeyThatWasNeverStoredIsMadeAnew has the vault refuse the secret, and a second time as well.
func TestAKeyThatWasNeverStoredIsMadeAnew(t *testing.T) {
	w := newWorld(t, "k3s")
	for range 2 {
		w.sim.Inject(azuresim.Fault{Kind: "PUT*", Resource: "*secrets*", Status: 409, Code: "Conflict", Times: 1})
		fresh, err := lifecycle.NewDoor(w.time())
		w.must(err)
		if _, err := w.Up(t.Context(), fresh); err == nil {
			t.Fatal("the secret is written: this shows nothing")
		} else if !strings.Contains(err.Error(), "/sluice-join failed: Conflict") {
			t.Fatal(err)
		}
		const want = "was never stored: up makes a new one"
		if check, diff := w.tells(); !strings.Contains(check, want) || !strings.Contains(diff, want) {
			t.Errorf("the check says %q, and diff %q", check, diff)
		}
	}
	door := w.up()
	if stored, known := w.stored(); door.PEM == "" || stored != door.Fingerprint || known != door.Fingerprint {
		t.Errorf("the door is %s: the vault has the key of %q, and the server tells %q", door.Fingerprint, stored, known)
	}
	if check, diff := w.tells(); check+diff != "" {
		t.Errorf("afterwards the check says %q, and diff %q", check, diff)
	}
	if again := w.up(); again.Fingerprint != door.Fingerprint || again.PEM != "" {
		t.Errorf("the next up has door %s with %d bytes of key", again.Fingerprint, len(again.PEM))
	}
}

// TestAKeyThatIsLostIsNotReplacedUnasked purges the vault: the server may have the key, which a new one would shut out. Without the
// server's tag up makes a new one.
func TestAKeyThatIsLostIsNotReplacedUnasked(t *testing.T) {
	w := newWorld(t, "k3s")
	first := w.up()
	vault := w.vault()
	w.must(w.Cloud.Delete(t.Context(), vault, "2023-07-01"))
	name := vault[strings.LastIndexByte(vault, '/')+1:]
	w.must(w.Cloud.Post(t.Context(), "/subscriptions/"+subscription+"/providers/Microsoft.KeyVault/locations/westeurope/deletedVaults/"+name+"/purge", "2023-07-01", nil, nil))
	if check, _ := w.tells(); !strings.Contains(check, "the vault with the key of the join door is gone: up makes it without the key") {
		t.Errorf("the check says %q", check)
	}
	if again := w.up(); again.Fingerprint != first.Fingerprint {
		t.Errorf("the door is %s, want %s", again.Fingerprint, first.Fingerprint)
	}
	const want = "vault NAME has no key of the join door: secret sluice-join is missing"
	if check, diff := w.tells(); !strings.Contains(check, strings.Replace(want, "NAME", name, 1)) || !strings.Contains(diff, "refused") {
		t.Errorf("the check says %q, and diff %q", check, diff)
	}
	secret := map[string]any{
		"type": "Microsoft.KeyVault/vaults/secrets", "apiVersion": "2023-07-01", "name": name + "/sluice-join",
		"tags": map[string]string{"sluice-join": "of-another-door"}, "properties": map[string]any{"value": "key"},
	}
	group, _, _ := strings.Cut(vault, "/providers/")
	w.must(w.Cloud.Put(t.Context(), group+"/providers/Microsoft.Resources/deployments/theirs", "2021-04-01", map[string]any{
		"properties": map[string]any{"mode": "Incremental", "template": map[string]any{
			"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0", "resources": []any{secret},
		}},
	}))
	if check, _ := w.tells(); !strings.Contains(check, "the vault has the key of another join door (of-another-d) than the server's ("+first.Fingerprint[:12]+")") {
		t.Errorf("the check says %q", check)
	}
}
