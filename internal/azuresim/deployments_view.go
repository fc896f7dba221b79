package azuresim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/internal/azuresim/template"
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
		if end, known := t.end(now); known && !end.After(now) && t.failure(now) == nil {
			list = append(list, resourceRef{ID: t.resource.ID})
		}
	}
	return list
}

// listDeploymentOperations shows what became of every resource that was begun.
func listDeploymentOperations(q *request) answer {
	d, p := q.store.deployments.find(q.route)
	if p != nil {
		return p.answer()
	}
	list := []map[string]any{}
	for n, t := range d.steps {
		if t.begun.IsZero() {
			continue
		}
		end, known := t.end(q.now)
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
		id := guid(q.server.Seed, "step", d.operation, n)
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
	body := d.wire(q.server, q.now)
	properties := asMap(body["properties"])
	properties["provisioningState"] = "Succeeded"
	var refs []resourceRef
	for _, t := range d.steps {
		refs = append(refs, resourceRef{ID: t.resource.ID})
	}
	properties["validatedResources"] = refs
	return answer{status: http.StatusOK, body: body}
}

// whatIf says of every resource whether it would be created, changed in which
// properties, or left as it is. What a write does not mention counts as unchanged,
// and so does what Azure never shows.
func whatIf(q *request) answer {
	d, p := q.readDeployment()
	if p != nil {
		return p.answer()
	}
	changes := []map[string]any{}
	for _, t := range d.steps {
		change := map[string]any{"resourceId": t.resource.ID, "changeType": "Create"}
		after, err := t.resource.Body(d.reference(q.server, q.now))
		if err != nil { // it refers to what is not there yet
			after = nil
		}
		before, err := d.reference(q.server, q.now)(t.resource.ID, true)
		switch {
		case err != nil:
			change["after"] = identified(t.resource, after)
		case strings.EqualFold(t.resource.Type, "Microsoft.Resources/deployments"): // what it would do is its own matter
			continue
		default:
			var delta []any
			compareWrite(asMap(withoutSecrets(plainJSON(after))), before, "", &delta)
			change["changeType"], change["before"], change["after"] = "NoChange", before, before
			if len(delta) > 0 {
				change["changeType"], change["delta"] = "Modify", delta
				change["after"] = merge(before, asMap(plainJSON(after)))
			}
		}
		changes = append(changes, change)
	}
	return answer{status: http.StatusOK, body: map[string]any{"status": "Succeeded", "properties": map[string]any{"changes": changes}}}
}

// identified is a resource as a what-if shows it.
func identified(r *template.Resource, body map[string]any) map[string]any {
	out := map[string]any{"id": r.ID, "type": r.Type, "name": r.Name, "apiVersion": r.APIVersion}
	maps.Copy(out, asMap(withoutSecrets(plainJSON(body))))
	return out
}

// plainJSON is a value as JSON reads it: whole numbers are float64 then.
func plainJSON(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var out any
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// unread are members that Azure takes and shows nowhere, or otherwise.
var unread = []string{"dependsOn", "value", "keyData"}

// compareWrite collects in which members a write differs from what is there. Null
// and what is not mentioned change nothing.
func compareWrite(write, have map[string]any, path string, delta *[]any) {
	for _, key := range slices.Sorted(maps.Keys(write)) {
		want, at := write[key], strings.TrimPrefix(path+"."+key, ".")
		if want == nil || slices.Contains(unread, key) {
			continue
		}
		is := lookupFold(have, key)
		switch want := want.(type) {
		case map[string]any:
			if there, ok := is.(map[string]any); ok || len(want) == 0 {
				compareWrite(want, there, at, delta)
				continue
			}
		case []any:
			if there, ok := is.([]any); ok && len(there) == len(want) || len(want) == 0 {
				for n := range want {
					w, isObject := want[n].(map[string]any)
					h, _ := there[n].(map[string]any)
					if isObject {
						compareWrite(w, h, fmt.Sprintf("%s.%d", at, n), delta)
					} else if !sameValue(want[n], there[n]) {
						*delta = append(*delta, changeOf(fmt.Sprintf("%s.%d", at, n), there[n], want[n]))
					}
				}
				continue
			}
		default:
			if sameValue(want, is) {
				continue
			}
		}
		*delta = append(*delta, changeOf(at, is, want))
	}
}

func changeOf(path string, before, after any) map[string]any {
	kind := "Modify"
	if before == nil {
		kind = "Create"
	}
	return map[string]any{"path": path, "propertyChangeType": kind, "before": before, "after": after}
}

// sameValue compares as Azure does: ids and words in any letter case.
func sameValue(a, b any) bool {
	x, isText := a.(string)
	y, too := b.(string)
	return isText && too && strings.EqualFold(x, y) || a == b
}

func lookupFold(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	for k, v := range m {
		if strings.EqualFold(k, key) {
			return v
		}
	}
	return nil
}
