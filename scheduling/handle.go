package scheduling

import (
	"context"
	"fmt"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/util/workqueue"
	fwk "k8s.io/kube-scheduler/framework"

	"sluice.dev/sluice/cluster"
)

// handle is what the plugins see of a scheduler: the checker's nodes and the snapshot's namespaces. Every method that is not
// defined here belongs to scoring, binding or preemption, which nobody asks for; it panics.
type handle struct {
	fwk.Handle
	lister    *lister
	informers informers.SharedInformerFactory // never started: its namespace store is filled once and has no client
}

func newHandle(c *Checker, s *cluster.Snapshot) *handle {
	h := &handle{lister: &lister{c}, informers: informers.NewSharedInformerFactory(nil, 0)}
	namespaces := h.informers.Core().V1().Namespaces().Informer().GetIndexer()
	for _, ns := range s.Objects.Namespaces {
		// Add fails only for an object without metadata.
		if err := namespaces.Add(ns); err != nil {
			panic(fmt.Sprintf("scheduling: namespace %s: %v", ns.Name, err))
		}
	}
	return h
}

func (h *handle) SnapshotSharedLister() fwk.SharedLister                 { return h.lister }
func (h *handle) SharedInformerFactory() informers.SharedInformerFactory { return h.informers }
func (h *handle) Parallelizer() fwk.Parallelizer                         { return serial{} }

// SharedDRAManager is nil: then an extended resource that a device class would provide is looked for on the node alone.
func (h *handle) SharedDRAManager() fwk.SharedDRAManager { return nil }

// serial runs the pieces of a plugin's work one after the other: no goroutines, and the same order every time. It also spares
// us kube-scheduler's metrics, which its own parallelizer counts in and which would have to be registered process-wide.
type serial struct{}

func (serial) Until(_ context.Context, pieces int, do workqueue.DoWorkPieceFunc, _ string) {
	for i := range pieces {
		do(i)
	}
}

// lister shows the checker's nodes as they are pretended to be now.
type lister struct{ c *Checker }

func (l *lister) NodeInfos() fwk.NodeInfoLister           { return l }
func (l *lister) StorageInfos() fwk.StorageInfoLister     { return nil }
func (l *lister) PodGroupStates() fwk.PodGroupStateLister { return nil }

func (l *lister) List() ([]fwk.NodeInfo, error) { return l.c.infos, nil }

func (l *lister) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return l.having(func(n fwk.NodeInfo) bool { return len(n.GetPodsWithAffinity()) > 0 }), nil
}

func (l *lister) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	if l.c.repelling == 0 {
		return nil, nil
	}
	return l.having(func(n fwk.NodeInfo) bool { return len(n.GetPodsWithRequiredAntiAffinity()) > 0 }), nil
}

func (l *lister) having(claim func(fwk.NodeInfo) bool) []fwk.NodeInfo {
	var found []fwk.NodeInfo
	for _, n := range l.c.infos {
		if claim(n) {
			found = append(found, n)
		}
	}
	return found
}

func (l *lister) Get(name string) (fwk.NodeInfo, error) {
	if n, ok := l.c.nodes[name]; ok {
		return n, nil
	}
	return nil, fmt.Errorf("there is no node %q", name)
}
