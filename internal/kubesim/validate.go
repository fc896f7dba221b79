package kubesim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validate checks the rules of the API that a client of sluice's kind could
// plausibly break; it does not check the rest.
func validate(obj object) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsDNS1123Subdomain(obj.GetName()) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), obj.GetName(), problem))
	}
	spec := field.NewPath("spec")
	switch o := obj.(type) {
	case *corev1.Pod:
		errs = append(errs, validatePodSpec(&o.Spec, spec)...)
	case *corev1.Node:
		errs = append(errs, validateTaints(o.Spec.Taints, spec.Child("taints"))...)
	case *appsv1.Deployment:
		errs = append(errs, validateTemplate(o.Spec.Selector, &o.Spec.Template, spec)...)
	case *appsv1.ReplicaSet:
		errs = append(errs, validateTemplate(o.Spec.Selector, &o.Spec.Template, spec)...)
	case *appsv1.StatefulSet:
		errs = append(errs, validateTemplate(o.Spec.Selector, &o.Spec.Template, spec)...)
	case *appsv1.DaemonSet:
		errs = append(errs, validateTemplate(o.Spec.Selector, &o.Spec.Template, spec)...)
	case *batchv1.Job:
		errs = append(errs, validateTemplate(o.Spec.Selector, &o.Spec.Template, spec)...)
	case *resourcev1.ResourceClaim:
		errs = append(errs, validateDevices(&o.Spec, spec)...)
	case *resourcev1.ResourceClaimTemplate:
		errs = append(errs, validateDevices(&o.Spec.Spec, spec.Child("spec"))...)
	case *policyv1.PodDisruptionBudget:
		if o.Spec.MinAvailable != nil && o.Spec.MaxUnavailable != nil {
			errs = append(errs, field.Invalid(spec, nil, "minAvailable and maxUnavailable cannot be both set"))
		}
		errs = append(errs, validateShare(o.Spec.MinAvailable, spec.Child("minAvailable"))...)
		errs = append(errs, validateShare(o.Spec.MaxUnavailable, spec.Child("maxUnavailable"))...)
	}
	return errs
}

func validateShare(v *intstr.IntOrString, at *field.Path) field.ErrorList {
	if v == nil {
		return nil
	}
	if n, err := intstr.GetScaledValueFromIntOrPercent(v, 100, true); err != nil || n < 0 {
		return field.ErrorList{field.Invalid(at, v.String(), "must be a non-negative integer or a percentage")}
	}
	return nil
}

func validateTaints(taints []corev1.Taint, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	type identity struct {
		key    string
		effect corev1.TaintEffect
	}
	seen := map[identity]bool{}
	for i, t := range taints {
		for _, problem := range validation.IsQualifiedName(t.Key) {
			errs = append(errs, field.Invalid(at.Index(i).Child("key"), t.Key, problem))
		}
		for _, problem := range validation.IsValidLabelValue(t.Value) {
			errs = append(errs, field.Invalid(at.Index(i).Child("value"), t.Value, problem))
		}
		switch t.Effect {
		case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		default:
			errs = append(errs, field.NotSupported(at.Index(i).Child("effect"), t.Effect,
				[]corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}))
		}
		if id := (identity{t.Key, t.Effect}); seen[id] {
			errs = append(errs, field.Duplicate(at.Index(i), t))
		} else {
			seen[id] = true
		}
	}
	return errs
}

func validatePodSpec(s *corev1.PodSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(s.Containers) == 0 {
		errs = append(errs, field.Required(at.Child("containers"), ""))
	}
	for i := range s.InitContainers {
		errs = append(errs, validateResources(&s.InitContainers[i].Resources, at.Child("initContainers").Index(i).Child("resources"))...)
	}
	for i := range s.Containers {
		errs = append(errs, validateResources(&s.Containers[i].Resources, at.Child("containers").Index(i).Child("resources"))...)
	}
	if s.NodeName != "" && len(s.SchedulingGates) > 0 {
		errs = append(errs, field.Forbidden(at.Child("nodeName"), "cannot be set until all schedulingGates have been cleared"))
	}
	return errs
}

// validateResources checks that requests are within limits, that what cannot be
// lent twice is limited to what is requested, and that huge pages come with CPU
// or memory.
func validateResources(r *corev1.ResourceRequirements, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	huge, plain := false, false
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request, at := r.Requests[name], at.Child("requests")
		limit, limited := r.Limits[name]
		pages := strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
		huge, plain = huge || pages, plain || name == corev1.ResourceCPU || name == corev1.ResourceMemory
		switch committed := pages || !native(name); {
		case committed && !limited:
			errs = append(errs, field.Required(at, "Limit must be set for non overcommitable resources"))
		case committed && request.Cmp(limit) != 0:
			errs = append(errs, field.Invalid(at, request.String(), fmt.Sprintf("must be equal to %s limit of %s", name, limit.String())))
		case limited && request.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(at, request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
		}
	}
	if huge && !plain {
		errs = append(errs, field.Forbidden(at, "HugePages require cpu or memory"))
	}
	return errs
}

// native reports whether a resource is Kubernetes' own, and not an extended one.
func native(name corev1.ResourceName) bool {
	domain, _, prefixed := strings.Cut(string(name), "/")
	return !prefixed || strings.HasSuffix(domain, corev1.ResourceDefaultNamespacePrefix[:len(corev1.ResourceDefaultNamespacePrefix)-1])
}

// validateDevices refuses what the scheduler does not play, rather than ignoring it.
func validateDevices(s *resourcev1.ResourceClaimSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(s.Devices.Constraints) > 0 {
		errs = append(errs, field.Forbidden(at.Child("devices", "constraints"), "constraints are not simulated"))
	}
	for i, r := range s.Devices.Requests {
		if r.Exactly == nil || r.Exactly.AdminAccess != nil || len(r.Exactly.Tolerations) > 0 || r.Exactly.Capacity != nil {
			errs = append(errs, field.Forbidden(at.Child("devices", "requests").Index(i), "of requests only exactly with a class, selectors and a count are simulated"))
		}
	}
	return errs
}

func validateTemplate(selector *metav1.LabelSelector, t *corev1.PodTemplateSpec, spec *field.Path) field.ErrorList {
	errs := validatePodSpec(&t.Spec, spec.Child("template", "spec"))
	if selector == nil {
		return append(errs, field.Required(spec.Child("selector"), ""))
	}
	sel, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return append(errs, field.Invalid(spec.Child("selector"), selector, err.Error()))
	}
	if !sel.Matches(labels.Set(t.Labels)) {
		errs = append(errs, field.Invalid(spec.Child("template", "metadata", "labels"), t.Labels, "`selector` does not match template `labels`"))
	}
	return errs
}

// validateUpdate checks what may not change.
func validateUpdate(obj, was object) field.ErrorList {
	switch o := obj.(type) {
	case *corev1.Pod:
		return validatePodUpdate(o, was.(*corev1.Pod))
	case *corev1.Node:
		old := was.(*corev1.Node)
		if old.Spec.ProviderID != "" && old.Spec.ProviderID != o.Spec.ProviderID {
			return field.ErrorList{field.Forbidden(field.NewPath("spec", "providerID"), "node updates may not change providerID except from \"\" to valid")}
		}
	case *corev1.ConfigMap:
		old := was.(*corev1.ConfigMap)
		if old.Immutable != nil && *old.Immutable && !(equality.Semantic.DeepEqual(o.Data, old.Data) && equality.Semantic.DeepEqual(o.BinaryData, old.BinaryData)) {
			return field.ErrorList{field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set")}
		}
	}
	return nil
}

// validatePodUpdate admits the few changes a pod's spec may see: images,
// deadlines, added tolerations, gates removed, and a narrower place while gated.
func validatePodUpdate(pod, was *corev1.Pod) field.ErrorList {
	if equality.Semantic.DeepEqual(pod.Spec, was.Spec) {
		return nil
	}
	spec := field.NewPath("spec")
	held := map[string]bool{}
	for _, g := range was.Spec.SchedulingGates {
		held[g.Name] = true
	}
	for i, g := range pod.Spec.SchedulingGates {
		if !held[g.Name] {
			return field.ErrorList{field.Forbidden(spec.Child("schedulingGates").Index(i), "only deletion is allowed, but found new scheduling gate '"+g.Name+"'")}
		}
	}
	if !equality.Semantic.DeepEqual(tolerationsKept(pod.Spec.Tolerations, was.Spec.Tolerations), was.Spec.Tolerations) {
		return field.ErrorList{field.Forbidden(spec.Child("tolerations"), "existing toleration can not be modified except its tolerationSeconds")}
	}
	allowed := was.Spec.DeepCopy()
	allowed.SchedulingGates = pod.Spec.SchedulingGates
	allowed.Tolerations = pod.Spec.Tolerations
	allowed.ActiveDeadlineSeconds = pod.Spec.ActiveDeadlineSeconds
	for i := range allowed.Containers {
		if i < len(pod.Spec.Containers) {
			allowed.Containers[i].Image = pod.Spec.Containers[i].Image
		}
	}
	if len(was.Spec.SchedulingGates) > 0 {
		allowed.NodeSelector = pod.Spec.NodeSelector
		allowed.Affinity = pod.Spec.Affinity
	}
	if !equality.Semantic.DeepEqual(*allowed, pod.Spec) {
		return field.ErrorList{field.Forbidden(spec, "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)")}
	}
	return nil
}

// tolerationsKept returns those of was that are still in now, by anything but
// their seconds.
func tolerationsKept(now, was []corev1.Toleration) []corev1.Toleration {
	var kept []corev1.Toleration
	for _, w := range was {
		for _, n := range now {
			n.TolerationSeconds = w.TolerationSeconds
			if n == w {
				kept = append(kept, w)
				break
			}
		}
	}
	return kept
}
