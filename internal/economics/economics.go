// Package economics measures what decisions cost: the machines that a plan buys for pods that wait, beside those of
// cluster-autoscaler's expanders, of first-fit and beside a lower bound; and days of a workload replayed on a simulated farm, with sluice or
// a model of cluster-autoscaler deciding. docs/reference/economics.md describes the models and what they leave out.
//
// It knows no Kubernetes but in sluice.go, which shows the farm to [plan.Decide] and performs what that decides.
package economics

import (
	"fmt"
	"slices"

	"sluice.dev/sluice/internal/traces"
)

// Vector is an amount of resources.
type Vector = traces.Vector

// Kept is what kubelet and daemons keep of every machine to themselves.
var Kept = Vector{Milli: 100, MiB: 1024}

// Kind is a node group that can be grown: machines of one size.
type Kind struct {
	traces.Size
	Room Vector // of a machine, for pods
	Max  int    // machines that the group may have
}

// Takes says whether an empty machine of the kind takes such a pod. Machines with GPUs are kept for pods that ask for some.
func (k *Kind) Takes(asks Vector) bool {
	return (asks.GPU > 0) == (k.Machine.GPU > 0) && asks.In(k.Room)
}

// The greatest sizes of groups: of those that serve W1 and W2, and of those that all pods of the openb trace wait for at once.
const (
	farmMax  = 1000
	openbMax = 10000
)

// farmSizes are the sizes of the groups that the workloads W1 and W2 are served by.
var farmSizes = []string{
	"Standard_D4s_v5", "Standard_D16s_v5", "Standard_E16s_v5", "Standard_F16s_v2", "Standard_D64s_v5", "Standard_E64s_v5",
	"Standard_NC4as_T4_v3", "Standard_NC8as_T4_v3", "Standard_NC16as_T4_v3", "Standard_NC64as_T4_v3",
}

// kinds are groups of the sizes named, of all sizes when none is, in the order of their names.
func kinds(sizes []traces.Size, most int, names ...string) ([]Kind, error) {
	var out []Kind
	for _, s := range sizes {
		if len(names) == 0 || slices.Contains(names, s.Name) {
			out = append(out, Kind{s, s.Machine.Minus(Kept), most})
		}
	}
	if len(names) > 0 && len(out) != len(names) {
		return nil, fmt.Errorf("the price list has %d of the sizes %v", len(out), names)
	}
	slices.SortFunc(out, func(a, b Kind) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	return out, nil
}

// FarmKinds are the groups that serve W1 and W2.
func FarmKinds(sizes []traces.Size) ([]Kind, error) { return kinds(sizes, farmMax, farmSizes...) }

// OpenbKinds are the same groups, and all sizes with a price, without a limit that matters.
func OpenbKinds(sizes []traces.Size) (ten, forty []Kind, err error) {
	if ten, err = kinds(sizes, openbMax, farmSizes...); err != nil {
		return nil, nil, err
	}
	forty, err = kinds(sizes, openbMax)
	return ten, forty, err
}

// Demand is a number of pods that ask for the same.
type Demand struct {
	Asks  Vector
	Count int
}

// Demands counts pods that ask for the same, in the order in which each first appears.
func Demands(pods []traces.Pod) []Demand {
	var out []Demand
	at := map[Vector]int{}
	for _, p := range pods {
		i, known := at[p.Asks]
		if !known {
			i = len(out)
			at[p.Asks] = i
			out = append(out, Demand{Asks: p.Asks})
		}
		out[i].Count++
	}
	return out
}
