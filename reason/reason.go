// Package reason is the vocabulary of sluice's answers: a stable code, the thing it is about and the numbers that were
// compared. Every verdict, refusal, event, log line and page renders the same [Reason] with the same sentence, so that
// an operator who searches for a code finds every place that used it.
package reason

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Code names a kind of reason. Codes are stable: they are never reused for another meaning.
type Code string

// Kind says what a [Ref] points at.
type Kind string

// The kinds of things that verdicts and reasons are about.
const (
	KindCluster  Kind = "cluster"
	KindGroup    Kind = "group"
	KindNode     Kind = "node"
	KindPod      Kind = "pod"
	KindInstance Kind = "instance"
	KindRequest  Kind = "request" // a ProvisioningRequest
	KindBuffer   Kind = "buffer"  // a CapacityBuffer
)

// Ref points at one thing: a pod, a request or a buffer by "namespace/name", a node by name, a node group by id, an instance by "group/id".
// The zero Ref points at nothing in particular.
type Ref struct {
	Kind Kind   `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
}

// String is "kind name", or the empty string for the zero Ref.
func (r Ref) String() string {
	if r == (Ref{}) {
		return ""
	}
	return string(r.Kind) + " " + r.Name
}

// Group is a Ref to a node group.
func Group(id string) Ref { return Ref{KindGroup, id} }

// Node is a Ref to a node.
func Node(name string) Ref { return Ref{KindNode, name} }

// Pod is a Ref to a pod.
func Pod(namespace, name string) Ref { return Ref{KindPod, namespace + "/" + name} }

// Instance is a Ref to a machine of a group.
func Instance(group, id string) Ref { return Ref{KindInstance, group + "/" + id} }

// Request is a Ref to a ProvisioningRequest.
func Request(namespace, name string) Ref { return Ref{KindRequest, namespace + "/" + name} }

// Buffer is a Ref to a CapacityBuffer.
func Buffer(namespace, name string) Ref { return Ref{KindBuffer, namespace + "/" + name} }

// Reason is one cause of a verdict or a refusal. It is a value: nobody changes Facts after it was made.
type Reason struct {
	Code  Code              `json:"code"`
	About Ref               `json:"about,omitzero"`
	Facts map[string]string `json:"facts,omitempty"` // what was compared, by the names that the code's sentence uses
}

// New makes a Reason from a code, its subject and alternating fact names and values. Values are printed with [fmt.Sprint].
// It panics on an odd number of facts: that is a defect of the caller which any test shows.
func New(code Code, about Ref, facts ...any) Reason {
	if len(facts)%2 != 0 {
		panic("reason.New: odd number of facts for " + string(code))
	}
	r := Reason{Code: code, About: about}
	if len(facts) > 0 {
		r.Facts = make(map[string]string, len(facts)/2)
		for i := 0; i < len(facts); i += 2 {
			r.Facts[text(facts[i])] = text(facts[i+1])
		}
	}
	return r
}

// text is what [fmt.Sprint] prints.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	}
	return fmt.Sprint(v)
}

// Sentence is the reason in words, without a full stop; that of a refusal ends with its property, as "(S-19)". Codes unknown to this
// version print their code and facts.
func (r Reason) Sentence() string {
	template, ok := Template(r.Code)
	if !ok {
		return r.unknown()
	}
	sentence := fill(template, func(name string) string {
		word, _ := r.word(name)
		return word
	})
	if by := r.Property(); by != "" {
		sentence += " (" + by + ")"
	}
	return sentence
}

// word is the fact of a name, or what the reason is about where no fact has the name of its kind.
func (r Reason) word(name string) (string, bool) {
	if value, has := r.Facts[name]; has {
		return value, true
	}
	if string(r.About.Kind) == name {
		return r.About.Name, true
	}
	return "", false
}

// Property is the property of the safety contract that the reason is a refusal by, such as "S-19"; "" for a reason that refuses no write.
func (r Reason) Property() string { return r.Facts[property] }

// property is the name of that fact.
const property = "property"

// By is the reason as one why the safety contract forbids a write, by a property of it.
func (r Reason) By(of string) Reason {
	facts := maps.Clone(r.Facts)
	if facts == nil {
		facts = map[string]string{}
	}
	facts[property] = of
	r.Facts = facts
	return r
}

// String is the sentence, led by what it is about unless the sentence names it itself.
func (r Reason) String() string {
	sentence := r.Sentence()
	if r.About.Name == "" || strings.Contains(sentence, r.About.String()) {
		return sentence
	}
	return r.About.String() + ": " + sentence
}

func (r Reason) unknown() string {
	return r.terse(slices.Sorted(maps.Keys(r.Facts)))
}

// Terse is the code, the property of a refusal, and the facts that its sentence tells in their order there, such as
// "NodeIdle idle=10m0s limit=10m0s". A better sentence leaves it as it is.
func (r Reason) Terse() string {
	template, ok := Template(r.Code)
	if !ok {
		return r.unknown()
	}
	names := []string{property}
	fill(template, func(name string) string {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		return ""
	})
	return r.terse(names)
}

func (r Reason) terse(names []string) string {
	parts := []string{string(r.Code)}
	for _, name := range names {
		value := r.Facts[name]
		switch {
		case value == "":
			continue
		case strings.ContainsAny(value, " \";"):
			value = strconv.Quote(value)
		}
		parts = append(parts, name+"="+value)
	}
	return strings.Join(parts, " ")
}

// MarshalJSON adds the sentence, so that readers of JSON need no copy of the vocabulary. It is ignored on reading.
func (r Reason) MarshalJSON() ([]byte, error) {
	type plain Reason
	return json.Marshal(struct {
		plain
		Sentence string `json:"sentence"`
	}{plain(r), r.Sentence()})
}

// Sentences joins reasons with "; ".
func Sentences(rs []Reason) string {
	parts := make([]string, len(rs))
	for i, r := range rs {
		parts[i] = r.String()
	}
	return strings.Join(parts, "; ")
}

// Codes lists every code of this version, sorted. Documentation and tests read it.
func Codes() []Code { return slices.Sorted(maps.Keys(rows)) }

// Template is the sentence of a code with its facts in braces, and false for an unknown code.
func Template(c Code) (string, bool) {
	row, ok := rows[c]
	return row.says, ok
}
