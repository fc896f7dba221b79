package main

import (
	"slices"
	"time"

	"sluice.dev/sluice/internal/economics"
	"sluice.dev/sluice/internal/traces"
)

// farmFacts are what is known of the farm when its story is over.
type farmFacts struct {
	*facts
	farm *farm
}

// departure is one machine that Azure was asked to delete.
type departure struct {
	life
	at     time.Time
	busy   []string // the Jobs' pods that had a place on it and had not ended
	newest bool     // no machine was younger
	worked bool     // a younger machine had such pods: whoever lowers a number reaches this one only after that
}

// departures are the machines that were removed, in their order. What was on a machine is what the API server had told until Azure accepted the request.
func (f *farmFacts) departures() []departure {
	var out []departure
	all := f.farm.book.all()
	for _, r := range f.requests {
		if r.Kind != deleteKind || !accepted(r) {
			continue
		}
		var there []life
		for _, l := range all {
			if l.lives(r.Time) {
				there = append(there, l)
			}
		}
		for _, id := range r.InstanceIDs {
			if i := slices.IndexFunc(there, func(l life) bool { return l.id == id }); i >= 0 {
				out = append(out, departure{
					life: there[i], at: r.Time, busy: f.working(there[i].node, r.Time), newest: i == len(there)-1,
					worked: slices.ContainsFunc(there[i+1:], func(l life) bool { return len(f.working(l.node, r.Time)) > 0 }),
				})
			}
		}
	}
	return out
}

// working are the Jobs' pods on a node at a time.
func (f *farmFacts) working(node string, t time.Time) []string {
	var out []string
	for _, p := range f.pods {
		if p.owner == "Job" && p.node == node && !p.bound.IsZero() && !p.bound.After(t) && (p.finished.IsZero() || p.finished.After(t)) {
			out = append(out, p.name)
		}
	}
	return out
}

// machineTime is what Azure bills for: every machine from its request until it was gone.
func (f *farmFacts) machineTime() time.Duration {
	var sum time.Duration
	for _, l := range f.farm.book.all() {
		end := l.gone
		if end.IsZero() {
			end = time.Now()
		}
		sum += end.Sub(l.created)
	}
	return sum
}

// most is how many machines there were at once, at most.
func (f *farmFacts) most() int {
	all, most := f.farm.book.all(), 0
	for _, l := range all {
		n := 0
		for _, o := range all {
			if o.lives(l.created) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// others are the oracle, and those who removed before sluice did, with the same Jobs: each comes when it came, asks for what it asked for and runs for
// as long as it had its place here. A boot and a deletion take what they took here in the mean.
func (f *farmFacts) others() []economics.Replayed {
	speed := time.Duration(f.farm.speed)
	w := economics.Workload{Name: f.farm.load.Name, Kinds: f.farm.load.Kinds}
	for _, of := range f.farm.load.Pods {
		i := slices.IndexFunc(f.pods, func(p podHistory) bool { return p.job == of.Name && !p.bound.IsZero() && !p.finished.IsZero() })
		if i < 0 {
			continue // it never ran: a check has told
		}
		p := f.pods[i]
		w.Pods = append(w.Pods, traces.Pod{
			At: p.created.Sub(f.farm.began) * speed, Name: of.Name, Owner: of.Owner, Asks: of.Asks, Run: p.finished.Sub(p.bound) * speed,
		})
	}
	boot, end := f.bootTime()*speed, f.deleteTime()*speed
	var out []economics.Replayed
	for _, c := range economics.StoryTellers() {
		if c.Name == economics.TheSluice {
			continue
		}
		farm := economics.NewFarm(w.Kinds, w.Pods, economics.Settings{Boot: func(int) time.Duration { return boot }, Delete: end, Pack: c.Pack, Window: c.Window})
		out = append(out, economics.Replayed{Workload: w.Name, Contender: c.Name, Pods: len(w.Pods), Totals: farm.Replay(c.New(w))})
	}
	return out
}

// bootTime is the mean from a machine's request to its node being Ready.
func (f *farmFacts) bootTime() time.Duration {
	var all []time.Duration
	for _, l := range f.farm.book.all() {
		if ready := f.observer.nodeOf(l.node).readySince; !ready.IsZero() {
			all = append(all, ready.Sub(l.created))
		}
	}
	return mean(all)
}

// deleteTime is the mean from the request to delete a machine until it was gone.
func (f *farmFacts) deleteTime() time.Duration {
	var all []time.Duration
	for _, d := range f.departures() {
		if !d.gone.IsZero() {
			all = append(all, d.gone.Sub(d.at))
		}
	}
	return mean(all)
}
