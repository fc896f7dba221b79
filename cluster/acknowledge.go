package cluster

import (
	"encoding/json"
	"maps"
	"strings"
	"time"
)

// AcknowledgeAnnotation stands on the namespace [PauseNamespace] and says up to when a person knows which nodes groups have lost, as JSON:
// {"agents":"2026-01-01T12:00:00Z"}. [AllGroups] stands for all of them. What was lost until then is no event any more.
const AcknowledgeAnnotation = "sluice.dev/losses-acknowledged"

// Acknowledged is up to when losses of groups are acknowledged.
type Acknowledged map[GroupID]time.Time

// Acknowledged are the acknowledgements that stand in the cluster. What cannot be read acknowledges nothing.
func (o Objects) Acknowledged() Acknowledged {
	for _, n := range o.Namespaces {
		if n.Name == PauseNamespace {
			return ReadAcknowledged(n.Annotations[AcknowledgeAnnotation])
		}
	}
	return nil
}

// ReadAcknowledged reads the annotation; what cannot be read is as good as none.
func ReadAcknowledged(text string) (a Acknowledged) {
	if text == "" || json.Unmarshal([]byte(text), &a) != nil {
		return nil
	}
	return a
}

// Annotation is the value of [AcknowledgeAnnotation], "" for none.
func (a Acknowledged) Annotation() string { return Pauses(a).Annotation() }

// Of is up to when losses of the group are acknowledged; zero for never.
func (a Acknowledged) Of(id GroupID) (at time.Time) {
	for name, t := range a {
		if (name == AllGroups || strings.EqualFold(string(name), string(id))) && t.After(at) {
			at = t
		}
	}
	return at
}

// Latest is up to when any loss is acknowledged that an acknowledgement of the group, or of [AllGroups], is to be later than.
func (a Acknowledged) Latest(id GroupID) (at time.Time) {
	if id != AllGroups {
		return a.Of(id)
	}
	for _, t := range a {
		if t.After(at) {
			at = t
		}
	}
	return at
}

// With is the same with one more; with one of [AllGroups] it is that one alone.
func (a Acknowledged) With(id GroupID, at time.Time) Acknowledged {
	out := Acknowledged{id: at}
	if id == AllGroups {
		return out
	}
	maps.Copy(out, a)
	maps.DeleteFunc(out, func(name GroupID, _ time.Time) bool { return name != id && strings.EqualFold(string(name), string(id)) })
	out[id] = at
	return out
}
