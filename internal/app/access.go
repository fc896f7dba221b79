package app

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/internal/web"
)

// How readers are looked up. They have a client of their own, whose limits bound what strangers can make this process ask: the loop's requests never
// wait behind theirs.
const (
	accessQPS     = 5
	accessBurst   = 10
	accessTimeout = 5 * time.Second
	accessServes  = time.Minute // for so long an answer is not asked for again
	accessKept    = 1000        // answers; when there are more, all are forgotten
)

// access has the API server say who a reader is and what he may get, by TokenReview and SubjectAccessReview. It implements [web.Access].
type access struct {
	client kubernetes.Interface
	now    func() time.Time

	mu    sync.Mutex
	known map[visit]verdict
}

// visit is a reader and what he wants. The token itself is not kept.
type visit struct {
	token [sha256.Size]byte
	path  string
}

// verdict is what the API server said about a visit: nil for yes.
type verdict struct {
	err   error
	until time.Time
}

// access is nil when everybody may read.
func (o Options) access() (web.Access, error) {
	if !o.Authorize {
		return nil, nil
	}
	config := rest.CopyConfig(o.Kube)
	config.QPS, config.Burst, config.RateLimiter, config.Timeout = accessQPS, accessBurst, nil, accessTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return &access{client: client, now: time.Now}, nil
}

// May implements [web.Access]. What the API server did not answer is asked again the next time.
func (a *access) May(ctx context.Context, token, path string) error {
	v := visit{sha256.Sum256([]byte(token)), path}
	a.mu.Lock()
	said, known := a.known[v]
	a.mu.Unlock()
	if known && a.now().Before(said.until) {
		return said.err
	}
	ctx, cancel := context.WithTimeout(ctx, accessTimeout)
	defer cancel()
	refusal, err := a.ask(ctx, token, path)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= accessKept {
		a.known = map[visit]verdict{}
	}
	a.known[v] = verdict{refusal, a.now().Add(accessServes)}
	return refusal
}

// ask has the API server look at a token and then at what its owner may. The error says that it did not.
func (a *access) ask(ctx context.Context, token, path string) (refusal, err error) {
	who, err := a.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return nil, unasked("look at tokens", err)
	}
	if !who.Status.Authenticated {
		return web.ErrUnknown, nil
	}
	user := who.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range user.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	asked := rightTo(path)
	may, err := a.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: asked, Verb: "get"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return nil, unasked("say what their owners may get", err)
	}
	if !may.Status.Allowed {
		return fmt.Errorf("%w: %s may not get %s: give it a ClusterRole with %s among the nonResourceURLs, as in deploy/web-authorization.yaml", web.ErrForbidden, user.Username, path, asked), nil
	}
	return nil, nil
}

// rightTo is the path of the right to read a page. Metrics are everybody's word for metrics; other paths are sluice's own: Kubernetes lets everybody who has
// any token get the paths under /api (ClusterRole system:discovery), meaning its own.
func rightTo(path string) string {
	if path == "/metrics" {
		return path
	}
	return "/sluice" + path
}

// unasked says why the API server did not do what readers need.
func unasked(what string, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("sluice's service account may not have the API server %s: bind it to the ClusterRole system:auth-delegator, as in deploy/web-authorization.yaml", what)
	}
	return fmt.Errorf("have the API server %s: %w", what, err)
}
