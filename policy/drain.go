package policy

import (
	"fmt"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
)

// DrainTarget is one --drain-target flag: pods of a namespace, or pods that only such groups take, need no machine each at once; their
// backlog is to be worked off within the time. Either Namespace or Group is set.
type DrainTarget struct {
	Namespace string          `json:"namespace,omitempty"`
	Group     cluster.GroupID `json:"group,omitempty"`
	Within    time.Duration   `json:"within"` // above zero
}

// String is the flag's value.
func (t DrainTarget) String() string {
	return scoped(t.Namespace, t.Group) + "=" + t.Within.String()
}

// ParseDrainTarget reads "namespace/NAME=DURATION" or "GROUP=DURATION". Its errors are one clause for the operator.
func ParseDrainTarget(text string) (DrainTarget, error) {
	const form = "give GROUP=DURATION or namespace/NAME=DURATION, such as namespace/render=20m"
	namespace, group, rest, err := parseScoped(text, form)
	if err != nil {
		return DrainTarget{}, err
	}
	within, err := time.ParseDuration(rest)
	if err != nil || within <= 0 {
		return DrainTarget{}, fmt.Errorf("%q is no duration above zero; %s", rest, form)
	}
	return DrainTarget{namespace, group, within}, nil
}

// parseScoped reads "namespace/NAME=REST" or "GROUP=REST"; form is what to give instead.
func parseScoped(text, form string) (namespace string, group cluster.GroupID, rest string, err error) {
	name, rest, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	namespace, named := strings.CutPrefix(name, "namespace/")
	if !ok || name == "" || named && namespace == "" {
		return "", "", "", fmt.Errorf("it names no group and no namespace; %s", form)
	}
	if named {
		return namespace, "", strings.TrimSpace(rest), nil
	}
	return "", cluster.GroupID(name), strings.TrimSpace(rest), nil
}

// scoped is how a flag names a namespace or, where that is empty, a group.
func scoped(namespace string, group cluster.GroupID) string {
	if namespace != "" {
		return "namespace/" + namespace
	}
	return string(group)
}

// Drain is the time within which a backlog of a namespace is to be worked off that only these groups take, 0 for no target. The namespace's
// own target wins, else the shortest of the groups' where each has one; of several flags for the same the last holds.
func (g Growth) Drain(namespace string, groups ...cluster.GroupID) time.Duration {
	last := func(of func(DrainTarget) bool) (within time.Duration) {
		for _, t := range g.DrainTargets {
			if of(t) {
				within = t.Within
			}
		}
		return within
	}
	if within := last(func(t DrainTarget) bool { return t.Namespace != "" && t.Namespace == namespace }); within > 0 {
		return within
	}
	var least time.Duration
	for _, id := range groups {
		within := last(func(t DrainTarget) bool { return t.Group != "" && same(t.Group, id) })
		if within == 0 {
			return 0
		}
		if least == 0 || within < least {
			least = within
		}
	}
	return least
}

// runTime is the annotation by which a pod says how long it is expected to run.
const runTime = "sluice.dev/run-time"

// RunTime is how long pods of the class say that they will run, 0 when they do not say it or not as a duration above zero.
func RunTime(of *cluster.Class) time.Duration {
	run, err := time.ParseDuration(of.Annotations[runTime])
	if err != nil {
		return 0
	}
	return max(0, run)
}
