package kube

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ours "k8s.io/component-base/version"

	"sluice.dev/sluice/cluster"
)

// TestAServerSaysWhatItLacks asks API servers of several versions, each with the APIs that it has by itself, and ones that say nothing.
func TestAServerSaysWhatItLacks(t *testing.T) {
	none := []string{
		"resourceslices.v1.resource.k8s.io", "podgroups.v1beta1.scheduling.k8s.io", "podgroups.v1alpha1.scheduling.x-k8s.io",
		"capacitybuffers.v1beta1.autoscaling.x-k8s.io", "provisioningrequests.v1.autoscaling.x-k8s.io", "mutatingadmissionpolicies.v1.admissionregistration.k8s.io",
	}
	for name, c := range map[string]struct {
		version string
		serves  map[string]string // resource by group and version
		broken  string            // a path that is answered with an error
		newer   bool
		lacks   []string
		unread  string
	}{
		"an old one": {version: "v1.31.14", serves: map[string]string{"admissionregistration.k8s.io/v1": "validatingadmissionpolicies"}, lacks: none},
		"devices in another version": {
			version: "v1.33.1", serves: map[string]string{"resource.k8s.io/v1beta1": "resourceslices", "admissionregistration.k8s.io/v1alpha1": "mutatingadmissionpolicies"}, lacks: none,
			unread: "resourceslices.v1.resource.k8s.io is served as v1beta1 alone: devices of pods and nodes are not counted",
		},
		"all of it, in one version or another": {version: "v1.37.2", serves: map[string]string{
			"resource.k8s.io/v1": "resourceslices", "scheduling.k8s.io/v1beta1": "podgroups", "scheduling.x-k8s.io/v1alpha1": "podgroups",
			"autoscaling.x-k8s.io/v1alpha1": "capacitybuffers", "autoscaling.x-k8s.io/v1beta1": "provisioningrequests", "admissionregistration.k8s.io/v1": "mutatingadmissionpolicies",
		}},
		"a new one": {
			version: "v1.38.0-beta.0", newer: true, lacks: none[1:5], unread: "podgroups.v1beta1.scheduling.k8s.io is served as v1 alone: pods of a gang are placed one by one",
			serves: map[string]string{"resource.k8s.io/v1": "resourceslices", "scheduling.k8s.io/v1": "podgroups", "admissionregistration.k8s.io/v1": "mutatingadmissionpolicies"},
		},
		"another major version":      {version: "v2.0.0", newer: true, lacks: none},
		"one without a version":      {version: "v0.0.0-master+$Format:%H$", lacks: none},
		"one that does not say it":   {version: "v1.36.3", broken: "/version", lacks: none},
		"one that names no groups":   {version: "v1.36.3", broken: "/apis"},
		"one that names no resource": {version: "v1.36.3", broken: "/apis/resource.k8s.io/v1", serves: map[string]string{"resource.k8s.io/v1": "resourceslices"}, lacks: none[1:]},
	} {
		t.Run(name, func(t *testing.T) {
			said := AskServer(t.Context(), serving(t, c.version, c.serves, c.broken))
			want := cluster.Server{Version: c.version, Newer: c.newer, Rules: ours.DefaultKubeBinaryVersion}
			if strings.Contains(c.version, "master") || c.broken == "/version" {
				want.Version = ""
			}
			var lacks []string
			unread := ""
			for _, w := range said.Without {
				lacks = append(lacks, w.API)
				if w.Loss == "" {
					t.Errorf("nothing comes of the want of %s", w.API)
				}
			}
			for _, w := range said.Unread() {
				unread += w.String()
			}
			said.Without = nil
			if diff := cmp.Diff(want, said); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(c.lacks, lacks); diff != "" || unread != c.unread {
				t.Errorf("unread: %q\n(-want +got)\n%s", unread, diff)
			}
		})
	}
}

// serving is a client of an API server with that version and those resources.
func serving(t *testing.T, says string, serves map[string]string, broken string) kubernetes.Interface {
	t.Helper()
	groups := metav1.APIGroupList{}
	for gv := range serves {
		group, _, _ := strings.Cut(gv, "/")
		groups.Groups = append(groups.Groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: gv}}})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		resource, served := serves[strings.TrimPrefix(r.URL.Path, "/apis/")]
		var answer any
		switch {
		case r.URL.Path == broken:
			w.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == "/version":
			answer = version.Info{GitVersion: says}
		case r.URL.Path == "/apis":
			answer = groups
		case served:
			answer = metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: resource}, {Name: resource + "/status"}}}
		default:
			w.WriteHeader(http.StatusNotFound)
		}
		if answer != nil {
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		}
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
