package cluster

import (
	"slices"
	"strings"
)

// Right is a verb on a resource, as a ClusterRole grants it.
type Right struct {
	Verb     string `json:"verb"`
	Resource string `json:"resource"`        // with its subresource, as "pods/eviction"
	Group    string `json:"group,omitempty"` // "" for core
}

// String is such as "list pods" or "watch daemonsets.apps".
func (r Right) String() string {
	if r.Group == "" {
		return r.Verb + " " + r.Resource
	}
	return r.Verb + " " + r.Resource + "." + r.Group
}

// Rights of writes that an account may lack. cluster-autoscaler's own roles grant ChangeNodes by update, and neither of the two deletions.
var (
	ReadNode          = Right{Verb: "get", Resource: "nodes"}
	PatchNode         = Right{Verb: "patch", Resource: "nodes"}
	UpdateNode        = Right{Verb: "update", Resource: "nodes"}
	DeleteNodes       = Right{Verb: "delete", Resource: "nodes"}
	EvictPods         = Right{Verb: "create", Resource: "pods/eviction"}
	DeleteAttachments = Right{Verb: "delete", Resource: "volumeattachments", Group: "storage.k8s.io"}
	CreateEvents      = Right{Verb: "create", Resource: "events"}
)

// Loss is what comes of a right that is missing.
type Loss struct {
	Sentence string // what sluice does not do for want of it; "" when it cannot work at all
	Halts    bool   // machines stay that should go
}

// losses are what comes of missing rights, but for those to read what a cluster may not have.
var losses = map[Right]Loss{
	ReadNode:          {"no node is removed", true},
	PatchNode:         {"no node is removed", true}, // nor may it update them: see [Lacks.Effective]
	EvictPods:         {"no node is removed that pods would have to leave", true},
	DeleteNodes:       {"Node objects of deleted machines stay until a cloud controller deletes them", false},
	DeleteAttachments: {"volumes of deleted machines stay attached until Kubernetes detaches them by itself", false},
	CreateEvents:      {"no Events are written", false},
	{Verb: "list", Resource: "nodes", Group: "metrics.k8s.io"}: {"the use of nodes is not measured: requests alone decide", false},
	{Verb: "delete", Resource: "secrets"}:                      {"the passwords that K3s keeps of deleted machines stay", false},
}

// dispensable are the resources that decisions do without, and what is not known then.
var dispensable = map[string]string{
	"deviceclasses": "devices of pods and nodes are not counted", "resourceclaims": "devices of pods and nodes are not counted",
	"resourceslices": "devices of pods and nodes are not counted", "podgroups": "pods of a gang are placed one by one",
	"capacitybuffers": "no room is kept for CapacityBuffers", "provisioningrequests": "ProvisioningRequests are not answered",
	"capacitybuffers/status": "CapacityBuffers are not answered", "provisioningrequests/status": "ProvisioningRequests are not answered",
	"podtemplates": "CapacityBuffers and ProvisioningRequests with a pod template are not answered",
}

// Loss is what comes of it when the right is missing; a zero one that sluice cannot work without.
func (r Right) Loss() Loss {
	if known, ok := losses[r]; ok {
		return known
	}
	switch r.Verb {
	case "get", "list", "watch", "patch":
		return Loss{Sentence: dispensable[r.Resource]}
	}
	return Loss{}
}

// Lacks are the rights that the API server says sluice does not have, sorted by their names.
type Lacks []Right

// Sorted are the rights by their names, nil for none.
func (l Lacks) Sorted() Lacks {
	slices.SortFunc(l, func(a, b Right) int { return strings.Compare(a.String(), b.String()) })
	return l
}

// Has says whether the right is among those that are missing.
func (l Lacks) Has(r Right) bool { return slices.Contains(l, r) }

// Effective are those whose absence makes a difference: nodes that may be updated need not be patched, and the other way round.
func (l Lacks) Effective() (effective Lacks) {
	for _, r := range l {
		if r != UpdateNode && (r != PatchNode || l.Has(UpdateNode)) {
			effective = append(effective, r)
		}
	}
	return effective
}

// Halting is the first right without which no node can be removed at all, false when there is none.
func (l Lacks) Halting() (Right, bool) {
	for _, r := range []Right{ReadNode, PatchNode} {
		if l.Has(r) {
			return r, true
		}
	}
	return Right{}, false
}

// Losses are the sentences of what is missing, each with the rights for want of which it is so.
func (l Lacks) Losses() (all []LossOf) {
	for _, r := range l {
		loss := r.Loss()
		found := false
		for i := range all {
			if all[i].Loss == loss {
				all[i].Rights, found = append(all[i].Rights, r), true
			}
		}
		if !found {
			all = append(all, LossOf{loss, []Right{r}})
		}
	}
	return all
}

// LossOf is what comes of several missing rights.
type LossOf struct {
	Loss
	Rights []Right
}

// String is such as "sluice may not delete nodes: Node objects of deleted machines stay until a cloud controller deletes them".
func (l LossOf) String() string {
	names := make([]string, len(l.Rights))
	for i, r := range l.Rights {
		names[i] = r.String()
	}
	return "sluice may not " + strings.Join(names, ", ") + ": " + l.Sentence
}
