package azure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// Resources asks Resource Manager for a person: about resources of every kind, by their paths. It signs in, finds its way and names errors as a
// [Provider] does. Unlike a Provider it waits until Azure has ended what it was asked for.
type Resources struct {
	client *client
	rm     *resourceManager
	bare   runtime.Pipeline // which nothing holds back, for [Resources.Exchange]

	// Wait is called between two questions about work that goes on; nil waits by the clock. It returns the context's error when that ends.
	Wait func(context.Context, time.Duration) error
	// Tell is told, in one sentence, that a request waits for its time or is made again; nil: neither is done, and its error comes at once.
	Tell func(string)

	toldHeld time.Time // when it was told of one that waits
}

// NewResources makes one. With a subscription and a resource group in the options it asks nobody; errors name the field and the remedy.
func NewResources(ctx context.Context, options Options) (*Resources, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if o, err = o.find(ctx); err != nil {
		return nil, err
	}
	c, _, err := o.connect()
	if err != nil {
		return nil, err
	}
	c.about = func(cluster.GroupID) subject { return subject{person: true} }
	bare, err := o.pipeline(nil, c.tokens)
	if err != nil {
		return nil, err
	}
	return &Resources{client: c, rm: newResourceManager(o, c.pipeline), bare: bare, Wait: sleep}, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Subscription is the subscription's id.
func (r *Resources) Subscription() string { return r.client.options.Subscription }

// Get reads what is at a path into a value. It returns false where nothing is. A subscription that these credentials do not reach is an
// error, unless the path is its own: what is in it may run on.
func (r *Resources) Get(ctx context.Context, path, version string, into any) (bool, error) {
	raw, err := r.once(ctx, http.MethodGet, path, version, nil)
	if missing(err) && (!unreached(err) || strings.Count(path, "/") == subscriptionDepth) {
		return false, nil
	}
	if err != nil {
		return false, r.client.wrap("", "read "+path, err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return false, r.client.wrap("", "read "+path, fmt.Errorf("an answer about %s could not be read: %w", path, err))
	}
	return true, nil
}

// List reads a whole collection, each item as it came.
func (r *Resources) List(ctx context.Context, path, version string, query url.Values) ([]json.RawMessage, error) {
	asked := url.Values{"api-version": {version}}
	for name, values := range query {
		asked[name] = values
	}
	var all []json.RawMessage
	err := r.patiently(ctx, http.MethodGet, "list "+path, path, func() (err error) {
		all, err = collect[json.RawMessage](ctx, r.rm.pipeline, r.rm.endpoint+path+"?"+asked.Encode())
		return err
	})
	if err != nil {
		return nil, r.client.wrap("", "list "+path, err)
	}
	return all, nil
}

// Put writes what is at a path, and waits until Azure has accepted it. A deployment goes on after that.
func (r *Resources) Put(ctx context.Context, path, version string, body any) error {
	if _, err := r.once(ctx, http.MethodPut, path, version, body); err != nil {
		return r.client.wrap("", "write "+path, err)
	}
	return nil
}

// Patch changes what is at a path, and waits until that has ended.
func (r *Resources) Patch(ctx context.Context, path, version string, body any) error {
	return r.whole(ctx, http.MethodPatch, "change "+path, path, version, body, nil)
}

// Post asks for something to be done at a path, waits until it has ended, and reads the answer into a value.
func (r *Resources) Post(ctx context.Context, path, version string, body, into any) error {
	return r.whole(ctx, http.MethodPost, "ask "+path, path, version, body, into)
}

// subscriptionDepth is how many slashes the path of a subscription has.
const subscriptionDepth = 2

// unreached says whether Azure answered that the subscription is not there. One that the credentials do not see gets that answer, too.
func unreached(err error) bool {
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) {
		return false
	}
	a, _ := answerOf(refused)
	return a.Code == noSubscription
}

// Delete removes what is at a path, and waits until it is gone. What is not there is gone, but for the subscription itself.
func (r *Resources) Delete(ctx context.Context, path, version string) error {
	err := r.whole(ctx, http.MethodDelete, "delete "+path, path, version, nil, nil)
	var e *cloud.Error
	if errors.As(err, &e) && e.Kind == cloud.NotFound && e.Code != noSubscription {
		return nil
	}
	return err
}

// once makes one request and returns the body of its answer.
func (r *Resources) once(ctx context.Context, method, path, version string, body any) ([]byte, error) {
	resp, err := r.sent(ctx, method, "ask about "+path, path, version, body) //nolint:bodyclose // the pipeline has read and closed it
	if err != nil {
		return nil, err
	}
	return runtime.Payload(resp)
}

// sent is the answer to a request that is made patiently.
func (r *Resources) sent(ctx context.Context, method, doing, path, version string, body any) (resp *http.Response, err error) {
	err = r.patiently(ctx, method, doing, path, func() (err error) {
		resp, err = r.rm.send(ctx, method, path, version, body) //nolint:bodyclose // the pipeline has read and closed it
		return err
	})
	return resp, err
}

// whole makes one request and follows the operation that it begins to its end.
func (r *Resources) whole(ctx context.Context, method, doing, path, version string, body, into any) error {
	resp, err := r.sent(ctx, method, doing, path, version, body) //nolint:bodyclose // the pipeline has read and closed it
	if err != nil {
		return r.client.wrap("", doing, err)
	}
	poller, err := runtime.NewPoller[json.RawMessage](resp, r.rm.pipeline, nil)
	if err != nil {
		return r.client.wrap("", doing, err)
	}
	for failed := 0; !poller.Done(); {
		if err := r.Wait(ctx, min(retryAfter(resp, r.client.now(), pollEvery), time.Minute)); err != nil {
			return err
		}
		resp, err = poller.Poll(ctx) //nolint:bodyclose // the pipeline has read and closed it
		if err != nil {
			if e := r.client.wrap("", doing, err); !temporary(e) {
				if failed++; r.Tell == nil || failed == mostAsked || !passes(e, err) {
					return e
				}
			}
		}
		if resp == nil {
			resp = &http.Response{}
		}
	}
	var raw json.RawMessage
	err = r.patiently(ctx, "", doing, path, func() (err error) { // held back it waits; how the work ended is not asked twice
		raw, err = poller.Result(ctx)
		return err
	})
	if err != nil {
		return r.client.wrap("", doing, err)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return r.client.wrap("", doing, fmt.Errorf("the answer about %s could not be read: %w", path, err))
	}
	return nil
}

// temporary says whether a poll that failed so is to be made again: the work goes on without it.
func temporary(e *cloud.Error) bool {
	return e.Kind == cloud.Transient && Silent(e) || e.Kind == cloud.Throttled
}

// Examine asks what the machine at a path says of itself: statuses that are not good, and the end of its serial console log. It is nil where there
// is no answer now.
func (r *Resources) Examine(ctx context.Context, path string) *cluster.Diagnosis {
	d := &diagnostics{client: r.client}
	return d.examine(ctx, "", path, true)
}
