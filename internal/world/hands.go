package world

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/internal/kubesim"
)

// The hands of people and other programs.

// apart is a script's "namespace/name", by default in namespace default, as the cluster has it.
func (n *names) apart(said string) (namespace, name string) {
	if !strings.Contains(said, "/") {
		said = "default/" + said
	}
	namespace, name, _ = strings.Cut(n.of(said), "/")
	return namespace, name
}

func doApply(w *world, s *statement) error {
	text, ok := w.fixtures[s.names[0]]
	if !ok {
		return fmt.Errorf("apply %s: the scenario has no section of that name; there are %s", s.names[0], strings.Join(slices.Sorted(maps.Keys(w.fixtures)), ", "))
	}
	for documents := utilyaml.NewYAMLReader(newLines(text)); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("apply %s: %w", s.names[0], err)
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		object, err := decode(document)
		if err != nil {
			return fmt.Errorf("apply %s: %w", s.names[0], err)
		}
		if err := create(w.cluster, object); err != nil {
			return fmt.Errorf("apply %s: %w", s.names[0], err)
		}
	}
}

// decode reads one object, a custom one too.
func decode(document []byte) (runtime.Object, error) {
	text, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, err
	}
	var t metav1.TypeMeta
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, err
	}
	if custom := kubesim.Custom(t.APIVersion, t.Kind); custom != nil {
		return custom, json.Unmarshal(text, custom)
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	return object, err
}

func create(c *kubesim.Cluster, object runtime.Object) error {
	o, ok := object.(kubesim.Object)
	if !ok {
		return fmt.Errorf("%T is not one object", object)
	}
	if kubesim.Namespaced(o) {
		if o.GetNamespace() == "" {
			o.SetNamespace("default")
		}
		if err := ensureNamespace(c, o.GetNamespace()); err != nil {
			return err
		}
	}
	if api := kubesim.APIOf(o); api != "" {
		c.Install(api)
	}
	if made, is := o.(*corev1.ConfigMap); is {
		if _, there := kubesim.Find[*corev1.ConfigMap](c, made.Namespace, made.Name); there {
			return kubesim.Edit(c, made.Namespace, made.Name, func(old *corev1.ConfigMap) { old.Data, old.BinaryData = made.Data, made.BinaryData })
		}
	}
	_, err := add(c, o)
	return err
}

func doScale(w *world, s *statement) error {
	n, ok := counted(s.names[1], mostPods)
	if !ok {
		return fmt.Errorf("scale %s: %q is not a number of replicas, from 0 to %d", s.names[0], s.names[1], mostPods)
	}
	namespace, name := w.out.names.apart(s.names[0])
	next := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(n))}}
	if err := room(w.cluster, next); err != nil {
		return fmt.Errorf("scale: %w", err)
	}
	return kubesim.Edit(w.cluster, namespace, name, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(n)) })
}

func doDelete(w *world, s *statement) error {
	namespace, name := w.out.names.apart(s.names[1])
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	var o kubesim.Object
	switch s.names[0] {
	case "pod":
		o = &corev1.Pod{ObjectMeta: meta}
	case "node":
		node, err := w.machines.node(s, s.names[1])
		if err != nil {
			return err
		}
		o = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	case "deployment":
		o = &appsv1.Deployment{ObjectMeta: meta}
	case "replicaset":
		o = &appsv1.ReplicaSet{ObjectMeta: meta}
	case "daemonset":
		o = &appsv1.DaemonSet{ObjectMeta: meta}
	case "job":
		o = &batchv1.Job{ObjectMeta: meta}
	case "budget":
		o = &policyv1.PodDisruptionBudget{ObjectMeta: meta}
	case "pvc":
		o = &corev1.PersistentVolumeClaim{ObjectMeta: meta}
	case "podgroup":
		o = &schedulingv1beta1.PodGroup{ObjectMeta: meta}
		if _, ok := kubesim.Find[*kubesim.CoschedulingGroup](w.cluster, namespace, name); ok {
			o = &kubesim.CoschedulingGroup{ObjectMeta: meta}
		}
	case "buffer":
		o = &kubesim.CapacityBuffer{ObjectMeta: meta}
	case "provisioningrequest":
		o = &kubesim.ProvisioningRequest{ObjectMeta: meta}
	default:
		return fmt.Errorf("delete %s: give pod, node, deployment, replicaset, daemonset, job, budget, pvc, podgroup, buffer or provisioningrequest", s.names[0])
	}
	return w.cluster.Delete(o, nil)
}

func doGarbage(w *world, s *statement) error {
	switch s.names[0] {
	case "stays":
		w.cluster.HoldGarbage(true)
	case "goes":
		w.cluster.HoldGarbage(false)
	default:
		return fmt.Errorf("garbage %s: give stays or goes", s.names[0])
	}
	return nil
}

func doUngate(w *world, s *statement) error {
	namespace, name := w.out.names.apart(s.names[0])
	return kubesim.Edit(w.cluster, namespace, name, func(p *corev1.Pod) { p.Spec.SchedulingGates = nil })
}

func doAnnotate(w *world, s *statement) error {
	return w.machines.editNode(s, func(n *corev1.Node) error {
		for _, pair := range s.names[1:] {
			key, value, ok := strings.Cut(pair, "=")
			if !ok {
				return fmt.Errorf("annotate %s: %q is not key=value", s.names[0], pair)
			}
			if n.Annotations == nil {
				n.Annotations = map[string]string{}
			}
			n.Annotations[key] = value
		}
		return nil
	})
}

func (ms *machines) editNode(s *statement, edit func(*corev1.Node) error) error {
	name, err := ms.node(s, s.names[0])
	if err != nil {
		return err
	}
	var bad error
	if err := kubesim.Edit(ms.cluster, "", name, func(n *corev1.Node) { bad = edit(n) }); err != nil {
		return err
	}
	return bad
}

func doCordon(w *world, s *statement) error {
	return w.machines.editNode(s, func(n *corev1.Node) error { n.Spec.Unschedulable = true; return nil })
}

func doUncordon(w *world, s *statement) error {
	return w.machines.editNode(s, func(n *corev1.Node) error { n.Spec.Unschedulable = false; return nil })
}

func doSilence(w *world, s *statement) error {
	m := w.machines.named(s.names[0])
	if m == nil {
		return fmt.Errorf("silence: there is no machine %s", s.names[0])
	}
	m.silent = true
	return nil
}
