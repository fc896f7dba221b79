package azuresim

import (
	"fmt"
	"net/http"
	"strings"
)

// preflight refuses a deployment before anything of it exists: resources that the
// caller may not write, sizes that are not to be had, and more than the quotas leave. What the caller needs for
// them is noted as linked to the request.
func (q *request) preflight(d *deployment) *problem {
	var forbidden []string
	var exceeded []*problem
	need := map[place]int{}
	for _, t := range d.steps {
		body, err := t.resource.Body(nil)
		if err != nil {
			return bad("InvalidTemplate", "%v", err)
		}
		sub, p := d.subrequest(q.server, http.MethodPut, t.resource.ID, t.resource.APIVersion, body, q.now)
		if p == nil {
			p = sub.checkVersion()
		}
		if p != nil {
			return d.invalid(p)
		}
		if p := sub.authorize(); p != nil {
			forbidden = append(forbidden, fmt.Sprintf("'Authorization failed for template resource '%s' of type '%s'. %s'",
				t.resource.Name, t.resource.Type, strings.Replace(p.detail.Message, "authorization to perform", "permission to perform", 1)))
		}
		q.linked = append(append(q.linked, Linked{sub.route.action, sub.route.scope}), sub.linked...)
		if p := sub.weigh(need); p != nil {
			exceeded = append(exceeded, p)
		}
	}
	if len(forbidden) > 0 {
		return fail(http.StatusForbidden, "InvalidTemplateDeployment", "Deployment failed with multiple errors: %s", strings.Join(forbidden, ":"))
	}
	for _, name := range sortedPlaces(need) {
		if p := q.server.compute().capacity.checkNeed(q.route.subscription, name, need[name], q.now); p != nil {
			exceeded = append(exceeded, p)
		}
	}
	if len(exceeded) > 0 {
		return d.invalid(exceeded...)
	}
	return nil
}

// invalid wraps what preflight found.
func (d *deployment) invalid(problems ...*problem) *problem {
	p := bad("InvalidTemplateDeployment",
		"The template deployment '%s' is not valid according to the validation procedure. See inner errors for details.", d.name)
	for _, inner := range problems {
		p.detail.Details = append(p.detail.Details, inner.detail)
	}
	return p
}
