package cluster

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PauseAnnotation stands on the namespace [PauseNamespace], which every cluster has and every replica reads, and says which groups are left
// alone until when, as JSON: {"agents":"2026-01-01T12:00:00Z"}. [AllGroups] stands for all of them.
const (
	PauseAnnotation         = "sluice.dev/paused"
	PauseNamespace          = "kube-system"
	AllGroups       GroupID = "*"
)

// HoldAnnotation on a node keeps it until a time: one of RFC 3339, or a duration from the node's creation on. What is neither, such as
// true, keeps it until the annotation is taken off.
const HoldAnnotation = "sluice.dev/hold-until"

// DrainAnnotation on a node asks sluice to empty it and remove its machine, whatever it carries; its value is when somebody asked.
// [AskedFor] is what the removal taint of such a node says.
const (
	DrainAnnotation = "sluice.dev/drain"
	AskedFor        = "asked"
)

// Pauses are until when groups are paused. A zero time has no end.
type Pauses map[GroupID]time.Time

// Pauses are those that stand in the cluster. What cannot be read pauses all groups, without an end: somebody wanted something to stop.
func (o Objects) Pauses() Pauses {
	for _, n := range o.Namespaces {
		if n.Name != PauseNamespace {
			continue
		}
		p, err := ReadPauses(n.Annotations[PauseAnnotation])
		if err != nil {
			return Pauses{AllGroups: time.Time{}}
		}
		return p
	}
	return nil
}

// ReadPauses reads the annotation; "" has none.
func ReadPauses(text string) (p Pauses, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &p)
	}
	return p, err
}

// Groups are those that are paused by name, in order, [AllGroups] first.
func (p Pauses) Groups() []GroupID { return slices.Sorted(maps.Keys(p)) }

// Annotation is the value of [PauseAnnotation], "" for none.
func (p Pauses) Annotation() string {
	if len(p) == 0 {
		return ""
	}
	raw, err := json.Marshal(p)
	if err != nil {
		panic("cluster: pauses cannot be encoded: " + err.Error()) // strings and times
	}
	return string(raw)
}

// Of is the last time until which the group is paused at now, as a sentence has it; false when it is not.
func (p Pauses) Of(id GroupID, now time.Time) (until string, paused bool) {
	var last time.Time
	for name, t := range p {
		switch {
		case name != AllGroups && !strings.EqualFold(string(name), string(id)):
		case t.IsZero():
			return "somebody corrects annotation " + PauseAnnotation + " of namespace " + PauseNamespace, true
		case t.After(now) && t.After(last):
			last, paused = t, true
		}
	}
	return last.UTC().Format(time.RFC3339), paused
}

// With is the pauses with one more, or without it when it ends at now or before; those that are over by now are left out.
func (p Pauses) With(id GroupID, until, now time.Time) Pauses {
	out := Pauses{id: until}
	maps.DeleteFunc(out, func(_ GroupID, t time.Time) bool { return !t.After(now) })
	for name, t := range p {
		if !strings.EqualFold(string(name), string(id)) && t.After(now) {
			out[name] = t
		}
	}
	return out
}

// Held says until when somebody holds the node, as a sentence has it; false when nobody does at now.
func Held(n *corev1.Node, now time.Time) (until string, held bool) {
	said, stands := n.Annotations[HoldAnnotation]
	if !stands {
		return "", false
	}
	t, err := time.Parse(time.RFC3339, said)
	if err != nil {
		d, err := time.ParseDuration(said)
		if err != nil {
			return "the annotation is taken off", true
		}
		t = n.CreationTimestamp.Add(d)
	}
	return t.UTC().Format(time.RFC3339), t.After(now)
}
