package plan_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// TestMeasuredUseKeepsANode plans for a-1 of four cores, whose time is up: it is idle, or its one small pod fits on a-0.
func TestMeasuredUseKeepsANode(t *testing.T) {
	uses := func(milli int64, ago time.Duration) *cluster.NodeUse {
		return &cluster.NodeUse{Name: "a-1", MilliCPU: milli, At: Start.Add(-ago)}
	}
	since := func(kept, last time.Duration) func(*memory.Memory) {
		return func(m *memory.Memory) {
			m.InUse = map[string]memory.InUse{"a-1": {Since: Start.Add(-kept), Last: Start.Add(-last)}}
		}
	}
	machine := cluster.Machine{Group: "a", ID: "1", UID: "vm-1"}
	const idle, underused, stays = "cordoned NodeIdleFor", "cordoned NodeUnderused", "keep NodeInUse"
	for name, c := range map[string]struct {
		use     *cluster.NodeUse
		policy  func(*policy.Policy)
		kept    func(*memory.Memory)
		objects []any // besides
		want    string
		inUse   bool // in the memory that is left
	}{
		"nothing was measured":                {want: idle},
		"it works":                            {use: uses(2001, time.Minute), want: stays, inUse: true},
		"it works at the threshold":           {use: uses(2000, time.Minute), want: idle},
		"it works, and is underused":          {use: uses(3000, time.Minute), objects: []any{Pod("web", On("a-1"), CPU("100m"))}, want: stays, inUse: true},
		"it is calm, and underused":           {use: uses(100, time.Minute), objects: []any{Pod("web", On("a-1"), CPU("100m"))}, want: underused},
		"it worked, as measured too long ago": {use: uses(4000, 3*time.Minute), want: idle},
		"it worked, as measured just in time": {use: uses(4000, 3*time.Minute-time.Second), want: stays, inUse: true},
		"it will work":                        {use: uses(4000, -time.Second), want: idle},
		"another node works":                  {use: &cluster.NodeUse{Name: "a-10", MilliCPU: 4000, At: Start}, want: idle},
		"nothing is to be measured":           {use: uses(4000, 0), policy: func(p *policy.Policy) { p.Removal.Busy.Threshold = 0 }, want: idle},
		"another threshold":                   {use: uses(2500, 0), policy: func(p *policy.Policy) { p.Removal.Busy.Threshold = 0.7 }, want: idle},
		"its allocatable is unknown":          {use: uses(4000, 0), objects: []any{Node("a-1", func(n *corev1.Node) { n.Status.Allocatable = nil })}, want: idle},
		"it is not Ready":                     {use: uses(4000, 0), objects: []any{Node("a-1", NotReady(Start.Add(-time.Hour)))}, want: "cordoned NodeNotReady"},
		"a person has asked for it": {use: uses(4000, 0), objects: []any{Node("a-1", func(n *corev1.Node) {
			n.Annotations = map[string]string{cluster.DrainAnnotation: Start.Format(time.RFC3339)}
		})}, want: "cordoned NodeAskedFor"},
		"it has been kept for almost as long as it may": {use: uses(4000, 0), kept: since(6*time.Hour-time.Second, time.Minute), want: stays, inUse: true},
		"it has been kept for as long as it may":        {use: uses(4000, 0), kept: since(6*time.Hour, time.Minute), want: idle, inUse: true},
		"it may be kept for ever": {
			use: uses(4000, 0), kept: since(60*time.Hour, time.Minute), policy: func(p *policy.Policy) { p.Removal.Busy.Limit = 0 }, want: stays, inUse: true,
		},
		"it was kept, and has been calm for almost long enough": {use: uses(100, 0), kept: since(time.Hour, 10*time.Minute), want: idle, inUse: true},
		"it was kept, and has been calm for long enough":        {use: uses(100, 0), kept: since(time.Hour, 10*time.Minute+time.Second), want: idle},
		"it begins to work while it waits for its machine's deletion": {
			use: uses(4000, 0), objects: []any{Node("a-1", Removing(Start.Add(-time.Second), machine), For(cluster.Idle))}, want: "rescue NodeInUse", inUse: true,
		},
		"its pods leave, which takes CPU": {
			use: uses(4000, 0), objects: []any{Node("a-1", Removing(Start.Add(-time.Second), machine), For("underused")), Pod("web", On("a-1"), CPU("100m"))}, want: "draining NodeDraining",
		},
	} {
		t.Run(name, func(t *testing.T) {
			allowed, kept := policy.Default(), removable("a-1")
			if c.policy != nil {
				c.policy(allowed)
			}
			if c.kept != nil {
				c.kept(&kept)
			}
			given := []any{Node("a-0"), Pod("big", On("a-0"), CPU("3")), Node("a-1")}
			for _, o := range c.objects {
				if n, is := o.(*corev1.Node); is && n.Name == "a-1" {
					given = given[:2]
				}
			}
			given = append(given, c.objects...)
			objects := Objects(given...)
			if c.use != nil {
				objects.NodeUse = []*cluster.NodeUse{c.use}
			}
			p, left := plan.Decide(cluster.New(Start, objects, []*cluster.Group{joined(three(), given)}), allowed, kept)
			complete(t, p)
			if got := verdictOf(p, ref("node a-1")); got != c.want {
				t.Errorf("verdict %q, want %q", got, c.want)
			}
			if _, is := left.InUse["a-1"]; is != c.inUse {
				t.Errorf("remembered as in use: %t", is)
			}
			if _, runs := left.Removable["a-1"]; c.want == stays && runs {
				t.Error("the time of a node that works goes on")
			}
		})
	}
}

// TestNodesAreMeasuredShortlyBeforeTheyGo plans every ten seconds for a node that has become idle at the start, and notes when it is to be
// measured.
func TestNodesAreMeasuredShortlyBeforeTheyGo(t *testing.T) {
	for name, c := range map[string]struct {
		policy func(*policy.Policy)
		works  bool // as each answer says, ten seconds later
		min    int
		until  time.Duration
		want   []time.Duration
	}{
		"a calm node, twice": {until: 12 * time.Minute, want: []time.Duration{530 * time.Second, 590 * time.Second}},
		"a node that works, every minute from then on": {
			works: true, until: 12 * time.Minute, want: []time.Duration{530 * time.Second, 590 * time.Second, 650 * time.Second, 710 * time.Second},
		},
		"one that its group needs, never":  {min: 2, until: 12 * time.Minute},
		"where nothing is measured, never": {until: 12 * time.Minute, policy: func(p *policy.Policy) { p.Removal.Busy.Threshold = 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			allowed := policy.Default()
			if c.policy != nil {
				c.policy(allowed)
			}
			kept := memory.Memory{Since: Start.Add(-time.Hour)}
			var planner plan.Planner
			var use []*cluster.NodeUse
			var got []time.Duration
			for at := time.Duration(0); at < c.until; at += 10 * time.Second {
				g := Group("a", c.min, 5, Machine("0", "a-0"), Machine("1", "a-1"))
				objects := Objects(Node("a-0"), Pod("big", On("a-0"), CPU("3")), Node("a-1"))
				objects.NodeUse = use
				s := known(cluster.New(Start.Add(at), objects, []*cluster.Group{g}))
				fresh, _ := plan.Decide(s, allowed, kept)
				p, left := planner.Decide(s, allowed, kept)
				if diff := cmp.Diff(fresh, p); diff != "" {
					t.Fatalf("at %s (-fresh +planner):\n%s", at, diff)
				}
				again := readAgain(t, p)
				if diff := cmp.Diff(p.Measure, again.Measure); diff != "" {
					t.Errorf("on paper (-want +got):\n%s", diff)
				}
				if len(p.Measure) > 0 {
					if diff := cmp.Diff([]string{"a-1"}, p.Measure); diff != "" {
						t.Errorf("measured (-want +got):\n%s", diff)
					}
					got = append(got, at)
					milli := int64(100)
					if c.works {
						milli = 3900
					}
					use = []*cluster.NodeUse{{Name: "a-1", MilliCPU: milli, At: Start.Add(at)}}
				}
				kept = left
				if verdictOf(p, ref("node a-1")) == "cordoned NodeIdleFor" {
					break
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// readAgain is the plan as a journal gives it back.
func readAgain(t *testing.T, p action.Plan) (again action.Plan) {
	t.Helper()
	text, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	if err != nil {
		t.Fatal(err)
	}
	return again
}
