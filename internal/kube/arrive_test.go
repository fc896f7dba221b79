package kube

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

// drip lets little of a streamed read of pods through in each second, and after most bytes nothing more.
type drip struct {
	http.RoundTripper
	most int
}

func (d drip) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := d.RoundTripper.RoundTrip(r)
	if q := r.URL.Query(); err == nil && strings.HasSuffix(r.URL.Path, "/pods") && q.Get("sendInitialEvents") == "true" && q.Get("fieldSelector") == "" {
		a.Body = &dripping{a.Body, r.Context(), d.most}
	}
	return a, err
}

type dripping struct {
	io.ReadCloser
	ctx  context.Context
	most int
}

func (d *dripping) Read(p []byte) (int, error) {
	second := time.After(time.Second)
	if d.most <= 0 {
		second = nil
	}
	select {
	case <-second:
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
	n, err := d.ReadCloser.Read(p[:min(len(p), 256, d.most)])
	d.most -= n
	return n, err
}

// slow is a client of a cluster with fifty pods, which take more than a minute to come.
func slow(t *testing.T, most int) kubernetes.Interface {
	t.Helper()
	c := &kubesim.Cluster{}
	for i := range 50 {
		create(t, c, pod("default", fmt.Sprintf("p-%02d", i), ""))
	}
	config := c.RESTConfig()
	config.Transport = drip{config.Transport, most}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestAFirstReadMayTakeLongWhileItsObjectsCome(t *testing.T) {
	client := slow(t, 1<<30)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		o := NewObserver(client, Options{})
		if err := o.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 2*DefaultPatience {
			t.Errorf("the read took %s, which tests nothing", took)
		}
		if all := objects(t, o); len(all.Pods) != 50 {
			t.Errorf("%d pods", len(all.Pods))
		}
	})
}

func TestStartGivesUpOnAFirstReadThatStops(t *testing.T) {
	client := slow(t, 6000)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := NewObserver(client, Options{}).Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), "no answer within 30s") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took < DefaultPatience+6000/256*time.Second/2 || took > 3*DefaultPatience {
			t.Errorf("gave up after %s", took)
		}
	})
}

// An attempt that breaks off at the same object again and again is as good as none.
func TestAFirstReadAdvancesOnlyWhereItComesFurther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a advance
		began := time.Now()
		for attempt := range 3 {
			a.again()
			for range 5 - attempt/2 {
				a.one()
			}
			time.Sleep(time.Second)
		}
		if !a.at.Equal(began) {
			t.Errorf("advanced %s after the first attempt", a.at.Sub(began))
		}
		a.again()
		for range 6 {
			a.one()
		}
		if a.at.Equal(began) {
			t.Error("the sixth object is no advance")
		}
	})
}

func TestAnAPIServerThatCannotStreamIsReadInPages(t *testing.T) {
	c := &kubesim.Cluster{}
	create(t, c, node("a"), pod("default", "x", "a"), pod("default", "y", "a"))
	streamed := &cluster.Objects{}
	observe(t, c, func(t *testing.T, o *Observer) { *streamed = objects(t, o) })
	for _, resource := range []string{"nodes", "pods"} {
		c.Inject(kubesim.Fault{Verb: "watch", Resource: resource, Times: 1, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid})
	}
	observe(t, c, func(t *testing.T, o *Observer) {
		if d := cmp.Diff(*streamed, objects(t, o)); d != "" {
			t.Error("listed otherwise than streamed (-streamed +listed)\n" + d)
		}
	})
}

func TestAPageBecomesWhatIsKeptOfIt(t *testing.T) {
	table := classes{}
	f := newFeed(nil, resource[*corev1.Pod]{name: "pods"}, Options{}, func() {}, nil, table.record, records())
	page := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "more"}, Items: []corev1.Pod{*pod("default", "x", "a"), *pod("default", "y", "b")}}
	got, err := f.arrivals(page, true)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	list, err := meta.ExtractList(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		a, ok := o.(*arrived[*cluster.Pod])
		if !ok {
			t.Fatalf("a page holds a %T", o)
		}
		names = append(names, a.kept.String()+" on "+a.kept.Node)
	}
	if d := cmp.Diff([]string{"default/x on a", "default/y on b"}, names); d != "" {
		t.Error("(-want +got)\n" + d)
	}
	if at := f.advanced(); at.IsZero() {
		t.Error("a page is no advance")
	}
}
