package web

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// snapshotView is what a cycle saw, under the names of cluster-autoscaler's debugging snapshot. Annotations, and what containers are given, are left
// out: they may hold secrets.
type snapshotView struct {
	StartTimestamp time.Time // when the cycle had read the cluster
	NodeList       []snapshotNode

	// UnscheduledPodsCanBeScheduled are pods that wait for a node that is there or for a machine that is coming.
	UnscheduledPodsCanBeScheduled []*corev1.Pod
	TemplateNodes                 map[string]snapshotNode // what the next machine of a group is expected to be
	NodeGroups                    []snapshotGroup
}

// snapshotNode is a node with its pods.
type snapshotNode struct {
	Node *corev1.Node
	Pods []*corev1.Pod
}

// snapshotGroup is a node group with its limits of the hour.
type snapshotGroup struct {
	Name                 string
	MinSize, MaxSize     int
	TargetSize, Machines int
	Problem              string `json:",omitempty"`
}

// snapshot shows what the latest cycle saw. It does not wait for the next one.
func (s *Server) snapshot(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, "snapshot", func(e *journal.Entry, to io.Writer) error {
		return json.NewEncoder(to).Encode(snapshotOf(e))
	})
}

func snapshotOf(e *journal.Entry) snapshotView {
	v := snapshotView{
		StartTimestamp: e.Seen.Time, NodeList: []snapshotNode{}, UnscheduledPodsCanBeScheduled: []*corev1.Pod{},
		TemplateNodes: map[string]snapshotNode{}, NodeGroups: []snapshotGroup{},
	}
	for _, n := range e.Seen.Nodes {
		v.NodeList = append(v.NodeList, snapshotNode{bare(n.Object), objectsOf(n.Pods)})
	}
	room := map[string]bool{}
	for _, verdict := range e.Plan.Verdicts {
		if verdict.Subject.Kind == reason.KindPod && (verdict.Outcome == action.PodScheduling || verdict.Outcome == action.PodWaiting) {
			room[verdict.Subject.Name] = true
		}
	}
	for _, p := range e.Seen.Pending {
		if room[p.String()] {
			v.UnscheduledPodsCanBeScheduled = append(v.UnscheduledPodsCanBeScheduled, objectOf(p))
		}
	}
	for _, g := range e.Seen.Groups {
		v.NodeGroups = append(v.NodeGroups, snapshotGroup{string(g.ID), g.Min, g.Max, g.Capacity, len(g.Instances), g.Problem})
		if g.Template != nil {
			v.TemplateNodes[string(g.ID)] = snapshotNode{bare(g.Template), []*corev1.Pod{}}
		}
	}
	return v
}

// bare is the node without its annotations and without who wrote which field.
func bare(n *corev1.Node) *corev1.Node {
	out := *n
	out.Annotations, out.ManagedFields = nil, nil
	return &out
}

func objectsOf(pods []*cluster.Pod) []*corev1.Pod {
	out := make([]*corev1.Pod, len(pods))
	for i, p := range pods {
		out[i] = objectOf(p)
	}
	return out
}

func objectOf(p *cluster.Pod) *corev1.Pod {
	o := p.Object()
	o.Annotations = nil
	o.Spec.Containers, o.Spec.InitContainers = asking(o.Spec.Containers), asking(o.Spec.InitContainers)
	return o
}

// asking are containers with no more than what they ask of a node.
func asking(containers []corev1.Container) (out []corev1.Container) {
	for _, c := range containers {
		out = append(out, corev1.Container{Name: c.Name, Image: c.Image, Resources: c.Resources, Ports: c.Ports, RestartPolicy: c.RestartPolicy})
	}
	return out
}
