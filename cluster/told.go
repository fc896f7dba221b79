package cluster

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// AboutModel is the key under which [Group.Reported] has what machines are made of.
const AboutModel = "model"

// AboutLabel is the key under which [Group.Reported] has a label. That of a resource is its name. [Difference.What] has the same words.
func AboutLabel(key string) string { return "label " + key }

// AboutTaint is the key of a taint there.
func AboutTaint(t corev1.Taint) string { return "taint " + taintName(t) }

func (g *Group) reported(about string) bool { _, is := g.Reported[about]; return is }

// merge is what was learned, with what the cloud has been told of the group since. A label that is spoken of no more says nothing: nodes
// may bear it still.
func (l *Learned) merge(g *Group, now time.Time) *Learned {
	reported := g.Reported
	if made, was := l.Reported[AboutModel]; was && !g.reported(AboutModel) && reported != nil { // nobody says now
		reported = maps.Clone(reported)
		reported[AboutModel] = made
	}
	if reported == nil || maps.Equal(l.Reported, reported) {
		return l
	}
	own := *l
	own.Reported = reported
	for about := range l.Reported {
		if _, still := reported[about]; !still && !strings.HasPrefix(about, AboutLabel("")) {
			own.renew(about, now)
		}
	}
	for about, said := range reported {
		if before, was := l.Reported[about]; l.Reported != nil && (!was || before != said) {
			own.renew(about, now)
		}
	}
	return &own
}

// renew notes that something is said anew. What is shared with others stays as it was.
func (l *Learned) renew(about string, now time.Time) {
	l.Changed = now
	if !slices.Contains(l.Renewed, about) {
		l.Renewed = append(slices.Clip(l.Renewed), about)
		slices.Sort(l.Renewed)
	}
}

// after takes over what was said of the group before the node came: a machine that was made before the last word says nothing about that.
func (l *Learned) after(before *Learned, g *Group, n *Node) {
	l.Reported = g.Reported
	if before == nil {
		return
	}
	made := n.Instance.Created
	if made.IsZero() {
		made = n.Object.CreationTimestamp.Time
	}
	if l.Of == before.Of || made.Before(before.Changed) {
		l.Reported, l.Renewed, l.Changed = before.Reported, before.Renewed, before.Changed
	}
}

// anew says whether that, or what machines are made of, was said anew since the machine was made that taught.
func (l *Learned) anew(about string) bool {
	return slices.Contains(l.Renewed, about) || slices.Contains(l.Renewed, AboutModel)
}

// believe has the group's next node be as the cloud describes it in what was said anew since the machine was made that taught: what an
// older node is like says nothing against it. How much cpu and memory kubelets leave to pods is known from nodes alone, unless a tag says
// it.
func (l *Learned) believe(next, offered *corev1.Node) {
	if len(l.Renewed) == 0 {
		return
	}
	guessed := strings.Split(offered.Annotations[GuessedLabels], ",")
	for key, value := range offered.Labels {
		if l.anew(AboutLabel(key)) && !slices.Contains(guessed, key) {
			next.Labels[key] = value
		}
	}
	next.Spec.Taints = slices.DeleteFunc(next.Spec.Taints, func(t corev1.Taint) bool { return l.anew(AboutTaint(t)) })
	for _, t := range offered.Spec.Taints {
		if l.anew(AboutTaint(t)) {
			next.Spec.Taints = append(next.Spec.Taints, t)
		}
	}
	if next.Status.Capacity == nil {
		next.Status.Capacity, next.Status.Allocatable = corev1.ResourceList{}, corev1.ResourceList{}
	}
	for name, amount := range offered.Status.Capacity {
		have := next.Status.Capacity[name]
		if slices.Contains(l.Renewed, string(name)) || l.anew(string(name)) && extended(name) && have.IsZero() {
			next.Status.Capacity[name], next.Status.Allocatable[name] = amount, offered.Status.Allocatable[name]
		}
	}
}
