package kubesim

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// discovery answers the paths that describe the API itself and its health. The
// caller holds the lock.
func (s *apiServer) discovery(path string) (answer, bool) {
	path = strings.Trim(path, "/")
	switch path {
	case "healthz", "livez", "readyz":
		return answer{code: http.StatusOK, body: []byte("ok"), plain: true}, true
	case "version":
		return encoded(version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3", Platform: "linux/amd64"}), true
	case "api":
		return encoded(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}), true
	case "apis":
		return encoded(s.groups()), true
	}
	parts := strings.Split(path, "/")
	if len(parts) == 2 && parts[0] == "api" {
		return s.resources("", parts[1])
	}
	if len(parts) == 3 && parts[0] == "apis" {
		return s.resources(parts[1], parts[2])
	}
	return answer{}, false
}

func encoded(v any) answer { return answer{code: http.StatusOK, body: mustEncode(v)} }

func (s *apiServer) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	at := map[string]int{} // by group
	for _, k := range kinds {
		if k.group == "" || !s.store.serves(k) {
			continue
		}
		v := metav1.GroupVersionForDiscovery{GroupVersion: k.apiVersion(), Version: k.version}
		i, known := at[k.group]
		if !known {
			at[k.group] = len(list.Groups)
			list.Groups = append(list.Groups, metav1.APIGroup{Name: k.group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
		} else if !slices.Contains(list.Groups[i].Versions, v) {
			list.Groups[i].Versions = append(list.Groups[i].Versions, v)
		}
	}
	return list
}

func (s *apiServer) resources(group, version string) (answer, bool) {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	verbs := metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	for _, k := range kinds {
		if k.group != group || k.version != version || !s.store.serves(k) {
			continue
		}
		list.GroupVersion = k.apiVersion()
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: k.resource, SingularName: strings.ToLower(k.name), Namespaced: k.namespaced, Kind: k.name, Verbs: verbs})
		if k.status {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: k.resource + "/status", Namespaced: k.namespaced, Kind: k.name, Verbs: metav1.Verbs{"get", "patch", "update"}})
		}
		if k.resource == "pods" {
			list.APIResources = append(list.APIResources,
				metav1.APIResource{Name: "pods/binding", Namespaced: true, Kind: "Binding", Verbs: metav1.Verbs{"create"}},
				metav1.APIResource{Name: "pods/eviction", Namespaced: true, Group: "policy", Version: "v1", Kind: "Eviction", Verbs: metav1.Verbs{"create"}})
		}
	}
	return encoded(list), len(list.APIResources) > 0
}
