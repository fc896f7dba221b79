package nodes

import (
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"sluice.dev/sluice/scheduling/internal/resources"
)

// Template is what machines of a group are opened like. Any number of machines share one, and none of them copies it.
type Template struct {
	node        *corev1.Node
	pods        []Entry // that every machine carries
	allocatable []resources.Amount
	taints      int32  // the kind of its taints
	features    int32  // the kind of what its kubelet declares, or unproven
	contents    string // of the node object and the classes of the pods
	attaches    int    // volumes, 0 for no limit
	slices      []*resourcev1.ResourceSlice
}

// Attaching says how many volumes a machine can attach, as its kubelet will say it for each driver that counts; 0 for no limit.
func (t *Template) Attaching(volumes int) *Template {
	t.attaches = volumes
	return t
}

// Publishing says which device slices a machine will have that are its own: copies of those of a node like it.
func (t *Template) Publishing(slices ...*resourcev1.ResourceSlice) *Template {
	t.slices = slices
	return t
}

// Unproven says that no node of the group has shown yet what its kubelet declares: a machine is taken to have every feature that pods need.
// The API server let these pods in, so the cluster's release has it; a machine that is refused for nothing would never be made to tell.
func (t *Template) Unproven() *Template {
	t.features = unproven
	return t
}

// Attaches is how many volumes a machine can attach, 0 for no limit.
func (t *Template) Attaches() int { return t.attaches }

// Slices are the device slices that machines have copies of.
func (t *Template) Slices() []*resourcev1.ResourceSlice { return t.slices }

// Digest tells templates apart that offer something else to pods which do not mind others: the node object, what a machine attaches, and
// the pods that it carries. It is a function of their contents alone, the same for every checker.
func (t *Template) Digest() uint64 {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s %d %t", t.contents, t.attaches, t.features == unproven)
	return sum.Sum64()
}

// row is one node.
type row struct {
	name     string
	node     *corev1.Node // nil for a machine that was opened, until somebody asks
	template *Template    // what a machine was opened like, nil for a node
	present  bool
	pods     []Entry // never changed below its length: what-ifs keep earlier versions of it
}

// become gives a node another object.
func (r *row) become(n *corev1.Node) { r.node = n }

// object is the node's object.
func (r *row) object() *corev1.Node {
	if r.node == nil {
		r.node = Future(r.template.node, r.name)
	}
	return r.node
}

// label is the node's label. It does not make an object for a machine that was opened.
func (r *row) label(key string) (string, bool) {
	of := r.node
	if r.template != nil {
		if key == corev1.LabelHostname {
			return r.name, true
		}
		of = r.template.node
	}
	value, ok := of.Labels[key]
	return value, ok
}
