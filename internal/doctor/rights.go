package doctor

import (
	"cmp"
	"fmt"
	"strings"
)

// Allowed says whether the permissions allow an action, as Azure decides it: one permission names it, by itself or with a wildcard, and
// does not take it back. Letter case means nothing.
func Allowed(permissions []Permission, action string) bool {
	for _, p := range permissions {
		if anyMatches(p.Actions, action) && !anyMatches(p.NotActions, action) {
			return true
		}
	}
	return false
}

func anyMatches(patterns []string, action string) bool {
	for _, p := range patterns {
		if matches(strings.ToLower(p), strings.ToLower(action)) {
			return true
		}
	}
	return false
}

// matches compares an action with a pattern in which each * stands for any text.
func matches(pattern, action string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == action
	}
	rest, ok := strings.CutPrefix(action, parts[0])
	if !ok {
		return false
	}
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// rights holds what the identity may do against what these groups need, action by action.
func rights(f Facts) []Finding {
	const check = "rights"
	a := f.Azure
	switch {
	case a.Config != nil || a.Metadata != nil || a.Token != nil:
		return []Finding{unknown(check, "not looked at without a token")}
	case a.RightsError != nil:
		return []Finding{{
			Check: check, Status: Warning, Code: RightsUnknown, Message: fmt.Sprintf("what the identity may do cannot be read: %v", a.RightsError),
			Remedy: "do what the sentence says; when it is a refusal, give the identity the role in deploy/azure-role.json, which lets it read its own permissions",
		}}
	}
	var missing []Finding
	for _, action := range a.Needed {
		if !Allowed(a.Rights, action) {
			missing = append(missing, Finding{
				Check: check, Status: Problem, Code: RightMissing, Subject: action,
				Message: fmt.Sprintf("%s may not perform %s in resource group %s", cmp.Or(a.Identity, "the identity"), action, a.Place.ResourceGroup),
				Remedy:  fmt.Sprintf("give it the role in deploy/azure-role.json, or another one with that action, on the resource group%s", principal(a.ClientID)),
			})
		}
	}
	if missing != nil {
		return missing
	}
	return []Finding{ok(check, "", fmt.Sprintf("all %d actions that these groups need are allowed", len(a.Needed)))}
}

// principal names whom to give a role, for a command line.
func principal(clientID string) string {
	if clientID == "" {
		return ""
	}
	return " (az role assignment create --assignee " + clientID + " ...)"
}
