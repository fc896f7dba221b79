package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

func clientOf(t testing.TB, c *kubesim.Cluster) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func create(t *testing.T, c *kubesim.Cluster, objects ...kubesim.Object) {
	t.Helper()
	for _, o := range objects {
		if _, err := c.Create(o); err != nil {
			t.Fatal(err)
		}
	}
}

func edit[T kubesim.Object](t *testing.T, c *kubesim.Cluster, namespace, name string, change func(T)) {
	t.Helper()
	if err := kubesim.Edit(c, namespace, name, change); err != nil {
		t.Fatal(err)
	}
}

func node(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
	}}}
}

func pod(namespace, name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "main"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
}

func unschedulable(since time.Time) []corev1.PodCondition {
	return []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(since)}}
}

// observe runs the test in a bubble with a started observer.
func observe(t *testing.T, c *kubesim.Cluster, test func(t *testing.T, o *Observer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := NewObserver(clientOf(t, c), Options{Bypassed: func(scheduler string) bool { return scheduler == "bypassed" }})
		if err := o.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(t, o)
	})
}

func objects(t *testing.T, o *Observer) cluster.Objects {
	t.Helper()
	synctest.Wait()
	all, err := o.Objects()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func keys[T object](all []T) []string {
	var keys []string
	for _, o := range all {
		keys = append(keys, strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/"))
	}
	return keys
}

func podKeys(all []*cluster.Pod) []string {
	var keys []string
	for _, p := range all {
		keys = append(keys, p.String())
	}
	return keys
}

func TestObjectsAreWholeAndSorted(t *testing.T) {
	c := &kubesim.Cluster{}
	create(t, c, node("b"), pod("default", "z", ""), pod("default", "a", ""))
	observe(t, c, func(t *testing.T, o *Observer) {
		create(t, c, node("c"), node("a"), pod("kube-system", "m", ""), pod("default", "k", ""))
		if err := c.Delete(pod("default", "z", ""), &metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
			t.Fatal(err)
		}
		want := [][]string{{"a", "b", "c"}, {"default/a", "default/k", "kube-system/m"}, {"default", "kube-node-lease", "kube-public", "kube-system"}}
		all := objects(t, o)
		if diff := cmp.Diff(want, [][]string{keys(all.Nodes), podKeys(all.Pods), keys(all.Namespaces)}); diff != "" {
			t.Error("(-want +got)\n" + diff)
		}
		once, err := List(t.Context(), clientOf(t, c), Besides{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(once, all); diff != "" {
			t.Error("observed otherwise than listed (-listed +observed)\n" + diff)
		}
	})
}

func TestUnchangedObjectsKeepTheirPointers(t *testing.T) {
	c := &kubesim.Cluster{}
	create(t, c, node("a"), pod("default", "x", ""), pod("default", "y", ""))
	observe(t, c, func(t *testing.T, o *Observer) {
		before := objects(t, o)
		edit(t, c, "default", "y", func(p *corev1.Pod) { p.Labels = map[string]string{"new": "true"} })
		after := objects(t, o)
		if before.Pods[0] != after.Pods[0] || before.Nodes[0] != after.Nodes[0] {
			t.Error("an object that did not change was exchanged")
		}
		if before.Pods[1] == after.Pods[1] || before.Pods[1].Labels != nil {
			t.Error("an object that changed was changed in place")
		}
		if again := objects(t, o); &again.Pods[0] != &after.Pods[0] {
			t.Error("a kind that did not change has a new slice")
		}
	})
}

func TestPointersSurviveALostWatchAndANewList(t *testing.T) {
	c := &kubesim.Cluster{}
	create(t, c, node("a"), node("b"))
	observe(t, c, func(t *testing.T, o *Observer) {
		before := objects(t, o)
		lift := c.Inject(kubesim.Fault{Verb: "watch", Resource: "nodes", Times: 1, Code: 410, Reason: metav1.StatusReasonExpired})
		defer lift()
		c.CutWatches("nodes")
		if err := c.Delete(node("b"), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		after := objects(t, o)
		if diff := cmp.Diff([]string{"a"}, keys(after.Nodes)); diff != "" {
			t.Fatal("(-want +got)\n" + diff)
		}
		if before.Nodes[0] != after.Nodes[0] {
			t.Error("a node that did not change was exchanged")
		}
	})
}

func TestHeartbeatChangesNothing(t *testing.T) {
	c := &kubesim.Cluster{}
	create(t, c, node("a"))
	observe(t, c, func(t *testing.T, o *Observer) {
		before := objects(t, o)
		edit(t, c, "", "a", func(n *corev1.Node) {
			n.Status.Conditions[0].LastHeartbeatTime = metav1.Now()
			n.Status.Images = []corev1.ContainerImage{{Names: []string{"pulled"}}}
		})
		after := objects(t, o)
		if before.Nodes[0] != after.Nodes[0] || &before.Nodes[0] != &after.Nodes[0] {
			t.Error("a heartbeat made another node of it")
		}
		if got, want := o.Seen("nodes"), c.ResourceVersion("nodes"); got != want {
			t.Errorf("seen %d, want %d: the heartbeat was not handled", got, want)
		}
		select {
		case g := <-o.Triggers():
			t.Errorf("a heartbeat is a trigger: %v", g)
		default:
		}
	})
}

func TestDeletionsAreSeen(t *testing.T) {
	c := &kubesim.Cluster{}
	create(t, c, node("a"))
	observe(t, c, func(t *testing.T, o *Observer) {
		if err := c.Delete(node("a"), nil); err != nil {
			t.Fatal(err)
		}
		if all := objects(t, o); len(all.Nodes) != 0 {
			t.Error("the node is still there")
		}
		if got, want := o.Seen("nodes"), c.ResourceVersion("nodes"); got != want {
			t.Errorf("seen %d, want %d", got, want)
		}
		if got := o.Seen("gnomes"); got != 0 {
			t.Errorf("seen %d of a resource that does not exist", got)
		}
	})
}

func TestObjectsBeforeTheFirstReadAreAnError(t *testing.T) {
	o := NewObserver(clientOf(t, &kubesim.Cluster{}), Options{})
	if _, err := o.Objects(); !errors.Is(err, ErrNotStarted) {
		t.Errorf("got %v, want ErrNotStarted", err)
	}
}

func TestStartNamesEveryMissingRight(t *testing.T) {
	for name, test := range map[string]struct {
		faults []kubesim.Fault
		want   []Right
	}{
		"nothing may be read of pods": {
			[]kubesim.Fault{{Verb: "list", Resource: "pods"}, {Verb: "watch", Resource: "pods"}},
			[]Right{{Verb: "list", Resource: "pods"}, {Verb: "watch", Resource: "pods"}},
		},
		"nodes may be listed and not watched": {
			[]kubesim.Fault{{Verb: "watch", Resource: "nodes"}},
			[]Right{{Verb: "watch", Resource: "nodes"}},
		},
		"several kinds": {
			[]kubesim.Fault{{Verb: "watch", Resource: "nodes"}, {Verb: "watch", Resource: "daemonsets"}},
			[]Right{{Verb: "watch", Resource: "nodes"}, {Verb: "watch", Resource: "daemonsets", Group: "apps"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &kubesim.Cluster{}
				for _, f := range test.faults {
					f.Code, f.Reason = 403, metav1.StatusReasonForbidden
					c.Inject(f)
				}
				err := NewObserver(clientOf(t, c), Options{}).Start(t.Context())
				var access *AccessError
				if !errors.As(err, &access) {
					t.Fatalf("got %v, want an AccessError", err)
				}
				if diff := cmp.Diff(test.want, access.Missing); diff != "" {
					t.Error("(-want +got)\n" + diff)
				}
				for _, r := range test.want {
					if !strings.Contains(err.Error(), r.String()) || !strings.Contains(err.Error(), "ClusterRole") {
						t.Errorf("%q does not name %q and the remedy", err, r)
					}
				}
			})
		})
	}
}

func TestStartGivesUpOnAnAPIServerThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &kubesim.Cluster{}
		c.Inject(kubesim.Fault{})
		began := time.Now()
		err := NewObserver(clientOf(t, c), Options{}).Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), "connection reset by peer") || !strings.Contains(err.Error(), "kubeconfig") {
			t.Errorf("%v names neither cause nor remedy", err)
		}
		if took := time.Since(began); took < DefaultPatience || took > DefaultPatience+5*time.Second {
			t.Errorf("gave up after %s", took)
		}
	})
}

func TestStartRefusesWrongCredentialsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &kubesim.Cluster{}
		c.Inject(kubesim.Fault{Code: 401, Reason: metav1.StatusReasonUnauthorized})
		began := time.Now()
		err := NewObserver(clientOf(t, c), Options{}).Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), "token or certificate") {
			t.Errorf("%v does not name the remedy", err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("took %s", took)
		}
	})
}

func TestStartOutlastsAShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &kubesim.Cluster{}
		c.Inject(kubesim.Fault{Times: 12})
		if err := NewObserver(clientOf(t, c), Options{}).Start(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestStartEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &kubesim.Cluster{}
		c.Inject(kubesim.Fault{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := NewObserver(clientOf(t, c), Options{}).Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestSilenceIsThatOfTheQuietestResource(t *testing.T) {
	c := &kubesim.Cluster{}
	create(t, c, node("a"), pod("default", "x", ""))
	observe(t, c, func(t *testing.T, o *Observer) {
		if got := o.Silent(time.Now()); got != 0 {
			t.Errorf("silent for %s after a complete read", got)
		}
		defer c.Inject(kubesim.Fault{Stall: true, Resource: "pods"})()
		for i := range 4 {
			time.Sleep(30 * time.Second)
			edit(t, c, "", "a", func(n *corev1.Node) { n.Labels = map[string]string{"turn": fmt.Sprint(i)} })
			synctest.Wait()
		}
		if got := o.Silent(time.Now()); got != 2*time.Minute {
			t.Errorf("silent for %s, want 2m0s: watches that are accepted and deliver nothing are stale", got)
		}
	})
}

func TestASilentWatchIsOpenedAnew(t *testing.T) {
	c := &kubesim.Cluster{}
	opened := map[string]int{}
	var mu sync.Mutex
	config := c.RESTConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("watch") == "true" && !r.URL.Query().Has("fieldSelector") {
				mu.Lock()
				opened[path.Base(r.URL.Path)+" "+r.URL.Query().Get("timeoutSeconds")]++
				mu.Unlock()
			}
			return next.RoundTrip(r)
		})
	})
	synctest.Test(t, func(t *testing.T) {
		o := NewObserver(kubernetes.NewForConfigOrDie(config), Options{})
		if err := o.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10*watchRenewal + time.Second)
		create(t, c, node("a"))
		if all := objects(t, o); len(all.Nodes) != 1 {
			t.Error("the last watch does not deliver")
		}
		if got := o.Silent(time.Now()); got > watchRenewal {
			t.Errorf("silent for %s in a quiet cluster", got)
		}
		for _, resource := range []string{"nodes", "pods", "daemonsets", "poddisruptionbudgets", "namespaces"} {
			if got := opened[resource+" 25"]; got != 10 {
				t.Errorf("%d short watches of %s, want 10: %v", got, resource, opened)
			}
		}
	})
}

// A streamed read that is denied is followed by a list: only then is it known which rights are missing.
func TestADeniedWatchIsNoVerdictBeforeTheList(t *testing.T) {
	o := NewObserver(clientOf(t, &kubesim.Cluster{}), Options{})
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("RBAC"))
	o.pods.answered(t.Context(), "watch", denied)
	if s := o.pods.state(); s.denied != nil {
		t.Errorf("already denied: %v", s.denied)
	}
	o.pods.answered(t.Context(), "list", denied)
	if diff := cmp.Diff([]Right{{Verb: "list", Resource: "pods"}, {Verb: "watch", Resource: "pods"}}, o.pods.state().denied); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}

func TestListSaysWhichRightIsMissing(t *testing.T) {
	c := &kubesim.Cluster{}
	c.Inject(kubesim.Fault{Verb: "list", Resource: "poddisruptionbudgets", Code: 403, Reason: metav1.StatusReasonForbidden})
	_, err := List(t.Context(), clientOf(t, c), Besides{})
	var access *AccessError
	if !errors.As(err, &access) || access.Missing[0] != (Right{Verb: "list", Resource: "poddisruptionbudgets", Group: "policy"}) {
		t.Errorf("got %v", err)
	}
}

func TestListReadsEveryPage(t *testing.T) {
	c := &kubesim.Cluster{}
	for i := range 2*pageSize + 1 {
		create(t, c, node(fmt.Sprintf("n%04d", i)))
	}
	all, err := List(t.Context(), clientOf(t, c), Besides{})
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Nodes) != 2*pageSize+1 || all.Nodes[2*pageSize].Name != "n1000" {
		t.Errorf("read %d nodes", len(all.Nodes))
	}
}
