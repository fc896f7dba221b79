package app

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// A burst is pods that come within ten seconds.
const (
	burstPods = 400
	burstSpan = 10 * time.Second

	burstSeeds = 8
)

// arrivals are ways in which the pods of a burst come: times from its begin, in order.
var arrivals = []struct {
	name string
	come func(r *rand.Rand) []time.Duration
}{
	{"steadily", func(*rand.Rand) []time.Duration { return each(func(i int) float64 { return float64(i+1) / burstPods }) }},
	{"at random", func(r *rand.Rand) []time.Duration { return each(func(int) float64 { return r.Float64() }) }},
	{"most of them first", func(r *rand.Rand) []time.Duration { return each(func(int) float64 { return math.Pow(r.Float64(), 2) }) }},
	{"most of them last", func(r *rand.Rand) []time.Duration { return each(func(int) float64 { return math.Sqrt(r.Float64()) }) }},
	{"20 at once each half second", func(*rand.Rand) []time.Duration { return each(func(i int) float64 { return float64(i/20+1) / 20 }) }},
	{"40 at once each second", func(*rand.Rand) []time.Duration { return each(func(i int) float64 { return float64(i/40+1) / 10 }) }},
	{"in 8 clumps at random", func(r *rand.Rand) []time.Duration {
		var clumps [8]float64
		for i := range clumps {
			clumps[i] = r.Float64()
		}
		return each(func(i int) float64 { return min(1, clumps[i%8]+0.02*r.Float64()) })
	}},
}

// each is a burst whose i-th pod comes after that share of its span.
func each(share func(i int) float64) []time.Duration {
	out := make([]time.Duration, burstPods)
	for i := range out {
		out[i] = time.Duration(share(i) * float64(burstSpan)).Truncate(time.Millisecond)
	}
	slices.Sort(out)
	return out
}

// sized is a group of machines of so many cores and GiB that cost so much.
func sized(id string, cores, gib int, price float64) *cluster.Group {
	g := Group(id, 0, 1000)
	g.Template.Labels["pool"] = id
	g.PriceUSDPerHour = price
	r := corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(int64(cores), resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(int64(gib)<<30, resource.BinarySI),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	g.Template.Status.Capacity, g.Template.Status.Allocatable = r, r
	return g
}

// bursting is a cluster of three groups in which a burst arrives, turned by the rules of [Autoscaler.Run]. The scheduler judges a pod when it
// comes. A decision takes think; reading the evidence for a write takes answer and so does the write, one group after the other.
type bursting struct {
	now     time.Time
	groups  []*cluster.Group
	allowed *policy.Policy
	planner plan.Planner
	kept    memory.Memory

	asked map[cluster.GroupID]int
	last  string    // the last pod, "namespace/name"
	sent  time.Time // when the request was sent that gives it a machine; zero before
}

const (
	think  = 20 * time.Millisecond
	answer = 150 * time.Millisecond
)

// step is one cycle over the pods that are there.
func (b *bursting) step(pods []*cluster.Pod) journal.Entry {
	groups := make([]*cluster.Group, len(b.groups))
	for i, g := range b.groups {
		own := *g
		own.Read.At = b.now
		groups[i] = &own
	}
	seen := cluster.New(b.now, cluster.Objects{Pods: pods}, groups)
	p, kept := b.planner.Decide(seen, b.allowed, b.kept)
	b.now = b.now.Add(think)
	if i := slices.IndexFunc(p.Verdicts, func(v action.Verdict) bool { return v.Subject.Name == b.last }); b.sent.IsZero() && i >= 0 && p.Verdicts[i].Because[0].Code == reason.FitsComingMachine {
		b.sent = b.now
	}
	results := make([]memory.Result, len(p.Actions))
	for i, a := range p.Actions {
		if grow, is := a.(action.SetCapacity); is {
			if b.sent.IsZero() && slices.Contains(grow.Pods, b.last) {
				b.sent = b.now.Add(answer)
			}
			b.now = b.now.Add(2 * answer)
			b.asked[grow.Group]++
			b.groups[slices.IndexFunc(b.groups, func(g *cluster.Group) bool { return g.ID == grow.Group })].Capacity = grow.To
		}
		results[i] = memory.Result{Status: memory.Accepted, At: b.now}
	}
	b.kept = kept.After(p, results, b.allowed)
	return journal.Entry{Plan: p, Results: results}
}

// play lets the pods come, each of them judged in the moment in which it is made.
func (b *bursting) play(come []time.Duration, pod func() *corev1.Pod) { b.judged(come, come, pod) }

// judged lets pods be made and come, which is when the scheduler has judged them, in this order, and turns the loop until half a minute after the last one.
func (b *bursting) judged(made, come []time.Duration, pod func() *corev1.Pod) {
	begin := b.now
	var all, queued []*cluster.Pod
	var table cluster.Classes
	names := rand.New(rand.NewPCG(1, 1)).Perm(len(come)) // as they are made up
	for i, at := range come {
		p := pod()
		p.Name = fmt.Sprintf("p-%03d", names[i])
		p.UID = types.UID(p.Name)
		p.CreationTimestamp = metav1.NewTime(begin.Add(made[i]).Truncate(time.Second))
		p.Status.Conditions = nil
		queued = append(queued, table.Pod(p))
		p = p.DeepCopy()
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
		all = append(all, table.Pod(p))
		all[i].Hear(queued[i], begin.Add(at))
	}
	b.last = all[len(all)-1].String()
	timing := (Timing{}).withDefaults()
	pace := NewPace(timing)
	there := 0
	for end := begin.Add(come[len(come)-1] + 30*time.Second); b.now.Before(end); {
		seen := all[:there:there]
		for i := there; i < len(made) && !begin.Add(made[i]).After(b.now); i++ {
			seen = append(seen, queued[i])
		}
		entry := b.step(seen)
		due := b.now.Add(pace.Wait(b.now, entry, nil, time.Time{}))
		var stir Stir
		for {
			if t, stirred := stir.Due(timing); stirred {
				due = t
			}
			if there == len(come) || begin.Add(come[there]).After(due) {
				break
			}
			at := begin.Add(come[there])
			if at.Before(b.now) {
				at = b.now // it came during the cycle: the trigger is received now
			}
			for ; there < len(come) && !begin.Add(come[there]).After(at); there++ {
			}
			stir.Note(at)
		}
		if due.After(b.now) {
			b.now = due
		}
	}
}

// TestABurstCostsTwoRequestsAGroup prints how often groups are asked in a burst, and how long after the last pod the request is sent that gives
// it a machine, with the window and without.
func TestABurstCostsTwoRequestsAGroup(t *testing.T) {
	clusters := []struct {
		name string
		pod  func(r *rand.Rand) *corev1.Pod
	}{
		{"alike, each for one of three groups", func(r *rand.Rand) *corev1.Pod {
			p := Pod("p").Object()
			p.Spec.NodeSelector = map[string]string{"pool": string(rune('a' + r.IntN(3)))}
			return p
		}},
		{"of 18 kinds, each for every group", func(r *rand.Rand) *corev1.Pod {
			p := Pod("p", CPU(fmt.Sprint(1+r.IntN(3)))).Object()
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = *resource.NewQuantity(int64(1+r.IntN(6))<<30, resource.BinarySI)
			return p
		}},
	}
	var all []time.Duration
	for _, c := range clusters {
		for _, a := range arrivals {
			for _, window := range []time.Duration{0, policy.Default().Growth.BurstWindow} {
				var waited []time.Duration
				most, asked, machines := 0, 0, 0
				for seed := range uint64(burstSeeds) {
					r := rand.New(rand.NewPCG(seed, 7))
					come := a.come(r)
					b := &bursting{now: Start, groups: []*cluster.Group{sized("a", 4, 16, 0.192), sized("b", 8, 32, 0.384), sized("c", 8, 16, 0.338)}, asked: map[cluster.GroupID]int{}}
					b.allowed = policy.Default()
					b.allowed.Growth.BurstWindow = window
					b.play(come, func() *corev1.Pod { return c.pod(r) })
					for _, g := range b.groups {
						most, asked, machines = max(most, b.asked[g.ID]), asked+b.asked[g.ID], machines+g.Capacity
					}
					waited = append(waited, b.sent.Sub(Start.Add(come[len(come)-1])))
				}
				slices.Sort(waited)
				t.Logf("%-36s %-28s window %-4s requests a group: %4.1f, most %2d; last pod's request: median %4.2f s, worst %4.2f s; machines %4.0f", c.name, a.name, window,
					float64(asked)/burstSeeds/3, most, waited[len(waited)/2].Seconds(), waited[len(waited)-1].Seconds(), float64(machines)/burstSeeds)
				if window == 0 {
					continue
				}
				if all = append(all, waited...); most > 2 {
					t.Errorf("%s, %s: a group was asked %d times, want 2 at most", c.name, a.name, most)
				}
			}
		}
	}
	slices.Sort(all)
	median := all[len(all)/2]
	t.Logf("all %d bursts with the window: last pod's request: median %s", len(all), median)
	if median > time.Second {
		t.Errorf("the last pod's request is sent %s after it in the median, want 1s at most", median)
	}
}

// TestALonePodIsAskedForAtOnce has one pod come to a cluster that was not asked for anything: the window adds nothing to its time.
func TestALonePodIsAskedForAtOnce(t *testing.T) {
	b := &bursting{now: Start, groups: []*cluster.Group{sized("a", 4, 16, 0.192)}, allowed: policy.Default(), asked: map[cluster.GroupID]int{}}
	b.play([]time.Duration{5 * time.Second}, func() *corev1.Pod { return Pod("p").Object() })
	if got, want := b.sent.Sub(Start), 5*time.Second+(Timing{}).withDefaults().Quiet+think+answer; got != want {
		t.Errorf("its request is sent at %s, want %s", got, want)
	}
}
