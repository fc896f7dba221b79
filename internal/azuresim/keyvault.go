package azuresim

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Key Vault at Resource Manager, which creates, deletes and recovers vaults and writes secrets. A vault that was deleted can come back for some
// days, and nobody else has its name meanwhile. Source: Key Vault's REST reference, 2023-07-01.

const (
	vaultKind  = "Microsoft.KeyVault/vaults"
	secretKind = "Microsoft.KeyVault/vaults/secrets"
	vaultHost  = ".vault.azure.net"
)

var vaultName = regexp.MustCompile(`^[a-zA-Z](-?[a-zA-Z0-9]){2,23}$`)

const vaultsPath = "/subscriptions/{subscription}/providers/Microsoft.KeyVault"

var vaultPatterns = []pattern{
	{"LIST", "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.KeyVault/vaults", "vaults", listOpaque},
	{"POST", vaultsPath + "/checkNameAvailability", "vaults/checkNameAvailability", checkVaultName},
	{"LIST", vaultsPath + "/deletedVaults", "deletedVaults", listDeletedVaults},
	{"GET", vaultsPath + "/locations/{location}/deletedVaults/{name}", "deletedVaults", getDeletedVault},
	{"POST", vaultsPath + "/locations/{location}/deletedVaults/{name}/purge", "deletedVaults/purge", purgeVault},
}

// refuse is what Azure would not write of a resource that the server otherwise
// knows nothing about; nil: it would.
func (g *generic) refuse(at route, model map[string]any, now time.Time) *problem {
	parent := ""
	switch kind := at.opaqueType(); {
	case strings.EqualFold(kind, vaultKind):
		if p := g.refuseVault(at, model, now); p != nil {
			return p
		}
	case strings.EqualFold(kind, secretKind):
		parent, _ = cutLast(at.scope, "/secrets/")
		switch {
		case text(model, "properties", "value") == "":
			return bad("BadRequest", "The secret '%s' has no value.", at.name)
		case g.removed(at.scope, now) != nil:
			return secretIsDeleted(at.name)
		}
	case strings.HasPrefix(strings.ToLower(kind), "microsoft.storage/storageaccounts/"):
		parent, _ = cutLast(at.scope, "/fileservices/")
	}
	if parent != "" && find(g.list, parent) == nil {
		return fail(http.StatusNotFound, "ParentResourceNotFound",
			"Failed to perform 'write' on resource(s) of type '%s', because the parent resource '%s' could not be found.", at.opaqueType(), parent)
	}
	return nil
}

// refuseVault is what Azure would not write of a vault; nil: it would.
func (g *generic) refuseVault(at route, model map[string]any, now time.Time) *problem {
	switch {
	case !vaultName.MatchString(at.name):
		return bad("VaultNameNotValid", "The vault name '%s' is invalid. A vault's name must be between 3-24 alphanumeric characters.", at.name)
	case isRecovery(model):
		if g.removed(at.scope, now) == nil {
			return fail(http.StatusNotFound, "DeletedVaultNotFound", "The specified deleted vault '%s' does not exist.", at.name)
		}
		return nil
	case text(model, "properties", "tenantId") == "" || text(model, "properties", "sku", "name") == "":
		return bad("BadRequest", "The vault '%s' needs properties.tenantId and properties.sku.", at.name)
	}
	days, said := dig(model, "properties", "softDeleteRetentionInDays").(float64)
	there := find(g.list, at.scope)
	switch {
	case said && (days < 7 || days > 90):
		return bad("BadRequest", "The property \"softDeleteRetentionInDays\" must be between 7 and 90.")
	case there == nil:
		return g.vaultNameTaken(at, now)
	case said && retention(there) != time.Duration(days)*24*time.Hour:
		return bad("BadRequest", "The property \"softDeleteRetentionInDays\" has been set already and it can't be modified.")
	case purgeProtected(there) && dig(model, "properties", "enablePurgeProtection") == false:
		return bad("BadRequest", "The property \"enablePurgeProtection\" cannot be set to false. Enabling the purge protection for a vault is an irreversible action.")
	}
	return nil
}

// vaultNameTaken refuses the name of a vault that is there, or was deleted, anywhere; nil: it is free.
func (g *generic) vaultNameTaken(at route, now time.Time) *problem {
	if g.removed(at.scope, now) != nil {
		return fail(http.StatusConflict, "ConflictError",
			"A vault with the same name already exists in deleted state. You need to either recover or purge existing key vault. Follow this link https://go.microsoft.com/fwlink/?linkid=2149745 for more information on soft delete.")
	}
	if !g.vaultNameFree(at.name, now) {
		return fail(http.StatusConflict, "VaultAlreadyExists",
			"The vault name '%s' is already in use. Vault names are globally unique so it is possible that the name is already taken. If you are sure that the vault name was not taken then it is possible that a vault with the same name was recently deleted but not purged after being placed in a recoverable state. For more information please follow https://go.microsoft.com/fwlink/?linkid=2147740.", at.name)
	}
	return nil
}

func (g *generic) vaultNameFree(name string, now time.Time) bool {
	taken := func(o *opaque) bool { return strings.EqualFold(o.kind, vaultKind) && strings.EqualFold(o.name, name) }
	return !slices.ContainsFunc(g.list, taken) && !slices.ContainsFunc(g.removals, func(r *removal) bool { return taken(r.opaque) && !r.gone(now) })
}

func checkVaultName(q *request) answer {
	var w struct {
		Name string `json:"name"`
	}
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	switch {
	case !vaultName.MatchString(w.Name):
		return answer{status: http.StatusOK, body: map[string]any{"nameAvailable": false, "reason": "AccountNameInvalid", "message": "The vault name '" + w.Name + "' is invalid."}}
	case !q.store.generic.vaultNameFree(w.Name, q.now):
		return answer{status: http.StatusOK, body: map[string]any{"nameAvailable": false, "reason": "AlreadyExists", "message": "The vault name '" + w.Name + "' is already in use."}}
	}
	return answer{status: http.StatusOK, body: map[string]any{"nameAvailable": true}}
}

func vaultWire(o *opaque, properties map[string]any) {
	properties["vaultUri"] = "https://" + strings.ToLower(o.name) + vaultHost + "/"
	properties["enableSoftDelete"] = true
	if properties["softDeleteRetentionInDays"] == nil {
		properties["softDeleteRetentionInDays"] = 90
	}
}

// secretWire hides the value: Resource Manager never shows it.
func secretWire(o *opaque, properties map[string]any) {
	delete(properties, "value")
	vault, name := cutLast(o.path, "/secrets/")
	properties["secretUri"] = "https://" + strings.ToLower(vault[strings.LastIndexByte(vault, '/')+1:]) + vaultHost + "/secrets/" + name
}

// removal is a vault or a secret that was deleted and can come back.
type removal struct {
	opaque *opaque
	parts  []*opaque // a vault's secrets
	at     time.Time
	until  time.Time // it is purged then, by whatever hand
}

func (r *removal) gone(now time.Time) bool { return reached(r.until, now) }

// purgeTime is how long Azure takes to purge a vault (assumed).
const purgeTime = 10 * time.Second

// removed finds what was deleted by its resource id; nil: nothing that can come back.
func (g *generic) removed(id string, now time.Time) *removal {
	for _, r := range g.removals {
		if strings.EqualFold(r.opaque.path, id) && !r.gone(now) {
			return r
		}
	}
	return nil
}

// retention is how long what was deleted of a vault, or the vault, can come back.
func retention(vault *opaque) time.Duration {
	days, said := dig(vault.model, "properties", "softDeleteRetentionInDays").(float64)
	if !said {
		days = 90
	}
	return time.Duration(days) * 24 * time.Hour
}

func purgeProtected(vault *opaque) bool {
	return dig(vault.model, "properties", "enablePurgeProtection") == true
}

func isRecovery(model map[string]any) bool {
	return strings.EqualFold(text(model, "properties", "createMode"), "recover")
}

// remove takes a vault or a secret away, and keeps it for as long as its vault says.
func (g *generic) remove(o, vault *opaque, parts []*opaque, now time.Time) *removal {
	g.removals = slices.DeleteFunc(g.removals, func(r *removal) bool { return r.gone(now) })
	r := &removal{opaque: o, parts: parts, at: now, until: now.Add(retention(vault))}
	g.removals = append(g.removals, r)
	return r
}

// restore brings back what was deleted, as it was. Who might do what with it is not: roles go when what they are about is deleted.
func (g *generic) restore(r *removal) {
	for _, o := range append([]*opaque{r.opaque}, r.parts...) {
		shelve(&g.list, o)
	}
	g.removals = slices.DeleteFunc(g.removals, func(other *removal) bool { return other == r })
}

func (r *removal) vaultWire() map[string]any {
	p := map[string]any{
		"vaultId": r.opaque.path, "location": text(r.opaque.model, "location"),
		"deletionDate": timestamp(r.at), "scheduledPurgeDate": timestamp(r.until),
	}
	if tags := r.opaque.model["tags"]; tags != nil {
		p["tags"] = tags
	}
	if purgeProtected(r.opaque) {
		p["purgeProtectionEnabled"] = true
	}
	of := strings.Split(r.opaque.path, "/")[2]
	return map[string]any{
		"id":   "/subscriptions/" + of + "/providers/Microsoft.KeyVault/locations/" + text(r.opaque.model, "location") + "/deletedVaults/" + r.opaque.name,
		"name": r.opaque.name, "type": "Microsoft.KeyVault/deletedVaults", "properties": p,
	}
}

// deletedVaults are those of a subscription.
func (g *generic) deletedVaults(at route, now time.Time) (all []*removal) {
	for _, r := range g.removals {
		if strings.EqualFold(r.opaque.kind, vaultKind) && within(r.opaque.path, "/subscriptions/"+at.subscription) && !r.gone(now) {
			all = append(all, r)
		}
	}
	return all
}

func listDeletedVaults(q *request) answer {
	list := []map[string]any{}
	for _, r := range q.store.generic.deletedVaults(q.route, q.now) {
		list = append(list, r.vaultWire())
	}
	slices.SortFunc(list, func(a, b map[string]any) int { return strings.Compare(idOf(a), idOf(b)) })
	return page(q, list, idOf)
}

// deletedVault is the one in the path.
func (g *generic) deletedVault(at route, now time.Time) (*removal, *problem) {
	for _, r := range g.deletedVaults(at, now) {
		if strings.EqualFold(r.opaque.name, at.name) && strings.EqualFold(text(r.opaque.model, "location"), at.location) {
			return r, nil
		}
	}
	return nil, fail(http.StatusNotFound, "DeletedVaultNotFound", "The specified deleted vault '%s' does not exist.", at.name)
}

func getDeletedVault(q *request) answer {
	r, p := q.store.generic.deletedVault(q.route, q.now)
	if p != nil {
		return p.answer()
	}
	return answer{status: http.StatusOK, body: r.vaultWire()}
}

// purgeVault ends a deleted vault for good. Its name is free when the operation has ended.
func purgeVault(q *request) answer {
	r, p := q.store.generic.deletedVault(q.route, q.now)
	switch {
	case p != nil:
		return p.answer()
	case purgeProtected(r.opaque):
		return fail(http.StatusMethodNotAllowed, "MethodNotAllowed", "Operation 'DeletedVaultPurge' is not allowed.").answer()
	}
	r.until = q.now.Add(purgeTime)
	for _, part := range q.store.generic.removals { // secrets that were deleted before it
		if within(part.opaque.path, r.opaque.path) {
			part.until = r.until
		}
	}
	return q.async(answer{status: http.StatusAccepted}, q.store.operations.launch(q.server.Seed, vaultKind, q.route.location, q.now, operation{single: true, until: r.until}))
}
