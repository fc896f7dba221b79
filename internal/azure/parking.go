package azure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
)

// A group may say that a removal switches its machines off instead of deleting them: starting one again is faster than making one, and
// its disks keep what was pulled and cached. Azure counts such a machine as capacity and bills its disks; the group that sluice shows has
// it among the parked ones and in no number. A growth starts parked machines before it makes new ones.

// startAgain is how long a machine that could not be started is passed over by growth.
const startAgain = 30 * time.Minute

// readRemoval takes in what the group's tag says of removals. A word that is neither might have been meant to keep machines.
func (m *model) readRemoval(noun string) {
	switch word := m.tags[removalTag]; word {
	case "", "delete":
	case "deallocate":
		m.parks = true
	default:
		m.unfit = fmt.Sprintf("%s %q has tag %s=%s: it must be delete or deallocate", noun, m.name, removalTag, word)
	}
}

// place puts an instance where the group shows it, in the state that it is to have there, when so much was asked of it: machines that are switched off apart.
func (r *reading) place(g *cluster.Group, in *cluster.Instance, m *machine, does verb) {
	if does == verbParked && r.model.parks && !m.off() { // an old list, or somebody has started it: it is not counted on, nor is another made in its place
		in.State, in.Failure = cluster.StateDeleting, nil
		g.Instances = append(g.Instances, in)
		return
	}
	parked := r.model.parks && !m.leaving() && (does == verbPark || m.off() && does != verbStart)
	if parked {
		g.Capacity--
	}
	switch {
	case does == verbDelete, parked && (does == verbPark || m.power == "deallocating"):
		in.State, in.Failure = cluster.StateDeleting, nil
	case does == verbStart && m.off():
		in.State, in.Failure = cluster.StateCreating, nil
	case parked:
		in.State, in.Failure = cluster.StateStopped, nil
		g.Parked = append(g.Parked, in)
		return
	}
	in.Off = in.State == cluster.StateFailed && switchedOff(m.power)
	g.Instances = append(g.Instances, in)
}

// balks says whether the machine's last start was refused a moment ago.
func (g *group) balks(uid string, now time.Time) bool {
	refused, ok := g.writing.unstarted[uid]
	return ok && now.Sub(refused) < startAgain
}

// refuseStart remembers machines that an operation did not start: those that its answer names, or all of them when it names none.
func (g *group) refuseStart(o *operation, reported answer, now time.Time) {
	if o.Verb != verbStart {
		return
	}
	named := map[string]bool{}
	for _, l := range reported.leaves() {
		if l.Target != "" {
			named[strings.ToLower(l.Target)] = true
		}
	}
	g.passOver(slices.DeleteFunc(slices.Clone(o.Named), func(m cluster.Machine) bool {
		return len(named) > 0 && !named[strings.ToLower(string(m.ID))]
	}), now)
}

// passOver has growth make new machines for a while instead of starting these. state.mu is held.
func (g *group) passOver(machines []cluster.Machine, now time.Time) {
	if g.writing.unstarted == nil {
		g.writing.unstarted = map[string]time.Time{}
	}
	for _, m := range machines {
		g.writing.unstarted[m.UID] = now
	}
}
