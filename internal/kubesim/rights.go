package kubesim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reviewPath is where a client asks whether it has a right.
const reviewPath = "apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// right is a verb on a resource, with its subresource, of any group.
type right struct{ verb, resource string }

// rights are what an authorizer knows.
type rights struct {
	denied map[right]string // rights that clients do not have, with the user agent of who it is, "" for everybody
}

// Deny takes a right from the client with that user agent, from everybody for "", and Allow gives it back: "patch" of "nodes", "create" of "pods/eviction".
func (c *Cluster) Deny(agent, verb, resource string) {
	c.lock()
	defer c.mu.Unlock()
	if c.api.rights.denied == nil {
		c.api.rights.denied = map[right]string{}
	}
	c.api.rights.denied[right{verb, resource}] = agent
}

// Allow takes back what [Cluster.Deny] did.
func (c *Cluster) Allow(verb, resource string) {
	c.lock()
	defer c.mu.Unlock()
	delete(c.api.rights.denied, right{verb, resource})
}

func (rs *rights) allows(agent string, r right) bool {
	whom, denied := rs.denied[r]
	return !denied || whom != "" && whom != agent
}

// refuses is the answer of an authorizer to a call that its client has no right to, nil to any other. The caller holds the lock.
func (rs *rights) refuses(q *call) error {
	resource := q.kind.resource
	if q.subresource != "" {
		resource += "/" + q.subresource
	}
	if rs.allows(q.agent, right{q.verb, resource}) {
		return nil
	}
	return apierrors.NewForbidden(q.kind.groupResource(), q.name, fmt.Errorf("User %q cannot %s resource %q in API group %q at the cluster scope", q.agent, q.verb, resource, q.kind.group))
}

// reviewed answers a client that asks whether it has a right. The caller holds the lock.
func (rs *rights) reviewed(r *http.Request) (answer, bool) {
	if strings.Trim(r.URL.Path, "/") != reviewPath || r.Method != http.MethodPost {
		return answer{}, false
	}
	var review authorizationv1.SelfSubjectAccessReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Spec.ResourceAttributes == nil {
		return failure(apierrors.NewBadRequest("no review of a resource")), true
	}
	asked := review.Spec.ResourceAttributes
	resource := asked.Resource
	if asked.Subresource != "" {
		resource += "/" + asked.Subresource
	}
	review.Status.Allowed = rs.allows(r.UserAgent(), right{asked.Verb, resource})
	review.SetGroupVersionKind(schema.GroupVersionKind{Group: "authorization.k8s.io", Version: "v1", Kind: "SelfSubjectAccessReview"})
	made := encoded(review)
	made.code = http.StatusCreated
	return made, true
}
