package resident

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	write func(b []byte, i int) []byte // appends the i-th object
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
	pods, err := newWardrobe(w)
	if err != nil {
		return nil, err
	}
	s.churn = newChurn(workload.NewSteady(1, nodes), pods)
	s.add("", "v1", "Pod", "pods", len(w.Pods), func(b []byte, i int) []byte { return pods.append(b, w.Pods[i], beginning) })
	if err := addAll(s, "", "v1", "Node", "nodes", dressNodes(w.Nodes)); err != nil {
		return nil, err
	}
	if err := addAll(s, "", "v1", "Namespace", "namespaces", w.Namespaces); err != nil {
		return nil, err
	}
	if err := addAll(s, "apps", "v1", "DaemonSet", "daemonsets", w.DaemonSets); err != nil {
		return nil, err
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

func (s *Server) add(group, version, name, resource string, count int, write func([]byte, int) []byte) {
	path := "/apis/" + group
	if group == "" {
		path = "/api"
	}
	s.kinds[path+"/"+version+"/"+resource] = &kind{schema.GroupVersionKind{Group: group, Version: version, Kind: name}, count, write}
}

// addAll serves objects that are encoded once.
func addAll[T metav1.Object](s *Server, group, version, name, resource string, all []T) error {
	texts := make([][]byte, len(all))
	for i, o := range all {
		o.SetResourceVersion(strconv.Itoa(beginning))
		text, err := json.Marshal(o)
		if err != nil {
			return fmt.Errorf("encode %s: %w", resource, err)
		}
		texts[i] = text
	}
	s.add(group, version, name, resource, len(texts), func(b []byte, i int) []byte { return append(b, texts[i]...) })
	return nil
}

// ServeHTTP answers lists and watches of whole resources, and the groups of the fleet.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == fleetPath {
		_, _ = w.Write(s.fleet) // a client that hung up has nobody left to tell
		return
	}
	k := s.kinds[r.URL.Path]
	if k == nil {
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":%q}`, "no "+r.URL.Path+" here")
		return
	}
	q := r.URL.Query()
	nothing := strings.Contains(q.Get("fieldSelector"), "metadata.name=-")
	switch {
	case q.Get("watch") == "true" || q.Get("watch") == "1":
		s.watch(w, r, k, nothing)
	default:
		from, _ := strconv.Atoi(q.Get("continue")) // none is the first page
		to := k.count
		if limit, err := strconv.Atoi(q.Get("limit")); err == nil && limit > 0 {
			to = min(to, from+limit)
		}
		if nothing {
			to = from
		}
		s.list(w, k, from, to, nothing)
	}
}

// list writes one page.
func (s *Server) list(w http.ResponseWriter, k *kind, from, to int, nothing bool) {
	more := ""
	if to < k.count && !nothing {
		more = fmt.Sprintf(`,"continue":"%d","remainingItemCount":%d`, to, k.count-to)
	}
	b := fmt.Appendf(nil, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"%d"%s},"items":[`, k.of.Kind, k.of.GroupVersion().String(), beginning, more)
	for i := from; i < to; i++ {
		if i > from {
			b = append(b, ',')
		}
		if b = k.write(b, i); len(b) > 1<<16 {
			_, _ = w.Write(b) // as above
			b = b[:0]
		}
	}
	_, _ = w.Write(append(b, "]}"...))
}

// watch streams the first read when it is asked for, then what happens, until the time that the client gave is over.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, k *kind, nothing bool) {
	q := r.URL.Query()
	seconds, err := strconv.Atoi(q.Get("timeoutSeconds"))
	if err != nil {
		seconds = 300
	}
	end := time.NewTimer(time.Duration(seconds) * time.Second)
	defer end.Stop()
	out := http.NewResponseController(w)
	var b []byte
	if q.Get("sendInitialEvents") == "true" {
		for i := 0; i < k.count && !nothing; i++ {
			b = event(b, "ADDED", k, func(b []byte) []byte { return k.write(b, i) })
			if len(b) > 1<<16 {
				_, _ = w.Write(b) // as above
				b = b[:0]
			}
		}
		b = fmt.Appendf(b, `{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d","annotations":{%q:"true"}}}}`+"\n",
			k.of.Kind, k.of.GroupVersion().String(), beginning, metav1.InitialEventsAnnotationKey)
	}
	_, _ = w.Write(b)
	_ = out.Flush()
	version := beginning
	if v, err := strconv.Atoi(q.Get("resourceVersion")); err == nil {
		version = max(v, beginning)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
		if k.of.Kind != "Pod" || nothing {
			continue
		}
		b = b[:0]
		for _, e := range s.churn.since(version) {
			b = event(b, e.kind, k, func(b []byte) []byte { return s.churn.pods.append(b, e.pod, e.version) })
			version = e.version
		}
		_, _ = w.Write(b)
		_ = out.Flush()
	}
}

func event(b []byte, typ string, k *kind, write func([]byte) []byte) []byte {
	b = append(append(append(b, `{"type":"`...), typ...), `","object":`...)
	at := len(b)
	b = write(b)
	// the object itself does not name its kind, as items of lists do not
	head := fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,`, k.of.Kind, k.of.GroupVersion().String())
	b = slices.Insert(b, at+1, head[1:]...)
	return append(b, "}\n"...)
}
