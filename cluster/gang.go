package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
)

// GangAnnotation on the pods of a controller, such as a Job, says that all of them are one gang, and how many there have to be: "64" for
// a Job of that parallelism. On pods of the coscheduling plugin it says how many, where neither PodGroup nor label does.
const GangAnnotation = "sluice.dev/gang"

// Gang is a set of pods that is all or nothing: fewer of them than Least are worth nothing.
type Gang struct {
	ID      string // tells gangs apart: how it is said to be one, and its namespace and name
	Name    string // "namespace/name" of its PodGroup or controller
	Least   int    // how many pods must have a place; 0 when it is not known
	Unclear string // why that is not known, with the remedy; "" when it is

	// FinishedCount says whether pods that have succeeded count as members that have their place: those of a controller do, while
	// schedulers that know gangs forget them.
	FinishedCount bool
}

// OfGang says whether anything about the class says that its pods are of a gang.
func (c *Class) OfGang() bool {
	_, said := c.Annotations[GangAnnotation]
	return said || c.Spec.SchedulingGroup != nil || cmp.Or(c.Labels[LightweightGroupLabel], c.Labels[CoschedulingLabel], c.Labels[OldCoschedulingLabel]) != ""
}

// GangOf is the gang of such pods, false when each of them is for itself. Said by spec.schedulingGroup it is a PodGroup of
// scheduling.k8s.io with the policy gang; by a label of the coscheduling plugin, one whose number a PodGroup of scheduling.x-k8s.io, the
// label of the least available or [GangAnnotation] tells; by that annotation alone, the pods of one controller. Gangs of one pod are none.
func (o *Objects) GangOf(c *Class) (Gang, bool) {
	if !c.OfGang() {
		return Gang{}, false
	}
	if s := c.Spec.SchedulingGroup; s != nil && s.PodGroupName != nil {
		return o.podGroup(c.Namespace, *s.PodGroupName)
	}
	annotated, said := c.Annotations[GangAnnotation]
	if name := cmp.Or(c.Labels[LightweightGroupLabel], c.Labels[CoschedulingLabel], c.Labels[OldCoschedulingLabel]); name != "" {
		g := Gang{ID: "coscheduling " + c.Namespace + "/" + name, Name: c.Namespace + "/" + name}
		if least := cmp.Or(c.Labels[LightweightMinAvailLabel], c.Annotations[LightweightMinAvailLabel]); least != "" {
			return g.of(LightweightMinAvailLabel, least)
		}
		i, ok := slices.BinarySearchFunc(o.CoschedulingGroups, name, func(g *CoschedulingGroup, _ string) int {
			return cmp.Or(cmp.Compare(g.Namespace, c.Namespace), cmp.Compare(g.Name, name))
		})
		if ok {
			g.Least = int(o.CoschedulingGroups[i].Spec.MinMember)
			return g, g.Least > 1
		}
		if said {
			return g.of("annotation "+GangAnnotation, annotated)
		}
		return Gang{}, false // the plugin lets such pods pass one by one
	}
	owner := c.Owner()
	if !said || owner == nil {
		return Gang{}, false
	}
	g := Gang{ID: "controller " + c.Namespace + "/" + string(owner.UID), Name: c.Namespace + "/" + owner.Name, FinishedCount: true}
	return g.of("annotation "+GangAnnotation, annotated)
}

func (o *Objects) podGroup(namespace, name string) (Gang, bool) {
	g := Gang{ID: "podgroup " + namespace + "/" + name, Name: namespace + "/" + name}
	i, ok := slices.BinarySearchFunc(o.PodGroups, g.Name, func(p *schedulingv1beta1.PodGroup, _ string) int {
		return cmp.Or(cmp.Compare(p.Namespace, namespace), cmp.Compare(p.Name, name))
	})
	if !ok {
		g.Unclear = fmt.Sprintf("there is no PodGroup %s; create it", g.Name)
		return g, true
	}
	policy := o.PodGroups[i].Spec.SchedulingPolicy.Gang
	if policy == nil {
		return Gang{}, false
	}
	g.Least = int(policy.MinCount)
	return g, g.Least > 1
}

// of is the gang with the number that somebody has written.
func (g Gang) of(where, number string) (Gang, bool) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		g.Unclear = fmt.Sprintf("%s is %q; give a number of pods, such as 64", where, number)
		return g, true
	}
	g.Least = n
	return g, n > 1
}
