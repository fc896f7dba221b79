package fidelity

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"sluice.dev/sluice/cluster"
)

// Oracle is kube-scheduler over one world. It is not safe for concurrent use; [Oracle.Close] ends it.
type Oracle struct {
	w      *World
	ctx    context.Context
	cancel context.CancelFunc

	framework framework.Framework
	cache     schedulercache.Cache
	snapshot  *schedulercache.Snapshot
	shelf     *shelf
	nominated nominations
	claims    fwk.ResourceClaimTracker

	nodes    map[string]*corev1.Node
	machines map[cluster.GroupID]int    // opened here
	opened   map[string]cluster.GroupID // the same by name
	pods     map[string][]*corev1.Pod   // by node

	version int // of the cluster: every change makes another one
	asked   question
}

// question is the last pod asked about, with what the plugins prepared.
type question struct {
	pod     *corev1.Pod
	version int
	state   *framework.CycleState
	only    *fwk.PreFilterResult
	status  *fwk.Status
}

// profile is kube-scheduler's default one, without a configuration file.
var profile = sync.OnceValue(func() *config.KubeSchedulerProfile {
	metrics.Register()
	var versioned configv1.KubeSchedulerConfiguration
	scheme.Scheme.Default(&versioned)
	var c config.KubeSchedulerConfiguration
	if err := scheme.Scheme.Convert(&versioned, &c, nil); err != nil {
		panic(fmt.Sprintf("fidelity: the default configuration: %v", err))
	}
	return &c.Profiles[0]
})

// NewOracle makes a scheduler that has seen the world's objects.
func NewOracle(w *World) *Oracle {
	p := profile() // registers the metrics, which every part below counts in
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	o := &Oracle{
		w: w, ctx: ctx, cancel: cancel,
		cache: schedulercache.New(ctx, nil, false, false), snapshot: schedulercache.NewEmptySnapshot(), shelf: newShelf(),
		nominated: nominations{}, nodes: map[string]*corev1.Node{}, machines: map[cluster.GroupID]int{}, opened: map[string]cluster.GroupID{}, pods: map[string][]*corev1.Pod{},
	}
	for _, ns := range w.Namespaces {
		o.shelf.put(ns)
	}
	o.putVolumes()
	o.putDevices()
	for _, n := range w.Nodes {
		o.addNode(n)
	}
	for _, p := range w.Pods {
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue // kube-scheduler does not watch them
		}
		if p.Spec.NodeName != "" {
			o.addPod(p)
		} else if p.Status.NominatedNodeName != "" {
			o.nominated.add(p, p.Status.NominatedNodeName)
		}
	}
	devices, err := o.devices()
	if err != nil {
		panic(fmt.Sprintf("fidelity: track devices: %v", err))
	}
	o.claims = devices.ResourceClaims()
	o.framework, err = runtime.NewFramework(ctx, plugins.NewInTreeRegistry(), p,
		runtime.WithInformerFactory(o.shelf),
		runtime.WithSnapshotSharedLister(o.snapshot),
		runtime.WithPodNominator(o.nominated),
		runtime.WithParallelism(1),
		runtime.WithSharedDRAManager(devices),
		runtime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(o.shelf.Storage().V1().CSINodes().Lister())),
	)
	if err != nil {
		panic(fmt.Sprintf("fidelity: make kube-scheduler's framework: %v", err))
	}
	o.refresh()
	return o
}

// devices is the default manager of claims, slices and classes, wired as kube-scheduler wires it. Rules that taint devices are off
// by default, so the tracker reads slices as they are.
func (o *Oracle) devices() (fwk.SharedDRAManager, error) {
	api := o.shelf.Resource().V1()
	claims := assumecache.NewAssumeCache(logr.Discard(), api.ResourceClaims().Informer(), "ResourceClaim", "", nil)
	slices, err := tracker.StartTracker(o.ctx, tracker.Options{SliceInformer: api.ResourceSlices()})
	if err != nil {
		return nil, err
	}
	m := dynamicresources.NewDRAManager(o.ctx, claims, slices, o.shelf)
	if classes, ok := m.DeviceClassResolver().(*extendedresourcecache.ExtendedResourceCache); ok && classes != nil {
		_, err = api.DeviceClasses().Informer().AddEventHandler(classes)
	}
	return m, err
}

// Close ends what the scheduler's parts run in the background.
func (o *Oracle) Close() { o.cancel() }

// Nodes are the names of the nodes that are present, sorted.
func (o *Oracle) Nodes() []string { return sets.List(sets.KeySet(o.nodes)) }

// Why is why kube-scheduler would not bind the pod to the node now; "" when it would. A pod that runs is asked about as the pod
// that would replace it.
func (o *Oracle) Why(p *corev1.Pod, node string) string {
	if p.Spec.NodeName != "" {
		p = p.DeepCopy()
		p.Spec.NodeName = ""
	}
	o.prepare(p)
	info, err := o.snapshot.NodeInfos().Get(node)
	if err != nil {
		return err.Error()
	}
	if s := o.asked.status; !s.IsSuccess() {
		return s.Plugin() + ": " + s.Message()
	}
	if only := o.asked.only; !only.AllNodes() && !only.NodeNames.Has(node) {
		return "PreFilter: not among its nodes"
	}
	if s := o.framework.RunFilterPluginsWithNominatedPods(o.ctx, o.asked.state, p, info); !s.IsSuccess() {
		return s.Plugin() + ": " + s.Message()
	}
	return ""
}

// prepare runs the PreFilter plugins for the pod, unless nothing has changed since it was asked last.
func (o *Oracle) prepare(p *corev1.Pod) {
	if o.asked.pod == p && o.asked.version == o.version {
		return
	}
	o.asked = question{pod: p, version: o.version, state: framework.NewCycleState()}
	o.asked.only, o.asked.status, _ = o.framework.RunPreFilterPlugins(o.ctx, o.asked.state, p)
}

// Bind runs the pod on the node, as the scheduler's cache assumes it from the moment it has decided.
func (o *Oracle) Bind(p *corev1.Pod, node string) {
	o.nominated.DeleteNominatedPodIfExists(p)
	o.settleDevices(p, node)
	bound := p.DeepCopy()
	bound.Spec.NodeName, bound.Status.NominatedNodeName = node, ""
	o.settleVolumes(bound)
	o.addPod(bound)
	o.refresh()
}

// Room is how many machines the group may still open, those included that it awaits.
func (o *Oracle) Room(g *cluster.Group) int {
	return g.Max - (len(g.Instances) - len(unjoined(g))) - o.machines[g.ID]
}

// group is that of a machine opened here, "" for a node of the world.
func (o *Oracle) group(name string) cluster.GroupID { return o.opened[name] }

// Open adds the group's next machine under that name, with the daemon pods that the daemon controller runs there.
func (o *Oracle) Open(g *cluster.Group, name string) {
	n := g.Template.DeepCopy()
	if len(g.Zones) > 0 {
		enterZone(n, zoneAfter(g, o.machines[g.ID]))
	}
	o.machines[g.ID]++
	o.opened[name] = g.ID
	n.Name, n.UID = name, types.UID("uid-of-"+name)
	metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelHostname, name)
	o.addNode(n)
	o.shelf.put(csiNode(name, g.VolumeLimit))
	if s := o.w.Devices.Templates[g.ID]; s != nil {
		o.shelf.put(publish(s, name))
	}
	for _, ds := range o.w.DaemonSets {
		if runs, _ := daemon.NodeShouldRunDaemonPod(logr.Discard(), n, ds); !runs {
			continue
		}
		p := daemon.NewPod(ds, name)
		p.Name = ds.Name + "-" + name
		p.UID = types.UID("uid-of-" + p.Name)
		o.addPod(p)
	}
	o.refresh()
}

// Remove takes a node away with its pods, until undo brings them back.
func (o *Oracle) Remove(name string) (undo func()) {
	node, pods := o.nodes[name], o.pods[name]
	group, opened := o.opened[name]
	if opened {
		o.machines[group]--
		delete(o.opened, name)
	}
	for _, p := range pods {
		o.must(o.cache.RemovePod(logr.Discard(), p), "remove pod "+keyOf(p))
	}
	o.must(o.cache.RemoveNode(logr.Discard(), node), "remove node "+name)
	o.shelf.take(node)
	attaches := o.shelf.take(csiNode(name, 0))
	slice := o.shelf.find(&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name + "-gpus"}})
	if slice != nil {
		o.shelf.take(slice)
	}
	delete(o.pods, name)
	delete(o.nodes, name)
	o.refresh()
	return func() {
		if opened {
			o.machines[group]++
			o.opened[name] = group
		}
		o.addNode(node)
		o.shelf.put(attaches)
		if slice != nil {
			o.shelf.put(slice)
		}
		for _, p := range pods {
			o.addPod(p)
		}
		o.refresh()
	}
}

func (o *Oracle) addNode(n *corev1.Node) {
	o.nodes[n.Name] = n
	o.shelf.put(n)
	o.cache.AddNode(logr.Discard(), n)
}

func (o *Oracle) addPod(p *corev1.Pod) {
	o.pods[p.Spec.NodeName] = append(o.pods[p.Spec.NodeName], p)
	o.must(o.cache.AddPod(logr.Discard(), p), "add pod "+keyOf(p))
}

// refresh shows the plugins what has changed, as kube-scheduler does at the start of every cycle.
func (o *Oracle) refresh() {
	o.version++
	o.must(o.cache.UpdateSnapshot(logr.Discard(), o.snapshot), "update the snapshot")
}

// must panics: the cache refuses nothing but a mistake of this package.
func (o *Oracle) must(err error, doing string) {
	if err != nil {
		panic(fmt.Sprintf("fidelity: world %d: %s: %v", o.w.Seed, doing, err))
	}
}
