package azuresim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/internal/azuresim/template"
)

// deployment is one deployment of a template into a resource group. Its
// resources are created one after another as those they depend on are done:
// [deployments.begin] does it whenever somebody looks, at the times at which Resource
// Manager would have.
type deployment struct {
	subscription, group, name string

	pool      string // of which it makes machines; "" when it makes none
	content   deploymentProperties
	evaluated *template.Deployment
	steps     []*step // in the order of evaluated.Resources

	operation string // its id
	caller    *principal
	base      string // scheme and host as the caller saw them
	started   time.Time
	canceled  time.Time // zero: it was not
}

// step is the creation of one resource.
type step struct {
	resource *template.Resource
	pool     string // of the machine that it makes; "" when it makes none of a pool
	waits    []*step
	begun    time.Time // zero: it was not
	status   int       // of the answer to its PUT
	op       *operation
	nested   *deployment  // that it is; nil: it is another resource
	refusal  *errorDetail // why the PUT was refused
}

// Deployment describes a deployment that has succeeded, as [Server.AddDeployment] remembers it. What it made others add.
type Deployment struct {
	Subscription, ResourceGroup, Name string
	Template, Parameters              json.RawMessage
}

// AddDeployment puts such a deployment in the store. Its resource group must be there.
func (s *Server) AddDeployment(d Deployment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := find(s.store.groups, groupID(d.Subscription, d.ResourceGroup))
	if g == nil {
		return fmt.Errorf("add deployment %q: there is no resource group %q", d.Name, d.ResourceGroup)
	}
	evaluated, err := template.Evaluate(d.Template, d.Parameters, template.Scope{
		SubscriptionID: d.Subscription, TenantID: tenantOf(s.Seed, s.TenantID, d.Subscription), ResourceGroup: g.name, Location: g.location, Tags: textMap(g.tags), Deployment: d.Name,
	})
	if err != nil {
		return fmt.Errorf("add deployment %q: %w", d.Name, err)
	}
	now := s.now()
	s.remember(now)
	made := &deployment{
		subscription: d.Subscription, group: g.name, name: d.Name, evaluated: evaluated, started: now.Add(-leastDeployment), operation: guid(s.Seed, "deployment", d.Name),
		content: deploymentProperties{Mode: "Incremental", Template: d.Template, Parameters: d.Parameters},
	}
	if !s.store.deployments.add(made) {
		return fmt.Errorf("add deployment %q: it exists already", made.id())
	}
	return nil
}

// leastDeployment is the time that even a deployment of nothing takes.
const leastDeployment = 5 * time.Second

// maxDeployments is how many deployments a resource group remembers (documented).
const maxDeployments = 800

func deploymentID(subscription, group, name string) string {
	return groupID(subscription, group) + "/providers/Microsoft.Resources/deployments/" + name
}

func (d *deployment) id() string { return deploymentID(d.subscription, d.group, d.name) }

// end is when the step has ended; false while that is not known.
func (t *step) end(now time.Time) (time.Time, bool) {
	switch {
	case t.begun.IsZero():
		return time.Time{}, false
	case t.nested != nil:
		end := t.nested.end(now)
		return later(t.begun, end), !end.IsZero()
	case t.op == nil:
		return t.begun, true
	}
	end := t.op.end()
	return later(t.begun, end), !end.IsZero()
}

// failure is what the step has failed with by now; nil: it has not.
func (t *step) failure(now time.Time) *errorDetail {
	if t.refusal != nil || t.op == nil && t.nested == nil {
		return t.refusal
	}
	var cause *errorDetail
	if t.nested != nil {
		cause = t.nested.failure(now)
	} else {
		cause = t.op.failure(now)
	}
	if cause == nil {
		return nil
	}
	return &errorDetail{
		Code: "ResourceDeploymentFailure", Target: t.resource.ID,
		Message: "The resource write operation failed to complete successfully, because it reached terminal provisioning state 'Failed'.",
		Details: []errorDetail{*cause},
	}
}

// ready is when a step that was not begun can be, as far as known by now; false:
// not yet, or never.
func (d *deployment) ready(t *step, now time.Time) (time.Time, bool) {
	at := d.started
	for _, w := range t.waits {
		end, ended := w.end(now)
		if !ended || end.After(now) || w.failure(now) != nil {
			return time.Time{}, false
		}
		at = later(at, end)
	}
	return at, d.canceled.IsZero() || at.Before(d.canceled)
}

// end is when the deployment has ended: every step has, or never begins because
// something it waits for, however far back, has failed. It is zero as long as
// that is not known.
func (d *deployment) end(now time.Time) time.Time {
	if !d.canceled.IsZero() {
		return d.canceled
	}
	end := d.started.Add(leastDeployment)
	hopeless := map[*step]bool{} // steps stand behind what they wait for
	for _, t := range d.steps {
		if t.begun.IsZero() {
			if !slices.ContainsFunc(t.waits, func(w *step) bool { return hopeless[w] || w.failure(now) != nil }) {
				return time.Time{}
			}
			hopeless[t] = true
			continue
		}
		at, known := t.end(now)
		if !known {
			return time.Time{}
		}
		end = later(end, at)
	}
	return end
}

func (d *deployment) ended(now time.Time) bool { return reached(d.end(now), now) }

// state is the provisioning state.
func (d *deployment) state(now time.Time) string {
	switch {
	case !d.ended(now) && d.started.Equal(now):
		return "Accepted"
	case !d.ended(now):
		return "Running"
	case !d.canceled.IsZero():
		return "Canceled"
	case d.failure(now) != nil:
		return "Failed"
	}
	return "Succeeded"
}

// failure is what the deployment has failed with; nil while it runs and when it
// succeeded.
func (d *deployment) failure(now time.Time) *errorDetail {
	if !d.ended(now) || !d.canceled.IsZero() {
		return nil
	}
	var details []errorDetail
	for _, t := range d.steps {
		if f := t.failure(now); f != nil {
			details = append(details, *f)
		}
	}
	if len(details) == 0 {
		return nil
	}
	return &errorDetail{
		Code: "DeploymentFailed", Target: d.id(), Details: details,
		Message: "At least one resource deployment operation failed. Please list deployment operations for details. Please see https://aka.ms/arm-deployment-operations for usage details.",
	}
}

// deployments are those of a store.
type deployments []*deployment

// add reports whether the deployment is new.
func (ds *deployments) add(d *deployment) bool { return shelve((*[]*deployment)(ds), d) }

// begin begins every step of every deployment whose time has come, earliest
// first, so that it makes no difference when somebody looks.
func (ds *deployments) begin(s *Server, now time.Time) {
	for {
		var next *step
		var of *deployment
		var at time.Time
		for _, d := range *ds {
			for _, t := range d.steps {
				if !t.begun.IsZero() {
					continue
				}
				if ready, ok := d.ready(t, now); ok && (next == nil || ready.Before(at)) {
					next, of, at = t, d, ready
				}
			}
		}
		if next == nil {
			return
		}
		of.carry(s, next, at)
	}
}

// carry sends the PUT of a step, as the deployment's caller would.
func (d *deployment) carry(s *Server, t *step, at time.Time) {
	s.remember(at)
	t.begun = at
	body, err := t.resource.Body(d.reference(s, at))
	if err != nil {
		t.status, t.refusal = http.StatusBadRequest, &errorDetail{Code: "InvalidTemplate", Target: t.resource.ID, Message: err.Error()}
		return
	}
	if missing := d.unready(t, body, at); missing != "" {
		t.status, t.refusal = http.StatusBadRequest, &errorDetail{
			Code: "InvalidResourceReference", Target: t.resource.ID,
			Message: fmt.Sprintf("Resource %s referenced by resource %s was not found. Please make sure that the referenced resource exists, and that both resources are in the same region.", missing, t.resource.ID),
		}
		return
	}
	q, p := d.subrequest(s, http.MethodPut, t.resource.ID, t.resource.APIVersion, body, at)
	var a answer
	if p == nil {
		a = q.dispatch()
	} else {
		a = p.answer()
	}
	t.status = a.status
	if a.status >= http.StatusBadRequest {
		e, _ := a.body.(errorBody)
		if bare, ok := a.body.(errorDetail); ok {
			e.Error = bare
		}
		t.refusal = &e.Error
		t.refusal.Target = t.resource.ID
		return
	}
	t.op = q.began
	if strings.EqualFold(t.resource.Type, "Microsoft.Resources/deployments") {
		t.nested = find(s.store.deployments, t.resource.ID)
	}
}

// unready is a resource of the same template that a body refers to, or below which
// the resource is, and that is not done: a dependsOn is missing. "" for none. Azure
// says so by chance, when the other one comes later; the simulator always does.
func (d *deployment) unready(t *step, body any, at time.Time) string {
	waits := map[string]bool{} // lower-case ids
	for _, u := range d.steps {
		if end, known := u.end(at); u != t && (!known || end.After(at)) {
			waits[strings.ToLower(u.resource.ID)] = true
		}
	}
	var look func(v any) string
	look = func(v any) string {
		switch v := v.(type) {
		case string:
			for id := strings.ToLower(v); strings.Contains(id, "/providers/"); id = id[:strings.LastIndexByte(id, '/')] {
				if waits[id] {
					return v
				}
			}
		case []any:
			for _, item := range v {
				if missing := look(item); missing != "" {
					return missing
				}
			}
		case map[string]any:
			for key, item := range v {
				if key == "template" {
					continue
				}
				if missing := look(key) + look(item); missing != "" {
					return missing
				}
			}
		}
		return ""
	}
	if missing := look(t.resource.ID); missing != "" {
		return missing
	}
	return look(body)
}
