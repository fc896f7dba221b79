// Package kubelets plays the kubelets of many nodes against a real API server: nodes register and stay Ready, pods that
// the scheduler binds to them start, finish and are taken down. No container runs.
//
// One watch over the nodes, one over the bound pods and one queue serve all nodes. The queue's work is level-triggered: what happens to a pod
// next is read off the pod and the clock each time, so that a repeated or lost event changes nothing.
package kubelets

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const (
	// defaultLeaseRenewal leaves two renewals within the 50 s after which the node lifecycle controller calls a node
	// unreachable. Kubelets renew every 10 s; on thousands of nodes that is most of an idle control plane's work.
	defaultLeaseRenewal = 20 * time.Second
	// statusReport is how often an unchanged node status is reported again: the kubelet's nodeStatusReportFrequency.
	statusReport = 5 * time.Minute
	// workers write to the API server at the same time.
	workers = 16
	// retry is the pause before a write that was refused is tried again.
	retry = time.Second
	// podsByNode indexes the bound pods.
	podsByNode = "spec.nodeName"
)

// Kubelets are the kubelets of all machines that joined. Set the fields before the first call and not after; Client is
// required, and the durations may be zero.
type Kubelets struct {
	// Client may do what kubelets do: create and patch nodes, patch and delete pods, and write leases in
	// kube-node-lease. Its rate limits bound all nodes together.
	Client kubernetes.Interface

	// NodeReady is the time from a node's registration to its Ready condition being True.
	NodeReady time.Duration
	// PodStart is the time from a pod's binding to its being Running and Ready.
	PodStart time.Duration
	// PodStop is the time containers take to end once their pod is deleted. A pod's grace period bounds it.
	PodStop time.Duration
	// LeaseRenewal is the time between two renewals of a node's lease. Zero means 20 s; kubelets use 10 s.
	LeaseRenewal time.Duration

	once  sync.Once
	ran   atomic.Bool
	queue workqueue.TypedDelayingInterface[item]
	pods  cache.SharedIndexInformer
	nodes cache.SharedIndexInformer // of each no more than its identity and conditions

	mu       sync.Mutex
	machines map[string]*member
	seen     map[types.UID]seen
	lastIP   uint32
}

// item is something to look at: a machine, or a pod when namespace is set.
type item struct{ namespace, name string }

// seen is when this process first saw a pod in a state whose age it needs.
type seen struct{ bound, deleted time.Time }

func (k *Kubelets) init() {
	k.once.Do(func() {
		k.queue = workqueue.NewTypedDelayingQueue[item]()
		k.machines = map[string]*member{}
		k.seen = map[types.UID]seen{}
		factory := informers.NewSharedInformerFactoryWithOptions(k.Client, 0,
			informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = "spec.nodeName!=" }),
			informers.WithTransform(func(o any) (any, error) {
				if pod, ok := o.(*corev1.Pod); ok {
					pod.ManagedFields = nil // half of a pod's memory
				}
				return o, nil
			}))
		k.pods = factory.Core().V1().Pods().Informer()
		utilruntime.Must(k.pods.AddIndexers(cache.Indexers{podsByNode: func(o any) ([]string, error) {
			return []string{o.(*corev1.Pod).Spec.NodeName}, nil
		}}))
		_, err := k.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { k.touch(o.(*corev1.Pod)) },
			UpdateFunc: func(_, o any) { k.touch(o.(*corev1.Pod)) },
			DeleteFunc: k.forget,
		})
		utilruntime.Must(err)
		k.watchNodes()
	})
}

// Run serves the machines until ctx ends, and then returns nil with nothing left running. It may be called once. Machines
// may join and leave before and during it.
func (k *Kubelets) Run(ctx context.Context) error {
	k.init()
	if k.ran.Swap(true) {
		return errors.New("kubelets: Run was called before")
	}
	var running sync.WaitGroup
	running.Go(func() { k.pods.RunWithContext(ctx) })
	running.Go(func() { k.nodes.RunWithContext(ctx) })
	for range workers {
		running.Go(func() {
			for {
				it, shutdown := k.queue.Get()
				if shutdown {
					return
				}
				k.serve(ctx, it)
				k.queue.Done(it)
			}
		})
	}
	<-ctx.Done()
	k.queue.ShutDown()
	running.Wait()
	return nil
}

// Join registers a node for m, as its kubelet does when it starts: not Ready at first, and tainted so by admission. The
// node turns Ready after NodeReady, while Run runs. A node of that name that exists already is taken over. Joining again
// under the same name is what a restarted kubelet does.
func (k *Kubelets) Join(ctx context.Context, m Machine) error {
	k.init()
	joined := &member{machine: m}
	k.mu.Lock()
	k.machines[m.Name] = joined // before the node exists: pods may be bound to it at once
	k.mu.Unlock()
	node := m.node()
	created, err := k.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		created, err = k.takeOver(ctx, node)
	}
	if err != nil {
		k.leave(m.Name, joined)
		return fmt.Errorf("join node %s: %w", m.Name, err)
	}
	k.mu.Lock()
	joined.uid = created.UID
	joined.readyAt = time.Now().Add(k.NodeReady)
	k.mu.Unlock()
	k.queue.AddAfter(item{name: m.Name}, k.NodeReady)
	return k.touchAll(m.Name)
}

// Leave stops the machine of that name, as if its power were cut: its lease is not renewed any more, and its pods are
// neither started, finished nor taken down. The Node object stays. An unknown name is ignored.
func (k *Kubelets) Leave(name string) {
	k.init()
	k.leave(name, k.member(name))
}

// leave removes joined, unless another machine joined under the name meanwhile.
func (k *Kubelets) leave(name string, joined *member) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.machines[name] == joined {
		delete(k.machines, name)
	}
}

// member is nil for a name that has not joined.
func (k *Kubelets) member(name string) *member {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.machines[name]
}

// serve looks at one item and puts it back for the time of its next change.
func (k *Kubelets) serve(ctx context.Context, it item) {
	var (
		again time.Duration
		err   error
	)
	if it.namespace == "" {
		again, err = k.serveMachine(ctx, it.name)
	} else {
		again, err = k.servePod(ctx, it)
	}
	if err != nil && ctx.Err() == nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Simulated kubelet", "namespace", it.namespace, "name", it.name)
		again = retry
	}
	if again > 0 {
		k.queue.AddAfter(it, again)
	}
}
