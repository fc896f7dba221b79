package bench

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/bench/workload"
	"sluice.dev/sluice/internal/history"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// The cluster whose past is written: a share of the nodes is replaced each hour, with all their pods.
const (
	pastNodes    = 1000
	pastGroups   = 20
	pastTurnover = 0.05
)

// pastGoal is how many bytes the journal of a week is to take.
const pastGoal = 150_000_000

// explained is the answer to what was with a node at a time that is in a closed file, of a journal that is not much older.
func explained(nodes int) Case {
	dir, err := os.MkdirTemp("", "sluice-bench-")
	c := Case{Close: func() { _ = os.RemoveAll(dir) }}
	path := filepath.Join(dir, "journal.jsonl")
	var w *history.Writer
	if err == nil {
		w, err = history.Open(path, history.Limits{File: 1 << 30, Total: 1 << 40, Age: math.MaxInt64})
	}
	p := newPast(nodes)
	var gone string
	var at time.Time
	for range 2 { // halves of one file
		if err == nil {
			err = p.turn(context.Background(), history.Span/2, w)
		}
		if at.IsZero() {
			gone, at = p.gone, p.left.Add(-time.Minute)
		}
	}
	if err == nil {
		err = errors.Join(p.turn(context.Background(), betweenCycles, w), w.Close())
		c.Week = w.Closed() * int64(7*24*time.Hour/history.Span)
	}
	c.Pods = len(p.objects.Pods)
	c.Decide = func() Made {
		var e journal.Entry
		if err == nil {
			e, _, err = history.Last(path, at, 0)
		}
		if err == nil {
			_, err = report.NewExplanation(e, reason.Node(gone))
		}
		return Made{e.Seen, e.Plan}
	}
	c.Right = func(m Made) error {
		switch {
		case err != nil:
			return err
		case m.Seen.Node(gone) == nil || m.Seen.Time.After(at):
			return fmt.Errorf("node %s is not explained as of %s", gone, at)
		}
		return nil
	}
	return c
}

// past is a cluster that turns cycles for a long time, each of which becomes an entry of a journal.
type past struct {
	*turning
	cycle uint64
	owed  float64 // machines that are still to be replaced, a share of one
	made  int     // machines that joined
	gone  string  // the node that went last
	left  time.Time
}

func newPast(nodes int) *past {
	w := workload.NewSteadyWorld(1, nodes)
	w.Split(pastGroups)
	for _, pod := range w.Pods {
		pod.UID = uid(string(pod.UID))
	}
	return &past{turning: start(w)}
}

// uid is one that compresses as little as those of real objects.
func uid(of string) types.UID {
	sum := sha256.Sum256([]byte(of))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

// sink is who takes the entries.
type sink interface {
	Report(ctx context.Context, e journal.Entry, took time.Duration) error
}

// turn turns cycles for so long, and gives their entries to the sinks.
func (p *past) turn(ctx context.Context, long time.Duration, sinks ...sink) error {
	for end := p.at.Add(long); p.at.Before(end); {
		p.read(betweenCycles)
		for p.owed += pastTurnover * float64(len(p.objects.Nodes)) * betweenCycles.Hours(); p.owed >= 1; p.owed-- {
			p.replace()
		}
		p.seen = p.seen.Next(p.at, p.objects, p.groups)
		p.cycle++
		e := journal.Entry{Cycle: p.cycle, Seen: p.seen, Policy: p.allowed, Before: p.kept}
		p.turning.made = p.decide(p.seen)
		e.Plan, e.Results = p.turning.made, slices.Repeat([]memory.Result{{Status: memory.Accepted, At: p.at}}, len(p.turning.made.Actions))
		for _, to := range sinks {
			if err := to.Report(ctx, e, 0); err != nil {
				return fmt.Errorf("cycle %d: %w", p.cycle, err)
			}
		}
	}
	return nil
}

// replace has a machine and its pods go, and a new one of its group take their place.
func (p *past) replace() {
	n := p.made
	p.made++
	g := p.groups[n%len(p.groups)]
	old := g.Instances[n/len(p.groups)%len(g.Instances)]
	was := p.seen.Node(p.seen.Group(g.ID).Instance(old.ID).Node)
	in, node := workload.Joined(old, was.Object, n, p.at)
	g.Instances = append(slices.DeleteFunc(g.Instances, func(i *cluster.Instance) bool { return i == old }), in)
	p.objects.Nodes = append(slices.DeleteFunc(slices.Clone(p.objects.Nodes), func(o *corev1.Node) bool { return o.Name == was.Name() }), node)
	slices.SortFunc(p.objects.Nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	pods := slices.Clone(p.objects.Pods)
	for i, pod := range pods {
		if pod.Node != was.Name() {
			continue
		}
		o := pod.Object()
		if at := strings.LastIndex(o.Name, "-r"); at > 0 {
			o.Name = o.Name[:at]
		}
		again := workload.Bound(o, node.Name, p.at)
		again.Name, again.UID = fmt.Sprintf("%s-r%d", o.Name, n), uid(string(pod.UID))
		pods[i] = p.table.Pod(again)
	}
	slices.SortFunc(pods, func(a, b *cluster.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	p.objects.Pods = pods
	p.gone, p.left = was.Name(), p.at
}
