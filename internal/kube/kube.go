// Package kube reads the Kubernetes objects that decisions rest on and performs the few writes that sluice makes to them.
//
// Reading is an [Observer], which follows the API server for as long as the program runs, or [List], which reads once. Both
// hand out objects that [Trim] has reduced to what decisions read. Writing is a [Writer]: cordon, uncordon, evict, delete a
// node, open a pod's gate, answer a request for capacity, each one request that may be repeated and that does nothing to any object but the one meant.
package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
)

// DefaultPatience is how long [Observer.Start] tries an API server that does not answer. A first read that takes longer has all the time
// that it needs while its objects come.
const DefaultPatience = 30 * time.Second

// ErrNotStarted is what [Observer.Objects] answers before [Observer.Start] has returned nil.
var ErrNotStarted = errors.New("the observer has not read the cluster yet")

// Options of an [Observer]. The zero value is ready for use.
type Options struct {
	Now      func() time.Time // stamps what the API server says, for [Observer.Silent]; nil means time.Now
	Patience time.Duration    // how long Start waits for an answer, or for the next object of a read; 0 means [DefaultPatience]
	Log      *slog.Logger     // hears of lists and watches that end with an error; nil means nobody does

	Besides // what is followed besides what every decision reads

	// Background runs what nobody waits for, and what timers begin; nil means goroutines, and the machine's clock.
	Background Background

	// Bypassed says whether pods of a scheduler are worth a trigger before it has looked at them; nil means that no scheduler's are.
	Bypassed func(scheduler string) bool
}

// Observer follows the kinds of [cluster.Objects], one list and watch each, for its whole life: those that every cluster has, what
// [Besides] asks for, and
// of the others those that the API server serves, which it is asked at the start and every two minutes. Its methods may be called from several goroutines.
type Observer struct {
	patience   time.Duration
	background Background
	triggers   *triggers
	wake       chan struct{} // holds one token while a feed has changed its state since Start looked

	nodes      *feed[*corev1.Node, *corev1.Node]
	pods       *feed[*corev1.Pod, *cluster.Pod]
	daemonSets *objectFeed[*appsv1.DaemonSet]
	budgets    *objectFeed[*policyv1.PodDisruptionBudget]
	namespaces *objectFeed[*corev1.Namespace]
	configMaps *objectFeed[*corev1.ConfigMap] // nil when nobody reads them

	storage     storageFeeds
	controllers *controllerFeeds // nil when nobody reads them
	feeds       []anyFeed        // all of the above

	extra     optionalFeeds
	optional  optionals // those feeds
	discovery discovery.DiscoveryInterface
}

// storageFeeds are of what says where volumes are and may be.
type storageFeeds struct {
	claims      *objectFeed[*corev1.PersistentVolumeClaim]
	volumes     *objectFeed[*corev1.PersistentVolume]
	classes     *objectFeed[*storagev1.StorageClass]
	csiNodes    *objectFeed[*storagev1.CSINode]
	csiDrivers  *objectFeed[*storagev1.CSIDriver]
	capacities  *objectFeed[*storagev1.CSIStorageCapacity]
	attachments *objectFeed[*storagev1.VolumeAttachment]
}

// optionalFeeds are of resources that an API server may lack.
type optionalFeeds struct {
	deviceClasses *objectFeed[*resourcev1.DeviceClass]
	deviceClaims  *objectFeed[*resourcev1.ResourceClaim]
	slices        *objectFeed[*resourcev1.ResourceSlice]
	podGroups     *objectFeed[*schedulingv1beta1.PodGroup]
	coscheduling  *objectFeed[*cluster.CoschedulingGroup]
	buffers       *objectFeed[*cluster.CapacityBuffer]
	requests      *objectFeed[*cluster.ProvisioningRequest]
	templates     *objectFeed[*corev1.PodTemplate]
}

// pointer is an API object by its pointer.
type pointer interface {
	object
	comparable
}

// objectFeed is a feed that keeps API objects as they are after [Trim].
type objectFeed[T pointer] = feed[T, T]

// anyFeed is a feed whose type of object does not matter.
type anyFeed interface {
	run(context.Context)
	state() state
	seen() uint64
	lastObserved() time.Time
	advanced() time.Time
	resource() string
	forget()
}

// NewObserver returns an observer that has read nothing yet.
func NewObserver(client kubernetes.Interface, o Options) *Observer {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Background = o.background()
	ob := &Observer{patience: o.Patience, background: o.Background, triggers: newTriggers(o.Bypassed), wake: make(chan struct{}, 1)}
	r := resourcesOf(client, o.RankingNamespace)
	var common shares
	ob.nodes = newFeed(client, r.nodes, o, ob.stirred, ob.triggers.node, common.node, whole[*corev1.Node]())
	ob.nodes.tidy = common.tidy
	var table classes
	ob.pods = newFeed(client, r.pods, o, ob.stirred, ob.triggers.pod, table.record, records())
	ob.pods.tidy = table.tidy
	ob.feeds = []anyFeed{ob.nodes, ob.pods}
	ob.daemonSets = follow(ob, client, r.daemonSets, o, nil)
	ob.budgets = follow(ob, client, r.budgets, o, nil)
	ob.namespaces = follow(ob, client, r.namespaces, o, nil)
	if r.configMaps != nil {
		ob.configMaps = follow(ob, client, *r.configMaps, o, nil)
	}
	ob.storage.claims = follow(ob, client, r.claims, o, nil)
	ob.storage.volumes = follow(ob, client, r.volumes, o, nil)
	ob.storage.classes = follow(ob, client, r.classes, o, nil)
	ob.storage.csiNodes = follow(ob, client, r.csiNodes, o, nil)
	ob.storage.csiDrivers = follow(ob, client, r.csiDrivers, o, nil)
	ob.storage.capacities = follow(ob, client, r.capacities, o, nil)
	ob.storage.attachments = follow(ob, client, r.attachments, o, nil)
	ob.followControllers(client, o)

	ob.discovery = client.Discovery()
	ob.extra.deviceClasses = follow(ob, client, r.deviceClasses, o, nil)
	ob.extra.deviceClaims = follow(ob, client, r.deviceClaims, o, nil)
	ob.extra.slices = follow(ob, client, r.slices, o, nil)
	ob.extra.podGroups = follow(ob, client, r.podGroups, o, nil)
	ob.extra.coscheduling = follow(ob, client, r.coscheduling, o, nil)
	ob.extra.buffers = follow(ob, client, r.buffers, o, ob.triggers.buffer)
	ob.extra.requests = follow(ob, client, r.requests, o, ob.triggers.request)
	ob.extra.templates = follow(ob, client, r.templates, o, nil)
	return ob
}

// follow makes a feed and has the observer run it, at once or when its API is served.
func follow[T pointer](ob *Observer, client kubernetes.Interface, r resource[T], o Options, notice func(change[T])) *objectFeed[T] {
	f := newFeed(client, r, o, ob.stirred, notice, asIs, whole[T]())
	if r.apis == nil {
		ob.feeds = append(ob.feeds, f)
	} else {
		ob.optional.all = append(ob.optional.all, &optional{anyFeed: f, apis: r.apis})
	}
	return f
}

// running are the feeds of all that the API server serves.
func (o *Observer) running() []anyFeed {
	return append(o.optional.running(), o.feeds...)
}

func (o *Observer) stirred() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Start begins to follow the API server and returns once every kind of object has been read and is being watched. It goes on
// until ctx is done, through lost connections and expired watches, without further errors: see [Observer.Silent]. When it
// returns an error it has stopped. The error is an [*AccessError] that names all missing rights when there are such, but for those to what a cluster may
// not have, which is then as if it were not there; else it wraps the last answer or ctx's error and says what to check. Start is called once.
func (o *Observer) Start(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	for _, f := range o.feeds {
		go f.run(ctx)
	}
	o.optional.discover(ctx, o.discovery)
	go o.optional.rediscover(ctx, o.discovery)
	out := make(chan struct{}, 1) // of patience
	patience := o.background.After(o.patience, func() { out <- struct{}{} })
	defer patience.Stop()
	for {
		if done, err := o.settled(); done {
			return err
		}
		select {
		case <-o.wake:
		case <-out:
			if left := time.Until(o.advanced().Add(o.patience)); left > 0 {
				patience.Reset(left)
				continue
			}
			return o.unreachable(ctx, fmt.Errorf("no answer within %s", o.patience))
		case <-ctx.Done():
			return o.unreachable(ctx, ctx.Err())
		}
	}
}

// advanced is when an object of a first read last came.
func (o *Observer) advanced() time.Time {
	var last time.Time
	for _, f := range o.running() {
		if at := f.advanced(); at.After(last) {
			last = at
		}
	}
	return last
}

// settled says whether every feed either follows its resource or may not, and in the second case why.
func (o *Observer) settled() (bool, error) {
	var missing []Right
	for _, f := range o.running() {
		s := f.state()
		if s.following {
			continue
		}
		if apierrors.IsUnauthorized(s.err) {
			return true, fmt.Errorf("read %s from the API server: %w; check the token or certificate that sluice presents", f.resource(), s.err)
		}
		if len(s.denied) == 0 {
			return false, nil
		}
		if o.optional.has(f) {
			continue // decisions do without it, and [Observer.Denied] says so
		}
		missing = append(missing, s.denied...)
	}
	if len(missing) > 0 {
		return true, &AccessError{Missing: missing}
	}
	return true, nil
}

// unreachable explains why Start gave up: what the API server last answered to the first feed that is behind. A watch whose
// connection breaks looks to client-go like one that ended, so that there may be no such answer; then one more request is
// made for the sake of its error.
func (o *Observer) unreachable(ctx context.Context, cause error) error {
	const remedy = "check its address in the kubeconfig and the network between"
	for _, f := range o.running() {
		if s := f.state(); !s.following && s.err != nil {
			return fmt.Errorf("read %s from the API server: %w: %w; %s", f.resource(), cause, s.err, remedy)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := o.nodes.of.list(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return fmt.Errorf("read from the API server: %w: %w; %s", cause, err, remedy)
	}
	return fmt.Errorf("read from the API server: %w; %s", cause, remedy)
}

// Objects is what the API server has said until now. Slices and objects are shared with earlier and later calls and belong
// to nobody: an object that did not change is the same pointer, a kind that did not change the same slice. The kinds are
// read one after another, so that a pod may be on a node that is not listed yet.
func (o *Observer) Objects() (cluster.Objects, error) {
	for _, f := range o.feeds {
		if !f.state().everFollowed {
			return cluster.Objects{}, ErrNotStarted
		}
	}
	all := cluster.Objects{
		Pods:       o.pods.objects(), // before the nodes: a pod is then seldom on a node that is missing
		Nodes:      o.nodes.objects(),
		DaemonSets: o.daemonSets.objects(),
		Budgets:    o.budgets.objects(),
		Namespaces: o.namespaces.objects(),

		PersistentVolumeClaims: o.storage.claims.objects(),
		PersistentVolumes:      o.storage.volumes.objects(),
		StorageClasses:         o.storage.classes.objects(),
		CSINodes:               o.storage.csiNodes.objects(),
		CSIDrivers:             o.storage.csiDrivers.objects(),
		CSIStorageCapacities:   o.storage.capacities.objects(),
		VolumeAttachments:      o.storage.attachments.objects(),

		DeviceClasses:        served(o, o.extra.deviceClasses),
		ResourceClaims:       served(o, o.extra.deviceClaims),
		ResourceSlices:       served(o, o.extra.slices),
		PodGroups:            served(o, o.extra.podGroups),
		CoschedulingGroups:   served(o, o.extra.coscheduling),
		CapacityBuffers:      served(o, o.extra.buffers),
		ProvisioningRequests: served(o, o.extra.requests),
		PodTemplates:         served(o, o.extra.templates),

		Controllers: o.controllers.objects(), // after the pods: whoever has made one of them is there
	}
	if o.configMaps != nil {
		all.ConfigMaps = o.configMaps.objects()
	}
	return all, nil
}

// served are the objects of an optional resource, nil while the API server does not serve it, or denies it.
func served[T pointer](o *Observer, f *objectFeed[T]) []T {
	if !slices.Contains(o.optional.running(), anyFeed(f)) || len(f.state().denied) > 0 {
		return nil
	}
	return f.objects()
}

// Triggers delivers reasons to decide before the next regular cycle. It holds at most one [Trigger], into which all that
// happens until it is received is gathered; nothing ever waits for its reader. What the first read found is no trigger.
func (o *Observer) Triggers() <-chan Trigger { return o.triggers.c }

// Seen is the highest resource version of a resource ("nodes", "pods", ..., "podgroups.scheduling.x-k8s.io" for a custom one) that [Observer.Objects] shows: the newest object
// or deletion handled, or the version that a list or bookmark vouched for. It is 0 before the first read, for a resource
// that is not followed, and where the API server's versions are not numbers.
func (o *Observer) Seen(resource string) uint64 {
	for _, f := range o.running() {
		if f.resource() == resource {
			return f.seen()
		}
	}
	return 0
}

// Silent is how long the API server has delivered nothing about the resource it has been silent about longest: no list, no
// event, no bookmark. That a watch was accepted does not count. In a quiet cluster it stays about half a minute at most,
// because the API server is asked for a sign of life that often; beyond a minute the view is stale. It is a very long time
// before the first read.
func (o *Observer) Silent(now time.Time) time.Duration {
	var longest time.Duration
	for _, f := range o.feeds {
		longest = max(longest, now.Sub(f.lastObserved()))
	}
	for _, f := range o.optional.running() {
		if s := f.state(); s.everFollowed && len(s.denied) == 0 {
			longest = max(longest, now.Sub(f.lastObserved()))
		}
	}
	return longest
}
