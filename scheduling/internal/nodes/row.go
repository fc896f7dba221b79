package nodes

import (
	corev1 "k8s.io/api/core/v1"
)

// row is one node.
type row struct {
	name     string
	node     *corev1.Node // nil for a machine that was opened, until somebody asks
	template *Template    // what a machine was opened like, nil for a node
	present  bool
	pods     []Entry // never changed below its length: what-ifs keep earlier versions of it
}

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
