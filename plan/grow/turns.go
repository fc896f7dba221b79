package grow

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// turns are those of the zones of groups that span several. Azure chooses the zone of each machine: the one with the fewest. So a pod that
// needs another zone gets a machine only after those of the zones before it, which may come up for nobody.
type turns struct {
	*Orders
	limits *Limits
}

// reach opens the group's next machines until one takes a pod of the demand, and returns them (scenario zone-volume-takes-turns). It
// returns none and leaves all as it was in these cases:
//
//	case                                                                   why
//	a limit forbids the next machine                                       the guard would refuse it (S-06)
//	more machines than spare allows would stand there for nobody           the pod is told how far away the zone is (tooFar)
//	a group that spans no zones, whose next machine does not take the pod  all its further machines are like it
//
// total is what the cluster has. extra is how many machines the group is about to add that total and Adding do not have yet. The caller
// admits the machines.
func (tu *turns) reach(st *Order, w *wanted, total Totals, extra int) []scheduling.Handle {
	undo := tu.Check.Mark()
	var open []scheduling.Handle
	spare := 0
	for tu.limits.limit(st, total, extra+len(open)) == nil {
		h := tu.Machines.OpenMachines(st.Incoming, 1, place.NewName)[0]
		open = append(open, h)
		if tu.Check.Room(w.Of, h) > 0 {
			return open
		}
		if len(open) == 1 {
			spare = tu.spare(st)
		}
		if len(open) > spare {
			break
		}
	}
	undo()
	st.Opened -= len(open)
	return nil
}

// spare is how many machines the group may open, besides the one that is needed, only because zones take turns: as many as it has zones,
// less those that carry nobody already. Idle machines count only as far as they could go, which headroom and the floor may forbid: machines
// that have to stay would use the allowance up for good.
func (tu *turns) spare(st *Order) int {
	if st.Rotation == nil {
		return 0
	}
	idle := -1 // the machine that was opened to be asked about
	for _, h := range tu.Check.Handles() {
		name := tu.Check.Name(h)
		n := tu.Snapshot.Node(name)
		if own := n == nil && tu.Opened.Of(h) == st.Incoming || n != nil && n.Group == st.ID && !n.Object.Spec.Unschedulable; own && tu.carriesNobody(name) {
			idle++
		}
	}
	machines, _ := tu.Policy.Headroom(st.Group)
	idle = min(idle-machines, tu.beyond(st))
	return max(0, len(st.Rotation.Zones)-max(0, idle))
}

// beyond is how many machines the group has beyond those that it has to keep.
func (tu *turns) beyond(st *Order) int {
	return tu.Believed(st.GroupFacts) + st.Adding - max(st.Min, tu.Policy.Floor(st.Group, tu.Now))
}

func (tu *turns) carriesNobody(node string) bool {
	return !slices.ContainsFunc(tu.Check.Pods(node), func(p *cluster.Pod) bool { return !p.Daemon() })
}

// tooFar says that a zone's turn comes too late for the pod, which a machine there would take; nil when no zone would do. It opens one
// machine more than the group has zones, and asks each after the first. Where none of these takes the pod, it asks an empty machine of each
// zone alone. Where the zone is near enough, and a limit is reached before its turn, that is told instead. Nothing stays open.
func (tu *turns) tooFar(st *Order, p *cluster.Pod) *reason.Reason {
	if st.Rotation == nil {
		return nil
	}
	zone, others, spare := "", 0, 0
	undo := tu.Check.Mark()
	opened := st.Opened
	for i := range len(st.Rotation.Zones) + 1 {
		at := st.NextZone()
		h := tu.Machines.OpenMachines(st.Incoming, 1, place.NewName)[0]
		if i == 0 {
			spare = tu.spare(st)
		} else if tu.Check.Room(p.Class, h) > 0 {
			zone, others = at, i
			break
		}
	}
	undo()
	st.Opened = opened
	if zone == "" {
		for _, at := range st.Sites() {
			fits := false
			tu.Machines.OnEmpty(st.Incoming, at, func(h scheduling.Handle) { fits = tu.Check.Room(p.Class, h) > 0 })
			if n := st.Reaches(at, 1) - 1; fits && n > 0 {
				zone, others = at, n
				break
			}
		}
	}
	if zone == "" {
		return nil
	}
	if limit := tu.limits.limit(st, tu.limits.totals(), others); limit != nil && others <= spare {
		return limit
	}
	why := reason.New(reason.ZoneTooFar, reason.Group(string(st.ID)), "zone", zone, "machines", others, "limit", spare)
	return &why
}

// TellTurns says to pods that minded a zone how many machines are added before theirs that nobody uses. Nothing is said where each of these
// serves some pod.
func (tu *turns) TellTurns() {
	for _, g := range tu.Snapshot.Groups {
		st := tu.Groups[g.ID]
		if st.Adding == 0 || st.Rotation == nil {
			continue
		}
		nobody := 0
		for _, m := range st.fresh {
			if m.pods == 0 {
				nobody++
				continue
			}
			if nobody == 0 {
				continue
			}
			for _, those := range m.zonal {
				for _, at := range those.demand.Pods[those.from : those.from+those.n] {
					v := &tu.PodVerdicts[at]
					v.Because = append(slices.Clip(v.Because), reason.New(reason.ZoneTakesTurns, v.Subject, "group", g.ID, "zone", m.zone, "machines", nobody))
				}
			}
		}
	}
}
