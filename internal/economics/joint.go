package economics

import (
	"math"
	"slices"
	"time"

	"sluice.dev/sluice/packing"
)

// Joint is a model of the policy that sluice is to have, without Kubernetes: one packing over all groups for what waits, machines that
// are empty for long enough deleted at once, and an optional drain target. It shows what the policy is worth, and a
// replay of sluice that is dearer shows what is lost on the way to it.
type Joint struct {
	Unneeded time.Duration
	Drain    time.Duration // within which a backlog is to be worked off; 0 for a place for every pod at once
	Expect   RunTimes      // of pods, for Drain
}

// RunTimes are expected run times by the pods' owner.
type RunTimes map[string]time.Duration

// MeanRunTimes are the true means of a workload's owners, each multiplied by a lognormal error of that sigma and median 1.
func MeanRunTimes(w Workload, sigma float64) RunTimes {
	out, count := RunTimes{}, map[string]time.Duration{}
	var owners []string
	for _, p := range w.Pods {
		if count[p.Owner] == 0 {
			owners = append(owners, p.Owner)
		}
		out[p.Owner] += p.Run
		count[p.Owner]++
	}
	for i, o := range owners {
		out[o] = time.Duration(float64(out[o]/count[o]) * math.Exp(sigma*normal(1, uint64(i))))
	}
	return out
}

// Heeds says yes.
func (j *Joint) Heeds(bool) bool { return true }

// Look grows for what waits, and deletes what is empty.
func (j *Joint) Look(f *Farm) time.Duration {
	var again time.Duration
	if f.Waiting.count > 0 {
		j.grow(f)
		again = f.Now + coalesce
	}
	for _, m := range slices.Clone(f.Machines) {
		if !m.Ready || len(m.Pods) > 0 {
			continue
		}
		if due := m.empty + j.Unneeded; f.Now >= due {
			f.Delete(m)
		} else if again == 0 || due < again {
			again = due
		}
	}
	return again
}

func (j *Joint) grow(f *Farm) {
	var coming bins
	in := Instance{Kinds: slices.Clone(f.Kinds)}
	for _, m := range f.Machines {
		in.Kinds[m.Kind].Max--
		if !m.Ready {
			coming = append(coming, bin{m.Kind, m.Free})
		}
	}
	demands := f.Waiting.Demands()
	if j.Drain > 0 {
		demands = j.slots(f)
	}
	for _, d := range largestFirst(demands, f.Kinds[0].Room) {
		if n := coming.fill(f.Kinds, d.Asks, d.Count); n > 0 {
			in.Demands = append(in.Demands, Demand{d.Asks, n})
		}
	}
	if len(in.Demands) == 0 {
		return
	}
	for kind, n := range packing.Solve(problem(in)).Count(len(f.Kinds)) {
		if n > 0 {
			f.Grow(kind, n)
		}
	}
}

// slots are the places that work off the backlog in time. Of every owner's pods, those go first that places now taken by pods which ask for the
// same will serve once they are free; the rest shares new places, as many pods one after the other as end in time after
// a machine has booted, at least one.
func (j *Joint) slots(f *Farm) []Demand {
	free := map[Vector][]time.Duration{} // when places will be free, from now
	for _, m := range f.Machines {
		for _, r := range m.Pods {
			free[r.Asks] = append(free[r.Asks], max(j.Expect[r.Owner]-(f.Now-r.Since), 30*time.Second))
		}
	}
	boot := f.settings.Boot(0)
	var out []Demand
	at := map[Vector]int{}
	for _, b := range backlogs(f) {
		each := max(j.Expect[b.owner], time.Second)
		places := free[b.asks]
		for i, until := range places {
			if n := int((j.Drain - until) / each); b.pods > 0 && n > 0 {
				b.pods -= n
				places[i] = j.Drain // spoken for
			}
		}
		if b.pods <= 0 {
			continue
		}
		turns := max(1, int((j.Drain-boot)/each))
		i, known := at[b.asks]
		if !known {
			i = len(out)
			at[b.asks] = i
			out = append(out, Demand{Asks: b.asks})
		}
		out[i].Count += (b.pods + turns - 1) / turns
	}
	return out
}

// backlog is the pods of one owner that wait and ask for the same.
type backlog struct {
	asks  Vector
	owner string
	pods  int
}

// backlogs are those of all owners, in the order of the pods that began to wait.
func backlogs(f *Farm) []backlog {
	var out []backlog
	at := map[backlog]int{}
	for _, r := range f.Waiting.All() {
		key := backlog{asks: r.Asks, owner: r.Owner}
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, key)
		}
		out[i].pods++
	}
	return out
}
