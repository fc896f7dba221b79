package kube

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

func replicaSet(name string, replicas int32) *appsv1.ReplicaSet {
	labels := map[string]string{"app": name}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main"}}},
		}},
	}
}

// controllerNames are "name" or "name: replicas".
func controllerNames(all []*cluster.Controller) []string {
	var names []string
	for _, c := range all {
		said := c.Name
		if c.Replicas != nil {
			said += ": " + string('0'+*c.Replicas)
		}
		names = append(names, said)
	}
	return names
}

// forms are the forms of objects that requests for controllers ask for.
type forms struct {
	mu  sync.Mutex
	ask map[string]bool // "replicasets partial"
}

func (f *forms) carry(next http.RoundTripper) http.RoundTripper {
	return carrier(func(r *http.Request) (*http.Response, error) {
		parts := strings.Split(r.URL.Path, "/")
		form := "whole"
		if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
			form = "partial"
		}
		f.mu.Lock()
		f.ask[parts[len(parts)-1]+" "+form] = true
		f.mu.Unlock()
		return next.RoundTrip(r)
	})
}

type carrier func(*http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// TestControllersAreReadOnlyAsFarAsSomebodyAsks holds what is asked of the API server, and what is kept, to what the policy needs.
func TestControllersAreReadOnlyAsFarAsSomebodyAsks(t *testing.T) {
	kinds := []string{"replicasets", "replicationcontrollers", "statefulsets"}
	for name, tc := range map[string]struct {
		besides Besides
		known   bool
		names   []string
		later   []string // after one was scaled and one deleted
		forms   []string // of the kinds, in their order; "" for none
	}{
		"nobody asks":        {Besides{}, false, nil, nil, []string{"", "", ""}},
		"that they exist":    {Besides{Controllers: true}, true, []string{"gone", "web"}, []string{"web"}, []string{"partial", "partial", "partial"}},
		"how many they have": {Besides{Controllers: true, Replicas: true}, true, []string{"gone: 1", "web: 1"}, []string{"web: 2"}, []string{"whole", "whole", "partial"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &kubesim.Cluster{}
			create(t, c, replicaSet("web", 1), replicaSet("gone", 1))
			asked := &forms{ask: map[string]bool{}}
			config := c.RESTConfig()
			config.Transport = asked.carry(config.Transport)
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				o := NewObserver(client, Options{Besides: tc.besides})
				if err := o.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				seen := objects(t, o).Controllers
				if seen.Known != tc.known {
					t.Errorf("known: %v", seen.Known)
				}
				if diff := cmp.Diff(tc.names, controllerNames(seen.ReplicaSets)); diff != "" {
					t.Error("(-want +got)\n" + diff)
				}
				listed, err := List(t.Context(), client, tc.besides)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(listed.Controllers, seen); diff != "" {
					t.Error("observed otherwise than listed (-listed +observed)\n" + diff)
				}
				edit(t, c, "default", "web", func(r *appsv1.ReplicaSet) { r.Status.Replicas = 1 })
				if again := objects(t, o).Controllers; !again.Same(seen) {
					t.Error("a status that nobody reads made it another list")
				}
				edit(t, c, "default", "web", func(r *appsv1.ReplicaSet) { r.Spec.Replicas = new(int32(2)) })
				if err := c.Delete(replicaSet("gone", 1), nil); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.later, controllerNames(objects(t, o).Controllers.ReplicaSets)); diff != "" {
					t.Error("later (-want +got)\n" + diff)
				}
			})
			asked.mu.Lock()
			defer asked.mu.Unlock()
			for i, kind := range kinds {
				for _, form := range []string{"partial", "whole"} {
					if got, want := asked.ask[kind+" "+form], tc.forms[i] == form; got != want {
						t.Errorf("%s objects of %s were asked for: %v, want %v", form, kind, got, want)
					}
				}
			}
		})
	}
}
