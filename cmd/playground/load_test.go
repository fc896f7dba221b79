package main

import (
	"net/http"
	"testing"
	"time"
)

// TestTheLoadSaysWhatIsAskedOfTheAPIServer counts each request as what it is, and tells the most frequent first.
func TestTheLoadSaysWhatIsAskedOfTheAPIServer(t *testing.T) {
	p := &proxy{requests: map[string]int64{}}
	for _, c := range []struct{ method, url string }{
		{http.MethodGet, "/api/v1/nodes?watch=true&resourceVersion=7"},
		{http.MethodGet, "/apis/policy/v1/poddisruptionbudgets?watch=true"},
		{http.MethodGet, "/api/v1/pods?watch=true&sendInitialEvents=true&fieldSelector=metadata.name%3D-"},
		{http.MethodGet, "/api/v1/pods?limit=500"},
		{http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cluster-autoscaler"},
		{http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cluster-autoscaler"},
		{http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cluster-autoscaler"},
		{http.MethodPost, "/api/v1/namespaces/default/pods/web-0/eviction"},
		{http.MethodGet, "/version"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, "http://127.0.0.1"+c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.count(kindOf(r))
	}
	const want = "update leases 1.5, watch 1.0, create pods/eviction 0.5, get /version 0.5, list pods 0.5, streamed list 0.5"
	if got := (taken{lasted: 2 * time.Minute, kinds: p.counted()}).asked(); got != want {
		t.Errorf("asked: %s, want %s", got, want)
	}
}
