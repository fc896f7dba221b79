package kube

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
)

// rediscovery is how often the API server is asked anew which optional APIs it serves.
const rediscovery = 2 * time.Minute

// optional is a feed of a resource that a cluster may not have. It runs only while the API server serves the resource.
type optional struct {
	anyFeed
	apis []api
	stop context.CancelFunc // nil while it does not run
	done chan struct{}      // closed when the last run has ended; nil before the first
}

// optionals are the feeds of what a cluster may not have.
type optionals struct {
	mu  sync.Mutex
	all []*optional
}

// running are the feeds that run.
func (os *optionals) running() []anyFeed {
	os.mu.Lock()
	defer os.mu.Unlock()
	var all []anyFeed
	for _, o := range os.all {
		if o.stop != nil {
			all = append(all, o.anyFeed)
		}
	}
	return all
}

// has says whether the feed is one of them.
func (os *optionals) has(f anyFeed) bool {
	return slices.ContainsFunc(os.all, func(o *optional) bool { return o.anyFeed == f })
}

// discover starts the feeds of what has come and stops those of what has gone. An answer that says neither changes nothing.
func (os *optionals) discover(ctx context.Context, client discovery.DiscoveryInterface) {
	served := map[string]map[string]bool{} // resources by group and version; nil for one that is not known
	for _, o := range os.all {
		for _, a := range o.apis {
			if _, asked := served[a.groupVersion]; !asked {
				served[a.groupVersion] = resourcesServed(client, a.groupVersion)
			}
		}
	}
	os.mu.Lock()
	defer os.mu.Unlock()
	for _, o := range os.all {
		present, known := false, true
		for _, a := range o.apis {
			present = present || served[a.groupVersion][a.resource]
			known = known && served[a.groupVersion] != nil
		}
		switch {
		case present && o.stop == nil:
			o.start(ctx)
		case !present && known && o.stop != nil:
			o.stop()
			o.stop = nil
		}
	}
}

// start runs the feed, from nothing. The run before has to have ended; else the next discovery starts it.
func (o *optional) start(ctx context.Context) {
	if o.done != nil {
		select {
		case <-o.done:
		default:
			return
		}
	}
	o.forget()
	ctx, o.stop = context.WithCancel(ctx)
	done := make(chan struct{})
	o.done = done
	go func() {
		defer close(done)
		o.run(ctx)
	}()
}

// resourcesServed are the resources of a group and version, none where it is not served, nil when that is not known.
func resourcesServed(client discovery.DiscoveryInterface, groupVersion string) map[string]bool {
	list, err := client.ServerResourcesForGroupVersion(groupVersion)
	if apierrors.IsNotFound(err) {
		return map[string]bool{}
	}
	if err != nil {
		return nil
	}
	served := map[string]bool{}
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			served[r.Name] = true
		}
	}
	return served
}

// rediscover looks from time to time, until ctx is done.
func (os *optionals) rediscover(ctx context.Context, client discovery.DiscoveryInterface) {
	every := time.NewTicker(rediscovery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			os.discover(ctx, client)
		case <-ctx.Done():
			return
		}
	}
}
