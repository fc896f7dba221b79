package cluster

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// embedded are the cloud controllers that K3s and RKE2 bring along, by the scheme of the provider ids that they write.
var embedded = []string{"k3s", "rke2"}

// embeddedIn is the cluster's embedded cloud controller, "" when no node bears a provider id of one.
func embeddedIn(nodes []*corev1.Node) string {
	for _, n := range nodes {
		for _, name := range embedded {
			if rest, is := strings.CutPrefix(n.Spec.ProviderID, name); is && strings.HasPrefix(rest, "://") {
				return name
			}
		}
	}
	return ""
}

// sizeLabels and placeLabels are what a cloud controller labels nodes with, unless kubelet has done so.
var (
	sizeLabels  = []string{corev1.LabelInstanceTypeStable, corev1.LabelInstanceType}
	placeLabels = []string{corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone}
)

// SizeLabel says whether the label is one that names a node's size.
func SizeLabel(key string) bool { return slices.Contains(sizeLabels, key) }

// asLabelled is the description of a group's next node in a cluster whose nodes an embedded cloud controller labels: that says its own name
// for the size, and neither zone nor region. What tags promise stays, and so does what kubelets are known to say themselves, by labels of a
// node that was told the same as the next one, as far as anybody knows; nil for none.
func (s *Snapshot) asLabelled(g *Group, described *corev1.Node, seen map[string]string) *corev1.Node {
	by := s.embedded
	if own := seen[corev1.LabelInstanceTypeStable]; slices.Contains(embedded, own) {
		by = own // whose nodes may all have gone
	}
	if by == "" || described == nil {
		return described
	}
	own := *described
	own.Labels = maps.Clone(described.Labels)
	for _, key := range slices.Concat(sizeLabels, placeLabels) {
		said, is := seen[key]
		if g.reported(AboutLabel(key)) || is && said != by {
			continue
		}
		delete(own.Labels, key)
		if SizeLabel(key) && (is || seen == nil) {
			own.Labels[key] = by
		}
	}
	return &own
}

// labelUnknown has the groups that no node has taught bear what the cluster's embedded cloud controller says, or what kubelets of the
// youngest node that taught another group say instead. Described is the cloud's description of a group.
func (s *Snapshot) labelUnknown(described func(*Group) *corev1.Node, set func(*Group, *corev1.Node)) {
	var youngest *Learned
	for _, g := range s.Groups {
		if l := g.Learned; l != nil && (youngest == nil || l.Born.After(youngest.Born)) {
			youngest = l
		}
	}
	var seen map[string]string
	if youngest != nil {
		seen = youngest.Node.Labels
	}
	for _, g := range s.Groups {
		if g.Learned == nil {
			set(g, s.asLabelled(g, described(g), seen))
		}
	}
}

// Unlabelled are the groups whose next nodes an embedded cloud controller is expected to label with its own name instead of their size, and
// that controller's name; none where it is told otherwise.
func (s *Snapshot) Unlabelled() (groups []*Group, controller string) {
	for _, g := range s.Groups {
		if g.Template == nil || g.reported(AboutLabel(corev1.LabelInstanceTypeStable)) {
			continue
		}
		if by := g.Template.Labels[corev1.LabelInstanceTypeStable]; slices.Contains(embedded, by) {
			groups, controller = append(groups, g), by
		}
	}
	return groups, controller
}
