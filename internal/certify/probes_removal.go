package certify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

func (l *Lab) machinePath(id string) string { return l.setPath(l.set.name) + "/virtualMachines/" + id }

// lower lowers the capacity of two machines by one, and says which Azure has deleted.
func (l *Lab) lower(ctx context.Context) (before, gone []machine, r *reply, err error) {
	if before, err = l.living(ctx, l.set.name); err != nil {
		return nil, nil, nil, err
	}
	if r, err = l.resize(ctx, l.set.name, len(before)-1, nil); err != nil || !r.ok() {
		return before, nil, r, err
	}
	if _, err = l.follow(ctx, r); err != nil {
		return before, nil, r, err
	}
	after, err := l.settled(ctx, len(before)-1)
	for _, m := range before {
		if !slices.ContainsFunc(after, func(other machine) bool { return other.uid == m.uid }) {
			gone = append(gone, m)
		}
	}
	l.dead = append(l.dead, gone...)
	return before, gone, r, err
}

// newest is the machine with the highest id.
func newest(all []machine) machine {
	return slices.MaxFunc(all, func(a, b machine) int { return serial(a.id) - serial(b.id) })
}

func serial(id string) int {
	n, err := strconv.Atoi(id)
	if err != nil {
		return -1
	}
	return n
}

// removal is a machine that was deleted by its name beside another, as it went.
type removal struct {
	done           bool
	err            error
	victim         machine
	protected      *reply // to the delete of the machine while it was protected from scale-in
	answer, second *reply
	lowered        []look // the capacity
	shown          string // as what the list showed it
	left           []look // the list
	end            ended
	repeated       *reply
	others         bool // the other machine stayed
}

// takeOne deletes one of two machines and watches it go.
func (l *Lab) takeOne(ctx context.Context) (r removal, err error) {
	r.done = true
	before, err := l.living(ctx, l.set.name)
	if err != nil {
		return r, err
	}
	r.victim = before[0]
	if err := l.protect(ctx, r.victim.id, true); err != nil {
		return r, err
	}
	answer, err := l.remove(ctx, l.set.name, r.victim.id)
	if r.protected = answer; err == nil && !answer.ok() {
		if err := l.protect(ctx, r.victim.id, false); err != nil {
			return r, err
		}
		answer, err = l.remove(ctx, l.set.name, r.victim.id)
	}
	if r.answer, err = l.must("delete a machine", answer, err); err != nil {
		return r, err
	}
	if r.second, err = l.once(ctx, http.MethodPost, l.setPath(l.set.name)+"/delete", computeVersion, nil, map[string]any{"instanceIds": idsOf(before[1:])}); err != nil {
		return r, err
	}
	r.lowered, err = l.looks(ctx, r.answer.at, func() (bool, error) {
		all, err := l.machines(ctx, l.set.name)
		for _, m := range all {
			if m.uid == r.victim.uid && r.shown == "" {
				r.shown = m.state
			}
		}
		if err != nil {
			return false, err
		}
		n, err := l.capacity(ctx, l.set.name)
		return n < len(before), err
	})
	if err != nil {
		return r, err
	}
	if r.end, err = l.follow(ctx, r.answer); err != nil {
		return r, err
	}
	ended := l.now()
	r.left, err = l.looks(ctx, ended, func() (bool, error) {
		all, err := l.machines(ctx, l.set.name)
		return !slices.ContainsFunc(all, func(m machine) bool { return m.uid == r.victim.uid }), err
	})
	if err != nil {
		return r, err
	}
	after, err := l.living(ctx, l.set.name)
	if err != nil {
		return r, err
	}
	r.others = r.second.ok() || len(after) == len(before)-1
	r.repeated, err = l.remove(ctx, l.set.name, r.victim.id)
	return r, err
}

func (l *Lab) removed(ctx context.Context) (removal, error) {
	if !l.removal.done {
		l.removal, l.removal.err = l.takeOne(ctx)
	}
	return l.removal, l.removal.err
}

// removalProbes ask with two machines what a smaller capacity and a delete do.
var removalProbes = []Probe{
	{
		Name: "lower-capacity-lets-azure-choose", Promises: []string{"S-01", "S-10"}, Needs: Two,
		Source: scaleIn,
		Fact:   "A capacity below the number of live machines is accepted, and Azure deletes the machine with the highest id, whatever runs on it.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			before, gone, r, err := l.lower(ctx)
			if err != nil {
				return Observation{}, err
			}
			highest := len(gone) == 1 && gone[0].uid == newest(before).uid
			return seen(r.ok() && highest, "status", r.Status, "code", r.code(), "deleted", len(gone), "the highest id", highest), nil
		},
	},
	{
		Name: "new-machine-is-another", Source: instanceIDs, Promises: []string{"S-11"}, Needs: Two,
		Fact: "A machine that is made after another was deleted has another vmId, whether the id comes again or not.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			if len(l.dead) == 0 {
				if _, _, _, err := l.lower(ctx); err != nil {
					return Observation{}, err
				}
				if err := l.provideMachines(ctx, 2); err != nil {
					return Observation{}, err
				}
			}
			if len(l.dead) == 0 {
				return Observation{}, errors.New("no machine was deleted")
			}
			m, err := l.one(ctx)
			if err != nil {
				return Observation{}, err
			}
			another := !slices.ContainsFunc(l.dead, func(old machine) bool { return old.uid == m.uid })
			again := slices.ContainsFunc(l.dead, func(old machine) bool { return old.id == m.id })
			return seen(another, "another vmId", another, "the id came again", again), nil
		},
	},
	{
		Name: "protected-machine-is-spared", Promises: []string{"S-18"}, Needs: Two,
		Source: scaleIn + "#instance-protection-and-scale-in-policy",
		Fact:   "A smaller capacity spares a machine that is protected from scale-in, and deletes another.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			before, err := l.living(ctx, l.set.name)
			if err != nil {
				return Observation{}, err
			}
			spared := newest(before)
			if err := l.protect(ctx, spared.id, true); err != nil {
				return Observation{}, err
			}
			_, gone, r, err := l.lower(ctx)
			if err == nil && len(gone) == 0 {
				err = fmt.Errorf("no machine was deleted (%d)", r.Status)
			}
			if err != nil {
				return Observation{}, err
			}
			is := !slices.ContainsFunc(gone, func(m machine) bool { return m.uid == spared.uid })
			if is {
				err = l.protect(ctx, spared.id, false)
			}
			return seen(is, "spared", is, "deleted", len(gone)), err
		},
	},
	{
		Name: "delete-lowers-capacity", Source: "https://github.com/kubernetes/autoscaler/pull/3284", Promises: []string{"S-01", "S-10"}, Needs: Two,
		Fact: "A delete by name is accepted with 202, lowers the capacity by one within 60 seconds, and leaves the other machine alone.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.removed(ctx)
			if err != nil {
				return Observation{}, err
			}
			after, is, late := when(r.lowered)
			if late != nil {
				return Observation{}, late
			}
			return seen(r.answer.Status == http.StatusAccepted && is && r.others, "status", r.answer.Status, "lowered after", after, "the other stays", r.others), nil
		},
	},
	{
		Name: "protection-does-not-stop-a-delete", Promises: []string{"S-18"}, Needs: Two,
		Source: "https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-instance-protection",
		Fact:   "A machine that is protected from scale-in is deleted all the same when a delete names it.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.removed(ctx)
			if err != nil {
				return Observation{}, err
			}
			return seen(r.protected.ok(), "status", r.protected.Status, "code", r.protected.code()), nil
		},
	},
	{
		Name: "second-delete-is-refused", Source: "https://github.com/kubernetes/autoscaler/pull/3284", Promises: []string{"S-30", "S-31"}, Needs: Two,
		Fact: "While a delete runs, another one in the same scale set is refused with 409.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.removed(ctx)
			if err != nil {
				return Observation{}, err
			}
			if refusedForNow(r.second) {
				return Observation{}, errLate
			}
			return seen(r.second.Status == http.StatusConflict, "status", r.second.Status, "code", r.second.code()), nil
		},
	},
	{
		Name: "deleted-machine-is-shown-leaving", Source: unseen, Promises: []string{"S-11", "S-14"}, Needs: Two,
		Fact: "A machine that is being deleted is listed as Deleting, and no more 60 seconds after its operation has ended.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.removed(ctx)
			if err != nil {
				return Observation{}, err
			}
			if r.shown == "" { // it was looked for while it went, or too late
				if len(r.lowered) == 0 || r.lowered[0].after >= r.end.took {
					return Observation{}, errLate
				}
				r.shown = "not listed"
			}
			after, is, late := when(r.left)
			if late != nil {
				return Observation{}, late
			}
			return seen(r.shown == "Deleting" && is, "meanwhile", r.shown, "the operation took", seconds(r.end.took), "left the list after it within", after), nil
		},
	},
	{
		Name: "repeated-delete-is-refused", Source: unseen, Promises: []string{"S-11", "S-31"}, Needs: Two,
		Fact: "A delete of a machine that is gone, as after a lost answer, is refused with 400 InvalidParameter, and names the instance.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.removed(ctx)
			if err != nil {
				return Observation{}, err
			}
			return l.stale(r.repeated, r.victim.id), nil
		},
	},
}
