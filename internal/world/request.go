package world

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/kubesim"
)

// doPodGroup makes a gang, and with it the API that it belongs to.
func doPodGroup(w *world, s *statement) error {
	least, err := s.number("min", 2)
	if err != nil {
		return err
	}
	api, err := s.oneOf("api", "kubernetes", "coscheduling")
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Name: s.names[0], Namespace: s.value("namespace", "default")}
	if api == "coscheduling" {
		return create(w.cluster, &kubesim.CoschedulingGroup{ObjectMeta: meta, Spec: map[string]any{"minMember": int64(least)}})
	}
	return create(w.cluster, &schedulingv1beta1.PodGroup{ObjectMeta: meta, Spec: schedulingv1beta1.PodGroupSpec{
		SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: int32(least)}},
	}})
}

// podTemplate stores the pod that a statement describes as a PodTemplate of the same name.
func podTemplate(c *kubesim.Cluster, s *statement) (*corev1.Pod, error) {
	p, err := model(c, s)
	if err != nil {
		return nil, err
	}
	_, err = c.Create(&corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}, Template: template(p)})
	return p, err
}

// doBuffer makes a CapacityBuffer: of pods like those that the statement describes, or like those of a Deployment.
func doBuffer(w *world, s *statement) error {
	spec := map[string]any{"provisioningStrategy": "buffer.x-k8s.io/active-capacity"}
	namespace := s.value("namespace", "default")
	if of := s.value("of", ""); of != "" {
		spec["scalableRef"] = map[string]any{"apiGroup": "apps", "kind": "Deployment", "name": of}
	} else {
		if _, err := podTemplate(w.cluster, s); err != nil {
			return err
		}
		spec["podTemplateRef"] = map[string]any{"name": s.names[0]}
	}
	for setting := range map[string]bool{"replicas": true, "percentage": true} {
		n, err := s.number(setting, 0)
		if err != nil {
			return err
		}
		if s.has(setting) {
			spec[setting] = int64(n)
		}
	}
	if limit, err := s.pairs("limit"); err != nil {
		return err
	} else if limit != nil {
		limits := map[string]any{}
		for resource, most := range limit {
			limits[resource] = most
		}
		spec["limits"] = limits
	}
	return create(w.cluster, &kubesim.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Name: s.names[0], Namespace: namespace}, Spec: spec})
}

func doProvisioningRequest(w *world, s *statement) error {
	class, err := s.oneOf("class", "best-effort-atomic-scale-up", "check-capacity")
	if err != nil {
		return err
	}
	n, err := s.number("pods", 1)
	if err != nil {
		return err
	}
	p, err := podTemplate(w.cluster, s)
	if err != nil {
		return err
	}
	spec := map[string]any{
		"provisioningClassName": class + ".autoscaling.x-k8s.io",
		"podSets":               []any{map[string]any{"podTemplateRef": map[string]any{"name": p.Name}, "count": int64(n)}},
	}
	parameters, err := s.pairs("parameter")
	if err != nil {
		return err
	}
	if parameters != nil {
		all := map[string]any{}
		for k, v := range parameters {
			all[k] = v
		}
		spec["parameters"] = all
	}
	return create(w.cluster, &kubesim.ProvisioningRequest{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}, Spec: spec})
}

// tellRequests tells what is newly true of requests and buffers, by their conditions. One that comes or goes turns sluice's loop.
func (ns *clusterNews) tellRequests() {
	asking := 0
	for _, r := range kubesim.All[*kubesim.ProvisioningRequest](ns.cluster, "") {
		asking++
		ns.tellConditions("request", r.Namespace+"/"+r.Name, r.Status)
	}
	for _, b := range kubesim.All[*kubesim.CapacityBuffer](ns.cluster, "") {
		asking++
		ns.tellConditions("buffer", b.Namespace+"/"+b.Name, b.Status)
	}
	ns.stirred = ns.stirred || asking != ns.asking
	ns.asking = asking
}

func (ns *clusterNews) tellConditions(kind, name string, status map[string]any) {
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		cond, _ := c.(map[string]any)
		what, _ := cond["type"].(string)
		value, _ := cond["status"].(string)
		reason, _ := cond["reason"].(string)
		is := kind + " " + name + " " + what
		if said := value + " " + reason; ns.conditions[is] != said {
			ns.conditions[is] = said
			if value != "True" {
				what = "not-" + what
			}
			ns.out.fact(ns.clock.elapsed(), kind, name, strings.ToLower(what), reason)
		}
	}
}
