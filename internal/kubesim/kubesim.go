// Package kubesim is a small Kubernetes in memory on a simulated clock.
//
// A Cluster answers the Kubernetes API (JSON, watches also in protobuf) well enough for client-go's
// typed clientset, informers and leader election, and plays the parts around
// it: kubelets, a scheduler, the workload controllers, disruption budgets and
// garbage collection. Requests change objects at once; everything that the
// control plane does of its own accord happens inside Step, in a fixed order,
// at the time that Now tells. There are no goroutines and no sleeps, so the
// same script on the same seed gives the same bytes.
//
// The store holds the objects, and every change goes through it. The API
// server answers clients from it; the kubelets, the controllers and the
// scheduler are types of their own that read and write it. A Cluster holds
// the lock, and tells each of them of what changes.
//
// What it leaves out: admission webhooks, authentication, server-side apply,
// managed fields, heartbeats (a live node's Ready condition is
// written when it changes, not every few seconds), taint eviction, the protection
// of claims in use, storage capacities, rolling updates, and of devices those of more than one node, constraints, prioritized
// lists, shared and administrative access, and preemption for them.
package kubesim

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RunForAnnotation on a pod holds a Go duration: how long its containers run
// before they exit with success. A pod without it runs until it is deleted.
const RunForAnnotation = "sluice.dev/run-for"

// Cluster is an http.Handler that speaks the Kubernetes API. The zero value is
// ready for use and holds the namespaces and priority classes that a new
// cluster has. Its methods are safe for concurrent use; its fields must not
// change after the first call.
type Cluster struct {
	// Now tells the time; nil means time.Now. It is called with the
	// cluster's lock held and must not call back into the cluster.
	Now func() time.Time
	// Seed decides UIDs and generated names, together with the name of the
	// object and the resource version it was created at.
	Seed uint64

	PodStart      time.Duration // from bound to Running; 0 means 2 s
	PodStop       time.Duration // from deletion to gone, at most the pod's grace period; 0 means 2 s
	NotReadyAfter time.Duration // from a machine's leaving to Ready=Unknown; 0 means 40 s
	OrphanAfter   time.Duration // from a Node's deletion to that of its pods; 0 means 60 s
	Provision     time.Duration // from a claim that may have a volume to the volume; 0 means 3 s
	Detach        time.Duration // from the last pod of a volume on a node to its detachment; 0 means 5 s

	mu      sync.Mutex
	once    sync.Once
	stepped uint64 // resource version after the last Step

	store       *store
	pods        *podIndex
	timers      *timers
	kubelets    *kubelets
	controllers *controllers
	scheduler   *scheduler
	api         *apiServer
}

// now returns the simulated time in UTC.
func (c *Cluster) now() time.Time {
	if c.Now == nil {
		return time.Now().UTC()
	}
	return c.Now().UTC()
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}

// lock takes the cluster's lock and makes the zero value ready.
func (c *Cluster) lock() {
	c.mu.Lock()
	c.once.Do(c.begin)
}

// begin puts the parts together, and makes what a new cluster has.
func (c *Cluster) begin() {
	c.store = newStore(c.Seed, c.now, c.observe)
	c.pods = &podIndex{byKey: map[string]*podState{}, onNode: map[string]map[string]*podState{}}
	c.timers = &timers{}
	c.kubelets = &kubelets{store: c.store, pods: c.pods, timers: c.timers, machines: map[string]*machine{}}
	c.controllers = newControllers(c.store, c.pods, c.timers)
	c.scheduler = newScheduler(c.store, c.pods, c.controllers.volumes)
	c.api = &apiServer{lock: &c.mu, store: c.store, budgets: &c.controllers.budgets}

	for _, name := range []string{"default", "kube-node-lease", "kube-public", "kube-system"} {
		c.store.born(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	c.store.born(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "system-cluster-critical"}, Value: 2000000000})
	c.store.born(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "system-node-critical"}, Value: 2000001000})
}
