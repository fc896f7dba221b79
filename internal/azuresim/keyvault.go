package azuresim

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Key Vault: Resource Manager creates vaults and writes secrets, and a vault's own
// address answers reads of secrets to whom a role with data actions allows them.
// Source: Key Vault's REST reference, 2023-07-01 for the manager and 7.4 for secrets.

const (
	vaultKind  = "Microsoft.KeyVault/vaults"
	secretKind = "Microsoft.KeyVault/vaults/secrets"
	vaultHost  = ".vault.azure.net"
)

var vaultName = regexp.MustCompile(`^[a-zA-Z](-?[a-zA-Z0-9]){2,23}$`)

// refuse is what Azure would not write of a resource that the server otherwise
// knows nothing about; nil: it would.
func (q *request) refuse(model map[string]any) *problem {
	parent := ""
	switch kind := q.opaqueType(); {
	case strings.EqualFold(kind, vaultKind):
		switch {
		case !vaultName.MatchString(q.route.name):
			return bad("VaultNameNotValid", "The vault name '%s' is invalid. A vault's name must be between 3-24 alphanumeric characters.", q.route.name)
		case text(model, "properties", "tenantId") == "" || text(model, "properties", "sku", "name") == "":
			return bad("BadRequest", "The vault '%s' needs properties.tenantId and properties.sku.", q.route.name)
		}
	case strings.EqualFold(kind, secretKind):
		parent, _ = cutLast(q.route.scope, "/secrets/")
		if text(model, "properties", "value") == "" {
			return bad("BadRequest", "The secret '%s' has no value.", q.route.name)
		}
	case strings.HasPrefix(strings.ToLower(kind), "microsoft.storage/storageaccounts/"):
		parent, _ = cutLast(q.route.scope, "/fileservices/")
	}
	if parent != "" && find(q.server.opaques, parent) == nil {
		return fail(http.StatusNotFound, "ParentResourceNotFound",
			"Failed to perform 'write' on resource(s) of type '%s', because the parent resource '%s' could not be found.", q.opaqueType(), parent)
	}
	return nil
}

func vaultWire(o *opaque, properties map[string]any) {
	properties["vaultUri"] = "https://" + strings.ToLower(o.name) + vaultHost + "/"
}

// secretWire hides the value: Resource Manager never shows it.
func secretWire(o *opaque, properties map[string]any) {
	delete(properties, "value")
	vault, name := cutLast(o.path, "/secrets/")
	properties["secretUri"] = "https://" + strings.ToLower(vault[strings.LastIndexByte(vault, '/')+1:]) + vaultHost + "/secrets/" + name
}

// vault answers a vault's own address. It reports false for other hosts.
func (q *request) vault() (answer, bool) {
	host, _, _ := strings.Cut(q.http.Host, ":")
	name, ok := strings.CutSuffix(strings.ToLower(host), vaultHost)
	if !ok {
		return answer{}, false
	}
	q.route.kind = q.http.Method + " vault/secrets"
	q.strike()
	if a, ok := q.faulted(); ok {
		return a, true
	}
	return q.readSecret(name), true
}

// vaultError is Key Vault's error; it has Resource Manager's envelope.
func vaultError(status int, code, format string, args ...any) answer {
	return fail(status, code, format, args...).answer()
}

func (q *request) readSecret(name string) answer {
	at := slices.IndexFunc(q.server.opaques, func(o *opaque) bool { return strings.EqualFold(o.kind, vaultKind) && strings.EqualFold(o.name, name) })
	segments := strings.Split(strings.Trim(q.http.URL.Path, "/"), "/")
	switch {
	case at < 0:
		return vaultError(http.StatusNotFound, "VaultNotFound", "There is no vault %s.", name)
	case q.http.Method != http.MethodGet || len(segments) < 2 || segments[0] != "secrets":
		return vaultError(http.StatusMethodNotAllowed, "BadParameter", "The simulator's vaults read secrets by name, and nothing else.")
	}
	vault := q.server.opaques[at]
	token, _ := strings.CutPrefix(q.http.Header.Get("Authorization"), "Bearer ")
	c, ours := q.server.verify(token)
	if ours {
		q.principal = q.server.byClientID(c.AppID)
	}
	if q.principal == nil || !strings.EqualFold(strings.TrimRight(c.Audience, "/"), "https://"+vaultHost[1:]) || q.now.Unix() >= c.Expires {
		a := vaultError(http.StatusUnauthorized, "Unauthorized", "AKV10000: Request is missing a Bearer or PoP token.")
		return a.with("WWW-Authenticate", `Bearer authorization="`+q.base+`/`+q.server.TenantID+`", resource="https://vault.azure.net"`)
	}
	const action = "Microsoft.KeyVault/vaults/secrets/getSecret/action"
	if !q.server.allowsData(q.principal, action, vault.path, q) {
		return vaultError(http.StatusForbidden, "Forbidden",
			"Caller is not authorized to perform action on resource. Action: '%s'. Resource: '%s'. Assignment: (not found).", action, vault.path+"/secrets/"+segments[1])
	}
	secret := find(q.server.opaques, vault.path+"/secrets/"+segments[1])
	if secret == nil {
		return vaultError(http.StatusNotFound, "SecretNotFound", "A secret with (name/id) %s was not found in this key vault.", segments[1])
	}
	return answer{status: http.StatusOK, body: map[string]any{
		"value": text(secret.model, "properties", "value"), "contentType": text(secret.model, "properties", "contentType"),
		"id":         "https://" + name + vaultHost + "/secrets/" + secret.name + "/" + strings.ReplaceAll(q.server.guid("secret", secret.path), "-", ""),
		"attributes": map[string]any{"enabled": true, "created": secret.created.Unix(), "updated": secret.created.Unix()},
	}}
}

// allowsData reports whether a role that acts at a scope, or above it, has a data
// action. No principal has one without a role.
func (s *Server) allowsData(p *principal, action, scope string, q *request) bool {
	return slices.ContainsFunc(s.rolesOf(p, scope, q.now), func(a *assignment) bool {
		return slices.ContainsFunc(a.role.DataActions, func(pattern string) bool { return wildcard(pattern, action) })
	})
}
