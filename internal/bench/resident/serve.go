package resident

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"sluice.dev/sluice/internal/bench/workload"
)

// fleetPath is where the server tells of the groups.
const fleetPath = "/fleet"

// Server serves one cluster as a kube-apiserver does to clients that list and watch whole resources: pages, streamed first reads,
// bookmarks. What lives there is the steady cluster; its hour of rolling updates passes in a minute, from when the pods are first watched.
type Server struct {
	kinds map[string]*kind // by path
	fleet []byte
	churn churn
}

// kind is one resource.
type kind struct {
	of    schema.GroupVersionKind
	count int
	at    func(i int) object // the i-th object; the caller does not change it

	partial bool // only the metadata of its objects is asked for, in JSON: see [kind.fresh]
}

type object interface {
	runtime.Object
	metav1.Object
}

// beginning is the resource version of everything that is there before the updates.
const beginning = 1000

// Serve makes the server of the steady cluster of seed 1 with so many nodes.
func Serve(nodes int) (*Server, error) {
	w := workload.NewSteadyWorld(1, nodes)
	fleet, err := json.Marshal(w.Groups)
	if err != nil {
		return nil, fmt.Errorf("encode the groups: %w", err)
	}
	s := &Server{kinds: map[string]*kind{}, fleet: fleet}
	pods := newWardrobe(w)
	s.churn = newChurn(workload.NewSteady(1, nodes), pods)
	s.add("", "v1", "Pod", "pods", len(w.Pods), func(i int) object { return pods.dressed(w.Pods[i], beginning) })
	addAll(s, "", "v1", "Node", "nodes", dressNodes(w.Nodes))
	addAll(s, "", "v1", "Namespace", "namespaces", w.Namespaces)
	addAll(s, "apps", "v1", "DaemonSet", "daemonsets", w.DaemonSets)
	addAll(s, "apps", "v1", "ReplicaSet", "replicasets", revisions(w.Pods)).partial = true
	for _, k := range ownerless {
		s.add(k.group, k.version, k.kind, k.resource, 0, nil).partial = true
	}
	for _, k := range empty {
		s.add(k.group, k.version, k.kind, k.resource, 0, nil)
	}
	return s, nil
}

// empty are the kinds that decisions may read and of which the cluster has none.
var empty = []struct{ group, version, kind, resource string }{
	{"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"},
	{"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"},
	{"", "v1", "PersistentVolume", "persistentvolumes"},
	{"storage.k8s.io", "v1", "StorageClass", "storageclasses"},
	{"storage.k8s.io", "v1", "CSINode", "csinodes"},
	{"storage.k8s.io", "v1", "CSIDriver", "csidrivers"},
	{"storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities"},
	{"storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments"},
	{"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses"},
	{"resource.k8s.io", "v1", "ResourceClaim", "resourceclaims"},
	{"resource.k8s.io", "v1", "ResourceSlice", "resourceslices"},
	{"resource.k8s.io", "v1", "DeviceClass", "deviceclasses"},
}

func (s *Server) add(group, version, name, resource string, count int, at func(int) object) *kind {
	path := "/apis/" + group
	if group == "" {
		path = "/api"
	}
	k := &kind{of: schema.GroupVersionKind{Group: group, Version: version, Kind: name}, count: count, at: at}
	s.kinds[path+"/"+version+"/"+resource] = k
	return k
}

// addAll serves these objects.
func addAll[T object](s *Server, group, version, name, resource string, all []T) *kind {
	gvk := schema.GroupVersionKind{Group: group, Version: version, Kind: name}
	for _, o := range all {
		o.SetResourceVersion(strconv.Itoa(beginning))
		o.GetObjectKind().SetGroupVersionKind(gvk)
	}
	return s.add(group, version, name, resource, len(all), func(i int) object { return all[i] })
}

// ServeHTTP answers lists and watches of whole resources, in protobuf or as their kind is asked for, and the groups of the fleet, in JSON.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == fleetPath {
		_, _ = w.Write(s.fleet) // a client that hung up has nobody left to tell
		return
	}
	k := s.kinds[r.URL.Path]
	if k == nil {
		http.NotFound(w, r)
		return
	}
	q := r.URL.Query()
	nothing := strings.Contains(q.Get("fieldSelector"), "metadata.name=-")
	var err error
	if q.Get("watch") == "true" || q.Get("watch") == "1" {
		err = s.watch(w, r, k, nothing)
	} else {
		err = list(w, q, k, nothing)
	}
	if err != nil && r.Context().Err() == nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
}

// list writes one page.
func list(w http.ResponseWriter, q url.Values, k *kind, nothing bool) error {
	from, _ := strconv.Atoi(q.Get("continue")) // none is the first page
	to := k.count
	if limit, err := strconv.Atoi(q.Get("limit")); err == nil && limit > 0 {
		to = min(to, from+limit)
	}
	page, err := k.fresh(true)
	if err != nil {
		return err
	}
	meta, ok := page.(metav1.ListMetaAccessor)
	if !ok {
		return fmt.Errorf("%T is no list", page)
	}
	meta.GetListMeta().SetResourceVersion(strconv.Itoa(beginning))
	var items []runtime.Object
	for i := from; i < to && !nothing; i++ {
		items = append(items, k.at(i))
	}
	if to < k.count && !nothing {
		meta.GetListMeta().SetContinue(strconv.Itoa(to))
	}
	if err := apimeta.SetList(page, items); err != nil {
		return err
	}
	return k.write(w, page)
}

// watch streams the first read when it is asked for, then what happens, until the time that the client gave is over.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, k *kind, nothing bool) error {
	q := r.URL.Query()
	seconds, err := strconv.Atoi(q.Get("timeoutSeconds"))
	if err != nil {
		seconds = 300
	}
	end := time.NewTimer(time.Duration(seconds) * time.Second)
	defer end.Stop()
	w.Header().Set("Content-Type", k.form()+";stream=watch")
	out := http.NewResponseController(w)
	if q.Get("sendInitialEvents") == "true" {
		for i := 0; i < k.count && !nothing; i++ {
			if err := k.send(w, watch.Added, k.at(i)); err != nil {
				return err
			}
		}
		mark, err := k.bookmark()
		if err != nil {
			return err
		}
		if err := k.send(w, watch.Bookmark, mark); err != nil {
			return err
		}
	}
	_ = out.Flush() // as above
	version := beginning
	if v, err := strconv.Atoi(q.Get("resourceVersion")); err == nil {
		version = max(v, beginning)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-end.C:
			return nil
		case <-r.Context().Done():
			return nil
		case <-tick.C:
		}
		if k.of.Kind != "Pod" || nothing {
			continue
		}
		for _, e := range s.churn.since(version) {
			if err := k.send(w, e.kind, s.churn.pods.dressed(e.pod, e.version)); err != nil {
				return err
			}
			version = e.version
		}
		_ = out.Flush()
	}
}

// bookmark ends the first read.
func (k *kind) bookmark() (object, error) {
	mark, err := k.fresh(false)
	if err != nil {
		return nil, err
	}
	o, ok := mark.(object)
	if !ok {
		return nil, fmt.Errorf("%T has no metadata", mark)
	}
	o.SetResourceVersion(strconv.Itoa(beginning))
	o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return o, nil
}
