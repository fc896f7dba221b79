package kubelets

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// leaseDuration is what kubelets write into their leases.
const leaseDuration = 40 // seconds

// Machine is what a kubelet knows about the machine on which it runs. Only Name is required.
type Machine struct {
	Name       string // of the node; also its host name
	ProviderID string // spec.providerID, immutable once set on the Node object
	SystemUUID string // status.nodeInfo.systemUUID, on Azure the vmId
	InternalIP string

	Labels      map[string]string // beside kubernetes.io/hostname, os and arch, which default to Name, linux and amd64
	Annotations map[string]string
	Taints      []corev1.Taint // the kubelet's --register-with-taints: set on creation, never again

	Capacity    corev1.ResourceList // pods defaults to 110
	Allocatable corev1.ResourceList // nil means Capacity

	KubeletVersion string // v1.37.2 if empty
}

// member is a machine that has joined. Kubelets.mu guards it, except that lease belongs to the worker serving the machine:
// the queue hands one item to one worker at a time.
type member struct {
	machine  Machine
	uid      types.UID // of its Node object
	readyAt  time.Time // when it turns Ready
	reportAt time.Time // when its status is reported next
	lease    *coordinationv1.Lease
}

// node is the object a kubelet creates: complete, but not Ready.
func (m Machine) node() *corev1.Node {
	labels := map[string]string{
		corev1.LabelHostname:   m.Name,
		corev1.LabelOSStable:   "linux",
		corev1.LabelArchStable: "amd64",
	}
	maps.Copy(labels, m.Labels)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, Labels: labels, Annotations: m.Annotations},
		Spec:       corev1.NodeSpec{ProviderID: m.ProviderID, Taints: m.Taints},
		Status:     m.status(false),
	}
}

// status is all that a kubelet reports about its machine.
func (m Machine) status(ready bool) corev1.NodeStatus {
	capacity := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
	maps.Copy(capacity, m.Capacity)
	allocatable := maps.Clone(capacity)
	maps.Copy(allocatable, m.Allocatable)
	version := m.KubeletVersion
	if version == "" {
		version = "v1.37.2"
	}
	arch := m.Labels[corev1.LabelArchStable]
	if arch == "" {
		arch = "amd64"
	}
	addresses := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: m.Name}}
	if m.InternalIP != "" {
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: m.InternalIP})
	}
	return corev1.NodeStatus{
		Capacity:    capacity,
		Allocatable: allocatable,
		Conditions:  conditions(ready),
		Addresses:   addresses,
		NodeInfo: corev1.NodeSystemInfo{
			SystemUUID:              m.SystemUUID,
			MachineID:               m.SystemUUID,
			KubeletVersion:          version,
			ContainerRuntimeVersion: "containerd://2.1.0",
			OperatingSystem:         "linux",
			Architecture:            arch,
			OSImage:                 "Simulated",
			KernelVersion:           "6.8.0",
		},
	}
}

// conditions are the kubelet's, all of them changed now.
func conditions(ready bool) []corev1.NodeCondition {
	now := metav1.Now()
	all := []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
		{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: "container runtime network not ready"},
	}
	if ready {
		all[3].Status, all[3].Reason, all[3].Message = corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"
	}
	for i := range all {
		all[i].LastHeartbeatTime, all[i].LastTransitionTime = now, now
	}
	return all
}

// takeOver adopts the Node object that carries the name already: labels and status become this machine's.
func (k *Kubelets) takeOver(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	labels := map[string]any{"metadata": map[string]any{"labels": node.Labels}}
	if err := k.patchNode(ctx, node.Name, labels); err != nil {
		return nil, err
	}
	if err := k.patchNode(ctx, node.Name, map[string]any{"status": node.Status}, "status"); err != nil {
		return nil, err
	}
	return k.Client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
}

func (k *Kubelets) patchNode(ctx context.Context, name string, patch any, subresources ...string) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = k.Client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, subresources...)
	return err
}

// isReady says that a node's own word for itself stands: the node lifecycle controller overrules it when leases come late.
func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// watchNodes has a machine looked at whose node is said not to be Ready: its kubelet contradicts, as kubelets do when they see that. When the node is
// Ready again it contradicts for its pods, which were called unready with it.
func (k *Kubelets) watchNodes() {
	factory := informers.NewSharedInformerFactoryWithOptions(k.Client, 0, informers.WithTransform(func(o any) (any, error) {
		if node, is := o.(*corev1.Node); is {
			return &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion},
				Status:     corev1.NodeStatus{Conditions: node.Status.Conditions},
			}, nil
		}
		return o, nil
	}))
	k.nodes = factory.Core().V1().Nodes().Informer()
	look := func(o any) {
		if node, is := o.(*corev1.Node); is && !isReady(node) && k.member(node.Name) != nil {
			k.queue.Add(item{name: node.Name})
		}
	}
	_, err := k.nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: look, UpdateFunc: func(before, now any) {
		look(now)
		if node := now.(*corev1.Node); isReady(node) && !isReady(before.(*corev1.Node)) {
			utilruntime.HandleError(k.touchAll(node.Name))
		}
	}})
	utilruntime.Must(err)
}

// saidUnready says that the API server has the node and that it is not Ready there, by whoever's word.
func (k *Kubelets) saidUnready(node string) bool {
	found, exists, err := k.nodes.GetIndexer().GetByKey(node)
	return err == nil && exists && !isReady(found.(*corev1.Node))
}

// serveMachine keeps one node alive, and says when it has to again; zero means never. A node whose object was deleted is
// not registered again: kubelets register once, when they start. Such a machine goes on serving its pods.
func (k *Kubelets) serveMachine(ctx context.Context, name string) (time.Duration, error) {
	k.mu.Lock()
	m := k.machines[name]
	if m == nil {
		k.mu.Unlock()
		return 0, nil
	}
	now := time.Now()
	uid, wait, whole, report := m.uid, m.readyAt.Sub(now), m.reportAt.IsZero(), !now.Before(m.reportAt)
	k.mu.Unlock()
	if uid == "" {
		return 0, nil // Join has yet to hear from the API server, and then asks again
	}
	if wait > 0 {
		return wait, nil
	}
	renewed, err := k.renewLease(ctx, m)
	if err != nil {
		return 0, fmt.Errorf("renew lease of node %s: %w", name, err)
	}
	whole = whole || k.saidUnready(name)
	if report || whole || !renewed {
		err := k.report(ctx, m, uid, whole)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return 0, nil // the Node object is gone, or is another one
		}
		if err != nil {
			return 0, fmt.Errorf("report status of node %s: %w", name, err)
		}
		k.mu.Lock()
		m.reportAt = now.Add(statusReport)
		k.mu.Unlock()
	}
	if !renewed {
		if err := k.takeLease(ctx, m, uid); err != nil {
			return 0, fmt.Errorf("take lease of node %s: %w", name, err)
		}
	}
	if k.LeaseRenewal > 0 {
		return k.LeaseRenewal, nil
	}
	return defaultLeaseRenewal, nil
}

// report sends the whole status the first time, and when the node is said not to be Ready, and else only heartbeats, so that conditions and
// resources which others wrote meanwhile stay as they are. The precondition on the UID keeps it off a node that was made anew.
func (k *Kubelets) report(ctx context.Context, m *member, uid types.UID, whole bool) error {
	patch := map[string]any{"metadata": map[string]any{"uid": uid}}
	if whole {
		patch["status"] = m.machine.status(true)
	} else {
		var beats []map[string]any
		for _, c := range conditions(true) {
			beats = append(beats, map[string]any{"type": c.Type, "lastHeartbeatTime": c.LastHeartbeatTime})
		}
		patch["status"] = map[string]any{"conditions": beats}
	}
	return k.patchNode(ctx, m.machine.Name, patch, "status")
}

// renewLease writes the lease it wrote last, as kubelets do, without reading it again. It answers false when there is none
// yet, when somebody else wrote it, and when it was deleted, which is what happens to it once its node is.
func (k *Kubelets) renewLease(ctx context.Context, m *member) (bool, error) {
	if m.lease == nil {
		return false, nil
	}
	now := metav1.NowMicro()
	m.lease.Spec.RenewTime = &now
	renewed, err := k.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Update(ctx, m.lease, metav1.UpdateOptions{})
	switch {
	case err == nil:
		m.lease = renewed
		return true, nil
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		m.lease = nil
		return false, nil
	}
	return false, err
}

// takeLease makes the lease of a node, or takes over the one that is there.
func (k *Kubelets) takeLease(ctx context.Context, m *member, uid types.UID) error {
	leases := k.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	name, duration, now := m.machine.Name, int32(leaseDuration), metav1.NowMicro()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: uid}}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &duration, RenewTime: &now},
	}
	taken, err := leases.Create(ctx, lease, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if taken, err = leases.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		taken.OwnerReferences, taken.Spec = lease.OwnerReferences, lease.Spec
		taken, err = leases.Update(ctx, taken, metav1.UpdateOptions{})
	}
	if err == nil {
		m.lease = taken
	}
	return err
}
