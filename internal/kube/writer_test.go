package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

var (
	removal = cluster.Removal{Since: time.Unix(1_700_000_000, 0).UTC(), Why: "idle"}
	machine = cluster.Machine{Group: "agents", ID: "2", UID: "5f3c"}
	foreign = corev1.Taint{Key: "dedicated", Value: "render", Effect: corev1.TaintEffectNoExecute}
)

// marks are the three things that sluice sets on a node.
type marks struct {
	Unschedulable bool
	Taints        []corev1.Taint
	Machine       string
	Balancers     string // what the exclusion label says
}

func marksOf(t *testing.T, c *kubesim.Cluster, name string) marks {
	t.Helper()
	n, ok := kubesim.Find[*corev1.Node](c, "", name)
	if !ok {
		t.Fatalf("node %s is gone", name)
	}
	return marks{n.Spec.Unschedulable, n.Spec.Taints, n.Annotations[cluster.MachineAnnotation], n.Labels[cluster.ExclusionLabel]}
}

func uidOf[T kubesim.Object](t *testing.T, c *kubesim.Cluster, namespace, name string) types.UID {
	t.Helper()
	o, ok := kubesim.Find[T](c, namespace, name)
	if !ok {
		t.Fatalf("%s is gone", name)
	}
	return o.GetUID()
}

// roundTripper is a transport that is a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// writerBehind is a Writer before whose every request of the method something happens.
func writerBehind(t *testing.T, c *kubesim.Cluster, method string, before func()) Writer {
	t.Helper()
	config := c.RESTConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == method {
				before()
			}
			return next.RoundTrip(r)
		})
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return Writer{Client: client}
}

func TestCordon(t *testing.T) {
	ours := cluster.Removal{Since: removal.Since.Add(-time.Hour), Why: "underused"}.Taint()
	all := marks{Unschedulable: true, Taints: []corev1.Taint{foreign, removal.Taint()}, Machine: machine.String(), Balancers: cluster.Excluded}
	theirs := all
	theirs.Balancers = "true"
	for name, test := range map[string]struct {
		before func(*corev1.Node)
		want   marks
		kind   error
		writes int
	}{
		"a node of foreign taints keeps them": {
			func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{foreign} }, all, nil, 1,
		},
		"a node that is cordoned for another cause gets the new one": {
			func(n *corev1.Node) {
				n.Spec.Unschedulable = true
				n.Spec.Taints = []corev1.Taint{ours, foreign}
			}, all, nil, 1,
		},
		"a node that is as asked is not written to": {
			func(n *corev1.Node) {
				n.Spec.Unschedulable = true
				n.Spec.Taints = all.Taints
				n.Annotations = map[string]string{cluster.MachineAnnotation: machine.String()}
				n.Labels = map[string]string{cluster.ExclusionLabel: cluster.Excluded}
			}, all, nil, 0,
		},
		"a node that somebody else took out of load balancers stays theirs": {
			func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{foreign}
				n.Labels = map[string]string{cluster.ExclusionLabel: "true"}
			}, theirs, nil, 1,
		},
		"a node that a person cordoned stays theirs": {
			func(n *corev1.Node) { n.Spec.Unschedulable = true }, marks{Unschedulable: true}, ErrHeld, 0,
		},
		"a node that a person annotated to stay stays, whatever the watch has told": {
			func(n *corev1.Node) {
				n.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
			}, marks{}, ErrHeld, 0,
		},
		"a node on which a notice stands is left alone": {held, marks{Taints: []corev1.Taint{reboot.Taint()}}, ErrHeld, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := &kubesim.Cluster{}
			n := node("a")
			test.before(n)
			create(t, c, n)
			err := Writer{Client: clientOf(t, c)}.Cordon(t.Context(), "a", uidOf[*corev1.Node](t, c, "", "a"), removal, machine, true)
			if !errors.Is(err, test.kind) || (err == nil) != (test.kind == nil) {
				t.Errorf("got %v, want %v", err, test.kind)
			}
			if diff := cmp.Diff(test.want, marksOf(t, c, "a")); diff != "" {
				t.Error("(-want +got)\n" + diff)
			}
			if got := len(c.Log()); got != test.writes {
				t.Errorf("%d requests, want %d", got, test.writes)
			}
		})
	}
}

var reboot = cluster.Notice{Kind: "Reboot"}

// held makes a node one on which a notice stands.
func held(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{reboot.Taint()}
	n.Annotations = map[string]string{cluster.NoticeAnnotation: reboot.Annotation()}
}

func TestANodeWithANoticeIsCordonedOnceItsMachineIsSwitchedOff(t *testing.T) {
	c, n := &kubesim.Cluster{}, node("a")
	held(n)
	create(t, c, n)
	w := Writer{Client: clientOf(t, c), Stopped: true}
	if err := w.Cordon(t.Context(), "a", uidOf[*corev1.Node](t, c, "", "a"), removal, machine, true); err != nil {
		t.Error(err)
	}
	want := []corev1.Taint{reboot.Taint(), removal.Taint()}
	if diff := cmp.Diff(want, marksOf(t, c, "a").Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
}

func TestUncordon(t *testing.T) {
	for name, test := range map[string]struct {
		before func(*corev1.Node)
		want   marks
		writes int
	}{
		"what cordon did is taken back, and nothing else": {func(n *corev1.Node) {
			n.Spec.Unschedulable = true
			n.Spec.Taints = []corev1.Taint{foreign, removal.Taint()}
			n.Annotations = map[string]string{cluster.MachineAnnotation: machine.String()}
			n.Labels = map[string]string{cluster.ExclusionLabel: cluster.Excluded}
		}, marks{Taints: []corev1.Taint{foreign}}, 1},
		"somebody else's word to load balancers stays": {func(n *corev1.Node) {
			n.Spec.Unschedulable = true
			n.Spec.Taints = []corev1.Taint{removal.Taint()}
			n.Labels = map[string]string{cluster.ExclusionLabel: "true"}
		}, marks{Balancers: "true"}, 1},
		"a machine to which something is announced stays out of load balancers": {func(n *corev1.Node) {
			n.Spec.Unschedulable = true
			n.Spec.Taints = []corev1.Taint{removal.Taint(), cluster.Notice{Kind: "Preempt"}.Taint()}
			n.Labels = map[string]string{cluster.ExclusionLabel: cluster.Excluded}
		}, marks{Taints: []corev1.Taint{cluster.Notice{Kind: "Preempt"}.Taint()}, Balancers: cluster.Excluded}, 1},
		"a mark alone is taken off": {func(n *corev1.Node) {
			n.Annotations = map[string]string{cluster.MachineAnnotation: machine.String()}
		}, marks{}, 1},
		"a person's cordon stays, with an annotation of ours left behind": {func(n *corev1.Node) {
			n.Spec.Unschedulable = true
			n.Annotations = map[string]string{cluster.MachineAnnotation: machine.String()}
		}, marks{Unschedulable: true}, 1},
		"a person's cordon is not written to": {func(n *corev1.Node) { n.Spec.Unschedulable = true }, marks{Unschedulable: true}, 0},
		"a plain node is not written to":      {func(*corev1.Node) {}, marks{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := &kubesim.Cluster{}
			n := node("a")
			test.before(n)
			create(t, c, n)
			if err := (Writer{Client: clientOf(t, c)}).Uncordon(t.Context(), "a", uidOf[*corev1.Node](t, c, "", "a")); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(test.want, marksOf(t, c, "a")); diff != "" {
				t.Error("(-want +got)\n" + diff)
			}
			if got := len(c.Log()); got != test.writes {
				t.Errorf("%d requests, want %d", got, test.writes)
			}
		})
	}
}

func TestCordonKeepsATaintThatCameBetweenReadAndWrite(t *testing.T) {
	c := &kubesim.Cluster{}
	create(t, c, node("a"))
	once := true
	w := writerBehind(t, c, http.MethodPatch, func() {
		if once {
			once = false
			edit(t, c, "", "a", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{foreign} })
		}
	})
	if err := w.Cordon(t.Context(), "a", uidOf[*corev1.Node](t, c, "", "a"), removal, machine, true); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]corev1.Taint{foreign, removal.Taint()}, marksOf(t, c, "a").Taints); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
	var codes []int
	for _, r := range c.Log() {
		codes = append(codes, r.Code)
	}
	if diff := cmp.Diff([]int{409, 200}, codes); diff != "" {
		t.Error("answers (-want +got)\n" + diff)
	}
}

func TestCordonGivesUpOnANodeThatChangesAllTheTime(t *testing.T) {
	c := &kubesim.Cluster{}
	create(t, c, node("a"))
	turn := 0
	w := writerBehind(t, c, http.MethodPatch, func() {
		turn++
		edit(t, c, "", "a", func(n *corev1.Node) { n.Labels = map[string]string{"turn": strings.Repeat("x", turn)} })
	})
	err := w.Cordon(t.Context(), "a", uidOf[*corev1.Node](t, c, "", "a"), removal, machine, true)
	if !errors.Is(err, ErrConflict) || turn != tries {
		t.Errorf("%v after %d tries", err, turn)
	}
}

func TestANodeThatWasMadeAgainIsNotTouched(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(Writer, *testing.T) error
		kind error
	}{
		"cordon": {func(w Writer, t *testing.T) error {
			return w.Cordon(t.Context(), "a", "another-uid", removal, machine, true)
		}, ErrGone},
		"uncordon": {func(w Writer, t *testing.T) error { return w.Uncordon(t.Context(), "a", "another-uid") }, nil},
		"delete":   {func(w Writer, t *testing.T) error { return w.DeleteNode(t.Context(), "a", "another-uid", "", nil) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := &kubesim.Cluster{}
			n := node("a")
			n.Spec.Taints, n.Spec.Unschedulable = []corev1.Taint{removal.Taint()}, true
			create(t, c, n)
			before := c.ResourceVersion("nodes")
			if err := test.do(Writer{Client: clientOf(t, c)}, t); !errors.Is(err, test.kind) || (err == nil) != (test.kind == nil) {
				t.Errorf("got %v, want %v", err, test.kind)
			}
			if c.ResourceVersion("nodes") != before {
				t.Error("it was changed")
			}
			create(t, c, node("b"))
			if err := test.do(Writer{Client: clientOf(t, &kubesim.Cluster{})}, t); !errors.Is(err, test.kind) || (err == nil) != (test.kind == nil) {
				t.Errorf("where it is gone: got %v, want %v", err, test.kind)
			}
		})
	}
}

func TestEvict(t *testing.T) {
	web := pod("default", "web", "a")
	web.Labels = map[string]string{"app": "web"}
	web.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	web.Spec.TerminationGracePeriodSeconds = new(int64(300))
	for name, test := range map[string]struct {
		grace time.Duration
		want  int64
	}{
		"the pod's own grace":        {-1, 300},
		"a grace of a minute":        {time.Minute, 60},
		"a part of a second is more": {1500 * time.Millisecond, 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := &kubesim.Cluster{}
			create(t, c, node("a"), web)
			if err := (Writer{Client: clientOf(t, c)}).Evict(t.Context(), "default", "web", uidOf[*corev1.Pod](t, c, "default", "web"), test.grace); err != nil {
				t.Fatal(err)
			}
			p, ok := kubesim.Find[*corev1.Pod](c, "default", "web")
			if !ok || p.DeletionGracePeriodSeconds == nil || *p.DeletionGracePeriodSeconds != test.want {
				t.Errorf("not leaving with a grace of %d seconds: %+v", test.want, p)
			}
		})
	}

	t.Run("another pod of that name stays", func(t *testing.T) {
		c := &kubesim.Cluster{}
		create(t, c, node("a"), web)
		if err := (Writer{Client: clientOf(t, c)}).Evict(t.Context(), "default", "web", "another-uid", -1); err != nil {
			t.Fatal(err)
		}
		if p, ok := kubesim.Find[*corev1.Pod](c, "default", "web"); !ok || p.DeletionTimestamp != nil {
			t.Error("it was evicted")
		}
	})
	t.Run("a pod that is gone is well", func(t *testing.T) {
		if err := (Writer{Client: clientOf(t, &kubesim.Cluster{})}).Evict(t.Context(), "default", "web", "uid", -1); err != nil {
			t.Error(err)
		}
	})
	t.Run("a disruption budget is heard", func(t *testing.T) {
		c := &kubesim.Cluster{}
		create(t, c, node("a"), web, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MinAvailable: new(intstr.FromInt32(1)),
				Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			},
		})
		c.Step()
		err := Writer{Client: clientOf(t, c)}.Evict(t.Context(), "default", "web", uidOf[*corev1.Pod](t, c, "default", "web"), -1)
		if !errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), "budget web") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a disruption budget of another pod of that name is none of ours", func(t *testing.T) {
		c := &kubesim.Cluster{}
		create(t, c, node("a"), web)
		refusal := apierrors.NewTooManyRequests("the budget comes first", 0)
		refusal.ErrStatus.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
		body, err := json.Marshal(refusal.ErrStatus)
		if err != nil {
			t.Fatal(err)
		}
		config := c.RESTConfig()
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method != http.MethodPost {
					return next.RoundTrip(r)
				}
				return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
			})
		})
		w := Writer{Client: kubernetes.NewForConfigOrDie(config)}
		if err := w.Evict(t.Context(), "default", "web", "another-uid", -1); err != nil {
			t.Error(err)
		}
		if err := w.Evict(t.Context(), "default", "web", uidOf[*corev1.Pod](t, c, "default", "web"), -1); !errors.Is(err, ErrBudget) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an overloaded API server is no budget and is not waited for", func(t *testing.T) {
		c := &kubesim.Cluster{}
		create(t, c, node("a"), web)
		c.Inject(kubesim.Fault{Verb: "create", Subresource: "eviction", Code: 429, Reason: metav1.StatusReasonTooManyRequests, RetryAfter: 30})
		err := Writer{Client: clientOf(t, c)}.Evict(t.Context(), "default", "web", uidOf[*corev1.Pod](t, c, "default", "web"), -1)
		if err == nil || errors.Is(err, ErrBudget) || len(c.Log()) != 1 {
			t.Errorf("got %v after %d requests", err, len(c.Log()))
		}
	})
}

func TestAMissingRightIsNamed(t *testing.T) {
	c := &kubesim.Cluster{}
	create(t, c, node("a"))
	c.Inject(kubesim.Fault{Verb: "delete", Resource: "nodes", Code: 403, Reason: metav1.StatusReasonForbidden, Message: `cannot delete resource "nodes"`})
	err := Writer{Client: clientOf(t, c)}.DeleteNode(t.Context(), "a", uidOf[*corev1.Node](t, c, "", "a"), "", nil)
	var write *WriteError
	if !errors.As(err, &write) || !errors.Is(err, ErrForbidden) {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff("delete node a: sluice's service account lacks the right: cannot delete resource \"nodes\"", err.Error()); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}

// TestWhatStandsOnANodeBearsItsOwnersName has the writers of two installations, and one without a name, write to a node, one after the other.
func TestWhatStandsOnANodeBearsItsOwnersName(t *testing.T) {
	cordon := func(w Writer, uid types.UID) error { return w.Cordon(t.Context(), "a", uid, removal, machine, true) }
	mark := func(w Writer, uid types.UID) error { return w.Mark(t.Context(), "a", uid, machine, time.Time{}) }
	uncordon := func(w Writer, uid types.UID) error { return w.Uncordon(t.Context(), "a", uid) }
	soften := func(w Writer, uid types.UID) error { return w.CandidateTaint(t.Context(), "a", uid, removal.Since) }
	harden := func(w Writer, uid types.UID) error { return w.CandidateUntaint(t.Context(), "a", uid) }
	for name, test := range map[string]struct {
		owners []string
		do     []func(Writer, types.UID) error
		want   string
	}{
		"a cordon":                             {[]string{"ours"}, []func(Writer, types.UID) error{cordon}, "ours"},
		"a mark":                               {[]string{"ours"}, []func(Writer, types.UID) error{mark}, "ours"},
		"a soft taint":                         {[]string{"ours"}, []func(Writer, types.UID) error{soften}, "ours"},
		"whoever marks it last":                {[]string{"theirs", "ours"}, []func(Writer, types.UID) error{cordon, mark}, "ours"},
		"nobody, if that one has no name":      {[]string{"theirs", ""}, []func(Writer, types.UID) error{cordon, mark}, ""},
		"nobody once nothing is left":          {[]string{"ours", "ours", "ours", "ours"}, []func(Writer, types.UID) error{soften, cordon, uncordon, harden}, ""},
		"its owner while the soft taint stays": {[]string{"ours", "ours", "ours"}, []func(Writer, types.UID) error{soften, cordon, uncordon}, "ours"},
		"its owner while the cordon stays":     {[]string{"ours", "ours", "ours"}, []func(Writer, types.UID) error{soften, cordon, harden}, "ours"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &kubesim.Cluster{}
			create(t, c, node("a"))
			for i, do := range test.do {
				if err := do(Writer{Client: clientOf(t, c), Owner: test.owners[i]}, uidOf[*corev1.Node](t, c, "", "a")); err != nil {
					t.Fatal(err)
				}
			}
			n, _ := kubesim.Find[*corev1.Node](c, "", "a")
			if got := cluster.OwnerOf(n); got != test.want {
				t.Errorf("it bears the name %q, want %q", got, test.want)
			}
		})
	}
}

// TestTheControlPlaneIsReadByAnyOfItsRoles holds what a removal of one of its nodes rests on (S-17).
func TestTheControlPlaneIsReadByAnyOfItsRoles(t *testing.T) {
	c := &kubesim.Cluster{}
	for name, roles := range map[string][]string{"a": {"control-plane", "etcd"}, "b": {"etcd"}, "c": {"master"}, "d": {"worker"}, "e": nil} {
		n := node(name)
		n.Labels = map[string]string{}
		for _, role := range roles {
			n.Labels["node-role.kubernetes.io/"+role] = "true"
		}
		create(t, c, n)
	}
	all, err := Writer{Client: clientOf(t, c)}.ControlPlane(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, n := range all {
		got[n.Name] = true
	}
	if diff := cmp.Diff(map[string]bool{"a": true, "b": true, "c": true}, got); diff != "" {
		t.Errorf("nodes of the control plane (-want +got):\n%s", diff)
	}
}

func TestSoftTaint(t *testing.T) {
	since := removal.Since
	soft := cluster.CandidateSince(since)
	soften := func(w Writer, uid types.UID) error { return w.CandidateTaint(t.Context(), "a", uid, since) }
	undo := func(w Writer, uid types.UID) error { return w.CandidateUntaint(t.Context(), "a", uid) }
	for name, test := range map[string]struct {
		do     func(Writer, types.UID) error
		before []corev1.Taint
		want   []corev1.Taint
		writes int
	}{
		"foreign taints stay beside it":             {soften, []corev1.Taint{foreign}, []corev1.Taint{foreign, soft}, 1},
		"a node that bears it is not written to":    {soften, []corev1.Taint{cluster.CandidateSince(since.Add(-time.Hour))}, []corev1.Taint{cluster.CandidateSince(since.Add(-time.Hour))}, 0},
		"it comes off, and nothing else":            {undo, []corev1.Taint{soft, foreign}, []corev1.Taint{foreign}, 1},
		"a node without it is not written to again": {undo, []corev1.Taint{foreign}, []corev1.Taint{foreign}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := &kubesim.Cluster{}
			n := node("a")
			n.Spec.Taints = test.before
			create(t, c, n)
			if err := test.do(Writer{Client: clientOf(t, c)}, uidOf[*corev1.Node](t, c, "", "a")); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(marks{Taints: test.want}, marksOf(t, c, "a")); diff != "" {
				t.Error("(-want +got)\n" + diff)
			}
			if got := len(c.Log()); got != test.writes {
				t.Errorf("%d requests, want %d", got, test.writes)
			}
		})
	}
}
