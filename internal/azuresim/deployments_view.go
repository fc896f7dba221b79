package azuresim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"time"
)

// hashOf tells templates apart. It is not Azure's hash.
func hashOf(source []byte) string {
	var compact bytes.Buffer
	if json.Compact(&compact, source) != nil {
		compact.Write(source)
	}
	h := fnv.New64a()
	h.Write(compact.Bytes())
	return fmt.Sprint(h.Sum64())
}

// isoDuration is a duration as Resource Manager writes it: "PT1M4.5S".
func isoDuration(d time.Duration) string {
	return "PT" + strings.ToUpper(d.Round(time.Millisecond).String())
}

// resourceRef names a resource in a deployment's view.
type resourceRef struct {
	ID           string `json:"id"`
	ResourceType string `json:"resourceType,omitempty"`
	ResourceName string `json:"resourceName,omitempty"`
}

func (t *step) ref() resourceRef {
	return resourceRef{t.resource.ID, t.resource.Type, t.resource.Name}
}

// dependencies are the resources that wait for others.
func (d *deployment) dependencies() []any {
	list := []any{}
	for _, t := range d.steps {
		var waits []resourceRef
		for _, w := range t.waits {
			waits = append(waits, w.ref())
		}
		if len(waits) > 0 {
			list = append(list, map[string]any{"id": t.resource.ID, "resourceType": t.resource.Type, "resourceName": t.resource.Name, "dependsOn": waits})
		}
	}
	return list
}

// made are the resources that exist because of the deployment.
func (d *deployment) made(now time.Time) []resourceRef {
	list := []resourceRef{}
	for _, t := range d.steps {
		if end, known := t.end(); known && !end.After(now) && t.failure(now) == nil {
			list = append(list, resourceRef{ID: t.resource.ID})
		}
	}
	return list
}

// listDeploymentOperations shows what became of every resource that was begun.
func listDeploymentOperations(q *request) answer {
	d, p := q.findDeployment()
	if p != nil {
		return p.answer()
	}
	list := []map[string]any{}
	for n, t := range d.steps {
		if t.begun.IsZero() {
			continue
		}
		end, known := t.end()
		state, until, code := "Running", q.now, http.StatusText(t.status)
		properties := map[string]any{"provisioningOperation": "Create", "targetResource": t.ref()}
		if known && !end.After(q.now) {
			state, until = "Succeeded", end
			if f := t.failure(q.now); f != nil {
				state = "Failed"
				properties["statusMessage"] = errorBody{*f}
			}
		}
		properties["provisioningState"], properties["statusCode"] = state, strings.ReplaceAll(code, " ", "")
		properties["timestamp"], properties["duration"] = timestamp(until), isoDuration(until.Sub(t.begun))
		id := q.server.guid("step", d.operation, n)
		list = append(list, map[string]any{"id": d.id() + "/operations/" + id, "operationId": id, "properties": properties})
	}
	return page(q, list, idOf)
}

// validateDeployment says what a PUT would say, and does nothing.
func validateDeployment(q *request) answer {
	d, p := q.readDeployment()
	if p != nil {
		return p.answer()
	}
	body := q.deploymentBody(d)
	properties := asMap(body["properties"])
	properties["provisioningState"] = "Succeeded"
	var refs []resourceRef
	for _, t := range d.steps {
		refs = append(refs, resourceRef{ID: t.resource.ID})
	}
	properties["validatedResources"] = refs
	return answer{status: http.StatusOK, body: body}
}

// whatIf says of every resource whether it would be created or deployed again. It
// does not compare the properties of those that exist.
func whatIf(q *request) answer {
	d, p := q.readDeployment()
	if p != nil {
		return p.answer()
	}
	changes := []map[string]any{}
	for _, t := range d.steps {
		change := "Create"
		if _, err := q.server.referenceFor(d, q.now)(t.resource.ID, true); err == nil {
			change = "Deploy"
		}
		changes = append(changes, map[string]any{"resourceId": t.resource.ID, "changeType": change})
	}
	return answer{status: http.StatusOK, body: map[string]any{"status": "Succeeded", "properties": map[string]any{"changes": changes}}}
}
