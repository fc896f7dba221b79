package cluster

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// PodSelector chooses pods of one namespace by their labels, as Kubernetes' label selectors do. The zero value chooses none. It is
// immutable.
type PodSelector struct {
	namespace string
	by        labels.Selector
}

// EveryPod chooses all pods. No flag and no tag says it: it stands for a choice that cannot be read.
var EveryPod = PodSelector{everyPod, labels.Everything()}

const everyPod = "*"

// ParsePodSelector reads "NAMESPACE/SELECTOR", such as "render/app=worker". Its errors are one clause for the operator.
func ParsePodSelector(text string) (PodSelector, error) {
	const form = "give NAMESPACE/SELECTOR with a label selector of Kubernetes, such as render/app=worker"
	namespace, rest, _ := strings.Cut(text, "/")
	if namespace = strings.TrimSpace(namespace); len(validation.IsDNS1123Label(namespace)) > 0 {
		return PodSelector{}, fmt.Errorf("%q is no namespace; %s", namespace, form)
	}
	if strings.TrimSpace(rest) == "" {
		return PodSelector{}, fmt.Errorf("it chooses by no label; %s", form)
	}
	by, err := labels.Parse(rest)
	if err != nil {
		return PodSelector{}, fmt.Errorf("%q is no label selector (%w); %s", rest, err, form)
	}
	return PodSelector{namespace, by}, nil
}

// Chooses says whether pods of the class are among those chosen.
func (s PodSelector) Chooses(of *Class) bool {
	return s.by != nil && (of.Namespace == s.namespace || s.namespace == everyPod) && s.by.Matches(labels.Set(of.Labels))
}

// String is what [ParsePodSelector] reads, "" for the zero value and "*" for [EveryPod].
func (s PodSelector) String() string {
	switch {
	case s.by == nil:
		return ""
	case s.namespace == everyPod:
		return everyPod
	}
	return s.namespace + "/" + s.by.String()
}

// Equal says whether both choose in the same words.
func (s PodSelector) Equal(o PodSelector) bool { return s.String() == o.String() }

// MarshalText writes [PodSelector.String].
func (s PodSelector) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads it again.
func (s *PodSelector) UnmarshalText(text []byte) (err error) {
	if string(text) == everyPod {
		*s = EveryPod
		return nil
	}
	*s, err = ParsePodSelector(string(text))
	return err
}
