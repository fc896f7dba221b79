package kubesim

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	resourcehelper "k8s.io/component-helpers/resource"
)

// completeLimits fills in what a LimitRange has for containers that it does not
// say itself: the default limit is the max, the default request the default
// limit or else the min.
func completeLimits(l *corev1.LimitRange) {
	for i := range l.Spec.Limits {
		item := &l.Spec.Limits[i]
		if item.Type != corev1.LimitTypeContainer {
			continue
		}
		fillIn(&item.Default, item.Max)
		fillIn(&item.DefaultRequest, item.Default)
		fillIn(&item.DefaultRequest, item.Min)
	}
}

// limit gives a new pod the defaults of its namespace's LimitRanges, in order of
// name, and says which of their bounds it breaks.
func (s *store) limit(pod *corev1.Pod) error {
	ranges := s.tables["limitranges"].inNamespace(pod.Namespace)
	for _, e := range ranges {
		for _, item := range e.obj.(*corev1.LimitRange).Spec.Limits {
			if item.Type != corev1.LimitTypeContainer {
				continue
			}
			for _, all := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
				for i := range all {
					fillIn(&all[i].Resources.Requests, item.DefaultRequest)
					fillIn(&all[i].Resources.Limits, item.Default)
				}
			}
		}
	}
	var broken []error
	for _, e := range ranges {
		for _, item := range e.obj.(*corev1.LimitRange).Spec.Limits {
			switch item.Type {
			case corev1.LimitTypeContainer:
				for _, ct := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
					broken = append(broken, bounds(item, ct.Resources.Requests, ct.Resources.Limits)...)
				}
			case corev1.LimitTypePod:
				opts := resourcehelper.PodResourcesOptions{ExcludeOverhead: true}
				broken = append(broken, bounds(item, resourcehelper.PodRequests(pod, opts), resourcehelper.PodLimits(pod, opts))...)
			}
		}
	}
	if len(broken) > 0 {
		return apierrors.NewForbidden(corev1.Resource("pods"), pod.Name, errors.Join(broken...))
	}
	return nil
}

// bounds says how requests and limits are outside of what an item allows, in the
// words of the API server.
func bounds(item corev1.LimitRangeItem, requests, limits corev1.ResourceList) (broken []error) {
	for _, name := range slices.Sorted(maps.Keys(item.Min)) {
		least := item.Min[name]
		at := fmt.Sprintf("minimum %s usage per %s is %s", name, item.Type, least.String())
		limit, limited := limits[name]
		switch request, ok := requests[name]; {
		case !ok:
			broken = append(broken, errors.New(at+".  No request is specified"))
		case request.Cmp(least) < 0:
			broken = append(broken, fmt.Errorf("%s, but request is %s", at, request.String()))
		case limited && limit.Cmp(least) < 0:
			broken = append(broken, fmt.Errorf("%s, but limit is %s", at, limit.String()))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.Max)) {
		most := item.Max[name]
		at := fmt.Sprintf("maximum %s usage per %s is %s", name, item.Type, most.String())
		request := requests[name]
		switch limit, ok := limits[name]; {
		case !ok:
			broken = append(broken, errors.New(at+".  No limit is specified"))
		case limit.Cmp(most) > 0:
			broken = append(broken, fmt.Errorf("%s, but limit is %s", at, limit.String()))
		case request.Cmp(most) > 0:
			broken = append(broken, fmt.Errorf("%s, but request is %s", at, request.String()))
		}
	}
	return broken
}

// fillIn adds what is missing in a list.
func fillIn(list *corev1.ResourceList, more corev1.ResourceList) {
	for name, q := range more {
		if _, ok := (*list)[name]; ok {
			continue
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = q.DeepCopy()
	}
}
