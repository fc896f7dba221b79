package cluster

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Mate is a pod on paper beside others of its class: what it does not share with them. Of thousands of pods that are alike the class is
// written once.
type Mate struct {
	Name     string          `json:"name"`
	UID      types.UID       `json:"uid,omitempty"`
	Node     string          `json:"node,omitempty"`
	Phase    corev1.PodPhase `json:"phase,omitempty"`
	Created  int64           `json:"created,omitempty"` // seconds since 1970, as the next two
	Deletion int64           `json:"deletion,omitempty"`
	Started  int64           `json:"started,omitempty"`
	Waits    *pending        `json:"waits,omitempty"`
	Observed int64           `json:"heard,omitempty"` // nanoseconds since 1970, see [Pod.Observed]
	Rare     *rare           `json:"rare,omitempty"`
}

// Mate is the pod without its class.
func (p *Pod) Mate() Mate {
	m := Mate{p.Name, p.UID, p.Node, p.Phase, p.created, p.deletion, p.started, nil, 0, p.rare}
	if p.pending != nil {
		said := *p.pending
		said.Key, m.Waits, m.Observed = "", &said, said.observed
	}
	return m
}

// Of is the pod with its class. Words are the table's, of which one copy will do.
func (m Mate) Of(c *Class, words *Classes) *Pod {
	p := &Pod{
		Class: c, Name: m.Name, UID: m.UID, Node: words.word(m.Node), Phase: phase(m.Phase),
		created: m.Created, deletion: m.Deletion, started: m.Started, rare: m.Rare,
	}
	if m.Waits != nil {
		said := *m.Waits
		said.Key, said.observed = c.Namespace+"/"+m.Name, m.Observed
		p.pending = &said
	}
	return p
}
