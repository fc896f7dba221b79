package kube

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/utils/clock"
)

// A watch ends after watchLength, asked for from the API server, or after watchRenewal without a word from it, and goes on
// in another one where it stood. Each new one comes with a [feed.prove], so that a quiet cluster and a stale view are told
// apart in time (S-20: 60 s).
const (
	watchLength  = 25 * time.Second
	watchRenewal = 30 * time.Second
)

// retries of a list or watch that failed: soon, then ever later, slower for each of many clients at random.
var retries = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 7, Cap: 20 * time.Second}

// feed follows one resource. It is the store of a reflector rather than an informer: what the API server says is visible
// when the reflector's call returns, bookmarks are heard, and no second copy or queue stands in between.
type feed[T object, K comparable] struct {
	of         resource[T]
	keep       func(T) K        // of a trimmed object; called by the reflector alone
	tidy       func(map[name]K) // called by the reflector alone after changes, with all that is held; may be nil
	client     any              // the clientset, asked only whether it can stream lists
	now        func() time.Time
	background Background
	log        *slog.Logger

	stirred func()          // called without the lock when the state may have changed
	notice  func(change[K]) // called without the lock, in order, for changes after the first read; may be nil

	mu       sync.Mutex
	held     *collection[K]
	version  uint64           // highest resource version that held shows
	last     time.Time        // when the API server last said something
	first    advance          // of the first read
	listed   bool             // held was filled by a whole read
	followed bool             // listed, and then or later watched
	watched  bool             // the latest request to watch was accepted
	errs     map[string]error // by verb, the latest answer if that was an error
	watcher  watch.Interface  // the latest
	silence  Timer            // stops watcher; nil while nothing may yet be expected of it
}

// state is how far a feed has come.
type state struct {
	following    bool    // its objects are whole and watched
	everFollowed bool    // they once were
	denied       []Right // why it cannot follow, when rights are what it lacks
	err          error   // the latest answer, if that was an error
}

func newFeed[T object, K comparable](client any, of resource[T], o Options, stirred func(), notice func(change[K]), keep func(T) K, as form[K]) *feed[T, K] {
	return &feed[T, K]{of: of, client: client, now: o.Now, background: o.Background, log: o.Log, stirred: stirred, notice: notice, keep: keep, held: newCollection(as), errs: map[string]error{}}
}

// run lists and watches until ctx is done.
func (f *feed[T, K]) run(ctx context.Context) {
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			l, err := f.of.list(ctx, o) // the reflector's own context has no end
			f.answered(ctx, "list", err)
			if err != nil {
				return nil, err
			}
			return f.arrivals(l, o.Continue == "") // before the next page comes
		},
		WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			streams := o.SendInitialEvents != nil && *o.SendInitialEvents
			if !streams { // the first read has all the time that it needs
				o.TimeoutSeconds = new(int64(watchLength / time.Second))
			}
			w, err := f.of.watch(ctx, o)
			f.answered(ctx, "watch", err)
			if err == nil {
				f.opened(w, streams)
				if !streams {
					f.background.After(0, func() { f.prove(ctx) })
				}
			}
			return w, err
		},
	}, f.client)
	retries := f.background.Retries(retries)
	reflector := cache.NewReflectorWithOptions(source, f.of.empty, f, cache.ReflectorOptions{Name: f.of.name, TypeDescription: f.of.name, Backoff: new(retries)})
	_ = retries.DelayWithReset(clock.RealClock{}, 2*time.Minute).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		err := reflector.ListAndWatchWithContext(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
		case f.of.apis != nil && apierrors.IsForbidden(err): // it is done without, until somebody grants it
			f.rest(ctx)
		default:
			f.log.Warn("list and watch", "resource", f.of.name, "err", Plain(err))
		}
		return false, nil // so that only ctx ends it
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.silence != nil {
		f.silence.Stop()
	}
}

// rest waits until what is denied is asked for again.
func (f *feed[T, K]) rest(ctx context.Context) {
	over := make(chan struct{})
	defer f.background.After(rediscovery, func() { close(over) }).Stop()
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// answered notes what the API server answered to a list or to the opening of a watch.
func (f *feed[T, K]) answered(ctx context.Context, verb string, err error) {
	if err != nil && ctx.Err() != nil {
		return // nobody waited for the answer
	}
	f.mu.Lock()
	f.errs[verb] = err
	switch {
	case verb == "list" && err == nil:
		f.last = f.now()
	case verb == "watch": // which is no sign of life: it may deliver nothing
		f.watched = err == nil
		f.followed = f.followed || f.listed && f.watched
	}
	f.mu.Unlock()
	f.stirred()
}

// opened begins to expect signs of life from a watch; from one that streams the first read only when that is complete.
func (f *feed[T, K]) opened(w watch.Interface, streams bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.silence != nil {
		f.silence.Stop()
		f.silence = nil
	}
	f.watcher = w
	if streams {
		f.first.again()
	} else {
		f.expect()
	}
}

// prove has the API server say something about a resource to which nothing happens. Bookmarks do not do that: a watch gets
// none that is no newer than its start, and how soon newer ones come depends on etcd's flags. So it is asked for a streamed
// read of no object at all: the bookmark at its end comes only when the API server has caught up with etcd. One that cannot
// stream is asked for a consistent list of no object.
func (f *feed[T, K]) prove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, watchLength)
	defer cancel()
	nothing := metav1.ListOptions{FieldSelector: "metadata.name=-"} // no name is a hyphen
	if watchlist.DoesClientNotSupportWatchListSemantics(f.client) {
		f.proveByList(ctx, nothing)
		return
	}
	stream := nothing
	stream.SendInitialEvents, stream.ResourceVersionMatch, stream.AllowWatchBookmarks = new(true), metav1.ResourceVersionMatchNotOlderThan, true
	stream.TimeoutSeconds = new(int64(watchLength / time.Second))
	w, err := f.of.watch(ctx, stream)
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		f.proveByList(ctx, nothing)
		return
	}
	if err != nil {
		return // the watch proper meets the same error and tells
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == watch.Bookmark {
			f.proven()
			return
		}
	}
}

func (f *feed[T, K]) proveByList(ctx context.Context, o metav1.ListOptions) {
	if _, err := f.of.list(ctx, o); err == nil {
		f.proven()
	}
}

func (f *feed[T, K]) proven() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = f.now()
}

// expect gives the watch another [watchRenewal] to say something. The caller holds the lock.
func (f *feed[T, K]) expect() {
	switch {
	case f.silence != nil:
		f.silence.Reset(watchRenewal)
	case f.watcher != nil:
		f.silence = f.background.After(watchRenewal, f.watcher.Stop)
	}
}

func (f *feed[T, K]) state() state {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := state{following: f.listed && f.watched, everFollowed: f.followed}
	for _, verb := range []string{"list", "watch"} {
		if err := f.errs[verb]; err != nil {
			s.err = err
			if apierrors.IsForbidden(err) && !s.following && (f.listed || f.errs["list"] != nil) { // one that follows may have streamed what it once might not list
				s.denied = append(s.denied, Right{Verb: verb, Resource: f.of.name, Group: f.of.group})
			}
		}
	}
	return s
}

func (f *feed[T, K]) objects() []K {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held.objects()
}

func (f *feed[T, K]) seen() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version
}

// advanced is when the first read last got further than any attempt at it before, by the clock of timers.
func (f *feed[T, K]) advanced() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first.at
}

func (f *feed[T, K]) lastObserved() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// resource is the plural name, of a custom resource that of its definition.
func (f *feed[T, K]) resource() string {
	if strings.HasSuffix(f.of.group, ".x-k8s.io") {
		return f.of.name + "." + f.of.group
	}
	return f.of.name
}

// forget makes the feed as it was before its first run. It does not run meanwhile.
func (f *feed[T, K]) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held, f.version, f.last = newCollection(f.held.form), 0, time.Time{}
	f.listed, f.followed, f.watched, f.errs = false, false, false, map[string]error{}
	f.watcher, f.silence, f.first = nil, nil, advance{}
}
