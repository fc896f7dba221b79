package azuresim

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/internal/azuresim/template"
)

const deploymentPath = "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Resources/deployments"

// deploymentPatterns are the rows of deployments into resource groups.
var deploymentPatterns = []pattern{
	{"LIST", deploymentPath, "deployments", listDeployments},
	{"HEAD", deploymentPath + "/{name}", "deployments", headDeployment},
	{"GET", deploymentPath + "/{name}", "deployments", getDeployment},
	{"PUT", deploymentPath + "/{name}", "deployments", putDeployment},
	{"DELETE", deploymentPath + "/{name}", "deployments", deleteDeployment},
	{"LIST", deploymentPath + "/{name}/operations", "deployments/operations", listDeploymentOperations},
	{"LIST", "/subscriptions/{subscription}/resourceGroups/{group}/deployments/{name}/operations", "deployments/operations", listDeploymentOperations},
	{"GET", deploymentPath + "/{name}/operationStatuses/{operation}", "deployments/operationStatuses", getDeploymentStatus},
	{"POST", deploymentPath + "/{name}/{verb}", "deployments", postDeployment},
	{"GET", "/subscriptions/{subscription}/operationResults/{operation}", "operationResults", getOperationResult},
}

// deploymentProperties is what a writer sends of a deployment.
type deploymentProperties struct {
	Mode           string          `json:"mode"`
	Template       json.RawMessage `json:"template"`
	Parameters     json.RawMessage `json:"parameters"`
	TemplateLink   json.RawMessage `json:"templateLink"`
	ParametersLink json.RawMessage `json:"parametersLink"`
}

func (ds deployments) find(at route) (*deployment, *problem) {
	d := find(ds, deploymentID(at.subscription, at.group, at.name))
	if d == nil {
		return nil, fail(http.StatusNotFound, "DeploymentNotFound", "Deployment '%s' could not be found.", at.name)
	}
	return d, nil
}

// forget drops a deployment from the store.
func (ds *deployments) forget(gone *deployment) {
	*ds = slices.DeleteFunc(*ds, func(d *deployment) bool { return d == gone })
}

// wire is the deployment as a read shows it, without secure parameters.
func (d *deployment) wire(s *Server, now time.Time) map[string]any {
	state, end := d.state(now), now
	if d.ended(now) {
		end = d.end(now)
	}
	properties := map[string]any{
		"mode": d.content.Mode, "provisioningState": state, "parameters": d.evaluated.Parameters,
		"templateHash": hashOf(d.content.Template), "correlationId": d.operation,
		"timestamp": timestamp(end), "duration": isoDuration(end.Sub(d.started)),
		"dependencies": d.dependencies(), "outputResources": d.made(now), "providers": []any{},
	}
	if f := d.failure(now); f != nil {
		properties["error"] = f
	}
	if state == "Succeeded" {
		outputs, err := d.evaluated.Outputs(d.reference(s, now))
		if err == nil { // what it refers to may have been deleted since
			properties["outputs"] = outputs
		}
	}
	return map[string]any{"id": d.id(), "name": d.name, "type": "Microsoft.Resources/deployments", "properties": properties}
}

func getDeployment(q *request) answer {
	d, p := q.store.deployments.find(q.route)
	if p != nil {
		return p.answer()
	}
	return answer{status: http.StatusOK, body: d.wire(q.server, q.now)}
}

func headDeployment(q *request) answer {
	if _, p := q.store.deployments.find(q.route); p != nil {
		return answer{status: http.StatusNotFound}
	}
	return answer{status: http.StatusNoContent}
}

// listDeployments knows the filter "provisioningState eq 'x'".
func listDeployments(q *request) answer {
	state := quoted(q.query.Get("$filter"), "provisioningState")
	list := []map[string]any{}
	for _, d := range q.store.deployments {
		if strings.EqualFold(d.subscription, q.route.subscription) && strings.EqualFold(d.group, q.route.group) &&
			(state == "" || strings.EqualFold(state, d.state(q.now))) {
			list = append(list, d.wire(q.server, q.now))
		}
	}
	return page(q, list, idOf)
}

// readDeployment decodes and evaluates what a writer sent, and checks whether Azure would do it.
func (q *request) readDeployment() (*deployment, *problem) {
	d, p := q.readTemplate()
	if p != nil {
		return nil, p
	}
	return d, q.preflight(d)
}

func (q *request) readTemplate() (*deployment, *problem) {
	var w struct {
		Location   string               `json:"location"`
		Properties deploymentProperties `json:"properties"`
	}
	q.body = lenient(q.body)
	if p := q.decode(&w); p != nil {
		return nil, p
	}
	switch {
	case w.Properties.Mode == "":
		return nil, bad("InvalidRequestContent", "The request content was invalid: the deployment's 'mode' is required.")
	case !strings.EqualFold(w.Properties.Mode, "Incremental"):
		return nil, bad("InvalidRequestContent", "The simulator has no deployments of mode '%s': it knows 'Incremental'.", w.Properties.Mode)
	case len(w.Properties.TemplateLink) > 0 || len(w.Properties.ParametersLink) > 0:
		return nil, bad("InvalidRequestContent", "The simulator follows no links to templates and parameters: send them in the request.")
	case len(w.Properties.Template) == 0:
		return nil, bad("InvalidRequestContent", "The request content was invalid: the deployment's 'template' is required.")
	case w.Location != "":
		return nil, bad("InvalidDeployment", "The 'location' property is not allowed for '%s' at resource group scope.", q.route.name)
	}
	g, p := q.store.groupAt(q.route)
	if p != nil {
		return nil, p
	}
	w.Properties.Mode = "Incremental"
	evaluated, err := template.Evaluate(w.Properties.Template, w.Properties.Parameters, template.Scope{
		SubscriptionID: q.route.subscription, TenantID: tenantOf(q.server.Seed, q.server.TenantID, q.route.subscription),
		ResourceGroup: g.name, Location: g.location, Tags: textMap(g.tags), Deployment: q.route.name,
	})
	if err != nil {
		return nil, bad("InvalidTemplate", "%v", err)
	}
	d := &deployment{
		subscription: q.route.subscription, group: g.name, name: q.route.name,
		content: w.Properties, evaluated: evaluated, caller: q.principal, base: q.base, started: q.now,
	}
	d.plan()
	return d, nil
}

// plan lays out the steps.
func (d *deployment) plan() {
	of := map[*template.Resource]*step{}
	for _, r := range d.evaluated.Resources {
		t := &step{resource: r}
		if strings.EqualFold(r.Type, machineKind) {
			if body, err := r.Body(nil); err == nil {
				t.pool = poolIn(body)
			}
		}
		for _, w := range r.DependsOn {
			t.waits = append(t.waits, of[w])
		}
		of[r] = t
		d.steps = append(d.steps, t)
	}
}

func putDeployment(q *request) answer {
	d, p := q.readDeployment()
	if p != nil {
		return p.answer()
	}
	s := q.server
	status := http.StatusCreated
	if old, p := q.store.deployments.find(q.route); p == nil {
		if !old.ended(q.now) {
			return fail(http.StatusConflict, "DeploymentActiveAndUneditable",
				"Unable to edit or replace deployment '%s': previous deployment from '%s' is still active. Please see https://aka.ms/arm-deployment-operations for usage details.",
				old.name, old.started.Format("1/2/2006 3:04:05 PM")).answer()
		}
		status = http.StatusOK
		s.store.deployments.forget(old)
	} else if n := q.store.deployments.beside(d); n >= maxDeployments {
		return fail(http.StatusConflict, "DeploymentQuotaExceeded",
			"Creating the deployment '%s' would exceed the quota of '%d'. The current deployment count is '%d'. Please delete some deployments before creating a new one, or see https://aka.ms/800LimitFix for information on managing deployment limits.",
			d.name, maxDeployments, n).answer()
	}
	d.pool = q.route.set
	s.store.operations.started++
	d.operation = guid(s.Seed, "deployment", s.store.operations.started)
	s.store.deployments.add(d)
	body := d.wire(q.server, q.now) // as it was accepted, before anything has begun
	s.store.deployments.begin(s, q.now)
	return answer{status: status, body: body}.
		with("Azure-AsyncOperation", q.link(d.id()+"/operationStatuses/"+d.operation)).
		with("Retry-After", retryAfter(s.RetryAfter))
}

// beside counts the deployments of a resource group.
func (ds deployments) beside(like *deployment) int {
	n := 0
	for _, d := range ds {
		if strings.EqualFold(d.subscription, like.subscription) && strings.EqualFold(d.group, like.group) {
			n++
		}
	}
	return n
}

// getDeploymentStatus is the operation that follows a PUT: it says "Running"
// where operations of the compute provider say "InProgress".
func getDeploymentStatus(q *request) answer {
	d, p := q.store.deployments.find(q.route)
	if p != nil || !strings.EqualFold(d.operation, q.route.operation) {
		return fail(http.StatusNotFound, "DeploymentOperationNotFound", "The deployment operation '%s' could not be found.", q.route.operation).answer()
	}
	state := d.state(q.now)
	if state == "Accepted" {
		state = "Running"
	}
	body := map[string]any{"status": state}
	if f := d.failure(q.now); f != nil {
		body["error"] = f
	}
	a := answer{status: http.StatusOK, body: body}
	if !d.ended(q.now) {
		a = a.with("Retry-After", retryAfter(q.server.RetryAfter))
	}
	return a
}

// deleteDeployment forgets the deployment. What it made stays.
func deleteDeployment(q *request) answer {
	d, p := q.store.deployments.find(q.route)
	if p != nil {
		return answer{status: http.StatusNoContent}
	}
	if !d.ended(q.now) {
		return fail(http.StatusConflict, "DeploymentActiveAndUneditable",
			"The deployment '%s' is still running and can't be deleted: cancel it first.", d.name).answer()
	}
	q.store.deployments.forget(d)
	return answer{status: http.StatusAccepted}.
		with("Location", q.link("/subscriptions/"+q.route.subscription+"/operationResults/"+d.operation)).
		with("Retry-After", retryAfter(q.server.RetryAfter))
}

// getOperationResult is the Location of a deleted deployment, which is gone at
// once.
func getOperationResult(*request) answer { return answer{status: http.StatusNoContent} }

func postDeployment(q *request) answer {
	switch q.route.verb {
	case "validate":
		return validateDeployment(q)
	case "whatif":
		return whatIf(q)
	case "cancel", "exporttemplate":
		d, p := q.store.deployments.find(q.route)
		switch {
		case p != nil:
			return p.answer()
		case q.route.verb == "exporttemplate":
			return answer{status: http.StatusOK, body: map[string]any{"template": d.content.Template}}
		case d.ended(q.now):
			return fail(http.StatusConflict, "DeploymentCannotBeCancelled",
				"The deployment '%s' cannot be cancelled because it is in the terminal provisioning state '%s'.", d.name, d.state(q.now)).answer()
		}
		d.canceled = q.now
		return answer{status: http.StatusNoContent}
	}
	return fail(http.StatusNotFound, "InvalidResourceType", "The resource type could not be found for path '%s'.", q.http.URL.Path).answer()
}
