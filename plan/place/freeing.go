package place

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// awaitPlaces lets short pods of Jobs wait for places that will be free before a machine could boot: pods of their kind run there and are expected to
// end. Short are those that run for at most two boots: a machine for them would be paid for longer while it boots and is deleted than while they
// work, and they may be done before it is there. Each place serves one pod, and as many more one after the other as it has time for until then. Who has waited for as long as a machine takes waits for nobody:
// what was expected and did not come about delays nobody by more than that. Pods with a drain target wait as that says; those of unknown run times,
// those that depend on where others are, and those of a gang that does not run yet have their machines at once.
func (d *Room) awaitPlaces() {
	if !d.Policy.Growth.AwaitPlaces {
		return
	}
	var boot time.Duration
	var places map[int][]time.Duration // by the kind of pods; see [Room.placesBefore]
	serves := map[int]int{}            // by the same: pods that places taken into account already serve beyond those that wait for them
	for _, dm := range d.Wanting() {
		if !node.OfJob(dm.Of) {
			continue
		}
		run := d.RunTime(dm.Of)
		if run == 0 || !d.mayHold(dm) || d.drainTarget(dm.Of) > 0 {
			continue
		}
		if places == nil {
			boot = d.BootTime()
			places = d.placesBefore(boot)
		}
		if run = d.lasts(dm.Of, run); run > 2*boot {
			continue
		}
		kind := d.Check.Kind(dm.Of)
		young := dm.Left() - d.waitedFor(dm, boot)
		for serves[kind] < young && len(places[kind]) > 0 {
			serves[kind] += 1 + int((boot-places[kind][0])/run)
			places[kind] = places[kind][1:]
		}
		if n := min(serves[kind], young); n > 0 {
			serves[kind] -= n
			d.holdBack(dm, n, reason.New(reason.AwaitsPlace, reason.Ref{}, "boot", boot.Truncate(time.Second), "run", run.Truncate(time.Second)))
		}
	}
}

// mayHold says whether pods of a demand can wait without anybody else being kept from his place.
func (d *Room) mayHold(dm *Demand) bool {
	return dm.Judged && dm.Claim == nil && !d.Check.Depends(dm.Of) && (dm.Gang == nil || dm.Gang.Runs())
}

// lasts is how long pods of the class run that were said or seen to run for so long in the mean, when those that have run for longer already count as
// well: of pods that began together the short ones are seen to end first.
func (d *Room) lasts(of *cluster.Class, mean time.Duration) time.Duration {
	r := d.Memory.Runs[node.OwnerOf(of)]
	if r.Ended == 0 || r.Mean != mean {
		return mean
	}
	sum, runs := mean*time.Duration(r.Ended), r.Ended
	for _, w := range r.Watched {
		if age := d.Now.Sub(w.Began); age > mean {
			sum, runs = sum+age, runs+1
		}
	}
	return sum / time.Duration(runs)
}

// waitedFor counts the pods of a demand without a place that have waited for so long. They are its first ones.
func (d *Room) waitedFor(dm *Demand, long time.Duration) int {
	left := dm.Pods[dm.Served:]
	return len(left) - len(slices.DeleteFunc(slices.Clone(left), func(at int) bool { return d.Now.Sub(d.Waiting[at].Created()) >= long }))
}

// placesBefore is when places are expected to be free, from now and within a time, by the kind of the Jobs' pods that hold them: whatever refuses one of a
// kind refuses all.
func (d *Room) placesBefore(within time.Duration) map[int][]time.Duration {
	out := map[int][]time.Duration{}
	for _, at := range d.Memo.Working {
		n := d.Snapshot.Nodes[at]
		if !d.Memo.Facts[at].Takes {
			continue
		}
		for _, p := range n.Pods {
			if !node.OfJob(p.Class) {
				continue
			}
			run := d.RunTime(p.Class)
			if run == 0 {
				continue
			}
			if began := p.Started(); !began.IsZero() {
				run -= d.Now.Sub(began)
			}
			if free := max(run, OverdueRun); free <= within {
				kind := d.Check.Kind(p.Class)
				out[kind] = append(out[kind], free)
			}
		}
	}
	return out
}
