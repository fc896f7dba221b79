package kube

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
)

const (
	scaledAsked  = 2 * time.Minute // how often templates are read again
	scaledWithin = 5 * time.Second // an answer is waited for
)

// Scaled reads the pod templates of the workloads that CapacityBuffers refer to: one without replicas has no pod that tells what its pods are like. It needs
// the right to list ReplicaSets and StatefulSets; without it, it reads nothing. Its methods may be called from several goroutines.
type Scaled struct {
	client     kubernetes.Interface
	now        func() time.Time
	background Background

	mu     sync.Mutex
	of     []workload
	asked  time.Time
	asking bool
	have   []*corev1.PodTemplate // by namespace and name
}

// workload is what a buffer refers to.
type workload struct {
	namespace string
	cluster.ScalableReference
}

// NewScaled returns one that has read nothing yet. Of the options it heeds Now and Background.
func NewScaled(client kubernetes.Interface, o Options) *Scaled {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Scaled{client: client, now: o.Now, background: o.background()}
}

// Refresh reads the templates of what the buffers refer to, when that is new or it is time to. Nobody waits for the answers.
func (s *Scaled) Refresh(ctx context.Context, buffers []*cluster.CapacityBuffer) {
	of := workloadsOf(buffers)
	s.mu.Lock()
	due := !s.asking && (!slices.Equal(of, s.of) || len(of) > 0 && s.now().Sub(s.asked) >= scaledAsked)
	if due {
		s.of, s.asked, s.asking = of, s.now(), true
	}
	s.mu.Unlock()
	if due {
		s.background.Go(func() { s.refresh(ctx, of) })
	}
}

func (s *Scaled) refresh(ctx context.Context, of []workload) {
	ctx, cancel := context.WithTimeout(ctx, scaledWithin)
	defer cancel()
	have, err := readScaled(ctx, s.client, of)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = false
	if err == nil {
		s.have = have
	}
}

// Beside are the PodTemplates with what was read among them, by namespace and name as they were. [cluster.ScalableReference.Template] is such a one's name.
func (s *Scaled) Beside(all []*corev1.PodTemplate) []*corev1.PodTemplate {
	s.mu.Lock()
	defer s.mu.Unlock()
	return mergeTemplates(all, s.have)
}

func mergeTemplates(all, more []*corev1.PodTemplate) []*corev1.PodTemplate {
	if len(more) == 0 {
		return all
	}
	return slices.SortedFunc(slices.Values(slices.Concat(all, more)), func(a, b *corev1.PodTemplate) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// workloadsOf are what the buffers refer to, each once.
func workloadsOf(buffers []*cluster.CapacityBuffer) (of []workload) {
	for _, b := range buffers {
		if ref := b.Spec.ScalableRef; ref != nil && ref.APIGroup == "apps" {
			of = append(of, workload{b.Namespace, *ref})
		}
	}
	slices.SortFunc(of, func(a, b workload) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(of)
}

// readScaled reads the templates of workloads; one that is not there has none.
func readScaled(ctx context.Context, client kubernetes.Interface, of []workload) (all []*corev1.PodTemplate, err error) {
	apps := client.AppsV1()
	for _, w := range of {
		named := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, w.Name).String()}
		var found *corev1.PodTemplateSpec
		switch w.Kind {
		case "Deployment":
			list, err := apps.ReplicaSets(w.namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			found = newestOf(list.Items, w.Name)
		case "ReplicaSet":
			list, err := apps.ReplicaSets(w.namespace).List(ctx, named)
			if err != nil {
				return nil, err
			}
			for i := range list.Items {
				found = &list.Items[i].Spec.Template
			}
		case "StatefulSet":
			list, err := apps.StatefulSets(w.namespace).List(ctx, named)
			if err != nil {
				return nil, err
			}
			for i := range list.Items {
				found = &list.Items[i].Spec.Template
			}
		}
		if found != nil {
			t := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.Template()}, Template: *found}
			trimOptional(t)
			all = append(all, t)
		}
	}
	return all, nil
}

// newestOf is the template of a Deployment's newest revision, nil when it has none yet.
func newestOf(sets []appsv1.ReplicaSet, deployment string) (found *corev1.PodTemplateSpec) {
	newest := -1
	for i := range sets {
		owner := metav1.GetControllerOf(&sets[i])
		if owner == nil || owner.Kind != "Deployment" || owner.Name != deployment {
			continue
		}
		revision, _ := strconv.Atoi(sets[i].Annotations["deployment.kubernetes.io/revision"]) // none is the first
		if revision > newest {
			newest, found = revision, &sets[i].Spec.Template
		}
	}
	return found
}
