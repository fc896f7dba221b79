package plan_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/bench/workload"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// cycles turns over the steady cluster of 5,000 nodes and 110,000 pods.
type cycles struct {
	plan.Planner
	kept    memory.Memory
	allowed *policy.Policy
	table   cluster.Classes
	at      time.Time
	objects cluster.Objects
	groups  []*cluster.Group
	seen    *cluster.Snapshot
	n       int
}

func newCycles(allowed *policy.Policy) *cycles {
	w := workload.NewSteadyWorld(1, 5000)
	c := &cycles{at: workload.At, allowed: allowed, groups: w.Groups}
	c.objects = w.Objects(&c.table)
	c.seen = cluster.New(c.at, c.objects, c.groups)
	c.cycle()
	c.read()
	c.cycle()
	return c
}

// read lets ten seconds pass and the cloud tell of its groups once more.
func (c *cycles) read() {
	c.at = c.at.Add(10 * time.Second)
	groups := make([]*cluster.Group, len(c.groups))
	for i, g := range c.groups {
		groups[i] = workload.Reread(g, c.at)
		groups[i].Learned = c.seen.Group(g.ID).Learned
	}
	c.groups = groups
}

func (c *cycles) cycle() action.Plan {
	c.seen = c.seen.Next(c.at, c.objects, c.groups)
	p, m := c.Decide(c.seen, c.allowed, c.kept)
	c.kept = m
	return p
}

// change lets so many changes of pods pass, from all over the cluster: each second one is a pod that ends, the others are those that come
// in their place.
func (c *cycles) change(changed int) {
	c.n++
	pods := slices.Clone(c.objects.Pods)
	for k := range changed / 2 {
		i := (k*len(pods)/(changed/2) + c.n) % len(pods)
		for pods[i].Daemon() {
			i = (i + 1) % len(pods)
		}
		o := pods[i].Object().DeepCopy()
		o.Name = fmt.Sprintf("%s-%d", o.Name, c.n)
		pods[i] = c.table.Pod(o)
	}
	slices.SortFunc(pods, func(a, b *cluster.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	c.objects.Pods = pods
}

// BenchmarkCycles measures a cycle of the steady cluster, the joining of its snapshot included: when nothing happened but that the cloud
// was read, and when 100 pods changed. With the higher threshold hundreds of nodes may go by what they use, and have to look for other
// places for their pods.
func BenchmarkCycles(b *testing.B) {
	for _, threshold := range []float64{0.5, 0.7} {
		allowed := policy.Default()
		allowed.Removal.Utilization.Threshold = threshold
		for _, changed := range []int{0, 100} {
			c := newCycles(allowed)
			b.Run(fmt.Sprintf("threshold=%g/changed=%d", threshold, changed), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					c.read()
					if changed > 0 {
						c.change(changed)
					}
					b.StartTimer()
					c.cycle()
				}
			})
		}
	}
}
