package azuresim

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// A vault's own address, where secrets are read, written, deleted, recovered and purged by whom a role with data actions allows it. Source: Key Vault's
// REST reference, 7.4.

// vaultRequest is a request to a vault.
type vaultRequest struct {
	*request
	vault *opaque
	host  string
	name  string // of the secret; "" in a list
}

// deal answers a kind of request to a vault, for whom has the data action.
type deal struct {
	method, path string // "*" is the name of a secret
	action       string
	answer       func(vaultRequest) answer
}

var deals = []deal{
	{"GET", "secrets", "readMetadata", vaultRequest.listSecrets},
	{"GET", "secrets/*", "getSecret", vaultRequest.readSecret},
	{"PUT", "secrets/*", "setSecret", vaultRequest.setSecret},
	{"DELETE", "secrets/*", "delete", vaultRequest.deleteSecret},
	{"GET", "deletedsecrets", "readMetadata", vaultRequest.listDeletedSecrets},
	{"GET", "deletedsecrets/*", "readMetadata", vaultRequest.readDeletedSecret},
	{"POST", "deletedsecrets/*/recover", "recover", vaultRequest.recoverSecret},
	{"DELETE", "deletedsecrets/*", "purge", vaultRequest.purgeSecret},
}

// vault answers a vault's own address. It reports false for other hosts.
func (q *request) vault() (answer, bool) {
	host, _, _ := strings.Cut(q.http.Host, ":")
	name, ok := strings.CutSuffix(strings.ToLower(host), vaultHost)
	if !ok {
		return answer{}, false
	}
	segments := strings.Split(strings.Trim(strings.ToLower(q.http.URL.Path), "/"), "/")
	q.route.kind = q.http.Method + " vault/" + segments[0]
	q.strike()
	if a, ok := q.faulted(); ok {
		return a, true
	}
	v := vaultRequest{request: q, host: name + vaultHost}
	if len(segments) > 1 {
		v.name, segments[1] = strings.Split(strings.Trim(q.http.URL.Path, "/"), "/")[1], "*"
	}
	return v.deal(name, strings.Join(segments, "/")), true
}

// vaultError is Key Vault's error; it has Resource Manager's envelope.
func vaultError(status int, code, format string, args ...any) answer {
	return fail(status, code, format, args...).answer()
}

func secretNotFound(name string) answer {
	return vaultError(http.StatusNotFound, "SecretNotFound", "A secret with (name/id) %s was not found in this key vault.", name)
}

func secretIsDeleted(name string) *problem {
	return fail(http.StatusConflict, "Conflict",
		"Secret %s is currently in a deleted but recoverable state, and its name cannot be reused; in this state, the secret can only be recovered or purged.", name)
}

func (v vaultRequest) deal(name, path string) answer {
	s := v.server
	at := slices.IndexFunc(s.store.generic.list, func(o *opaque) bool { return strings.EqualFold(o.kind, vaultKind) && strings.EqualFold(o.name, name) })
	which := slices.IndexFunc(deals, func(d deal) bool { return d.method == v.http.Method && d.path == path })
	switch {
	case at < 0:
		return vaultError(http.StatusNotFound, "VaultNotFound", "There is no vault %s.", name)
	case which < 0:
		return vaultError(http.StatusMethodNotAllowed, "BadParameter", "The simulator's vaults hold secrets without former versions, and nothing else.")
	}
	v.vault = s.store.generic.list[at]
	token, _ := strings.CutPrefix(v.http.Header.Get("Authorization"), "Bearer ")
	c, ours := s.verified.read(token, s.Seed)
	if ours {
		v.principal = s.store.principals.byClientID(c.AppID)
	}
	if v.principal == nil || !strings.EqualFold(strings.TrimRight(c.Audience, "/"), "https://"+vaultHost[1:]) || v.now.Unix() >= c.Expires {
		a := vaultError(http.StatusUnauthorized, "Unauthorized", "AKV10000: Request is missing a Bearer or PoP token.")
		return a.with("WWW-Authenticate", `Bearer authorization="`+v.base+`/`+s.TenantID+`", resource="https://vault.azure.net"`)
	}
	action := "Microsoft.KeyVault/vaults/secrets/" + deals[which].action + "/action"
	if deals[which].action == "delete" {
		action = "Microsoft.KeyVault/vaults/secrets/delete"
	}
	if !s.store.rights.allowsData(s.RoleDelay, v.principal, action, v.vault.path, v.now) {
		return vaultError(http.StatusForbidden, "Forbidden",
			"Caller is not authorized to perform action on resource. Action: '%s'. Resource: '%s'. Assignment: (not found).", action, v.secretPath())
	}
	return deals[which].answer(v)
}

func (v vaultRequest) secretPath() string {
	return strings.TrimRight(v.vault.path+"/secrets/"+v.name, "/")
}

func (v vaultRequest) secretID(o *opaque) string { return "https://" + v.host + "/secrets/" + o.name }

// bundle is a secret without its value.
func (v vaultRequest) bundle(o *opaque) map[string]any {
	return map[string]any{
		"id": v.secretID(o), "contentType": text(o.model, "properties", "contentType"),
		"attributes": map[string]any{
			"enabled": true, "created": o.created.Unix(), "updated": o.created.Unix(), "recoveryLevel": "Recoverable+Purgeable",
		},
	}
}

// whole is a secret with its value and version.
func (v vaultRequest) whole(o *opaque) answer {
	b := v.bundle(o)
	value := text(o.model, "properties", "value")
	b["value"] = value
	b["id"] = v.secretID(o) + "/" + strings.ReplaceAll(guid(v.server.Seed, "secret", o.path, value), "-", "")
	return answer{status: http.StatusOK, body: b}
}

func (v vaultRequest) listSecrets() answer {
	list := []map[string]any{}
	for _, o := range v.store.generic.list {
		if strings.EqualFold(o.kind, secretKind) && within(o.path, v.vault.path) {
			list = append(list, v.bundle(o))
		}
	}
	return page(v.request, list, idOf)
}

func (v vaultRequest) readSecret() answer {
	secret := find(v.store.generic.list, v.secretPath())
	if secret == nil {
		return secretNotFound(v.name)
	}
	return v.whole(secret)
}

func (v vaultRequest) setSecret() answer {
	var w struct {
		Value       string `json:"value"`
		ContentType string `json:"contentType"`
	}
	if p := v.decode(&w); p != nil {
		return p.answer()
	}
	switch {
	case w.Value == "":
		return vaultError(http.StatusBadRequest, "BadParameter", "The secret has no value.")
	case v.store.generic.removed(v.secretPath(), v.now) != nil:
		return secretIsDeleted(v.name).answer()
	}
	o := find(v.store.generic.list, v.secretPath())
	if o == nil {
		o = &opaque{path: v.secretPath(), kind: secretKind, name: v.name, created: v.now}
		shelve(&v.store.generic.list, o)
	}
	o.model = map[string]any{"properties": map[string]any{"value": w.Value, "contentType": w.ContentType}}
	return v.whole(o)
}

func (v vaultRequest) deleteSecret() answer {
	o := find(v.store.generic.list, v.secretPath())
	if o == nil {
		return secretNotFound(v.name)
	}
	v.store.generic.list = slices.DeleteFunc(v.store.generic.list, func(other *opaque) bool { return other == o })
	return answer{status: http.StatusOK, body: v.deleted(v.store.generic.remove(o, v.vault, nil, v.now))}
}

// deleted is a deleted secret as a read shows it.
func (v vaultRequest) deleted(r *removal) map[string]any {
	b := v.bundle(r.opaque)
	b["recoveryId"] = "https://" + v.host + "/deletedsecrets/" + r.opaque.name
	b["deletedDate"], b["scheduledPurgeDate"] = r.at.Unix(), r.until.Unix()
	return b
}

func (v vaultRequest) listDeletedSecrets() answer {
	list := []map[string]any{}
	for _, r := range v.store.generic.removals {
		if strings.EqualFold(r.opaque.kind, secretKind) && within(r.opaque.path, v.vault.path) && !r.gone(v.now) {
			list = append(list, v.deleted(r))
		}
	}
	slices.SortFunc(list, func(a, b map[string]any) int { return strings.Compare(idOf(a), idOf(b)) })
	return page(v.request, list, idOf)
}

func (v vaultRequest) readDeletedSecret() answer {
	r := v.store.generic.removed(v.secretPath(), v.now)
	if r == nil {
		return secretNotFound(v.name)
	}
	return answer{status: http.StatusOK, body: v.deleted(r)}
}

func (v vaultRequest) recoverSecret() answer {
	r := v.store.generic.removed(v.secretPath(), v.now)
	if r == nil {
		return secretNotFound(v.name)
	}
	v.store.generic.restore(r)
	return answer{status: http.StatusOK, body: v.bundle(r.opaque)}
}

func (v vaultRequest) purgeSecret() answer {
	r := v.store.generic.removed(v.secretPath(), v.now)
	switch {
	case r == nil:
		return secretNotFound(v.name)
	case purgeProtected(v.vault):
		return vaultError(http.StatusForbidden, "Forbidden", "Operation \"purge\" is not allowed because purge protection is enabled for this vault. Key Vault service will automatically purge it after the retention period has passed.")
	}
	r.until = v.now
	return answer{status: http.StatusNoContent}
}

// allowsData reports whether a role that acts at a scope, or above it, has a data
// action. No principal has one without a role.
func (rs *rights) allowsData(delay time.Duration, p *principal, action, scope string, now time.Time) bool {
	return slices.ContainsFunc(rs.rolesOf(delay, p, scope, now), func(a *assignment) bool {
		return slices.ContainsFunc(a.role.DataActions, func(pattern string) bool { return wildcard(pattern, action) })
	})
}
