package kube

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
)

// How often rights are asked for: somebody may be granting just now what is missing, or taking away what is there.
const (
	rightsAsked   = 2 * time.Minute
	rightsDoubted = 5 * time.Second // after a write was refused
	rightsWithin  = 5 * time.Second // an answer is waited for
)

// writes are the rights that every sluice uses to change objects.
var writes = []Right{
	cluster.ReadNode, cluster.PatchNode, cluster.UpdateNode, cluster.DeleteNodes, cluster.EvictPods, cluster.DeleteAttachments, cluster.CreateEvents,
}

// Rights has the API server say which rights this client has to change objects. What it does not say counts as granted: a write then meets the refusal
// itself. Its methods may be called from several goroutines.
type Rights struct {
	client     kubernetes.Interface
	now        func() time.Time
	background Background

	mu     sync.Mutex
	lacks  map[Right]bool
	asked  time.Time
	asking bool
}

// NewRights returns rights of which nothing is known yet. Of the options it heeds Now and Background.
func NewRights(client kubernetes.Interface, o Options) *Rights {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Rights{client: client, now: o.Now, background: o.background()}
}

// Refresh asks anew, when it is time to; no cycle waits for the answers. A right of which the API server says nothing now stays what it was.
func (r *Rights) Refresh(ctx context.Context) {
	r.mu.Lock()
	due := !r.asking && (r.asked.IsZero() || r.now().Sub(r.asked) >= rightsAsked)
	r.asking = r.asking || due
	r.mu.Unlock()
	if due {
		r.background.Go(func() { r.refresh(ctx) })
	}
}

func (r *Rights) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, rightsWithin)
	defer cancel()
	granted, known := make([]bool, len(writes)), make([]bool, len(writes))
	for i, right := range writes {
		granted[i], known[i] = r.ask(ctx, right)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked, r.asking = r.now(), false
	lacks := map[Right]bool{}
	for i, right := range writes {
		if !known[i] && r.lacks[right] || known[i] && !granted[i] {
			lacks[right] = true
		}
	}
	r.lacks = lacks
}

func (r *Rights) ask(ctx context.Context, right Right) (granted, known bool) {
	resource, sub, _ := strings.Cut(right.Resource, "/")
	granted, err := Granted(ctx, r.client, authorizationv1.ResourceAttributes{Verb: right.Verb, Group: right.Group, Resource: resource, Subresource: sub})
	return granted, err == nil
}

// Granted has the API server say whether the client's account has a right. An authorizer that could not tell is an error.
func Granted(ctx context.Context, client kubernetes.Interface, right authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	switch {
	case err != nil:
		return false, err
	case !answer.Status.Allowed && answer.Status.EvaluationError != "":
		return false, errors.New(answer.Status.EvaluationError)
	}
	return answer.Status.Allowed, nil
}

// Recheck has rights asked for anew soon: a write was refused.
func (r *Rights) Recheck() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if due := r.now().Add(rightsDoubted - rightsAsked); due.Before(r.asked) {
		r.asked = due
	}
}

// Lacks says whether the right is missing, as far as known.
func (r *Rights) Lacks(right Right) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lacks[right]
}

// Missing are the rights whose want makes a difference.
func (r *Rights) Missing() cluster.Lacks {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all cluster.Lacks
	for _, right := range writes {
		if r.lacks[right] {
			all = append(all, right)
		}
	}
	return all.Effective().Sorted()
}

// Denied are the rights to read what a cluster may not have, which the API server has and denies.
func (o *Observer) Denied() cluster.Lacks {
	var all cluster.Lacks
	for _, f := range o.optional.running() {
		all = append(all, f.state().denied...)
	}
	return all.Sorted()
}
