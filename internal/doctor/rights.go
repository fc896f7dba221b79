package doctor

import (
	"cmp"
	"fmt"
	"slices"
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
func rights(f Facts, _ *Diagnosis) []Finding {
	const check = "rights"
	a := f.Azure
	who := cmp.Or(a.Identity, "the identity")
	role := give(principal(a.ClientID), defaultRole)
	if e := a.RightsError; e != nil {
		finding := Finding{Check: check, Status: Warning, Code: RightsUnknown, Message: "what the identity may do cannot be read: " + e.Sentence}
		switch {
		case e.Kind == Forbidden && a.refused():
			return []Finding{{Check: check, Status: Problem, Code: RightMissing, Message: fmt.Sprintf("%s may neither read its own rights nor the groups in resource group %s: %s", who, a.Place.ResourceGroup, e.Sentence), Remedy: role}}
		case e.Kind == Forbidden:
			finding.Remedy = role + ", which lets it read its own permissions"
		case e.Kind == NotFound:
			finding.Remedy = "correct subscription and resource group (ARM_SUBSCRIPTION_ID, ARM_RESOURCE_GROUP)"
		default:
			finding.Remedy = cmp.Or(e.Kind.remedy(), "do what the sentence says")
		}
		return []Finding{finding}
	}
	var missing []string
	for _, action := range a.Needed {
		if !Allowed(a.Rights, action) {
			missing = append(missing, action)
		}
	}
	files := make([]string, len(missing))
	for i, action := range missing {
		files[i] = cmp.Or(a.Roles[action], defaultRole)
	}
	slices.Sort(files)
	role = give(principal(a.ClientID), slices.Compact(files)...)
	switch len(missing) {
	case 0:
		return []Finding{ok(check, "", fmt.Sprintf("all %d actions that these groups need are allowed", len(a.Needed)))}
	case 1:
		return []Finding{{Check: check, Status: Problem, Code: RightMissing, Subject: missing[0], Message: fmt.Sprintf("%s may not perform %s in resource group %s", who, missing[0], a.Place.ResourceGroup), Remedy: role}}
	}
	return []Finding{{
		Check: check, Status: Problem, Code: RightMissing, Subject: strings.Join(missing, ", "),
		Message: fmt.Sprintf("%s may not perform %d of %d actions in resource group %s: %s", who, len(missing), len(a.Needed), a.Place.ResourceGroup, some(missing)),
		Remedy:  strings.Replace(role, "that action", "those actions", 1),
	}}
}

// defaultRole is the file of the shipped role that reads groups, and does with scale sets all that sluice does.
const defaultRole = "deploy/azure-role.json"

// give is the remedy for an action that is missing: the files are of roles that have it.
func give(to string, files ...string) string {
	return fmt.Sprintf("give it the role in %s, or another one with that action, on the resource group%s", strings.Join(files, " and the one in "), to)
}

// refused says that Azure let no group be read for want of a right.
func (a Azure) refused() bool {
	if a.List != nil {
		return a.List.Kind == Forbidden
	}
	for _, kind := range a.Unread {
		if kind == Forbidden {
			return true
		}
	}
	return false
}

// principal names whom to give a role, for a command line.
func principal(clientID string) string {
	if clientID == "" {
		return ""
	}
	return " (az role assignment create --assignee " + clientID + " ...)"
}
